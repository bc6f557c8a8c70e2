"""The shipped models on a page: the same logits and the same words as torch, and soon enough."""

import base64
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Page

from attnlab.data import Pair, collate, pronunciation
from attnlab.data.english_french import EnglishFrench
from attnlab.translator import Translator
from attnlab.widgets import BrowserTranslator, Pronouncer
from attnlab.widgets.base import bundle
from tests.browser import play
from tests.browser.live import Live

LOAD = """async ([source, sent]) => {
  const module = new Blob([source], { type: "text/javascript" });
  const { seq2seqModel } = await import(URL.createObjectURL(module));
  window.net = seq2seqModel(sent);
}"""
# Teacher forcing, step by step: the logits of every step, as base64; then free running.
RUN = """([source, targetIn]) => {
  const started = performance.now();
  let state = net.start(net.encode(source));
  const logits = [];
  for (const last of targetIn) {
    const said = net.step(state, last);
    ({ state } = said);
    logits.push(...said.logits);
  }
  const each = (performance.now() - started) / targetIn.length;
  const bytes = new Uint8Array(Float32Array.from(logits).buffer);
  let text = "";
  for (let i = 0; i < bytes.length; i += 8192)
    text += String.fromCharCode(...bytes.subarray(i, i + 8192));
  const { steps } = net.greedy(source);
  const words = steps.filter((step) => !step.end).map((step) => step.text);
  return { logits: btoa(text), words, each };
}"""
COUNT = 200


def sentences(name: str) -> list[Pair]:
    """Held-out pairs: sentences of 3 to 30 words, or words of the dictionary."""
    if name == "pronunciation":
        return random.Random(3).sample(pronunciation.pairs("test"), COUNT)
    return EnglishFrench(longest=30).take(COUNT, "test", seed=3)


@pytest.mark.parametrize("name", ["fixed_context", "rnnsearch", "pronunciation"])
def test_a_shipped_model_says_on_a_page_what_it_says_in_torch(
    name: str, made_page: Callable[..., Page]
) -> None:
    translator, pairs = Translator.shipped(name), sentences(name)
    page = made_page()
    page.evaluate(LOAD, [bundle("seq2seq_model"), translator.to_browser()])
    greedy = translator.translate([pair.source for pair in pairs])
    times, largest = [], 0.0
    for pair, expected in zip(pairs, greedy, strict=True):
        batch = collate([pair], translator.source, translator.target)
        with torch.no_grad():
            logits = translator.model(batch)[0].numpy()  # (T, V)
        found: dict[str, Any] = page.evaluate(RUN, [list(pair.source), batch.target_in[0].tolist()])
        shown = np.frombuffer(base64.b64decode(found["logits"]), "<f4").reshape(logits.shape)
        np.testing.assert_allclose(shown, logits, rtol=0, atol=1e-4, err_msg=" ".join(pair.source))
        largest = max(largest, float(np.abs(shown - logits).max()))
        assert found["words"] == expected, " ".join(pair.source)
        times.append(found["each"])
    # Others may be computing, too: the quickest tenth of the sentences tells what a step costs.
    quick = sorted(times)[COUNT // 10]
    print(f"{name}: logits differ by at most {largest:.1e}; {quick:.2f} ms a step")
    assert quick < 10, f"{quick:.1f} ms a step"


def test_the_shipped_figures_are_light_and_follow_the_hand(
    made_page: Callable[..., Page], shoot: Callable[..., object]
) -> None:
    figures = [BrowserTranslator.shipped(), Pronouncer.shipped()]
    assert len(figures[0].to_html()) < 1.5e6, "the translator is too heavy for a page"
    assert len(figures[1].to_html()) < 1.2e6
    page = made_page(*figures)
    for place in range(len(figures)):
        play.first_move(Live(page.locator("[data-widget]").nth(place)))
    shoot(page, "browser-models", full_page=True)


def test_attention_off_fails_on_a_long_sentence_and_on_does_not(
    made_page: Callable[..., Page],
) -> None:
    page = made_page(BrowserTranslator.shipped())
    live = Live(page.locator("[data-widget]"))
    long = live.place.locator("select option").last.get_attribute("value")
    live.place.locator("select").select_option(long)
    live.place.get_by_role("button", name="Show all").click()
    right = {}
    for kind in ("additive", "none"):
        play.check(live)
        numbers = live.numbers()
        assert numbers["kind"] == kind
        right[kind] = sum(numbers["right"]) / len(numbers["gold"].split())
        live.place.locator("input[type=checkbox]").click()
    assert right["additive"] > 0.9
    assert right["none"] < right["additive"] - 0.2


def test_hot_looks_spoil_a_long_sentence_and_cold_ones_do_not(
    made_page: Callable[..., Page],
) -> None:
    long = " ".join(EnglishFrench(longest=32).examples()[-1].source)
    right = {}
    for temperature in (0.1, 1.0, 10.0):
        page = made_page(BrowserTranslator.shipped(text=long, temperature=temperature))
        live = Live(page.locator("[data-widget]"))
        play.check(live)
        numbers = live.numbers()
        right[temperature] = sum(numbers["right"]) / len(numbers["gold"].split())
    assert right[0.1] > right[1.0] - 0.1
    assert right[10.0] < right[1.0] - 0.2
