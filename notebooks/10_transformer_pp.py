# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 10
#     title: Transformer++
#     minutes: 150
#     summary: "Ten upgrades lead from the model of 2017 to today's. Each one derived, built in a few lines, measured, and kept as a switch of one config, which then runs a published Llama word for word."
# ---

# %% [markdown]
# # 10 · Transformer++
#
# The Transformer of 2017 has ten parts for which there is something newer, most of it a few lines long. Here is the block with the new parts; the small print says what stood there in 2017. **Which of the ten would you bet on?**

# %% tags=["setup"]
import json
import math
import os
import textwrap
import time
import warnings

os.environ.setdefault("TRITON_INTERPRET", "1")  # GPU kernels on a CPU

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import (
    create_block_mask,
    flex_attention,
)

from attnlab import assets, figures
from attnlab.attention import attention
from attnlab.checks import check
from attnlab.data import shakespeare
from attnlab.device import seconds, stopwatch
from attnlab.kernels import online_attention
from attnlab.kernels.block import in_triton, tl
from attnlab.layers.cache import cache_bytes
from attnlab.layers.feed_forward import GatedFeedForward
from attnlab.layers.heads import split
from attnlab.layers.norms import RMSNorm
from attnlab.masks import causal, padding, window
from attnlab.models.llama import to_halves
from attnlab.models.modern import SWITCHES, Config, LanguageModel
from attnlab.models.published import DINOV2_CONFIG, MINILM_CONFIG
from attnlab.models.stories import stories15m
from attnlab.record import record
from attnlab.reproducible import seed
from attnlab.training.pretrain import Plan, train
from attnlab.widgets import (
    KVCacheCalculator,
    LadderExplorer,
    OnlineSoftmax,
    Quiz,
    StoryTeller,
)
from attnlab.widgets.diagram import Arrow, Box, Diagram, Group, Op, Step, Text

figures.use_style()
torch.set_num_threads(1)
torch.set_printoptions(precision=3, sci_mode=False)

# %% tags=["plumbing"]
hero_parts = [
    Box("words", at=(0, 1), colour="embedding"),
    Box("norm", at=(1, 1), colour="norm"),
    Box("pre", "pre-norm", detail="was: after", at=(1, 0)),
    Box("rms", "RMSNorm", detail="was: Layer", at=(1, 2)),
    Box("qk", "Q, K", at=(2, 1), colour="query"),
    Box("rope", "RoPE", detail="was: waves", at=(2, 0)),
    Box("qknorm", "QK-norm", detail="was: none", at=(2, 2)),
    Box("kv", "K, V kept", at=(3, 1), colour="key"),
    Box("gqa", "GQA", detail="was: MHA", at=(3, 2)),
    Box("soft", "attention", at=(4, 1), colour="attention"),
    Box("fused", "fused", detail="was: no", at=(4, 0)),
    Box("off", "off by 1", detail="was: sum 1", at=(4, 2)),
    Box("net", "network", at=(5, 1), colour="feed forward"),
    Box("swiglu", "SwiGLU", detail="was: ReLU", at=(5, 0)),
    Box("soap", "SOAP", detail="was: Adam", at=(5, 2)),
    Box("out", "next", at=(6, 1), colour="embedding"),
    Box("tied", "tied", detail="was: two", at=(6, 0)),
]
hero_steps = [
    (
        "The coloured boxes have stayed since 2017. Around them: ten switches.",
        [],
    ),
    (
        "1 · Fused attention: the same numbers, but the table of weights is never written down.",
        ["fused", "soft"],
    ),
    (
        "2 · RoPE: queries and keys are turned by their place; nothing is added to the words.",
        ["rope", "qk"],
    ),
    (
        "3 · GQA: several heads of queries share one head of keys and values, so the cache shrinks.",
        ["gqa", "kv"],
    ),
    (
        "4 · SOAP: Adam, along axes of the gradient's own.",
        ["soap", "net"],
    ),
    (
        "5 · Pre-norm: normalise what a sublayer reads; the sum runs through untouched.",
        ["pre", "norm"],
    ),
    (
        "6 · RMSNorm: set the length of a vector, leave its mean alone.",
        ["rms", "norm"],
    ),
    (
        "7 · SwiGLU: one half of the network decides how much of the other half passes.",
        ["swiglu", "net"],
    ),
    (
        "8 · Tied embeddings: one table reads words and writes them.",
        ["tied", "out", "words"],
    ),
    (
        "9 · QK-norm: queries and keys get a set length, so scores stay in bounds.",
        ["qknorm", "qk"],
    ),
    (
        "10 · Softmax off by one: a head may look at nothing.",
        ["off", "soft"],
    ),
]


def block_of_today(step=0, **traits):
    """The block, with one switch lit per step."""
    switches = ("pre", "rms", "rope", "qknorm", "fused", "off")
    arrows = ["words -> norm -> qk -> kv -> soft -> net -> out"]
    arrows += [
        Arrow(one, to, head=False, dashed=True)
        for to, them in {
            "norm": switches[:2],
            "qk": switches[2:4],
            "soft": switches[4:],
            "net": ("swiglu", "soap"),
            "out": ("tied",),
            "kv": ("gqa",),
        }.items()
        for one in them
    ]
    return Diagram(
        hero_parts,
        arrows,
        [],
        [Step(text, lit) for text, lit in hero_steps],
        step=step,
        gap=(8, 34),
        **traits,
    )


# %% tags=["hide-input"]
block_of_today(title="One block, ten switches")

# %% [markdown]
# At the end you can
#
# - compute a softmax without ever seeing all its scores, and say why that makes attention fast;
# - say what a KV cache weighs before you buy the memory, and what GQA saves;
# - build each of the ten upgrades in a few lines, and say what it is for;
# - measure whether an upgrade pays, and be honest when it does not;
# - run a published Llama on blocks you understand, to the last token.
#
# The ten follow a list by Gavin Leech ([gleech.org/tplus](https://gleech.org/tplus)). Few models have all ten: the Llama of part 5 has no QK-norm, for instance, and an ordinary softmax.

# %% [markdown] tags=["slide", "slides-only"]
# # Transformer++
#
# attnlab · chapter 10
#
# Ten upgrades, one config, one published model.

# %% [markdown] tags=["notes"]
# 60 minutes: the race (5), softmax in one pass and why fused is fast (15), the KV cache and GQA (10), the small parts (10), the ladder (12), the storyteller (5), quiz (3). Ask for bets on the ten switches at the start and come back to them at the ladder.

# %% [markdown]
# ## 1 · The question
#
# Two decoders read Shakespeare letter by letter: the model of 2017 and one with all ten switches, on the same batches, each with the learning rate that was best for its optimiser in a sweep (part 5). The new one is a tenth smaller, because it shares keys and tables. **Guess:** after what share of the steps has today's model caught up with the *final* loss of the old one?

# %% tags=["plumbing"]
LETTERS = len(shakespeare.vocabulary())
SIZES = dict(words=LETTERS, width=64, heads=4, layers=3, bias=True)
held_out = shakespeare.held_out(64, count=64)


def learn(config, steps=160, lr=8e-3, number=0, **plan):
    """Train one small model; the model and its log."""
    seed(number)
    model = LanguageModel(config)
    plan = dict(interval=20, seed=number) | plan
    log = train(
        model,
        Plan(steps=steps, lr=lr, **plan),
        evaluate=lambda m: float(m.loss(held_out)),
    )
    return model, log


# %% tags=["hide-input", "nbval-ignore-output"]
old, today = Config.vanilla_2017(**SIZES), Config.plus_plus(**SIZES)
plans = {
    "2017": (old, dict(lr=8e-3)),
    "Transformer++": (today, dict(lr=16e-3, decay=0.1)),
}
race = {
    name: [learn(config, number=n, **plan) for n in range(3)]
    for name, (config, plan) in plans.items()
}
marks = [entry["step"] for entry in race["2017"][0][1].entries]
curves = {
    name: torch.tensor([[e["valid"] for e in log.entries] for _, log in runs])
    for name, runs in race.items()
}  # (3 seeds, 8 looks) each
for name, runs in race.items():
    size = sum(p.numel() for p in runs[0][0].parameters())
    finals = " ".join(f"{loss:.2f}" for loss in curves[name][:, -1])
    print(f"{name:14} {size:,} numbers, final losses {finals}")
caught = [
    next(s for s, v in zip(marks, new) if v <= final)
    for new, final in zip(curves["Transformer++"], curves["2017"][:, -1])
]
print("caught up after", *(f"{s / 160:.0%}" for s in caught), "of the steps")

# %% tags=["held"]
assert max(caught) <= 120
assert (curves["Transformer++"] - curves["2017"])[:, -1].max() < -0.05

# %% [markdown] tags=["slide", "slides-only"]
# ## Today's model is there well before the end

# %% tags=["fragment", "hide-input"]
fig, ax = plt.subplots(figsize=(7, 3.6))
for (name, seen), line in zip(curves.items(), ("-", "--")):
    (drawn,) = ax.plot(marks, seen.mean(0), line, marker="o", label=name)
    ax.fill_between(
        marks, seen.amin(0), seen.amax(0), alpha=0.25, color=drawn.get_color()
    )
ax.axhline(curves["2017"][:, -1].mean(), color="grey", lw=1, ls=":")
ax.set(
    xlabel="steps",
    ylabel="held-out loss (nats)",
    title="The race: mean and range of three seeds",
)
ax.legend()
figures.show(
    fig,
    alt="Held-out loss of the model of 2017 and of Transformer++ over 160 steps, mean and range of three seeds; the new model ends lower, and crosses the old one's final loss well before the end.",
    caption="Where does the dashed curve cross the dotted line, the old model's last loss?",
)

# %% [markdown]
# One race of 160 steps. Part 5 has longer ones, each upgrade alone, and the clock. First the parts, and the best of them first: the one that changes *nothing* in the result.

# %% [markdown] tags=["slide", "slides-only"]
# ## Which of the ten would you bet on?

# %% tags=["fragment", "slides-only", "hide-input"]
block_of_today()

# %% [markdown]
# ## 2 · By hand: softmax in one pass
#
# Softmax seems to need all scores at once: first their maximum, then their sum, then the weights. So a table of $L \times S$ weights is written to memory, read again, and thrown away. **Can you do it while the keys come in, a few at a time?**
#
# Keep three numbers for each query: the largest score so far $m$, the sum $\ell$ of $e^{s - m}$, and the weighted sum $a$ of the values. When a block brings a larger maximum $m'$, what is there was computed relative to the old one. Shrink it, and go on
# ([Milakov and Gimelshein 2018](https://arxiv.org/abs/1805.02867)):
#
# $$m' = \max(m, \max_j s_j), \qquad \ell' = \ell\, e^{m - m'} + \sum_j e^{s_j - m'}, \qquad a' = a\, e^{m - m'} + \sum_j e^{s_j - m'} v_j .$$
#
# | symbol | shape | in code |
# |---|---|---|
# | $s$, scores of this block | $(L, N)$ | `scores` |
# | $v$, values of this block | $(N, D)$ | `values` |
# | $m$, $\ell$ | $(L)$ each | `top`, `total` |
# | $a$ | $(L, D)$ | `mixed` |

# %% tags=["slide", "hide-input"]
OnlineSoftmax(
    [1.0, 3.0, 2.0, 0.5, 6.0, 2.5, 1.0, 4.0],
    values=[1.0, 0.0, 2.0, 5.0, 3.0, 1.0, 0.0, 4.0],
    block=2,
    title="One query, eight keys, two at a time",
    caption="Step through the blocks and watch the third: a larger score arrives, and both sums shrink. Does the result depend on the size of a block?",
)

# %% [markdown] tags=["notes"]
# Press Next block. At block three the maximum jumps from 3 to 6: exp(−3) = 0.05. Then change the keys per block: the last line stays 2.91.

# %% [markdown]
# In code, on the same eight numbers:

# %%
scores = torch.tensor([[1.0, 3.0, 2.0, 0.5, 6.0, 2.5, 1.0, 4.0]])  # (1, 8)
values = torch.tensor([[1.0, 0, 2, 5, 3, 1, 0, 4]]).mT  # (8, 1)
top, total, mixed = -math.inf, 0.0, 0.0
for start in range(0, 8, 2):
    s, v = scores[0, start : start + 2], values[start : start + 2, 0]
    higher = max(top, s.max().item())
    shrink = math.exp(top - higher)
    p = (s - higher).exp()
    total = total * shrink + p.sum().item()
    mixed = mixed * shrink + (p @ v).item()
    top = higher
    print(
        f"m {top:.1f}   l {total:.3f}   a {mixed:.3f}   shrink {shrink:.3f}"
    )
print(f"a / l              {mixed / total:.4f}")
print(f"softmax, all known {(scores.softmax(-1) @ values).item():.4f}")

# %% tags=["held"]
torch.testing.assert_close(
    torch.tensor(mixed / total), (scores.softmax(-1) @ values)[0, 0]
)

# %% [markdown]
# The library's `kernels/online_softmax.py` does this for all queries at once. Blocks of any size give what `attention` gives, causal mask included:

# %% tags=["nbval-ignore-output"]
seed(0)
q, k, v = torch.randn(3, 2, 4, 100, 16).unbind(0)  # (B, H, L, D) each
for block in (1, 7, 32, 100):
    ours = online_attention(q, k, v, block=block, causal=True)
    gap = (ours - attention(q, k, v, causal=True, fused=False)).abs().max()
    print(f"blocks of {block:3d} keys: largest difference {gap:.0e}")

# %% tags=["held"]
assert gap < 1e-5

# %% [markdown]
# ### Why more arithmetic is faster
#
# The arithmetic units of a GPU are far quicker than its memory, so what counts is **traffic**. Count the bytes that go to and from the large memory in one head, in 2-byte numbers. Written out, the table of scores is written, read, turned into weights, written, and read again. Fused, each block of 128 queries reads all keys and
# values once, and nothing else leaves the chip ([Dao et al. 2022](https://arxiv.org/abs/2205.14135)). The price is arithmetic: `mixed` is shrunk at each block, and going backwards all scores are computed a second time. (This is a count. The [GPU notebook](gpu_10_flash_attention.ipynb) takes the time.)


# %%
def traffic(n, d=64, queries=128, item=2):
    """Bytes moved and operations, forwards and backwards, one head."""
    table, rows = n * n, n * d
    explicit = dict(
        bytes=item * (4 * table + 4 * rows + 7 * table + 7 * rows),
        operations=4 * table * d + 8 * table * d + 5 * table,
    )
    walks = n / queries  # each block of queries reads every key and value
    fused = dict(
        bytes=item * 3 * (2 * rows * walks + 2 * rows),  # 1 forth, 2 back
        operations=4 * table * d
        + 10 * table * d
        + 5 * table
        + rows * n / queries,
    )
    return explicit, fused


print("    N    explicit MB    fused MB   less traffic   more arithmetic")
for n in (1024, 4096, 16384):
    a, b = traffic(n)
    less = a["bytes"] / b["bytes"]
    more = b["operations"] / a["operations"] - 1
    print(f"{n:6d} {a['bytes'] / 1e6:12.0f} {b['bytes'] / 1e6:11.0f}", end="")
    print(f" {less:12.1f} × {more:14.0%}")

# %% tags=["held"]
a, b = traffic(4096)
assert a["bytes"] > 2.5 * b["bytes"]
assert b["operations"] > a["operations"]

# %% [markdown] tags=["slide", "slides-only"]
# ## Fused: a quarter of the traffic, *more* arithmetic

# %% tags=["fragment", "hide-input"]
a, b = traffic(16384)
fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.6))
for ax, what, title in (
    (axes[0], "bytes", "Bytes moved"),
    (axes[1], "operations", "Operations"),
):
    ax.barh(
        ["fused", "written out"],
        [b[what] / a[what], 1],
        color=[figures.COLOURS["blue"], figures.COLOURS["red"]],
    )
    ax.set(title=title, xlim=(0, 1.25), xticks=[0, 0.5, 1])
axes[0].set_xlabel("share, 16,384 tokens")
figures.show(
    fig,
    alt="Two pairs of bars: fused attention moves about a quarter of the bytes of attention that is written out, and does a sixth more operations.",
    caption="Traffic falls, arithmetic grows. Which of the two does a GPU wait for?",
)

# %% [markdown]
# ### SDPA, and a kernel of our own
#
# PyTorch carries such kernels behind one function, `F.scaled_dot_product_attention`, and chooses a backend by device and inputs. On this CPU there are two; on a GPU [up to four](https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.SDPBackend.html).

# %% tags=["hide-input", "nbval-ignore-output"]
seed(0)
q, k, v = torch.randn(3, 1, 4, 512, 32).unbind(0)
exact = attention(*(x.double() for x in (q, k, v)), causal=True, fused=False)
for backend in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
    with sdpa_kernel(backend):
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    error = (out - exact).abs().max().item()
    print(f"{backend.name:16} largest error against float64: {error:.0e}")

# %% [markdown]
# The library's `kernels/flash.py` holds a FlashAttention of our own in [Triton](https://triton-lang.org), forwards and backwards, causal and with shared keys. Its inner loop is the loop above, line by line. Triton's interpreter runs it here on the CPU, slowly; the [GPU notebook](gpu_10_flash_attention.ipynb) runs it at full size beside SDPA.

# %% tags=["plumbing"]
try:
    from attnlab.kernels.flash import flash_attention
except ImportError as missing:  # Triton is for Linux alone
    print(missing)

    def flash_attention(q, k, v, causal=False):
        return attention(q, k, v, causal=causal)


# %% tags=["nbval-ignore-output"]
seed(0)
q = torch.randn(1, 4, 45, 16, requires_grad=True)  # an odd length
k, v = (torch.randn(1, 2, 45, 16, requires_grad=True) for _ in range(2))
results = []
for attend in (flash_attention, attention):
    out = attend(q, k, v, causal=True)
    grads = torch.autograd.grad(out.square().sum(), (q, k, v))
    results.append((out, *grads))
for name, ours, theirs in zip(("out", "dq", "dk", "dv"), *results):
    gap = (ours - theirs).abs().max().item()
    print(f"{name:3} {tuple(ours.shape)!s:15} largest difference {gap:.0e}")

# %% tags=["held"]
for ours, theirs in zip(*results):
    torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=1e-3)

# %% [markdown] tags=["deeper"]
# ### FlexAttention: the masks of chapter 3, fused
#
# A mask in this course is a question about indices. [FlexAttention](https://arxiv.org/abs/2412.05496) compiles exactly such questions into a fused kernel and skips blocks in which nobody may look. So our masks need no translation. (Without a GPU it runs uncompiled, for the result alone.)

# %% tags=["deeper", "nbval-ignore-output"]
q, k, v = torch.randn(3, 2, 4, 512, 16).unbind(0)
masks = {
    "causal": causal(512),
    "causal window of 64": causal(512) & window(512, 64),
    "padding after 400, 300": padding([400, 300], 512),
}
for name, mask in masks.items():
    batch = mask.shape[0] if len(mask.shape) == 4 else None
    blocks = create_block_mask(
        mask.allowed, batch, None, 512, 512, device="cpu"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it is not compiled
        flex = flex_attention(q, k, v, block_mask=blocks)
    gap = (flex - attention(q, k, v, mask=mask)).abs().max().item()
    print(
        f"{name:24} {blocks.sparsity():4.0f} % of blocks skipped, differs by {gap:.0e}"
    )

# %% [markdown] tags=["deeper"]
# ### torch.compile: fusing without writing a kernel
#
# The same idea, done by a compiler ([Ansel et al. 2024](https://doi.org/10.1145/3620665.3640366)). Line by line, a norm and a gate write every intermediate result to memory and read it again. `torch.compile` turns them into one loop. **Guess:** is that worth as much for 64 tokens as for 4,096?


# %% tags=["deeper", "nbval-ignore-output"]
def norm_and_gate(x, gate):
    """(L, E), (L, E) -> (L, E): one pass over memory for each operation."""
    length = (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    return F.silu(gate) * (x / length)


def fastest(function, *given, rounds=12):
    """Milliseconds of this process, best of some rounds."""
    return 1000 * seconds(lambda: function(*given), rounds, time.process_time)


compiled = torch.compile(norm_and_gate, dynamic=True)
for rows in (64, 512, 4096):
    x, gate = torch.randn(2, rows, 1024).unbind(0)  # (L, E) each
    try:
        gap = (compiled(x, gate) - norm_and_gate(x, gate)).abs().max()
    except Exception as why:  # no C++ compiler on this machine
        print("torch.compile does not run here:", type(why).__name__)
        break
    slow, fast = (fastest(f, x, gate) for f in (norm_and_gate, compiled))
    print(
        f"{rows:4} tokens: {slow:5.2f} ms → {fast:4.2f} ms, differs by {gap:.0e}"
    )

# %% [markdown] tags=["deeper"]
# 64 tokens are a quarter of a megabyte, which a processor keeps close by; 4,096 are 16 MB. The price is the first call, which compiles for seconds. On whole models: the switch `compile` of `Plan`, in the [notebook on scale](gpu_10_scale_out.ipynb).

# %% [markdown]
# ## 3 · Live: what a cache weighs
#
# A decoder writes one token at a time. The keys and values of all earlier tokens do not change, so it keeps them: the **KV cache** of chapter 6. Its size is a product, and while the model writes, it is what keeps growing:
#
# $$\text{bytes} = \underbrace{2}_{K,\ V} \cdot \text{layers} \cdot \text{kv heads} \cdot D \cdot \text{context} \cdot \text{batch} \cdot \text{bytes per number}.$$
#
# **Guess:** Llama 2 of 70 billion numbers fills 140 GB in float16. What does its cache fill for 16 texts of 4,096 tokens? And if it had not shared its keys?

# %% tags=["slide", "hide-input"]
KVCacheCalculator(
    "Llama 2 70B",
    batch=16,
    title="The KV cache of published models",
    caption="Choose a model, then drag its context to a million tokens. Which factor would you save on first?",
)

# %% [markdown] tags=["notes"]
# 160 GiB without sharing, 20 with. Then GPT-3 (no sharing), PaLM (multi-query), and Llama 3.1 405B at 131,072 tokens.

# %% [markdown]
# One factor to save on is the number of heads. In **multi-query** attention all heads of queries share one head of keys and values ([Shazeer 2019](https://arxiv.org/abs/1911.02150)); in **grouped-query** attention a group of them does ([Ainslie et al. 2023](https://arxiv.org/abs/2305.13245)).


# %% tags=["plumbing"]
def sharing(heads=4):
    """Three ways in which four heads of queries find keys and values."""
    parts, arrows, groups = [], [], []
    ways = (("multi-head", 4), ("grouped-query", 2), ("multi-query", 1))
    for way, (name, kv) in enumerate(ways):
        members = []
        for h in range(heads):
            query = f"q{way}{h}"
            parts.append(
                Box(query, f"q_{h}", at=(way * 5 + h, 1), colour="query")
            )
            arrows.append(f"{query} -> k{way}{h * kv // heads}")
            members.append(query)
        for g in range(kv):
            middle = way * 5 + (g + 0.5) * heads / kv - 0.5
            parts.append(
                Box(
                    f"k{way}{g}",
                    f"k, v_{g}",
                    detail="cached",
                    at=(middle, 0),
                    colour="key",
                )
            )
            members.append(f"k{way}{g}")
        groups.append(Group(name, members, f"{name}: {kv} of {heads}"))
    lit = [list(group.parts) for group in groups]
    steps = [
        Step("2017: every head has keys and values of its own.", lit[0]),
        Step(
            "Heads next to each other share: 0 0 1 1. The cache is halved.",
            lit[1],
        ),
        Step("One head of keys and values for all: a quarter.", lit[2]),
    ]
    places = {}
    for way in range(3):
        for part in parts:
            if part.name[1] == str(way):
                places[part.name] = (
                    part.at[0] - way * 5,
                    part.at[1] + way * 2,
                )
    return Diagram(
        parts, arrows, groups, steps, tall=places, gap=(18, 46),
        title="Who shares with whom",
    )  # fmt: skip


# %% tags=["hide-input"]
sharing()

# %% [markdown]
# In code it is one `repeat_interleave`, and PyTorch's kernel knows it as `enable_gqa`:

# %% tags=["nbval-ignore-output"]
seed(0)
q = torch.randn(2, 8, 10, 16)  # (B, H, L, D)
k, v = torch.randn(2, 2, 2, 10, 16).unbind(0)  # 2 heads for 8
shared = [x.repeat_interleave(4, dim=1) for x in (k, v)]  # 0 0 0 0 1 1 1 1
by_hand = attention(q, *shared, causal=True)
kernel = F.scaled_dot_product_attention(
    q, k, v, is_causal=True, enable_gqa=True
)
print(f"largest difference {(by_hand - kernel).abs().max().item():.0e}")
print(
    f"keys in the cache: {k.numel()} numbers instead of {shared[0].numel()}"
)

# %% tags=["held"]
torch.testing.assert_close(by_hand, kernel)

# %% [markdown]
# ### Sizes and speed, measured
#
# A real cache, of a published model that the course carries (part 5): is it as large as the formula says? And what does it buy? We let the model write 64 tokens, once with its cache and once by reading everything again for each token.


# %% tags=["nbval-ignore-output"]
teller = stories15m()
model, sizes = teller.model, teller.model.config
opening = teller.numbers("Once upon a time")  # (1, L)
state = model.start(opening)
held = sum(x.numel() * x.element_size() for pair in state.past for x in pair)
formula = cache_bytes(
    layers=sizes.layers, kv_heads=sizes.kv_heads,
    head_width=sizes.width // sizes.heads, context=opening.shape[1],
)  # fmt: skip
print(f"{opening.shape[1]} tokens: {held:,} bytes, formula {formula:,}")

spent = stopwatch(time.perf_counter)
cached = teller.continue_("Once upon a time", length=64)
with_cache = spent()
spent, tokens = stopwatch(time.perf_counter), opening
for _ in range(64):
    tokens = torch.cat([tokens, model(tokens)[:, -1:].argmax(-1)], 1)
anew = spent()
same = cached == tokens[0, opening.shape[1] :].tolist()
print(f"the same 64 tokens: {same}; {anew / with_cache:.1f} × faster")

# %% tags=["held"]
assert held == formula
assert same
assert anew > 1.5 * with_cache

# %% [markdown]
# The gap grows with the text: anew costs $1 + 2 + \dots + n$ tokens, cached $n$. At 256 tokens it is more than five times (`python benchmarks/modern.py`).
#
# ### A million tokens
#
# What would bring a context of a million tokens within reach? Savings that multiply. Start from a model of Llama 3's size (32 layers, 32 heads of width 128) and apply them one after the other:

# %%
ONE = dict(layers=32, kv_heads=32, head_width=128, context=10**6, item=2)
shared = ONE | dict(kv_heads=8)
int8 = shared | dict(item=1)
near = cache_bytes(**int8 | dict(layers=24, context=4096))
far = cache_bytes(**int8 | dict(layers=8))
steps = {
    "multi-head, float16": cache_bytes(**ONE),
    "GQA, 8 heads of keys for 32": cache_bytes(**shared),
    "cache kept in int8": cache_bytes(**int8),
    "windows of 4,096 in 3 of 4 layers": near + far,
    "ring attention: each of 8 devices holds": (near + far) // 8,
}
before = None
for name, size in steps.items():
    factor = f"÷ {before / size:.1f}" if before else ""
    print(f"{name:40} {size / 1e9:7.1f} GB  {factor}")
    before = size

# %% [markdown] tags=["slide", "slides-only"]
# ## A million tokens: savings multiply

# %% tags=["fragment", "hide-input"]
fig, ax = plt.subplots(figsize=(7.4, 3.2))
short = ["multi-head", "+ GQA", "+ int8", "+ windows", "+ ring of 8"]
sizes_gb = [size / 1e9 for size in steps.values()]
ax.barh(short, sizes_gb, color=figures.COLOURS["blue"])
for row, size in enumerate(sizes_gb):
    ax.text(2800, row, f"{size:.3g} GB", va="center", ha="right")
ax.axvline(80, color=figures.COLOURS["red"], ls="--", lw=1.5)
ax.text(88, 4, "one GPU of 80 GB", va="center", color=figures.COLOURS["red"])
ax.invert_yaxis()
ax.set(xscale="log", xlim=(1, 3000), title="The cache of a million tokens")
ax.set_xlabel("gigabytes, logarithmic")
figures.plain_ticks(ax.xaxis)
figures.show(
    fig,
    alt="Five bars on a logarithmic axis: the cache of a million tokens takes 524 gigabytes with multi-head attention, 131 with GQA, 66 in int8, 17 with windows in three of four layers, and 2 on each of eight devices of a ring. A line marks a GPU of 80 gigabytes.",
    caption="Each bar has all savings above it. Which is the first that fits on one GPU with nothing else on it?",
)

# %% [markdown]
# Windows: [Beltagy et al. 2020](https://arxiv.org/abs/2004.05150), chapter 9 for pictures; Mistral 7B has them, so for Mistral the calculator above counts too much. Quantised caches: [Hooper et al. 2024](https://arxiv.org/abs/2401.18079). Ring attention ([Liu et al. 2023](https://arxiv.org/abs/2310.01889)) saves nothing in all: it sends blocks of keys around a ring of devices, and each takes them in by the update of part 2. The table counts bytes; what a window or int8 costs in quality it does not say.

# %% [markdown]
# ## 4 · In the open: the other switches
#
# ### RMSNorm, and where it stands
#
# LayerNorm takes away the mean, divides by the deviation, scales and shifts. RMSNorm only sets the length ([Zhang and Sennrich 2019](https://arxiv.org/abs/1910.07467)): $\operatorname{RMSNorm}(x) = x \,/ \sqrt{\tfrac1E \sum_i x_i^2 + \varepsilon} \;\cdot w$, with $x$, $w$ of shape $(E)$.

# %%
x = torch.tensor([[1.0, 2.0, 3.0, 6.0]])
root = (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()
by_hand = x / root
print("RMSNorm by hand  ", by_hand)
print("torch's RMSNorm  ", torch.nn.RMSNorm(4, eps=1e-5)(x).detach())
print("LayerNorm        ", F.layer_norm(x, (4,)))

# %% tags=["held"]
torch.testing.assert_close(by_hand, torch.nn.RMSNorm(4, eps=1e-5)(x).detach())
torch.testing.assert_close(by_hand, RMSNorm(4)(x).detach())

# %% [markdown]
# And where does the norm stand? In 2017 it stood *after* the sum, in the way of every gradient, and training needed a slow start. *Before* each sublayer it leaves the sum alone ([Xiong et al. 2020](https://arxiv.org/abs/2002.04745)).

# %% tags=["hide-input"]
Diagram(
    [
        Text("old", "2017: post-norm", at=(0, 0)),
        Text("x", at=(1, 0)),
        Box("sub", "sublayer", at=(2, 0), colour="attention"),
        Op("add", at=(3, 0)),
        Box("norm", at=(4, 0), colour="norm"),
        Text("y", at=(5, 0)),
        Text("new", "today: pre-norm", at=(0, 1)),
        Text("x2", "x", at=(1, 1)),
        Box("norm2", "norm", at=(2, 1), colour="norm"),
        Box("sub2", "sublayer", at=(3, 1), colour="attention"),
        Op("add2", at=(4, 1)),
        Text("y2", "y", at=(5, 1)),
    ],
    [
        "x -> sub -> add -> norm -> y",
        Arrow("x", "add", via=("above", "left")),
        "x2 -> norm2 -> sub2 -> add2 -> y2",
        Arrow("x2", "add2", via=("below", "right")),
    ],
    steps=[
        Step("The way from x to y: past the sublayer, then through the norm, in every layer.", ["x", "x->add", "add", "norm", "y"]),
        Step("Before the sublayer, the norm is off that way. Nothing but sums from the first layer to the last.", ["x2", "x2->add2", "add2", "y2"]),
    ],
    tall={
        "old": (0, 0), "x": (0, 1), "sub": (0, 2), "add": (0, 3), "norm": (0, 4), "y": (0, 5),
        "new": (1, 0), "x2": (1, 1), "norm2": (1, 2), "sub2": (1, 3), "add2": (1, 4), "y2": (1, 5),
    },
    gap=(26, 30),
    title="One norm, two places",
)  # fmt: skip

# %% [markdown]
# **Guess:** four layers, a learning rate of 0.008, no clipping, 80 steps. The rate is at its full height at once, or climbs to it during half of the steps. Which of the four ways learns nothing but how frequent each letter is?

# %% tags=["hide-input", "nbval-ignore-output"]
starts = {}
for norm in ("post", "pre"):
    for warm_up in (0.0, 0.5):  # share of the steps; then the rate falls
        config = Config(**SIZES | dict(layers=4), norm=norm, positions="rope")
        plan = dict(steps=80, warm_up=warm_up, clip=None, interval=80)
        logs = [learn(config, number=n, **plan)[1] for n in range(3)]
        starts[norm, warm_up] = logs
        last_losses = [log.entries[-1]["valid"] for log in logs]
        print(
            f"{norm + '-norm':9}, warm-up {warm_up:4.0%}: three seeds", end=""
        )
        print(*(f"{loss:6.2f}" for loss in last_losses))
counts = torch.bincount(held_out.flatten(), minlength=LETTERS).float()
frequencies = torch.special.entr(counts / counts.sum()).sum()
print(f"frequencies of letters alone: {frequencies:.2f}")

# %% tags=["held"]
stuck = [log.entries[-1]["valid"] for log in starts["post", 0.0]]
for way in (("pre", 0.0), ("pre", 0.5), ("post", 0.5)):
    moved = [log.entries[-1]["valid"] for log in starts[way]]
    assert max(moved) < min(stuck) - 0.3
assert min(stuck) > 3.1

# %% [markdown]
# Is that a matter of these four layers? `training/slow_starts.py` tried four warm-ups at three depths, three seeds each, and kept every run:

# %% [markdown] tags=["slide", "slides-only"]
# ## Pre-norm learns at every depth

# %% tags=["fragment", "hide-input"]
grid = json.loads(assets.find("data/slow_starts.json").read_text("utf-8"))
fig, axes = plt.subplots(1, 3, figsize=(7.8, 3.4), sharey=True)
for ax, layers in zip(axes, (4, 6, 8)):
    for norm, line in (("post", "o-"), ("pre", "s--")):
        runs = [d for d in grid if (d["norm"], d["layers"]) == (norm, layers)]
        shares = sorted({d["warm_up"] for d in runs})
        seen = torch.tensor(
            [[d["valid"] for d in runs if d["warm_up"] == x] for x in shares]
        )  # (4 warm-ups, 3 seeds)
        (drawn,) = ax.plot(shares, seen.mean(1), line, label=f"{norm}-norm")
        ax.fill_between(
            shares, seen.amin(1), seen.amax(1), alpha=0.25, color=drawn.get_color()
        )  # fmt: skip
    ax.axhline(frequencies, color="grey", ls=":", lw=1)
    ax.set(title=f"{layers} layers", xlabel="warm-up", xticks=[0, 0.25, 0.5])
axes[0].set(ylabel="held-out loss")
axes[1].legend(loc="center")
figures.show(
    fig,
    alt="Three panels for 4, 6 and 8 layers: held-out loss after 80 steps against the share of warm-up. Pre-norm lies between 2.4 and 3.0 everywhere. Post-norm stays near the dotted line of letter frequencies, except at 4 layers with a warm-up of a quarter (two seeds of three) or a half.",
    caption="Means and ranges of three seeds; dotted: the frequencies of letters alone. Where does a slow start rescue post-norm?",
)

# %% tags=["held"]
for d in grid:
    if d["norm"] == "pre":
        assert d["valid"] < frequencies - 0.2
    elif d["layers"] > 4 or d["warm_up"] < 0.2:
        assert abs(d["valid"] - frequencies) < 0.1

# %% [markdown]
# At four layers a warm-up over half of the steps rescues post-norm, one over a quarter two seeds of three; at six and eight layers none of these does, at this rate. Pre-norm learned in all 36 of its runs, and a slow start helped it as well.
#
# ### SwiGLU
#
# A network of 2017 widens, bends and narrows. A **gated** one has two wide projections, and one decides how much of the other passes ([Shazeer 2020](https://arxiv.org/abs/2002.05202)): $\operatorname{SwiGLU}(x) = \big(\operatorname{silu}(xW_g) \odot xW_1\big) W_2$. Three matrices instead of two, so each is made two thirds as wide.

# %% tags=["nbval-ignore-output"]
seed(0)
x = torch.randn(2, 5, 12)  # (B, L, E)
net = GatedFeedForward(12, 32, "swiglu", bias=False)
gate = x @ net.gate.weight.mT  # (B, L, F)
by_hand = (
    gate * torch.sigmoid(gate) * (x @ net.wide.weight.mT)
) @ net.narrow.weight.mT
print(f"largest difference {(by_hand - net(x)).abs().max().item():.0e}")
size = sum(p.numel() for p in net.parameters())
print(f"{size} numbers; a ReLU network of 4 E has {2 * 12 * 48}")

# %% tags=["held"]
torch.testing.assert_close(by_hand, net(x))

# %% [markdown]
# ### QK-norm: scores on a leash
#
# A score is a product of two learned vectors, and nothing bounds it. Large scores saturate softmax, and then hardly a gradient comes through (chapter 3). QK-norm puts an RMSNorm on every query and key ([Henry et al. 2020](https://arxiv.org/abs/2010.04245); at scale [Dehghani et al. 2023](https://arxiv.org/abs/2302.05442)).


# %% tags=["plumbing"]
@torch.no_grad()
def largest_score(model, tokens):
    """The largest |score| in any layer."""
    x, largest = model.embed(tokens), 0.0
    for block in model.blocks:
        layer, y = block.self_attention, block.add_self.before(x)
        q = layer.rope(layer.q_norm(split(layer.query(y), layer.heads)), 0)
        k = layer.rope(layer.k_norm(split(layer.key(y), layer.kv_heads)), 0)
        score = q @ k.mT / math.sqrt(q.shape[-1])
        largest, x = max(largest, score.abs().max().item()), block(x)
    return largest


def scores_of(config, number, **plan):
    """Train, and look at the largest score every 10 steps."""
    seed(number)
    model, seen = LanguageModel(config), []

    def watch(step, model):
        if step % 10 == 0:
            seen.append(largest_score(model, held_out[:8, :-1]))

    log = train(model, Plan(seed=number, **plan), watch=watch)
    return seen, sum(log.losses[-10:]) / 10


# %% tags=["hide-input", "nbval-ignore-output"]
growth = {}
for qk_norm in (False, True):
    config = Config(
        **SIZES, norm="pre", norm_kind="rms", positions="rope", qk_norm=qk_norm
    )  # fmt: skip
    plan = dict(steps=71, lr=3e-2, clip=None)
    runs = [scores_of(config, number=n, **plan) for n in range(3)]
    growth[qk_norm] = torch.tensor([seen for seen, _ in runs])  # (3, 8)
    print(f"QK-norm {qk_norm!s:5}", end="")
    print("  largest score at the end", end="")
    print(*(f"{one:6.0f}" for one in growth[qk_norm][:, -1]), end="")
    print("   loss", *(f"{loss:.2f}" for _, loss in runs))

# %% tags=["held"]
assert (growth[False][:, -1] > 4 * growth[True][:, -1]).all()

# %% [markdown] tags=["slide", "slides-only"]
# ## QK-norm keeps scores small

# %% tags=["fragment", "hide-input"]
fig, ax = plt.subplots(figsize=(7, 3.2))
for qk_norm, line in ((False, "-"), (True, "--")):
    label, seen = "with QK-norm" if qk_norm else "without", growth[qk_norm]
    middle = seen.log().mean(0).exp()
    (drawn,) = ax.plot(
        range(0, 71, 10), middle, line, marker="o", label=label
    )
    ax.fill_between(
        range(0, 71, 10), seen.amin(0), seen.amax(0),
        alpha=0.25, color=drawn.get_color(),
    )  # fmt: skip
ax.set(
    yscale="log",
    xlabel="steps",
    ylabel="largest score",
    title="Learning rate 0.03, three seeds",
)
figures.plain_ticks(ax.yaxis)
ax.legend()
figures.show(
    fig,
    alt="The largest attention score during 70 steps at a high learning rate, on a logarithmic axis, mean and range of three seeds: without QK-norm it grows beyond a hundred, with QK-norm it stays near ten.",
    caption="How many times larger is the score without it at the end?",
)

# %% [markdown]
# The scores differ by more than ten times, the losses by no more than from seed to seed. In these runs QK-norm prevents growth, not failure.
#
# ### Softmax off by one: attending to nothing
#
# Weights must sum to 1, so a head that finds nothing must look *somewhere*. Large models come to pick the first token for it: an **attention sink** ([Xiao et al. 2023](https://arxiv.org/abs/2309.17453)). Evan Miller's remedy adds 1 to the denominator ([Miller 2023](https://www.evanmiller.org/attention-is-off-by-one.html)), as if a silent key with score 0 and value 0 were there:
#
# $$w_j = \frac{e^{s_j}}{1 + \sum_i e^{s_i}}.$$
#
# First the sink in the published model: how much of each head's attention goes to token 0, the mark that begins every story?

# %%
story = teller.numbers(teller.tell("Once upon a time", length=60))
with record(model) as maps:
    model(story)
looks = torch.stack([m[0] for m in maps.values()])  # (layers, heads, L, L)
sink = looks[:, :, 8:, 0].mean(-1)  # (layers, heads)
print(
    "weight on token 0, mean by layer:", *(f"{s:.1f}" for s in sink.mean(-1))
)
even = (1 / torch.arange(9, story.shape[1] + 1)).mean()
print(f"strongest head {sink.max():.1f}, an even share would be {even:.2f}")

# %% tags=["held"]
assert sink.mean() > 2 * even
assert sink.max() > 0.25

# %% [markdown] tags=["slide", "slides-only"]
# ## A mark that says nothing draws attention

# %% tags=["fragment", "hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.4), width_ratios=[1, 1.15])
figures.heatmap(
    axes[0], sink, list("123456"), list("123456"),
    row_label="layer", column_label="head", high=1, digits=1,
    title="Weight on token 0",
)  # fmt: skip
layer, head = divmod(int(sink.argmax()), 6)
figures.heatmap(
    axes[1], looks[layer, head, :30, :30], high=1,
    title=f"Layer {layer + 1}, head {head + 1}",
)  # fmt: skip
figures.show(
    fig,
    alt="Left, a table of six layers by six heads with the weight that each gives to the first token, up to 0.37. Right, the map of the strongest: its first column is dark from top to bottom.",
    caption="The first column on the right is the sink: token after token gives a good part of its attention to a mark that says nothing.",
)

# %% [markdown]
# And with off by one? We train today's small model without it as well, on the same three seeds, and compare where their attention goes.

# %% tags=["hide-input", "nbval-ignore-output"]
with_one = [one for one, _ in race["Transformer++"]]
plain = today.switch("off_by_one")
without_one = [
    learn(plain, lr=16e-3, decay=0.1, number=n)[0] for n in range(3)
]
went = {}
for name, models in (("with", with_one), ("without", without_one)):
    for one in models:
        with record(one) as maps, torch.no_grad():
            one(held_out[:16, :-1])
        look = torch.stack(list(maps.values()))[..., 8:, :]  # (3, B, H, L, S)
        pair = look[..., 0].mean().item(), 1 - look.sum(-1).mean().item()
        went.setdefault(name, []).append(pair)
    first, nowhere = zip(*went[name])
    print(
        f"{name:7} off by one: token 0", *(f"{x:.3f}" for x in first), end=""
    )
    print("   nowhere", *(f"{abs(x):.3f}" for x in nowhere))
even = (1 / torch.arange(9, look.shape[-1] + 1)).mean()
print(f"an even share would be     {even:.3f}")

# %% tags=["held"]
assert all(first < even for first, _ in went["without"] + went["with"])
assert all(0.001 < nowhere < 0.1 for _, nowhere in went["with"])

# %% [markdown]
# **A negative result.** None of the six models has a sink: token 0 gets *less* than an even share, with the switch and without. Where there is no disease, a remedy cannot be tested. All we see is the mechanism: with the switch, a hundredth of the attention goes nowhere. Our models differ from stories15M in size, in training and in what token 0 is (an arbitrary letter, not a mark that begins every text); which of these matters, this cell cannot tell.
#
# ### Adam → AdamW → SOAP
#
# Adam gives each weight its own step size. **AdamW** shrinks weights apart from that ([Loshchilov and Hutter 2019](https://arxiv.org/abs/1711.05101)). Both work along the axes of the matrix as they happen to lie. **SOAP** first turns the gradient into axes of its own, where its entries are least correlated, and runs Adam *there* ([Vyas et al. 2024](https://arxiv.org/abs/2409.11321)):
#
# $$G' = Q_L^\top G\, Q_R, \qquad W \leftarrow W - \eta\; Q_L \,\frac{\text{mean}(G')}{\sqrt{\text{mean}(G'^2)}}\, Q_R^\top,$$
#
# with $Q_L$ $(n, n)$ and $Q_R$ $(m, m)$ the eigenvectors of the running means of $GG^\top$ and $G^\top G$. What turning does, from the left alone, on gradients of a $2 \times 3$ matrix whose rows move together:

# %%
seed(0)
mix = torch.tensor([[2.0, 0.3], [1.9, -0.3]])  # rows go together
gradients = mix @ torch.randn(500, 2, 3)  # (500, 2, 3)
gram = (gradients @ gradients.mT).mean(0) / 3  # (2, 2)
left = torch.linalg.eigh(gram)[1].flip(1)  # largest axis first
turned = left.T @ gram @ left
for name, table in (("mean of G Gᵀ", gram), ("in its own axes", turned)):
    rows = "   ".join(f"{x:5.1f} {y:5.1f}" for x, y in table.abs().tolist())
    print(f"{name:16} {rows}")

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.7), sharex=True, sharey=True)
clouds = (gradients, left.T @ gradients)
titles = ("Along the matrix's axes", "Along the gradient's own")
for ax, cloud, title in zip(axes, clouds, titles):
    first, second = cloud.movedim(1, 0).flatten(1)  # rows 0 and 1
    ax.scatter(first, second, s=5, alpha=0.4, color=figures.COLOURS["blue"])
    spread = first.std(), second.std()
    for way in ((spread[0], 0), (0, spread[1])):
        ax.annotate(
            "", xy=[2 * float(one) for one in way], xytext=(0, 0),
            arrowprops=dict(arrowstyle="-|>", lw=2.5, color=figures.COLOURS["red"]),
        )  # fmt: skip
    ax.set(title=title, xlabel="row 0", aspect="equal")
axes[0].set(ylabel="row 1")
axes[1].set(xlabel="axis 0", ylabel="axis 1")
figures.show(
    fig,
    alt="Two clouds of 500 gradients. Left, in the axes of the matrix, a narrow cloud lies along the diagonal, and the two arrows, Adam's two sizes, are equally long. Right, turned into its own axes, it lies flat, and one arrow is long, the other short.",
    caption="Arrows: the two sizes by which Adam divides (doubled). On the left they are equal and miss the shape of the cloud. On the right?",
)

# %% [markdown]
# On the left two entries share one message, and Adam divides both by the same size. In its own axes one direction carries nearly everything, the other next to nothing, and *each gets its own step*. The ladder below measures what that is worth.

# %% tags=["held"]
assert turned[0, 1].abs() < 0.01 < gram[0, 1]

# %% [markdown] tags=["deeper"]
# ### Tied embeddings, and the ten switches as one config
#
# The table that reads words can also write them: a logit is the dot product of the last vector with each word's vector ([Press and Wolf 2017](https://arxiv.org/abs/1608.05859)). The paper of 2017 did so already; the list counts it, and so do we. RoPE ([Su et al. 2021](https://arxiv.org/abs/2104.09864)) was built in chapter 5. All ten are fields of one frozen dataclass, `models/modern.py`, and any mixture of them runs:

# %% tags=["deeper"]
for switch in SWITCHES.values():
    print(
        f"{switch.label:20} {switch.then!s:12} → {switch.now!s:8} {switch.paper}"
    )
mixture = old.switch("positions", "norm", "tied")
print(mixture.positions, mixture.norm, mixture.tied, mixture.network)

# %% [markdown]
# ## 5 · At work: the ladder
#
# `training/ladder.py` climbed from 2017 to ++ one switch at a time, then took each switch away from the top: 21 models, three seeds, 300 steps each. On the way up, every rung had its learning rate raised from 0.008 for as long as that helped (seed 0). The models with one switch left out were *not* swept one by one: they have the rate that is best for their optimiser at the top. The logs are shipped. **Before you look: which switch buys most, and is there one that costs?**

# %% tags=["plumbing"]
ladder = json.loads(assets.find("data/ladder.json").read_text("utf-8"))
LABELS = {f"+ {name}": f"+ {s.label}" for name, s in SWITCHES.items()}
LABELS["+ off_by_one"] = "++ (all ten)"
LABELS |= {
    f"++ without {name}": f"++ without {s.label}"
    for name, s in SWITCHES.items()
}
climbed = {n: rung for n, rung in ladder.items() if rung["kind"] != "sweep"}


def ends(name):
    """Final held-out losses of the seeds."""
    return torch.tensor([run["valid"][-1] for run in ladder[name]["runs"]])


def arrival(name, goal):
    """Steps until the mean over the seeds is at the goal."""
    runs = torch.tensor([run["valid"] for run in ladder[name]["runs"]])
    steps = ladder[name]["runs"][0]["steps"]
    return next((s for s, v in zip(steps, runs.mean(0)) if v <= goal), None)


# %% tags=["slide", "hide-input"]
LadderExplorer(
    climbed,
    LABELS,
    second=list(climbed).index("+ off_by_one"),
    title="Every rung of the ladder",
    caption="Lines are means of three seeds, bands go from the best to the worst. Choose two runs; then look along seconds instead of steps.",
)

# %% [markdown] tags=["notes"]
# First 2017 against ++, then by seconds. Then 2017 against + RoPE: all of the way in one step. Then ++ against "++ without pre-norm": the surprise.

# %% tags=["hide-input"]
goal = ends("2017").mean().item()
reached = arrival("+ off_by_one", goal)
cost = {n: ladder[n]["step_seconds"] for n in ("2017", "+ off_by_one")}
print(f"2017 ends at {goal:.2f} after 300 steps")
print(f"++ is there after {reached} steps, {reached / 300:.0%}")
ratio = reached * cost["+ off_by_one"] / (300 * cost["2017"])
print(f"its steps are slower; in time it needs {ratio:.0%}")
for name in ("+ positions", "+ optimiser", "+ off_by_one"):
    print(f"{LABELS[name]:13} ends at {ends(name).mean():.2f}")

# %% tags=["held"]
assert reached <= 150
assert ratio < 1
for name in climbed:
    assert len(ladder[name]["runs"]) >= 3

# %% [markdown] tags=["slide", "slides-only"]
# ## RoPE alone buys more than all ten

# %% tags=["fragment", "hide-input"]
up = ["2017", *(f"+ {name}" for name in SWITCHES)]
out = [f"++ without {name}" for name in SWITCHES]
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.7), sharex=True)
for ax, names, title in (
    (axes[0], up, "One more switch each"),
    (axes[1], ["+ off_by_one", *out], "All but one"),
):
    for row, name in enumerate(names):
        e = ends(name)
        ax.errorbar(
            e.mean(), row, xerr=[[e.mean() - e.min()], [e.max() - e.mean()]],
            fmt="o", capsize=4, color=figures.COLOURS["blue"],
        )  # fmt: skip
    ax.axvline(ends(names[0]).mean(), color="grey", ls=":", lw=1)
    labels = [LABELS.get(n, n).replace("++ without", "−") for n in names]
    ax.set_yticks(range(len(names)), labels)
    ax.invert_yaxis()
    ax.set(xlabel="held-out loss", title=title)
figures.show(
    fig,
    alt="Left: final loss as switches are added from 2017 to all ten; RoPE brings the largest fall, SOAP another, pre-norm a rise. Right: all ten, and all but one; leaving out RoPE costs most, leaving out pre-norm helps.",
    caption="Left of the dotted line is better than the first row. On the right: which part is missed most, and which is better left out at this size?",
)

# %% [markdown]
# Read it honestly. **RoPE alone buys more than all ten together**: 2.27 falls to 1.99, and ++ ends at 2.01. **SOAP** buys a little more, and the best rung of all is the fifth, at 1.95. From there on we climb *down*: **pre-norm costs**, measured both ways, and what follows does not win it back. Three layers train well without it; where post-norm got stuck, in part 4, there were four or more. Most other switches lie within the spread of three seeds. Some are not meant to lower the loss: GQA and tying save memory, fused attention saves time and memory. And QK-norm, which tamed the scores at a rate of 0.03, changed no more than the seeds do at the ladder's rates.

# %% tags=["hide-input"]
for name in ("positions", "optimiser", "qk_norm", "network", "norm"):
    out = ends(f"++ without {name}")
    gap = out.mean() - ends("+ off_by_one").mean()
    print(
        f"without {SWITCHES[name].label:10} {gap:+.2f}  seeds {out.min():.2f} – {out.max():.2f}"
    )
for name in ("2017", "+ fused", "++ without fused", "+ off_by_one"):
    cost = ladder[name]["step_seconds"] * 1000
    print(f"a step of {LABELS.get(name, name):26} {cost:.0f} ms")

# %% [markdown]
# And the clock? In the model of 2017 the fused kernel saves about an eighth of a step, at the top nothing: texts of 64 letters are not what it was made for.

# %% tags=["held"]
rungs = [n for n, rung in ladder.items() if rung["kind"] == "rung"]
assert min(rungs, key=lambda n: ends(n).mean()) == "+ optimiser"
assert ends("+ positions").mean() < ends("+ off_by_one").mean()
gaps = {
    n: (ends(f"++ without {n}").mean() - ends("+ off_by_one").mean()).item()
    for n in SWITCHES
}
assert max(gaps, key=gaps.get) == "positions"
assert gaps["positions"] > 0.08
assert gaps["optimiser"] > 0.02
assert gaps["norm"] < 0

# %% [markdown] tags=["deeper"]
# ### Each optimiser at its own best rate
#
# An optimiser is easily made to win by giving the other one a bad learning rate. So both ends of the ladder were swept over five rates with each of the three (one seed), and trained on two more seeds at the best.

# %% tags=["hide-input", "deeper"]
swept = {n: one for n, one in ladder.items() if one["kind"] == "sweep"}
rates = [run["lr"] for run in swept["2017, adam"]["runs"]]
print(
    "rate             ",
    *(f"{rate:6.3f}" for rate in rates),
    "  at the best, 3 seeds",
)
for name, one in swept.items():
    row = " ".join(f"{run['valid'][-1]:6.2f}" for run in one["runs"])
    finals = " ".join(f"{run['valid'][-1]:.2f}" for run in one["best"])
    print(f"{name:17} {row}   {one['best'][0]['lr']:.3f}: {finals}")


def mean_of(name):
    """The mean curve of the three seeds at an optimiser's best rate."""
    return torch.tensor([r["valid"] for r in swept[name]["best"]]).mean(0)


soap_is_there = {}
for end in ("2017", "++"):
    goal, marks = mean_of(f"{end}, adamw")[-1], swept["2017, soap"]["best"][0]
    there = next(
        s
        for s, v in zip(marks["steps"], mean_of(f"{end}, soap"))
        if v <= goal
    )
    soap_is_there[end] = there
    print(
        f"{end}: SOAP has AdamW's last loss, {goal:.2f}, after {there} of 300 steps"
    )

# %% [markdown] tags=["slide", "slides-only"]
# ## Each optimiser at its own best rate

# %% tags=["fragment", "hide-input", "deeper"]
fig, axes = plt.subplots(1, 2, figsize=(7.8, 3.5), sharey=True)
styles = dict(
    adam=("Adam", "o:"), adamw=("AdamW", "s--"), soap=("SOAP", "^-")
)
for ax, end in zip(axes, ("2017", "++")):
    for kind, (label, line) in styles.items():
        runs = swept[f"{end}, {kind}"]["runs"]
        ax.plot(rates, [r["valid"][-1] for r in runs], line, label=label)
    ax.set(xscale="log", title=end, xlabel="learning rate")
    ax.set_xticks(rates, [f"{1000 * rate:.0f}" for rate in rates])
    ax.minorticks_off()
axes[0].set(ylabel="held-out loss", ylim=(1.9, 2.8))
axes[0].set_xlabel("learning rate, thousandths")
axes[1].set_xlabel("learning rate, thousandths")
axes[0].legend()
figures.show(
    fig,
    alt="Loss after 300 steps against the learning rate for Adam, AdamW and SOAP, on the model of 2017 and on Transformer++. Each curve has its lowest point inside the range; SOAP's lies lower, and at a rate twice as high.",
    caption="Seed 0. Each curve has its lowest point inside the range. Read off the best rate of each: would one rate for all be fair?",
)

# %% tags=["deeper", "held"]
for one in swept.values():
    lowest = min(one["runs"], key=lambda run: run["valid"][-1])["lr"]
    assert min(rates) < lowest < max(rates)
    assert len(one["best"]) == 3
assert max(soap_is_there.values()) <= 260

# %% [markdown]
# ### The proof: a published Llama
#
# Is this a toy? **stories15M** is a Llama that Andrej Karpathy trained on [TinyStories](https://arxiv.org/abs/2305.07759): 15 million numbers, shipped here in int8. It is one setting of our config, and tells the stories that `transformers` tells with the same weights, token for token on 20 openings (`tests/unit/test_stories15m.py`).

# %%
print(textwrap.fill(teller.tell("The little robot", length=70), 72))

# %% [markdown]
# The same weights also run in your browser, in JavaScript on the same layers. A story is told already; press the button to load the model and write an opening of your own.

# %% tags=["hide-input"]
StoryTeller.shipped(
    "Once upon a time",
    layer=4,
    head=2,
    title="stories15M, with every head in sight",
    caption="Look for the sink in layer 5, head 3, and at how surely the next word is known inside a name. With the model loaded: what does a temperature of 1.5 do to the story?",
)

# %% [markdown]
# One set of blocks now runs three published models. Side by side, as configs:

# %% tags=["hide-input"]
bert, vit, llama = MINILM_CONFIG, DINOV2_CONFIG, teller.model.config
rows = {
    "": ("BERT", "ViT", "Llama"),
    "published as": ("MiniLM-L6", "DINOv2 S/14", "stories15M"),
    "chapters": ("3, 4", "8", "10"),
    "layers × heads": [f"{c.layers} × {c.heads}" for c in (bert, vit, llama)],
    "width": [c.width for c in (bert, vit, llama)],
    "norm": (bert.norm, "pre", f"{llama.norm}, {llama.norm_kind}"),
    "network": (bert.activation, "gelu", llama.network),
    "positions": (bert.positions, "learned, 2-D", llama.positions),
    "may look": ("everywhere", "everywhere", "back only"),
}
for name, cells in rows.items():
    print(f"{name:15}", *(f"{cell!s:14}" for cell in cells))

# %% [markdown]
# ## 6 · Misconceptions
#
# **"FlashAttention is an approximation."** Measured against float64, the fused result is as exact as the written-out one, because it *is* the same sum in another order:

# %% tags=["nbval-ignore-output"]
seed(0)
q, k, v = torch.randn(3, 1, 4, 700, 32).unbind(0)
exact = attention(q.double(), k.double(), v.double(), fused=False)
errors = {
    "written out": (attention(q, k, v, fused=False) - exact).abs().max(),
    "fused": (attention(q, k, v) - exact).abs().max(),
    "in blocks of 64": (online_attention(q, k, v, block=64) - exact)
    .abs()
    .max(),
}
for name, error in errors.items():
    print(f"{name:16} largest error {error.item():.0e}")

# %% tags=["held"]
assert all(error < 1e-6 for error in errors.values())

# %% [markdown]
# **"It does less arithmetic."** It does more: the count of part 2, once again at 8,192 tokens.

# %%
a, b = traffic(8192)
print(
    f"operations, fused / written out: {b['operations'] / a['operations']:.2f}"
)
print(f"bytes,      fused / written out: {b['bytes'] / a['bytes']:.2f}")

# %% [markdown]
# **"RoPE's two layouts are interchangeable."** The paper turns neighbours (0, 1), (2, 3) …; `transformers` turns $i$ with $i + D/2$. Same rotation, other order of rows in $W_q$ and $W_k$. Give a model the rows in the other order, and nothing fails loudly:

# %%
spoilt = LanguageModel(llama).eval()
state = {
    name: to_halves(w, llama.heads)
    if name.endswith(("query.weight", "key.weight"))
    else w
    for name, w in teller.model.state_dict().items()
}
spoilt.load_state_dict(state)
tokens = teller.numbers("Once upon a time, there was a little")
for _ in range(40):
    with torch.no_grad():
        tokens = torch.cat([tokens, spoilt(tokens)[:, -1:].argmax(-1)], 1)
print(textwrap.fill(teller.pieces.decode(tokens[0, 1:].tolist()), 72))
with torch.no_grad():
    right, wrong = teller.model.loss(story), spoilt.loss(story)
print(
    f"loss on a story: {right:.1f} with its own layout, {wrong:.1f} with the other"
)

# %% tags=["held"]
assert wrong > right + 1

# %% [markdown]
# **"QK-norm and SwiGLU always help."** Not here: on the ladder, adding each of them changed less than the seeds did, or made it worse.

# %% tags=["hide-input"]
for name, before in (("network", "norm_kind"), ("qk_norm", "tied")):
    now, then = ends(f"+ {name}"), ends(f"+ {before}")
    spread = max(then.max() - then.min(), now.max() - now.min())
    print(
        f"+ {SWITCHES[name].label:8} {now.mean() - then.mean():+.2f}, seeds spread over {spread:.2f}"
    )

# %% [markdown]
# **"A KV cache changes the result."** It changes what is computed *again*. The largest difference between logits with and without it, over a whole story:

# %% tags=["nbval-ignore-output"]
with torch.no_grad():
    whole = model(story)
    state, pieces = model.start(story[:, :0]), []
    for token in story[0]:
        logits, state = model.step(state, token[None])
        pieces.append(logits)
gap = (torch.stack(pieces, 1) - whole).abs().max().item()
print(f"{story.shape[1]} tokens, one at a time: logits differ by {gap:.0e}")

# %% tags=["held"]
assert gap < 1e-4

# %% [markdown]
# ## 7 · Exercises
#
# Write the function, run the check, read what it says. When you are stuck, open a hint.

# %% [markdown] tags=["exercise"] exercise="10.1"
# ### Exercise 10.1 ★★ · Take in a block (15 min)
#
# The heart of FlashAttention. Write `my_take(top, total, mixed, scores, values)`: `top` and `total` have shape $(L)$, `mixed` $(L, D)$; a block arrives with `scores` $(L, N)$ and `values` $(N, D)$. Return the new three. Exercise 10.7 asks for the same lines in Triton.


# %% tags=["stub"] exercise="10.1"
def my_take(top, total, mixed, scores, values):
    """The running softmax after one more block of keys."""
    higher = ...  # (L,)
    shrink = ...  # (L,): what the old sums are worth now
    p = ...  # (L, N)
    return higher, ..., ...


# %% [markdown] tags=["hint"] exercise="10.1"
# `torch.maximum(a, b)` compares two tensors; `scores.amax(-1)` is the largest score of each query in this block. All three equations stand in part 2.

# %% [markdown] tags=["hint"] exercise="10.1"
# `shrink = exp(top − higher)`. It multiplies `total` as it is, and `mixed` with an axis more: `shrink[:, None]`.


# %% tags=["solution"] exercise="10.1"
def my_take(top, total, mixed, scores, values):
    """The running softmax after one more block of keys."""
    higher = torch.maximum(top, scores.amax(-1))  # (L,)
    shrink = torch.exp(top - higher)  # (L,)
    p = torch.exp(scores - higher[:, None])  # (L, N)
    total = total * shrink + p.sum(-1)
    return higher, total, mixed * shrink[:, None] + p @ values


# %% tags=["check"] exercise="10.1"
check("10.1", my_take)

# %% [markdown] tags=["exercise"] exercise="10.2"
# ### Exercise 10.2 ★ · RMSNorm (5 min)
#
# Write `my_rms_norm(x, weight, eps)` for `x` of shape $(\dots, E)$ and `weight` $(E)$.


# %% tags=["stub"] exercise="10.2"
def my_rms_norm(x, weight, eps):
    """(..., E) -> (..., E)"""
    mean_square = ...  # (..., 1)
    return ...


# %% [markdown] tags=["hint"] exercise="10.2"
# The mean runs over the last axis. Keep that axis with `keepdim=True`, so that the division broadcasts.

# %% [markdown] tags=["hint"] exercise="10.2"
# `eps` stands under the root, beside the mean. No mean is subtracted anywhere.


# %% tags=["solution"] exercise="10.2"
def my_rms_norm(x, weight, eps):
    """(..., E) -> (..., E)"""
    mean_square = x.square().mean(-1, keepdim=True)  # (..., 1)
    return x / (mean_square + eps).sqrt() * weight


# %% tags=["check"] exercise="10.2"
check("10.2", my_rms_norm)

# %% [markdown] tags=["exercise"] exercise="10.3"
# ### Exercise 10.3 ★★ · Grouped-query attention (10 min)
#
# Write `my_gqa(q, k, v)` for `q` $(B, H, L, D)$ and `k`, `v` $(B, G, S, D)$, where $G$ divides $H$. No mask. Heads next to each other share.


# %% tags=["stub"] exercise="10.3"
def my_gqa(q, k, v):
    """(B, H, L, D), (B, G, S, D), (B, G, S, D) -> (B, H, L, D)"""
    times = ...  # heads of queries for each head of keys
    k, v = ..., ...
    return ...


# %% [markdown] tags=["hint"] exercise="10.3"
# Give each head of queries its keys: repeat axis 1. In which order must they come, 0 1 0 1 or 0 0 1 1?

# %% [markdown] tags=["hint"] exercise="10.3"
# `repeat` gives 0 1 0 1, `repeat_interleave` gives 0 0 1 1. The rest is chapter 3, with its scale.


# %% tags=["solution"] exercise="10.3"
def my_gqa(q, k, v):
    """(B, H, L, D), (B, G, S, D), (B, G, S, D) -> (B, H, L, D)"""
    times = q.shape[1] // k.shape[1]
    k = k.repeat_interleave(times, dim=1)
    v = v.repeat_interleave(times, dim=1)
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v


# %% tags=["check"] exercise="10.3"
check("10.3", my_gqa)

# %% [markdown] tags=["exercise"] exercise="10.4"
# ### Exercise 10.4 ★★ · One step of SOAP (15 min)
#
# Write `my_soap_step(w, g, left, right, square, lr)` for a small matrix `w` with gradient `g`. The bases `left` and `right` are given, and so is `square`, the running mean of the squared gradient *in these bases*. Take one step without momentum: turn `g`, divide by the root of `square` (plus $10^{-8}$), turn back, and move `w`.


# %% tags=["stub"] exercise="10.4"
def my_soap_step(w, g, left, right, square, lr):
    """(n, m), (n, m), (n, n), (m, m), (n, m) -> (n, m)"""
    inside = ...  # the gradient in its own axes
    direction = ...
    return w - lr * ...


# %% [markdown] tags=["hint"] exercise="10.4"
# Into the bases: $Q_L^\top G\, Q_R$. Check with `left = right = torch.eye(2)`: then it must be Adam's step.

# %% [markdown] tags=["hint"] exercise="10.4"
# Back out of them: $Q_L D\, Q_R^\top$. The bases are orthogonal, so transposing undoes them.


# %% tags=["solution"] exercise="10.4"
def my_soap_step(w, g, left, right, square, lr):
    """(n, m), (n, m), (n, n), (m, m), (n, m) -> (n, m)"""
    inside = left.mT @ g @ right  # the gradient in its own axes
    direction = inside / (square.sqrt() + 1e-8)
    return w - lr * left @ direction @ right.mT


# %% tags=["check"] exercise="10.4"
check("10.4", my_soap_step)

# %% [markdown] tags=["exercise"] exercise="10.5"
# ### Exercise 10.5 ★★ · One token with a cache (10 min)
#
# Write `my_cached_step(q, k, v, past_k, past_v)`. One new token has `q`, `k`, `v` of shape $(\dots, 1, D)$; the past has $(\dots, S, D)$, and $S$ may be 0. Return the token's attention $(\dots, 1, D)$, and all keys and all values $(\dots, S + 1, D)$.


# %% tags=["stub"] exercise="10.5"
def my_cached_step(q, k, v, past_k, past_v):
    """What the new token finds, and the cache for the next one."""
    keys, values = ..., ...
    out = ...
    return out, keys, values


# %% [markdown] tags=["hint"] exercise="10.5"
# May the newest token look at itself? Then its key must be in the cache before you attend.

# %% [markdown] tags=["hint"] exercise="10.5"
# `torch.cat([old, new], dim=-2)`. No causal mask is needed: everything in the cache is past.


# %% tags=["solution"] exercise="10.5"
def my_cached_step(q, k, v, past_k, past_v):
    """What the new token finds, and the cache for the next one."""
    keys = torch.cat([past_k, k], dim=-2)  # (..., S + 1, D)
    values = torch.cat([past_v, v], dim=-2)
    out = (q @ keys.mT / math.sqrt(q.shape[-1])).softmax(-1) @ values
    return out, keys, values


# %% tags=["check"] exercise="10.5"
check("10.5", my_cached_step)

# %% [markdown] tags=["exercise"] exercise="10.6"
# ### Exercise 10.6 ★ · The size of a cache (5 min)
#
# Write `my_cache_bytes(layers, kv_heads, head_width, context, batch, item)`; `item` is the bytes of one number. Then find a context at which Llama 3 8B's cache outweighs its 16 GB of weights.


# %% tags=["stub"] exercise="10.6"
def my_cache_bytes(layers, kv_heads, head_width, context, batch, item):
    """Bytes of all keys and values."""
    per_token = ...
    return ...


# %% [markdown] tags=["hint"] exercise="10.6"
# One token leaves a key in every head of every layer. And what else?

# %% [markdown] tags=["hint"] exercise="10.6"
# A value, as wide as the key: hence the 2 in front of the product in part 3.


# %% tags=["solution"] exercise="10.6"
def my_cache_bytes(layers, kv_heads, head_width, context, batch, item):
    """Bytes of all keys and values."""
    per_token = 2 * layers * kv_heads * head_width * item
    return per_token * context * batch


# %% tags=["check"] exercise="10.6"
check("10.6", my_cache_bytes)

# %% [markdown] tags=["exercise"] exercise="10.7"
# ### Exercise 10.7 ★★★ · The block, in Triton (20 min)
#
# Exercise 10.1 once more, in the language of GPU kernels. Inside a kernel there are no tensors, only **blocks** in fast memory, and the functions are those of `tl`. `@in_triton` puts your function into a kernel that loads the five blocks, calls it, and stores the three that come back. It runs here in Triton's interpreter. (Without Triton, the check says so: then 10.1 is your exercise.)


# %% tags=["stub"] exercise="10.7"
@in_triton
def my_block(top, total, mixed, scores, values):
    """Blocks (M), (M), (M, D), (M, N), (N, D) -> the new first three."""
    higher = ...  # (M)
    shrink = ...  # (M)
    p = ...  # (M, N)
    return higher, ..., ...


# %% [markdown] tags=["hint"] exercise="10.7"
# `tl.max(x, 1)` and `tl.sum(x, 1)` run along axis 1; `tl.maximum(a, b)` compares two blocks; `tl.exp(x)` is what you think. `x[:, None]` works as in torch.

# %% [markdown] tags=["hint"] exercise="10.7"
# A block has no `@`: the product of two blocks is `tl.dot(a, b)`. Nothing else differs from 10.1.


# %% tags=["solution"] exercise="10.7"
@in_triton
def my_block(top, total, mixed, scores, values):
    """Blocks (M), (M), (M, D), (M, N), (N, D) -> the new first three."""
    higher = tl.maximum(top, tl.max(scores, 1))  # (M)
    shrink = tl.exp(top - higher)  # (M)
    p = tl.exp(scores - higher[:, None])  # (M, N)
    total = total * shrink + tl.sum(p, 1)
    mixed = mixed * shrink[:, None] + tl.dot(p, values)
    return higher, total, mixed


# %% tags=["check"] exercise="10.7"
check("10.7", my_block)

# %% [markdown]
# ### On a GPU, and the capstone
#
# [FlashAttention at full size](gpu_10_flash_attention.ipynb): the Triton kernel beside SDPA, time and memory against the number of tokens. [Scale out](gpu_10_scale_out.ipynb): one training script on many GPUs.
#
# [Your own model](capstone_your_own_model.ipynb) ★★★: put the functions you wrote in this course together into a model that loads the published weights and tells the same story.

# %% [markdown] tags=["slide"]
# ## 8 · Takeaways
#
# 1. **Softmax needs no second look**: maximum, sum and weighted sum can be carried along. Fused attention is exact; it moves less, and computes more.
# 2. **The KV cache is what long texts cost.** GQA, small numbers, windows and rings multiply.
# 3. **Pre-norm and QK-norm are for stability.** Pre-norm learned at every depth where post-norm was stuck, QK-norm kept scores small; on our ladder neither lowered the loss by more than the seeds differ.
# 4. **At our size RoPE and SOAP buy the loss**, and ++ is not the best rung. An ablation needs good rates, seeds and both directions.
# 5. **A Llama is a setting of ten switches**, and its layouts matter to the last row.

# %% [markdown]
# ### Shapes and costs
#
# One layer, $L$ tokens, width $E$, $H$ heads, $G$ heads of keys and values, width $D = E/H$, network width $F$:
#
# | | shape | parameters | operations |
# |---|---|---|---|
# | $W_q$, $W^O$ | $(E, E)$ each | $2E^2$ | $4LE^2$ |
# | $W_k$, $W_v$ | $(E, GD)$ each | $2E^2 G/H$ | $4LE^2 G/H$ |
# | fused attention | $(L, E)$ in and out | 0 | $4L^2E$, no table kept |
# | KV cache | $2 \times (G, L, D)$ | 0 | |
# | SwiGLU | $2 \times (E, F)$ and $(F, E)$ | $3EF$, $F = \tfrac83 E$ | $6LEF$ |
# | RMSNorm | $(E)$ | $E$ | $\sim 4LE$ |
#
# ### Test yourself

# %% tags=["slide", "hide-input"]
Quiz(
    [
        {
            "question": "A block brings a score of 9 after a maximum of 6. What happens to the sum so far?",
            "choices": [
                {
                    "text": "It is multiplied by exp(−3)",
                    "correct": True,
                    "why": "It was relative to 6, and is now counted relative to 9.",
                },
                {
                    "text": "It is multiplied by exp(3)",
                    "why": "It would grow: but relative to a larger maximum, old terms are worth less.",
                },
                {
                    "text": "Nothing, the new term is added",
                    "why": "Only if the maximum stays.",
                },
            ],
        },
        {
            "question": "Why is fused attention faster?",
            "choices": [
                {
                    "text": "It skips small weights",
                    "why": "Every key is taken; the result is exact.",
                },
                {
                    "text": "It moves fewer bytes to and from memory",
                    "correct": True,
                    "why": "The table of weights never leaves the chip. Arithmetic even grows a little.",
                },
                {
                    "text": "It needs fewer multiplications",
                    "why": "More: going backwards it computes all scores again.",
                },
            ],
        },
        {
            "question": "32 heads of queries, 8 of keys and values. Head 5 of the queries uses head …",
            "choices": [
                {
                    "text": "1 of the keys",
                    "correct": True,
                    "why": "Groups of four neighbours: 0–3, 4–7, …",
                },
                {
                    "text": "5 of the keys",
                    "why": "That would be 0 1 2 … 7 0 1 …, the order of `repeat`.",
                },
                {
                    "text": "0 of the keys",
                    "why": "Heads 0 to 3 share that one.",
                },
            ],
        },
        {
            "question": "What makes a KV cache twice as large? (Several are right.)",
            "choices": [
                {
                    "text": "Twice the context",
                    "correct": True,
                    "why": "One key and one value for each token.",
                },
                {
                    "text": "Twice the heads of queries",
                    "why": "Queries are not kept.",
                },
                {
                    "text": "Twice the layers",
                    "correct": True,
                    "why": "Each layer keeps its own.",
                },
            ],
        },
        {
            "question": "A model with 40 layers diverges in its first hundred steps. Which two switches do you look at first?",
            "choices": [
                {
                    "text": "Pre-norm and QK-norm",
                    "correct": True,
                    "why": "One keeps the path of gradients clear, the other keeps scores bounded.",
                },
                {"text": "Tying and GQA", "why": "They save memory."},
                {
                    "text": "SwiGLU and RoPE",
                    "why": "They may lower the loss, but do not tame a start.",
                },
            ],
        },
        {
            "question": "You load Llama weights, and the first words are right, then the story falls apart. What do you suspect?",
            "choices": [
                {
                    "text": "The KV cache",
                    "why": "A right cache changes nothing. A wrong one could, but look at the layout first.",
                },
                {
                    "text": "RoPE's pairs: neighbours against halves",
                    "correct": True,
                    "why": "Between near tokens most pairs have hardly turned, so the wrong ones show little; with distance they do.",
                },
                {
                    "text": "int8",
                    "why": "It costs next to nothing here: the header of the file has the measurement.",
                },
            ],
        },
    ],
    title="Self-test: Transformer++",
    key="10",
)

# %% [markdown]
# ### References
#
# - G. Leech, [Transformer++](https://gleech.org/tplus): the list of upgrades.
# - Attention: M. Milakov, N. Gimelshein (2018), [Online normalizer calculation for softmax](https://arxiv.org/abs/1805.02867); M. Rabe, C. Staats (2021), [Self-attention Does Not Need O(n²) Memory](https://arxiv.org/abs/2112.05682); T. Dao and others (2022), [FlashAttention](https://arxiv.org/abs/2205.14135); T. Dao (2023), [FlashAttention-2](https://arxiv.org/abs/2307.08691); J. Dong and others (2024), [FlexAttention](https://arxiv.org/abs/2412.05496); J. Ansel and others (2024), [PyTorch 2](https://doi.org/10.1145/3620665.3640366); I. Beltagy and others (2020), [Longformer](https://arxiv.org/abs/2004.05150).
# - Heads and caches: N. Shazeer (2019), [Fast Transformer Decoding](https://arxiv.org/abs/1911.02150); J. Ainslie and others (2023), [GQA](https://arxiv.org/abs/2305.13245); C. Hooper and others (2024), [KVQuant](https://arxiv.org/abs/2401.18079); H. Liu and others (2023), [Ring Attention](https://arxiv.org/abs/2310.01889).
# - Parts: J. Su and others (2021), [RoFormer](https://arxiv.org/abs/2104.09864); R. Xiong and others (2020), [On Layer Normalization](https://arxiv.org/abs/2002.04745); B. Zhang, R. Sennrich (2019), [RMSNorm](https://arxiv.org/abs/1910.07467); N. Shazeer (2020), [GLU Variants](https://arxiv.org/abs/2002.05202); O. Press, L. Wolf (2017), [Using the Output Embedding](https://arxiv.org/abs/1608.05859); A. Henry and others (2020), [Query-Key Normalization](https://arxiv.org/abs/2010.04245); M. Dehghani and others (2023), [Scaling Vision Transformers](https://arxiv.org/abs/2302.05442); E. Miller (2023), [Attention Is Off By One](https://www.evanmiller.org/attention-is-off-by-one.html); G. Xiao and others (2023), [Attention Sinks](https://arxiv.org/abs/2309.17453).
# - Optimisers: D. Kingma, J. Ba (2015), [Adam](https://arxiv.org/abs/1412.6980); I. Loshchilov, F. Hutter (2019), [AdamW](https://arxiv.org/abs/1711.05101); N. Vyas and others (2024), [SOAP](https://arxiv.org/abs/2409.11321).
# - Models of the calculator: [GPT-2](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf), [GPT-3](https://arxiv.org/abs/2005.14165), [PaLM](https://arxiv.org/abs/2204.02311), [Llama 2](https://arxiv.org/abs/2307.09288), [Mistral 7B](https://arxiv.org/abs/2310.06825), [Llama 3](https://arxiv.org/abs/2407.21783); R. Eldan, Y. Li (2023), [TinyStories](https://arxiv.org/abs/2305.07759).
