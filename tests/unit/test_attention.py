"""attention = weights @ v = torch's own attention, over everything that can be switched on."""

from itertools import product

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attnlab import masks
from attnlab.attention import attention, softmax, weights
from attnlab.record import record
from attnlab.scores import Additive, Bilinear, dot

B, H, D, DV = 2, 6, 8, 5  # all different, so that a transposition cannot pass
TOLERANCE = {
    torch.float64: {"rtol": 1e-9, "atol": 1e-12},
    torch.float32: {"rtol": 1e-4, "atol": 2e-6},
    torch.bfloat16: {"rtol": 2e-2, "atol": 2e-2},
    torch.float16: {"rtol": 4e-3, "atol": 4e-3},
}


class Attend(nn.Module):
    """Records, so its calls take the explicit way."""

    def forward(self, *args, **options):
        return attention(*args, **options)


def explicit(*args, **options):
    model = Attend()
    with record(model) as maps:
        out = model(*args, **options)
    assert set(maps) == {""}
    return out, maps[""]


def inputs(length, keys, kv_heads, dtype, seed=0):
    torch.manual_seed(seed)
    q = torch.randn(B, H, length, D, dtype=dtype)
    k = torch.randn(B, kv_heads, keys, D, dtype=dtype)
    v = torch.randn(B, kv_heads, keys, DV, dtype=dtype)
    return q, k, v


def some_mask(kind, length, keys):
    if kind == "none":
        return None
    if kind == "padding":  # a Mask, not a tensor; the second sequence is padding throughout
        return masks.padding([keys - 2, 0], keys)
    torch.manual_seed(1)
    mask = torch.rand(B, 1, length, keys) > 0.4
    mask[1, :, 2] = False  # a row with nothing to attend to
    return mask


def some_bias(kind, length, keys, dtype):
    if kind == "none":
        return None
    torch.manual_seed(2)
    bias = torch.randn(H, length, keys, dtype=dtype)
    if kind == "infinite":  # −∞ forbids, here and there and in one whole row
        bias[:, :, 1] = -torch.inf
        bias[3, 0] = -torch.inf
    return bias


def reference(q, k, v, mask, bias, causal, temperature, off_by_one):
    """By the definition, in float64, with loops where our code is clever."""
    length, keys = q.shape[-2], k.shape[-2]
    q, k, v = q.double(), k.double(), v.double()
    out = torch.zeros(B, H, length, v.shape[-1], dtype=torch.float64)
    allowed = torch.ones(B, 1, length, keys, dtype=torch.bool)
    if mask is not None:
        allowed = allowed & (mask.dense() if isinstance(mask, masks.Mask) else mask)
    group = H // k.shape[1]
    for b, h, i in product(range(B), range(H), range(length)):
        total, mix = float(off_by_one), torch.zeros(v.shape[-1], dtype=torch.float64)
        for j in range(keys):
            if not allowed[b, 0, i, j] or (causal and j > i + keys - length):
                continue
            score = q[b, h, i] @ k[b, h // group, j] / q.shape[-1] ** 0.5 / temperature
            score = score if bias is None else score + bias[h, i, j].double()
            total += float(score.exp())
            mix += score.exp() * v[b, h // group, j]
        if total:
            out[b, h, i] = mix / total
    return out


@pytest.mark.parametrize("dtype", list(TOLERANCE), ids=lambda d: str(d).removeprefix("torch."))
@pytest.mark.parametrize(("length", "keys"), [(4, 7), (7, 4), (5, 5)])
@pytest.mark.parametrize("kv_heads", [6, 3, 1])
def test_explicit_and_fused_agree_everywhere(dtype, length, keys, kv_heads):
    q, k, v = inputs(length, keys, kv_heads, dtype)
    v_shared = v.repeat_interleave(H // kv_heads, 1)
    mask_kinds, bias_kinds = ("none", "padding", "rows"), ("none", "finite", "infinite")
    for mask_kind, bias_kind, causal, off_by_one in product(
        mask_kinds, bias_kinds, (False, True), (False, True)
    ):
        temperature = 0.4 if causal == off_by_one else 1.0  # both, at half the price
        mask, bias = some_mask(mask_kind, length, keys), some_bias(bias_kind, length, keys, dtype)
        options = dict(
            mask=mask, bias=bias, causal=causal, temperature=temperature, off_by_one=off_by_one
        )
        fused = attention(q, k, v, **options)
        out, seen = explicit(q, k, v, **options)
        assert fused.shape == (B, H, length, DV)
        assert fused.dtype == seen.dtype == dtype
        assert torch.allclose(fused, out, **TOLERANCE[dtype]), options
        assert torch.equal(seen, weights(q, k, **options)), options
        assert torch.allclose(out, seen @ v_shared, **TOLERANCE[dtype]), options


@pytest.mark.parametrize(("length", "keys", "kv_heads"), [(3, 5, 3), (5, 3, 1), (4, 4, 6)])
@pytest.mark.parametrize("bias_kind", ["none", "infinite"])
def test_agrees_with_the_definition(length, keys, kv_heads, bias_kind):
    q, k, v = inputs(length, keys, kv_heads, torch.float64)
    bias = some_bias(bias_kind, length, keys, torch.float64)
    for mask_kind, causal, temperature, off_by_one in product(
        ("none", "padding", "rows"), (False, True), (1.0, 0.4), (False, True)
    ):
        mask = some_mask(mask_kind, length, keys)
        expected = reference(q, k, v, mask, bias, causal, temperature, off_by_one)
        got = attention(
            q, k, v, mask=mask, bias=bias, causal=causal,
            temperature=temperature, off_by_one=off_by_one,
        )  # fmt: skip
        torch.testing.assert_close(got, expected, **TOLERANCE[torch.float64])


@pytest.mark.parametrize("dtype", list(TOLERANCE), ids=lambda d: str(d).removeprefix("torch."))
def test_agrees_with_torch(dtype):
    """Directly against F.scaled_dot_product_attention, in its own conventions."""
    q, k, v = inputs(5, 5, 3, dtype)
    mask = some_mask("rows", 5, 5)
    close = TOLERANCE[dtype]
    theirs = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    torch.testing.assert_close(attention(q, k, v), theirs, **close)
    theirs = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    torch.testing.assert_close(attention(q, k, v, causal=True), theirs, **close)
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.3, enable_gqa=True)
    torch.testing.assert_close(attention(q, k, v, mask=mask, scale=0.3), theirs, **close)


def test_the_fused_kernel_is_taken_unless_somebody_looks(monkeypatch):
    calls = []
    kernel = F.scaled_dot_product_attention
    monkeypatch.setattr(
        F, "scaled_dot_product_attention", lambda *a, **o: calls.append(1) or kernel(*a, **o)
    )
    q, k, v = inputs(4, 7, 3, torch.float32)
    for options in ({}, {"causal": True}, {"off_by_one": True}, {"mask": masks.causal(4, 7)}):
        before = len(calls)
        attention(q, k, v, **options)
        assert len(calls) == before + 1, options
    before = len(calls)
    explicit(q, k, v)
    attention(q, k, v, score=lambda q, k: dot(q, k))  # not known to be a dot product
    assert len(calls) == before


@pytest.mark.parametrize(
    ("lead_q", "lead_k"),
    [
        ((), ()),
        ((3,), (3,)),
        ((1,), (3,)),
        ((1, 4), (3, 4)),
        ((3, 1), (3, 4)),
        ((2, 3, 4), (2, 3, 4)),
        ((2, 3, 4), (2, 1, 2)),  # stretched, and grouped queries
    ],
)
def test_any_leading_axes(lead_q, lead_k):
    torch.manual_seed(0)
    q = torch.randn(*lead_q, 5, 8)
    k, v = torch.randn(*lead_k, 7, 8), torch.randn(*lead_k, 7, 6)
    allowed = torch.rand(5, 7) > 0.3
    out, seen = explicit(q, k, v, mask=allowed)
    torch.testing.assert_close(attention(q, k, v, mask=allowed), out)
    assert out.shape[-2:] == (5, 6)
    assert seen.shape[:-2] == out.shape[:-2]
    if lead_q == lead_k:
        last = (x.reshape(-1, *x.shape[-2:])[-1] for x in (q, k, v))
        one = attention(*last, mask=allowed)
        torch.testing.assert_close(out.reshape(-1, 5, 6)[-1], one)


def test_a_mask_for_each_window_serves_the_whole_batch():
    torch.manual_seed(0)
    mask = masks.shifted_window(4, 6, 2)  # 6 windows of 4 cells
    q, k, v = (torch.randn(3, 6, 2, 4, 5) for _ in range(3))  # (B, windows, H, cells, D)
    out, seen = explicit(q, k, v, mask=mask)
    torch.testing.assert_close(attention(q, k, v, mask=mask), out)
    blocked = ~mask.dense().expand(6, 2, 4, 4)
    assert blocked.any()
    assert (seen[:, blocked] == 0).all()


def test_no_keys_at_all_give_zeros():
    q, k, v = torch.randn(2, 3, 4, 8), torch.randn(2, 3, 0, 8), torch.randn(2, 3, 0, 8)
    assert torch.equal(attention(q, k, v), torch.zeros(2, 3, 4, 8))
    assert torch.equal(explicit(q, k, v)[0], torch.zeros(2, 3, 4, 8))


# Rows with nothing to attend to


@pytest.mark.parametrize("way", ["fused", "explicit"])
@pytest.mark.parametrize("forbids", ["mask", "bias", "causal"])
def test_empty_rows_give_zeros_forwards_and_backwards(way, forbids):
    q, k, v = (x.requires_grad_() for x in inputs(7, 4, 3, torch.float32))
    options = {"causal": True} if forbids == "causal" else {}
    row = 0  # with causal, 7 queries and 4 keys: queries 0, 1, 2 see nothing
    if forbids == "mask":
        options["mask"] = torch.ones(7, 4, dtype=torch.bool)
        options["mask"][row] = False
    if forbids == "bias":
        bias = torch.zeros(7, 4)
        bias[row] = -torch.inf
        options["bias"] = bias.requires_grad_()
    out = attention(q, k, v, **options) if way == "fused" else explicit(q, k, v, **options)[0]
    assert (out[:, :, row] == 0).all()
    assert (out[:, :, -1] != 0).any()
    assert (weights(q, k, **options)[:, :, row] == 0).all()
    (out.square().sum() + out.sum()).backward()
    for x in (q, k, v, options.get("bias", q)):
        assert x.grad.isfinite().all()
    assert (q.grad[:, :, row] == 0).all()
    assert (q.grad[:, :, -1] != 0).any()


# Gradients


@pytest.mark.parametrize("way", ["fused", "explicit"])
@pytest.mark.parametrize("off_by_one", [False, True])
def test_gradients_by_finite_differences(way, off_by_one):
    torch.manual_seed(0)
    q = torch.randn(1, 2, 3, 4, dtype=torch.float64, requires_grad=True)
    k = torch.randn(1, 1, 5, 4, dtype=torch.float64, requires_grad=True)
    v = torch.randn(1, 1, 5, 2, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(3, 5) > 0.4
    mask[1] = False
    options = {"mask": mask, "temperature": 0.7, "off_by_one": off_by_one}

    def run(q, k, v, bias):
        if way == "fused":
            return attention(q, k, v, bias=bias, **options)
        return explicit(q, k, v, bias=bias, **options)[0]

    assert torch.autograd.gradcheck(run, (q, k, v, bias))
    assert torch.autograd.gradcheck(lambda q, k, v: attention(q, k, v, causal=True), (q, k, v))


@pytest.mark.parametrize("score", [Bilinear(4, 3), Additive(4, 3, 6)], ids=["bilinear", "additive"])
def test_gradients_of_other_scores(score):
    torch.manual_seed(0)
    score = score.double()
    q = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    k = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    v = torch.randn(2, 5, 2, dtype=torch.float64, requires_grad=True)
    mask = masks.causal(3, 5)
    run = lambda q, k, v: attention(q, k, v, score=score, mask=mask)  # noqa: E731
    assert torch.autograd.gradcheck(run, (q, k, v))


# Properties


@settings(max_examples=40, deadline=None)
@given(
    shape=st.tuples(*[st.integers(1, 4)] * 2, *[st.integers(1, 6)] * 3),
    temperature=st.floats(0.05, 20.0),
    off_by_one=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_weights_are_a_distribution_where_allowed(shape, temperature, off_by_one, seed):
    batch, heads, length, keys, width = shape
    torch.manual_seed(seed)
    q = 5 * torch.randn(batch, heads, length, width, dtype=torch.float64)
    k = torch.randn(batch, heads, keys, width, dtype=torch.float64)
    mask = torch.rand(batch, 1, length, keys) > 0.5
    w = weights(q, k, mask=mask, temperature=temperature, off_by_one=off_by_one)
    assert (w >= 0).all()
    assert (w[~mask.expand_as(w)] == 0).all()
    total, seeing = w.sum(-1), mask.any(-1).expand(batch, heads, length)
    assert (total[~seeing] == 0).all()
    if off_by_one:
        assert (total < 1 + 1e-12).all()
    else:
        torch.testing.assert_close(total[seeing], torch.ones_like(total[seeing]))


def torchs_own(q, k, v, mask, bias, causal, temperature, off_by_one):
    """F.scaled_dot_product_attention, told the same in its own words: everything as one bias.

    Off by one: another key of zeros, which scores 0, with a value of zeros.
    """
    length, keys = q.shape[-2], k.shape[-2]
    allowed = torch.ones(length, keys, dtype=torch.bool)
    if causal:  # torch's own is aligned at the upper left
        allowed = allowed.tril(keys - length)
    if mask is not None:
        allowed = allowed & mask
    extra = torch.zeros((), dtype=q.dtype) if bias is None else bias
    extra = torch.where(allowed, extra, -torch.inf)
    if off_by_one:
        k, v = (torch.cat([x, torch.zeros_like(x[..., :1, :])], -2) for x in (k, v))
        extra = F.pad(extra, (0, 1))
    scale = 1 / (q.shape[-1] ** 0.5 * temperature)
    out = F.scaled_dot_product_attention(q, k, v, extra, scale=scale, enable_gqa=True)
    if off_by_one:
        return out
    # What torch says about a row without keys depends on its kernel; we say zeros.
    return torch.where(allowed.any(-1, keepdim=True), out, 0.0)


@settings(max_examples=100, deadline=None)
@given(
    lengths=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    groups=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    dtype=st.sampled_from(list(TOLERANCE)),
    masked=st.booleans(),
    biased=st.booleans(),
    causal=st.booleans(),
    temperature=st.floats(0.3, 3.0),
    off_by_one=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_explicit_and_fused_are_torchs_own(
    lengths, groups, dtype, masked, biased, causal, temperature, off_by_one, seed
):
    """Each switch is thrown on its own, so that none hides behind another."""
    (length, keys), (kv_heads, share) = lengths, groups
    heads = kv_heads * share
    torch.manual_seed(seed)
    q = torch.randn(B, heads, length, D, dtype=dtype)
    k = torch.randn(B, kv_heads, keys, D, dtype=dtype)
    v = torch.randn(B, kv_heads, keys, DV, dtype=dtype)
    mask = torch.rand(B, 1, length, keys) > 0.3 if masked else None
    bias = torch.randn(heads, length, keys, dtype=dtype) if biased else None
    options = dict(
        mask=mask, bias=bias, causal=causal, temperature=temperature, off_by_one=off_by_one
    )
    theirs = torchs_own(q, k, v, **options)
    torch.testing.assert_close(attention(q, k, v, **options), theirs, **TOLERANCE[dtype])
    torch.testing.assert_close(explicit(q, k, v, **options)[0], theirs, **TOLERANCE[dtype])


@settings(max_examples=25, deadline=None)
@given(order=st.permutations(range(6)), seed=st.integers(0, 2**16))
def test_the_order_of_keys_does_not_matter(order, seed):
    torch.manual_seed(seed)
    q, k, v = torch.randn(3, 4, 8), torch.randn(3, 6, 8), torch.randn(3, 6, 5)
    torch.testing.assert_close(attention(q, k, v), attention(q, k[:, order], v[:, order]))


def test_temperature_and_scale_multiply():
    q, k, _ = inputs(4, 7, 6, torch.float64)
    torch.testing.assert_close(weights(q, k, temperature=2.0), weights(q, k, scale=D**-0.5 / 2))
    cold, hot = weights(q, k, temperature=0.01), weights(q, k, temperature=1000.0)
    assert (cold.max(-1).values > 0.9).double().mean() > 0.9
    torch.testing.assert_close(hot, torch.full_like(hot, 1 / 7), rtol=0, atol=5e-3)


def test_softmax_is_torchs_and_stable():
    scores = torch.tensor([[1000.0, 999.0, -1000.0], [-1000.0, -1001.0, -1002.0]])
    torch.testing.assert_close(softmax(scores), torch.softmax(scores, -1))
    one = softmax(scores, off_by_one=True)
    torch.testing.assert_close(one[0], torch.softmax(scores[0], -1))  # 1 is nothing beside e¹⁰⁰⁰
    torch.testing.assert_close(one[1], torch.zeros(3))  # and everything beside e⁻¹⁰⁰⁰
    x = torch.tensor([0.3, -0.2, 1.0])
    torch.testing.assert_close(softmax(x, off_by_one=True), x.exp() / (1 + x.exp().sum()))


def test_dropout_drops_weights_and_keeps_their_mean():
    torch.manual_seed(0)
    q, k = torch.randn(2, 3, 40, 8), torch.randn(2, 3, 50, 8)
    v = torch.ones(2, 3, 50, 4)
    out = attention(q, k, v, dropout=0.5)
    assert out.std() > 0.05
    assert abs(out.mean() - 1) < 0.05
    assert torch.equal(attention(q, k, v, dropout=0.0), attention(q, k, v))


def test_autocast_mixes_dtypes():
    q, k, v = inputs(4, 7, 3, torch.float32)
    bias = some_bias("finite", 4, 7, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        fused = attention(q, k.bfloat16(), v, bias=bias)
        out, _ = explicit(q, k.bfloat16(), v, bias=bias)
    torch.testing.assert_close(fused.float(), out.float(), rtol=3e-2, atol=3e-2)


def test_autocast_leaves_float64_alone_and_so_do_we():
    q, k, v = inputs(4, 7, 3, torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        with pytest.raises(TypeError, match=r"k has dtype float64 and q has float32"):
            attention(q, k.double(), v)
        with pytest.raises(TypeError, match=r"bias has dtype float64 and q has float32"):
            attention(q, k, v, bias=torch.zeros(4, 7, dtype=torch.float64))


@pytest.mark.parametrize(("heads", "kv_heads"), [(0, 0), (1, 0), (0, 1)])
def test_nothing_in_gives_nothing_out(heads, kv_heads):
    q, k = torch.randn(2, heads, 4, 8), torch.randn(2, kv_heads, 7, 8)
    out, seen = explicit(q, k, k)
    assert out.shape == attention(q, k, k).shape == (2, 0, 4, 8)
    assert seen.shape == (2, 0, 4, 7)
    assert explicit(q[:1], k[:0], k[:0])[0].shape == (0, 0, 4, 8)  # a batch of one meets none
    assert attention(q[:1], k[:0], k[:0]).shape == (0, 0, 4, 8)


def test_an_endless_temperature_gives_the_plain_mean():
    q, k, v = inputs(4, 7, 6, torch.float32)
    mean = v.mean(-2, keepdim=True).expand(B, H, 4, DV)
    torch.testing.assert_close(attention(q, k, v, temperature=float("inf")), mean)


def test_compiles_into_one_graph():
    q, k, v = inputs(5, 5, 3, torch.float32)
    compiled = torch.compile(
        lambda q, k, v: attention(q, k, v, causal=True), backend="eager", fullgraph=True
    )
    torch.testing.assert_close(compiled(q, k, v), attention(q, k, v, causal=True))


# One clear sentence for each mistake

good = dict(q=torch.randn(2, 6, 4, 8), k=torch.randn(2, 3, 7, 8), v=torch.randn(2, 3, 7, 5))
MISTAKES = {
    "no values": ({"v": None}, TypeError, "v is None.*pass one"),
    "no width": ({"q": good["q"][..., :0], "k": good["k"][..., :0]}, ValueError, "1 or more"),
    "no heads of k": (
        {"k": torch.ones(2, 0, 7, 8), "v": torch.ones(2, 0, 7, 5)},
        ValueError,
        r"k has \(2, 0, 7, 8\), which differ in axis -3",
    ),
    "no heads of q": (
        {"q": torch.ones(2, 0, 4, 8)},
        ValueError,
        r"q has shape \(2, 0, 4, 8\).*differ in axis -3",
    ),
    "list": ({"q": [[1.0, 2.0]]}, TypeError, "q is a list.*torch.as_tensor"),
    "integers": ({"k": torch.ones(2, 3, 7, 8).long()}, TypeError, r"k has dtype int64.*k\.float"),
    "vector": ({"q": torch.randn(8)}, ValueError, r"q has shape \(8,\).*\(length, width\)"),
    "dtypes": ({"v": good["v"].double()}, TypeError, r"v has dtype float64 and q has float32"),
    "axes": ({"k": torch.randn(3, 7, 8)}, ValueError, r"k has shape \(3, 7, 8\).*number of axes"),
    "device": ({"k": good["k"].to("meta")}, ValueError, r"k is on meta and q is on cpu.*k\.to"),
    "widths": ({"k": torch.randn(2, 3, 7, 9)}, ValueError, r"equal widths.*Bilinear"),
    "values": ({"v": torch.randn(2, 3, 6, 5)}, ValueError, "every key needs one value"),
    "value heads": ({"v": torch.randn(2, 6, 7, 5)}, ValueError, "every key needs one value"),
    "heads": (
        {"k": torch.randn(2, 4, 7, 8), "v": torch.randn(2, 4, 7, 5)},
        ValueError,
        "6 heads of q cannot share 4 heads of k evenly.*divides 6",
    ),
    "batch": (
        {"k": torch.randn(3, 3, 7, 8), "v": torch.randn(3, 3, 7, 5)},
        ValueError,
        r"q has shape \(2, 6, 4, 8\) and k has \(3, 3, 7, 8\), which differ in axis -4",
    ),
    "batch, no heads": (  # must not pass for grouped queries
        {"q": torch.randn(4, 3, 8), "k": torch.randn(2, 7, 8), "v": torch.randn(2, 7, 5)},
        ValueError,
        "differ in axis -3",
    ),
    "frozen": ({"temperature": 0.0}, ValueError, "temperature is 0.0.*above 0"),
    "negative": ({"temperature": -1}, ValueError, "temperature is -1.*above 0"),
    "nan": ({"temperature": float("nan")}, ValueError, "temperature is nan.*above 0"),
    "learned": ({"temperature": torch.ones(())}, TypeError, "temperature is a tensor.*divide q by"),
    "scale": ({"scale": torch.ones(6, 1, 1)}, TypeError, "scale is a tensor.*multiply q by"),
    "dropout": ({"dropout": 1.5}, ValueError, "dropout is 1.5.*probability"),
    "temperature text": ({"temperature": "1"}, TypeError, "temperature is a str.*plain number"),
    "no temperature": ({"temperature": None}, TypeError, "temperature is None.*plain number"),
    "temperatures": ({"temperature": [1]}, TypeError, "temperature is a list.*plain number"),
    "nearly frozen": ({"temperature": 1e-40}, ValueError, "temperature is 1e-40.*fit into float32"),
    "scale text": ({"scale": "1"}, TypeError, "scale is a str.*plain number"),
    "scale complex": ({"scale": 1j}, TypeError, "scale is a complex.*plain number"),
    "scale inf": ({"scale": float("inf")}, ValueError, "scale is inf.*fit into float32"),
    "scale nan": ({"scale": float("nan")}, ValueError, "scale is nan.*fit into float32"),
    "dropout text": ({"dropout": "a"}, TypeError, "dropout is a str.*plain number"),
    "dropout tensor": ({"dropout": torch.ones(())}, TypeError, "dropout is a tensor.*: use drop"),
    "causal mask": ({"causal": torch.ones(4, 7).bool()}, TypeError, "causal is a Tensor.*mask="),
    "causal Mask": ({"causal": masks.causal(4, 7)}, TypeError, "causal is a Mask.*mask="),
    "mask list": ({"mask": [[True]]}, TypeError, "mask is a list.*torch.bool"),
    "mask 0/1": ({"mask": torch.ones(4, 7).int()}, TypeError, "dtype int32.*mask.bool"),
    "mask −inf": ({"mask": torch.zeros(4, 7)}, TypeError, "mask has dtype float32.*as bias="),
    "mask shape": (
        {"mask": torch.ones(7, 4).bool()},
        ValueError,
        r"mask has shape \(7, 4\).*broadcast to the scores \(2, 6, 4, 7\)",
    ),
    "mask too big": ({"mask": torch.ones(3, 2, 6, 4, 7).bool()}, ValueError, "mask has shape"),
    "Mask shape": ({"mask": masks.causal(7, 4)}, ValueError, r"mask has shape \(7, 4\)"),
    "mask device": ({"mask": torch.ones(4, 7, device="meta").bool()}, ValueError, "mask is on"),
    "bias list": ({"bias": [0.0]}, TypeError, "bias is a list"),
    "bias bool": ({"bias": torch.ones(4, 7).bool()}, TypeError, "bias has dtype bool.*mask="),
    "bias dtype": ({"bias": torch.ones(4, 7).double()}, TypeError, "dtype float64.*bias.to"),
    "bias shape": ({"bias": torch.ones(3, 4, 7)}, ValueError, r"bias has shape \(3, 4, 7\)"),
    "bias device": ({"bias": torch.ones(4, 7, device="meta")}, ValueError, "bias is on meta"),
    "score": (
        {"score": lambda q, k: k @ q.transpose(-2, -1)},
        ValueError,
        r"score <lambda> returned shape \(2, 6, 7, 4\), but \(2, 6, 4, 7\) is expected",
    ),
    "no score": ({"score": None}, TypeError, r"score is None.*attnlab\.scores, such as dot"),
    "score text": ({"score": "dot"}, TypeError, r"score is a str.*attnlab\.scores, such as dot"),
    "score of nothing": (
        {"score": lambda q, k: None},
        TypeError,
        r"score <lambda> returned None, but a tensor of shape \(2, 6, 4, 7\) is expected",
    ),
    "score widths": (
        {"score": Bilinear(5, 8)},
        ValueError,
        r"widths \(8, 8\), but this Bilinear was made for \(5, 8\).*query_width=8, key_width=8",
    ),
    "score key width": ({"score": Additive(8, 5, 3)}, ValueError, r"this Additive.*\(8, 5\)"),
    "score dtype": ({"score": Bilinear(8, 8).double()}, TypeError, "this Bilinear has float64"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_one_clear_sentence(name):
    change, kind, words = MISTAKES[name]
    arguments = {**good, **change}
    q, k, v = (arguments.pop(letter) for letter in "qkv")
    with pytest.raises(kind, match=words) as caught:
        attention(q, k, v, **arguments)
    one_sentence(str(caught.value))
    if "v" not in change and "dropout" not in change:  # weights() says the same
        with pytest.raises(kind, match=words):
            weights(q, k, **arguments)


def one_sentence(message):
    assert message.endswith(".")
    assert ". " not in message
    assert "\n" not in message
    assert len(message) < 260, message
