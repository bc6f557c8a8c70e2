"""How fast live figures are in a headless Chromium: a repaint, and the arithmetic of a model.

    python -m benchmarks.figures

The attention heatmap with 64 × 64 tokens and 12 heads is opened from a file, as on a USB stick.
Each step of the temperature recomputes all heads and repaints the map and the thumbnails.
`repaint` is the time from the start of the frame until the canvas has its pixels: a pixel is read
back, so that drawing which the browser puts off is counted too. The quietest of three rounds
counts, since the clock on the wall also ticks for others.

A model on a page computes in a worker. There 256×384 is multiplied by 384×1536, as in a block of a
small vision Transformer, with weights in float32 and in int8; the best of some tries counts.

Bars: median repaint < 16 ms, one frame of a 60 Hz screen; products ≥ 1.5 GFLOP/s.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

import torch
from playwright.sync_api import Page, sync_playwright

from attnlab.widgets import AttentionHeatmap, static_page
from tests.browser import chromium
from tests.browser.joined import OPEN, joined

BAR = 16.0  # ms
PRODUCTS_BAR = 1.5  # GFLOP/s
TOKENS, HEADS = 64, 12

# Callbacks of one frame run in the order they were asked for: before, the figure's paint, after.
DRAG = """async (steps) => {
  const range = document.querySelector('.al-figure input[type=range]');
  const map = document.querySelector('.al-map canvas');
  const low = Number(range.min), high = Number(range.max);
  const { figure } = document.querySelector('.al-figure');
  const times = [], entropies = new Set();
  for (let s = 0; s < steps; s++) {
    const one = await new Promise((done) => {
      let start;
      requestAnimationFrame(() => { start = performance.now(); });
      range.value = low + ((high - low) * ((s * 37) % steps)) / steps;
      range.dispatchEvent(new Event('input', { bubbles: true }));
      requestAnimationFrame(() => {
        map.getContext('2d').getImageData(0, 0, 1, 1);
        done(performance.now() - start);
      });
    });
    times.push(one);
    entropies.add(figure.numbers().entropy.join());
  }
  return { times, distinct: entropies.size };
}"""


PRODUCTS = """
const { linear } = need("products");
function rates({ tries }) {
  const x = new Float32Array(256 * 384).fill(0.5), size = 1536 * 384, shape = [1536, 384];
  const stores = {
    float32: { shape, data: new Float32Array(size).fill(0.5) },
    int8: { shape, data: new Int8Array(size).fill(3), scale: new Float32Array(1536).fill(0.1) },
  };
  const best = (weight) => Math.max(...Array.from({ length: tries }, () => {
    const start = performance.now();
    linear(x, weight);
    return (2 * 256 * size) / (performance.now() - start) / 1e6;
  }));
  return Object.fromEntries(Object.entries(stores).map(([name, weight]) => [name, best(weight)]));
}
return { rates };
"""
IN_A_WORKER = """async (tries) => {
  const worker = need("worker").openWorker("job");
  const found = await worker.call("rates", { tries });
  worker.close();
  return found;
}"""


def figure(tokens: int = TOKENS, heads: int = HEADS, width: int = 32) -> AttentionHeatmap:
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(heads, tokens, width, generator=generator) for _ in range(2))
    return AttentionHeatmap(q=q, k=k, tokens=[f"t{i}" for i in range(tokens)], mask="causal")


@contextmanager
def opened() -> Iterator[Page]:
    """A page with the figure, from a file."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        place = Path(folder)
        static_page.write_assets(place)
        text = figure().to_html()
        page_file = place / "figure.html"
        page_file.write_text(
            f'<!doctype html><meta charset="utf-8">{static_page.head(text)}<body>{text}',
            encoding="utf-8",
        )
        browser = chromium.launch(playwright)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(page_file.as_uri())
        page.wait_for_selector('[data-mounted="yes"] .al-map canvas')
        yield page
        browser.close()


def products(tries: int = 24) -> dict[str, float]:
    """GFLOP/s of a product in a worker, by how the weights are stored."""
    with opened() as page:
        page.evaluate(OPEN, joined("worker", "products", job=PRODUCTS))
        rates: dict[str, float] = page.evaluate(IN_A_WORKER, tries)
    return rates


def measure(steps: int = 60) -> dict[str, float]:
    """Milliseconds a repaint takes: median, 95th percentile; and how many steps were drawn."""
    with opened() as page:
        page.evaluate(DRAG, 10)  # warm up
        rounds = [page.evaluate(DRAG, steps) for _ in range(3)]
    seen = min(rounds, key=lambda r: median(r["times"]))
    return {
        "repaint_ms": median(seen["times"]),
        "p95_ms": quantiles(seen["times"], n=20)[-1],
        "steps": steps,
        "distinct": seen["distinct"],
    }


def main() -> bool:
    """Print the time of a repaint and the speed of products with their verdicts; are the bars
    held?
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=60)
    seen = measure(parser.parse_args().steps)
    held = seen["repaint_ms"] < BAR
    verdict = "held" if held else "BROKEN"
    print(
        f"heatmap {TOKENS}×{TOKENS}, {HEADS} heads: median repaint "
        f"{seen['repaint_ms']:.1f} ms, 95% within {seen['p95_ms']:.1f} ms "
        f"({seen['steps']:.0f} steps, {seen['distinct']:.0f} different maps); "
        f"bar {BAR:.0f} ms {verdict}"
    )
    rates = products()
    fast = min(rates.values()) >= PRODUCTS_BAR
    print(
        f"products in a worker: {rates['float32']:.2f} GFLOP/s from float32, {rates['int8']:.2f} "
        f"from int8; bar {PRODUCTS_BAR:.1f} {'held' if fast else 'BROKEN'}"
    )
    return held and fast


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
