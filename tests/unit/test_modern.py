"""Transformer++: every mixture runs, and equals references where there are any."""

import itertools

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attnlab.attention import attention
from attnlab.decoding import greedy
from attnlab.layers.cache import cache_bytes
from attnlab.models.modern import SWITCHES, Config, LanguageModel
from benchmarks.peers import llama

SIZES = {"words": 23, "width": 24, "heads": 4, "layers": 3}


def tokens(rows: int = 2, length: int = 7) -> torch.Tensor:
    return torch.randint(23, (rows, length), generator=torch.Generator().manual_seed(1))


def test_there_are_ten_switches_and_they_lead_from_then_to_now() -> None:
    assert len(SWITCHES) == 10
    then, now = Config.vanilla_2017(**SIZES), Config.plus_plus(**SIZES)
    for name, switch in SWITCHES.items():
        assert getattr(then, name) == switch.then
        assert getattr(now, name) == switch.now
    assert now.switch(*SWITCHES).switch(*SWITCHES) == now


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize("start", [Config.vanilla_2017, Config.plus_plus])
def test_any_single_switch_gives_a_model_that_learns_and_caches(name: str, start) -> None:
    torch.manual_seed(0)
    model = LanguageModel(start(**SIZES).switch(name))
    model.loss(tokens()).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    whole = model(tokens())
    first, state = model.read(tokens()[:, :3], model.start(tokens()[:, :0]))
    second, _ = model.read(tokens()[:, 3:], state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole, atol=1e-5, rtol=1e-5)


def test_all_pairs_of_switches_run() -> None:
    for pair in itertools.combinations(SWITCHES, 2):
        model = LanguageModel(Config.vanilla_2017(**SIZES).switch(*pair))
        assert model(tokens()).shape == (2, 7, 23)


def test_no_model_reads_the_future() -> None:
    for config in (Config.vanilla_2017(**SIZES), Config.plus_plus(**SIZES)):
        model, other = LanguageModel(config), tokens().clone()
        other[:, 4:] = (other[:, 4:] + 1) % 23
        torch.testing.assert_close(model(other)[:, :4], model(tokens())[:, :4])
        assert not torch.allclose(model(other)[:, 4:], model(tokens())[:, 4:])


def test_a_group_shares_keys_in_the_order_of_sdpa() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 6, 5, 4), torch.randn(2, 3, 5, 4), torch.randn(2, 3, 5, 4)
    theirs = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    for fused in (True, False):
        torch.testing.assert_close(attention(q, k, v, causal=True, fused=fused), theirs)


@pytest.mark.parametrize("group", [1, 2, 4])
def test_the_cache_is_as_large_as_its_formula(group: int) -> None:
    model = LanguageModel(Config(**SIZES, group=group))
    held = model.start(tokens(3, 5)).past
    measured = sum(x.numel() * x.element_size() for pair in held for x in pair)
    assert measured == cache_bytes(layers=3, kv_heads=4 // group, head_width=6, context=5, batch=3)


def test_unknown_values_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'sgd', but it must be one of adam, adamw, soap"):
        Config(**SIZES, optimiser="sgd")
    with pytest.raises(ValueError, match="groups of 3"):
        Config(**SIZES, group=3)
    with pytest.raises(ValueError, match="no switch 'bias'"):
        Config(**SIZES).switch("bias")


@pytest.mark.parametrize("group", [1, 2])
def test_it_is_transformers_llama_on_random_weights(group: int) -> None:
    from attnlab.models.llama import from_llama, llama_config

    config = llama_config(words=41, width=24, heads=4, layers=3, hidden=40, group=group)
    torch.manual_seed(3)
    theirs = llama(config).eval()
    model = LanguageModel(config).eval()
    model.load_state_dict(from_llama(theirs.state_dict(), config))
    prompt = torch.randint(3, 41, (2, 9), generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        torch.testing.assert_close(model(prompt), theirs(prompt).logits, atol=1e-5, rtol=1e-4)
        ours = greedy(
            model.step, model.start(prompt[:1, :-1]), max_length=12, bos=int(prompt[0, -1]), eos=2
        )[0]
        text = theirs.generate(prompt[:1], max_new_tokens=12, do_sample=False)[0, 9:].tolist()
    assert ours == text[: text.index(2) if 2 in text else None]
