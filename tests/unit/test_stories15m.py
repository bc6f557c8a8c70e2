"""The shipped storyteller against `transformers`' Llama on the very same weights."""

import json

import pytest
import torch
from safetensors import safe_open

from attnlab import assets
from attnlab.data.pieces import BOS, EOS
from attnlab.models.llama import to_llama
from attnlab.models.modern import LanguageModel
from attnlab.models.stories import WEIGHTS, Storyteller, stories15m
from training.stories15m import PROMPTS, their_stories


@pytest.fixture(scope="module")
def storyteller() -> Storyteller:
    return stories15m()


def test_it_tells_transformers_stories_token_for_token(storyteller: Storyteller) -> None:
    model = storyteller.model
    theirs = their_stories(model.config, model.state_dict(), storyteller.pieces, length=40)
    ours = [storyteller.continue_(prompt, length=40) for prompt in PROMPTS]
    assert len(ours) == 20
    assert ours == theirs


def test_the_header_says_what_int8_costs_and_that_floats_were_exact() -> None:
    with safe_open(assets.find(WEIGHTS), framework="pt") as file:
        measured = json.loads(file.metadata()["about"])["measured"]
    assert measured["stories_equal_to_transformers"] == 20
    assert measured["nats_int8"] - measured["nats_float"] < 0.005
    assert measured["same_next"] > 0.97
    assert assets.find(WEIGHTS).stat().st_size < 16e6


def test_the_other_layout_of_rope_spoils_the_story_after_a_while(storyteller: Storyteller) -> None:
    """`transformers`' row order in our model: right words first, another story soon."""
    model = storyteller.model
    spoilt = LanguageModel(model.config).eval()
    halves = to_llama(model.state_dict(), model.config)
    state = dict(model.state_dict())
    for n in range(model.config.layers):
        for ours, theirs in (("query", "q_proj"), ("key", "k_proj")):
            state[f"blocks.{n}.self_attention.{ours}.weight"] = halves[
                f"model.layers.{n}.self_attn.{theirs}.weight"
            ]
    spoilt.load_state_dict(state)
    numbers = torch.tensor([[BOS, *storyteller.pieces.encode(storyteller.tell("Tom", length=60))]])
    with torch.no_grad():
        good, bad = model.loss(numbers), spoilt.loss(numbers)
    assert bad > good + 1


def test_temperature_and_length_do_what_they_say(storyteller: Storyteller) -> None:
    a = storyteller.continue_("The cat", length=12, temperature=1.0, top_p=0.9, seed=1)
    b = storyteller.continue_("The cat", length=12, temperature=1.0, top_p=0.9, seed=1)
    c = storyteller.continue_("The cat", length=12, temperature=1.0, top_p=0.9, seed=2)
    assert a == b != c
    assert len(a) == 12
    assert EOS not in a
    with pytest.raises(ValueError, match="give a shorter one"):
        storyteller.continue_("word " * 300)


def test_it_is_a_setting_of_the_ten_switches(storyteller: Storyteller) -> None:
    config = storyteller.model.config
    assert (config.norm_kind, config.network, config.positions) == ("rms", "swiglu", "rope")
    assert sum(p.numel() for p in storyteller.model.parameters()) == 15_191_712
