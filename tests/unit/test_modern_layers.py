"""RMSNorm and gated networks against torch and against their formulas; the unfused switch."""

import pytest
import torch
from torch import nn

from attnlab.layers import AddNorm, FeedForward, GatedFeedForward, MultiHead, RMSNorm
from attnlab.layers.feed_forward import gated_width


def test_rms_norm_is_torchs_and_the_formula() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 5, 6) * 3 + 1
    ours, theirs = RMSNorm(6), nn.RMSNorm(6, eps=1e-5)
    with torch.no_grad():
        ours.weight.copy_(torch.rand(6))
        theirs.weight.copy_(ours.weight)
    by_hand = x / (x.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * ours.weight
    torch.testing.assert_close(ours(x), theirs(x))
    torch.testing.assert_close(ours(x), by_hand)


def test_rms_norm_keeps_the_mean_that_layer_norm_takes_away() -> None:
    x = torch.full((1, 1, 4), 3.0)
    torch.testing.assert_close(RMSNorm(4)(x), torch.ones(1, 1, 4), atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("gate", "kink"), [("swiglu", nn.functional.silu), ("geglu", nn.functional.gelu)]
)
def test_a_gated_network_is_its_formula(gate: str, kink) -> None:
    torch.manual_seed(1)
    network = GatedFeedForward(6, 10, gate)
    x = torch.randn(2, 3, 6)
    g, w, n = (p.weight for p in (network.gate, network.wide, network.narrow))
    torch.testing.assert_close(network(x), (kink(x @ g.T) * (x @ w.T)) @ n.T)


def test_a_gated_network_weighs_as_much_as_a_plain_one() -> None:
    plain = FeedForward(48, 192, bias=False)
    gated = GatedFeedForward(48, gated_width(192))
    weigh = [sum(p.numel() for p in m.parameters()) for m in (plain, gated)]
    assert weigh[0] == weigh[1] == 2 * 48 * 192


def test_unknown_parts_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="'batch', but it must be one of layer, rms"):
        AddNorm(4, kind="batch")
    with pytest.raises(ValueError, match="'relu', but it must be one of swiglu, geglu"):
        GatedFeedForward(4, 8, "relu")


def test_add_norm_takes_either_kind() -> None:
    x, out = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    for kind in ("layer", "rms"):
        pre, post = AddNorm(4, "pre", kind=kind), AddNorm(4, "post", kind=kind)
        torch.testing.assert_close(pre.after(x, out), x + out)
        torch.testing.assert_close(post.after(x, out), post.norm(x + out))


def test_unfused_attention_is_the_same_attention() -> None:
    torch.manual_seed(2)
    slow = MultiHead(12, 6, kv_heads=2, qk_norm=True, off_by_one=True, fused=False)
    fast = MultiHead(12, 6, kv_heads=2, qk_norm=True, off_by_one=True)
    fast.load_state_dict(slow.state_dict())
    x = torch.randn(2, 5, 12)
    torch.testing.assert_close(slow(x, causal=True), fast(x, causal=True))
