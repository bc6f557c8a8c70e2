"""MultiHead equals torch's own layer on the same weights, and each switch does its work."""

import pytest
import torch
from torch import nn

from attnlab import masks
from attnlab.layers.cache import KVCache
from attnlab.layers.heads import MultiHead, merge, split
from attnlab.record import record
from tests.unit.asked import says_one_sentence

B, L, S, E, H = 3, 5, 7, 12, 4


def twins(kv_width=None, bias=True):
    """Our layer and nn.MultiheadAttention with the same weights."""
    torch.manual_seed(0)
    ours = MultiHead(E, H, kv_width=kv_width, bias=bias)
    theirs = nn.MultiheadAttention(E, H, bias=bias, kdim=kv_width, vdim=kv_width, batch_first=True)
    parts = (ours.query, ours.key, ours.value)
    with torch.no_grad():
        if kv_width is None:
            theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        else:
            for name, part in zip("qkv", parts, strict=True):
                getattr(theirs, f"{name}_proj_weight").copy_(part.weight)
        theirs.out_proj.weight.copy_(ours.out.weight)
        if bias:
            theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
            theirs.out_proj.bias.copy_(ours.out.bias)
    return ours, theirs


def gradients_agree(ours, theirs):
    parts = (ours.query, ours.key, ours.value)
    joined = torch.cat([part.bias.grad for part in parts])
    torch.testing.assert_close(joined, theirs.in_proj_bias.grad)
    if theirs.in_proj_weight is not None:
        joined = torch.cat([part.weight.grad for part in parts])
        torch.testing.assert_close(joined, theirs.in_proj_weight.grad)
    else:
        for name, part in zip("qkv", parts, strict=True):
            torch.testing.assert_close(
                part.weight.grad, getattr(theirs, f"{name}_proj_weight").grad
            )
    torch.testing.assert_close(ours.out.weight.grad, theirs.out_proj.weight.grad)


@pytest.mark.parametrize("masked", [False, True])
def test_self_attention_equals_torch(masked):
    ours, theirs = twins()
    x = torch.randn(B, L, E, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    mask = masks.causal(L).dense() if masked else None  # torch's sense is the other way round
    out = ours(x, mask=mask)
    expected, expected_weights = theirs(
        y, y, y, attn_mask=None if mask is None else ~mask, average_attn_weights=False
    )
    torch.testing.assert_close(out, expected)
    torch.manual_seed(1)
    direction = torch.randn_like(out)
    (out * direction).sum().backward()
    (expected * direction).sum().backward()
    torch.testing.assert_close(x.grad, y.grad)
    gradients_agree(ours, theirs)
    with record(ours) as maps:
        ours(x, mask=mask)
    torch.testing.assert_close(maps[""], expected_weights.detach())


def test_cross_attention_with_padding_equals_torch():
    ours, theirs = twins(kv_width=10)
    x, context = torch.randn(B, L, E), torch.randn(B, S, 10)
    mask = masks.padding([4, 7, 1], S)
    out = ours(x, context, mask=mask)
    expected, _ = theirs(x, context, context, key_padding_mask=~mask.dense()[:, 0, 0])
    torch.testing.assert_close(out, expected)
    assert not torch.allclose(out, ours(x, context))  # the mask blocks something
    out.square().sum().backward()
    expected.square().sum().backward()
    gradients_agree(ours, theirs)


def test_without_biases():
    ours, theirs = twins(bias=False)
    x = torch.randn(B, L, E)
    torch.testing.assert_close(ours(x), theirs(x, x, x)[0])
    assert not [name for name, _ in ours.named_parameters() if "bias" in name]


def test_split_and_merge_undo_each_other():
    x = torch.randn(B, L, E)
    parts = split(x, H)
    assert parts.shape == (B, H, L, E // H)
    torch.testing.assert_close(parts[1, 2, 3], x[1, 3, 6:9])  # head 2 has the third quarter
    assert torch.equal(merge(parts), x)


@pytest.mark.parametrize("kv_heads", [1, 2])
def test_grouped_queries_share_keys_and_values(kv_heads):
    """A grouped layer equals a full one whose key and value weights are repeated."""
    torch.manual_seed(0)
    grouped, full = MultiHead(E, H, kv_heads=kv_heads), MultiHead(E, H)
    width, times = E // H, H // kv_heads
    state = grouped.state_dict()
    for name in ("key", "value"):
        for part in ("weight", "bias"):
            heads = state[f"{name}.{part}"].unflatten(0, (kv_heads, width))
            state[f"{name}.{part}"] = heads.repeat_interleave(times, 0).flatten(0, 1)
    full.load_state_dict(state)
    x = torch.randn(B, L, E)
    torch.testing.assert_close(grouped(x, causal=True), full(x, causal=True))
    assert grouped.key.weight.shape == (kv_heads * width, E)


class Cache:
    """The simplest KV cache."""

    def __init__(self):
        self.k = self.v = None

    @property
    def length(self):
        return 0 if self.k is None else self.k.shape[-2]

    def update(self, k, v):
        self.k = k if self.k is None else torch.cat([self.k, k], -2)
        self.v = v if self.v is None else torch.cat([self.v, v], -2)
        return self.k, self.v


def rotate(x, offset):
    """A small rotary encoding: pairs of numbers turn with their place (Su et al. 2021)."""
    places = torch.arange(offset, offset + x.shape[-2], dtype=x.dtype)[:, None]
    angles = places / 10 ** torch.arange(x.shape[-1] // 2, dtype=x.dtype)
    first, second = x.chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)


@pytest.mark.parametrize("rope", [None, rotate])
def test_a_cache_gives_the_same_answers_piece_by_piece(rope):
    torch.manual_seed(0)
    layer = MultiHead(16, 4, kv_heads=2, qk_norm=True, rope=rope)
    x = torch.randn(2, 7, 16)
    whole = layer(x, causal=True)
    cache = Cache()
    pieces = [layer(piece, causal=True, cache=cache) for piece in x.split([3, 1, 2, 1], dim=1)]
    torch.testing.assert_close(torch.cat(pieces, 1), whole)
    assert cache.k.shape == (2, 2, 7, 4)
    assert not torch.allclose(layer(x), whole)  # causal blocks something


def test_rope_sees_normalised_queries_and_keys():
    """QK-norm comes first: what is rotated has a mean square of 1 in every head."""
    seen = []

    def look(x, offset):
        seen.append((x, offset))
        return x

    torch.manual_seed(0)
    layer = MultiHead(E, H, kv_heads=2, qk_norm=True, rope=look)
    layer(10 * torch.randn(B, L, E))
    (q, q_offset), (k, k_offset) = seen
    assert q.shape == (B, H, L, E // H)
    assert k.shape == (B, 2, L, E // H)
    assert q_offset == k_offset == 0
    for x in (q, k):
        torch.testing.assert_close(
            x.square().mean(-1), torch.ones(x.shape[:-1]), rtol=1e-3, atol=1e-3
        )


def test_bias_is_added_to_the_scores():
    torch.manual_seed(0)
    layer = MultiHead(E, H)
    x = torch.randn(B, L, E)
    bias = torch.zeros(H, L, L)
    bias[2, :, 1] = 50.0  # head 2 shall look at token 1
    with record(layer) as maps:
        layer(x, bias=bias)
    assert (maps[""][:, 2, :, 1] > 0.999).all()
    assert (maps[""][:, 3, :, 1] < 0.9).all()


def test_off_by_one_lets_heads_attend_to_nothing():
    torch.manual_seed(0)
    layer = MultiHead(E, H, off_by_one=True)
    x = torch.randn(B, L, E)
    with record(layer) as maps:
        out = layer(x)
    torch.testing.assert_close(out, layer(x))
    assert (maps[""].sum(-1) < 0.95).all()


def test_dropout_acts_in_training_only():
    torch.manual_seed(0)
    layer, x = MultiHead(E, H, dropout=0.5), torch.randn(B, L, E)
    assert not torch.allclose(layer(x), layer(x))
    layer.eval()
    torch.testing.assert_close(layer(x), layer(x))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MultiHead(10, 4), "width 10 cannot be split into 4 heads"),
        (lambda: MultiHead(8, 0), "heads is 0.*1 or more"),
        (lambda: MultiHead(-12, 4), "width is -12.*1 or more"),
        (lambda: MultiHead(12, 4, kv_heads=3), "4 heads cannot share 3 kv_heads evenly"),
        (lambda: MultiHead(12, 4, kv_heads=0), "kv_heads is 0.*1 or more"),
        (lambda: MultiHead(12, 4, kv_width=0), "kv_width is 0.*1 or more"),
        (lambda: MultiHead(12, 4)(torch.randn(5, 12)), r"x has shape \(5, 12\).*batch axis"),
        (lambda: MultiHead(12, 4)(torch.randn(2, 5, 8)), r"x has shape.*\(batch, length, 12\)"),
        (
            lambda: MultiHead(12, 4, kv_width=6)(torch.randn(2, 5, 12), torch.randn(2, 5, 12)),
            r"context has shape.*\(batch, length, 6\)",
        ),
        (
            lambda: MultiHead(12, 4).keys_values(torch.randn(2, 5, 8)),
            r"context has shape.*\(batch, length, 12\)",
        ),
    ],
)
def test_a_wrong_size_gets_one_clear_sentence(make, words):
    says_one_sentence(make, ValueError, words)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (torch.ones(2, 5).long(), "x has dtype int64.*weights are float32: token ids"),
        (torch.ones(2, 5, 12).bool(), "x has dtype bool.*embedding"),
        (torch.ones(2, 5, 12).double(), r"x has dtype float64.*x\.to\(torch\.float32\)"),
        (torch.ones(2, 5, 12).half(), r"x has dtype float16.*x\.to\(torch\.float32\)"),
        (torch.ones(2, 5, 12, dtype=torch.complex64), r"x has dtype complex64.*x\.to"),
        (torch.ones(2, 5, 12).numpy(), r"x is a ndarray.*\(batch, length, 12\).*torch\.as_tensor"),
        ([[1.0]], "x is a list"),
        (None, r"x is None.*\(batch, length, 12\).*pass one"),
    ],
)  # fmt: skip
def test_a_wrong_type_gets_one_clear_sentence(x, words):
    says_one_sentence(lambda: MultiHead(12, 4)(x), TypeError, words)
    if x is not None:  # without a context the layer looks at x
        words = words.replace("x ", "context ", 1).replace(r"x\.to", r"context\.to")
        says_one_sentence(lambda: MultiHead(12, 4)(torch.randn(2, 5, 12), x), TypeError, words)


@pytest.mark.parametrize("width", [12.0, "12", None])
def test_a_width_that_is_no_whole_number_gets_one_clear_sentence(width):
    says_one_sentence(lambda: MultiHead(width, 4), TypeError, "width is .*whole number")


def test_autocast_mixes_dtypes():
    torch.manual_seed(0)
    layer, x = MultiHead(E, H), torch.randn(B, L, E)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for given in (x, x.bfloat16(), x.half()):
            torch.testing.assert_close(layer(given).float(), layer(x).float(), rtol=0.05, atol=0.05)
        says_one_sentence(lambda: layer(x.double()), TypeError, "x has dtype float64")
        says_one_sentence(lambda: layer(x.long()), TypeError, "x has dtype int64.*embedding")


@pytest.mark.parametrize("other", ["context", "cache"])
def test_memory_goes_with_nothing_that_contradicts_it(other):
    layer, x = MultiHead(12, 3), torch.randn(2, 4, 12)
    memory = layer.keys_values(torch.randn(2, 5, 12))
    given = {"context": torch.randn(2, 5, 12), "cache": KVCache()}[other]
    with pytest.raises(ValueError, match=f"memory and {other} were both given"):
        layer(x, memory=memory, **{other: given})
