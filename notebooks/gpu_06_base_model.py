# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 6
#     gpu: true
#     title: Train a base-size Transformer
#     minutes: 45
#     summary: The sizes of the 2017 paper, mixed precision, torch.compile and the paper's warm-up, on real sentence pairs if you have them.
# ---

# %% [markdown]
# # 6 · GPU exercise: train a base-size Transformer
#
# [Chapter 6](06_transformer.ipynb) trained a model of width 64. Here you train the **base** model of [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762): width 512, 8 heads, 6 + 6 blocks, post-norm with warm-up, dropout and label smoothing 0.1. You
# measure what mixed precision and `torch.compile` are worth on your card.
#
# The notebook looks at the device it runs on and chooses its sizes. On a CPU it stays tiny and takes seconds. In Colab choose *Runtime → Change runtime type → GPU* for the full size.

# %% tags=["setup"]
import math
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import torch

from attnlab import training
from attnlab.checks import check
from attnlab.data import batches
from attnlab.data.english_french import EnglishFrench
from attnlab.data.pairs import PairFile
from attnlab.device import find
from attnlab.models.transformer import Config, Transformer, cross_entropy
from attnlab.reproducible import seed
from attnlab.translator import Translator

# %% tags=["nbval-ignore-output"]
gpu = find("cuda")
device = gpu.place
half = gpu.half  # bfloat16 where the hardware has it, else float16
width, heads, layers = gpu.choose(
    cuda=(512, 8, 6), cpu=(32, 2, 1), pretended=(8, 2, 1)
)
sentences, longest, size, steps, rounds = gpu.choose(
    cuda=(200_000, 32, 256, 6000, 10),
    cpu=(400, 6, 16, 20, 2),
    pretended=(20, 6, 3, 2, 1),
)
gpu.banner(
    cuda="the base model. Timing first, then some minutes of training.",
    cpu="a toy of width 32, to see that everything runs. A few seconds.",
)

# %% [markdown]
# ## The data
#
# Real pairs, if there is a file of them: download *French – English* from manythings.org/anki, unpack it, and put `fra.txt` beside this notebook (in Colab: drag it into the file panel). Without the file the course's own grammar is used: it is
# endless, but it is not real language.

# %%
FILE = Path("fra.txt")
if FILE.is_file():
    corpus = PairFile(FILE, longest=longest, smallest=2)
else:
    corpus = EnglishFrench(longest=longest)
pairs, test = corpus.take(sentences), corpus.take(100, "test")
source, target = corpus.vocabularies()
print(f"{len(pairs)} pairs, {len(source)} and {len(target)} words")

# %%
config = Config(
    words=len(target),
    source_words=len(source),
    width=width,
    heads=heads,
    layers=layers,
    norm="post",
    final_norm=False,  # as in 2017; later models end each stack with one
    dropout=0.1,
)
seed(0)
model = Transformer(config).to(device)
size_in_millions = sum(p.numel() for p in model.parameters()) / 1e6
print(f"{size_in_millions:.2f} million parameters")

# %% [markdown]
# ## Faster: half the bits, and compiled
#
# **Mixed precision** computes products in 16 bits and keeps the weights in 32. The loss is taken in 32 bits: a softmax over thousands of words is safer with them. bfloat16 has the range of float32 and needs no loss scaling; float16, all that older cards
# have, has a shorter range: small gradients become 0 (try `torch.tensor(1e-8).half()`). A `GradScaler` multiplies the loss before the backward pass and divides the gradients after it. You build its step below.
#
# `torch.compile` fuses many small operations into few. It takes a while at the first call, and sometimes again when a shape is new. On a CPU it can take minutes, so this notebook compiles on a GPU only. **Guess first:** how much does each of the two gain on your device?


# %%
def mixed(batch, forward):
    """The loss, with products in 16 bits."""
    with torch.autocast(device, dtype=half):
        logits = forward(batch)
    return loss_of(logits.float(), batch)


def loss_of(logits, batch):
    return cross_entropy(logits, batch.target_out, label_smoothing=0.1)


def time_of(measure):
    """Milliseconds of one forward and backward pass, after a warm-up."""
    stream = batches(pairs, source, target, size=size, seed=1)
    batch = next(stream).to(device)

    def once():
        model.zero_grad()
        measure(batch).backward()

    return 1e3 * gpu.seconds(once, repeats=rounds)


# %% tags=["nbval-ignore-output"]
model.train()
ways = {
    "float32": lambda batch: loss_of(model(batch), batch),
    "mixed": lambda batch: mixed(batch, model),
}
if gpu.kind == "cuda":
    fast = gpu.compile(model)  # torch.compile(model, dynamic=True)
    ways["mixed, compiled"] = lambda batch: mixed(batch, fast)
else:
    print("Not compiled: on a CPU that may take minutes. A GPU does it.")
for name, measure in ways.items():
    print(f"{name:16} {time_of(measure):7.1f} ms")

# %% [markdown]
# On a CPU mixed precision is often *slower*: most have no hardware for it. On a GPU with tensor cores both should help; how much depends on the card, so look at your own numbers.
#
# ## Train
#
# The paper's schedule: up for 4 % of the training, then down as $1/\sqrt{\text{step}}$. The rate at step $t$ is $E^{-1/2} \min(t^{-1/2},\ t \cdot 4000^{-3/2})$, so its peak is $1/\sqrt{E \cdot 4000}$ at step 4,000. Here the 4 % are of our own steps: 240 of 6,000. Unlike in the paper, Adam's $\beta_2$ is 0.999 (not 0.98), gradients are clipped, the attention weights have dropout, too, and each language has its own table. Mixed precision on every device, compiled on a GPU, and with a loss scale where products are in
# float16.

# %% tags=["nbval-ignore-output"]
seed(0)
translator = Translator(Transformer(config).to(device), source, target)
model = translator.model
compiled = gpu.kind == "cuda"
forward = gpu.compile(model) if compiled else model
history = training.fit(
    model,
    batches(pairs, source, target, size=size, seed=0),
    steps=steps,
    descent=training.Descent(
        lr=(width * 4000) ** -0.5,
        schedule=training.inverse_sqrt,
        scaler=torch.amp.GradScaler(device, enabled=half is torch.float16),
    ),
    loss=lambda batch: mixed(batch, forward),
)
model.cpu()
print(f"{history.steps} steps, loss {history.smooth():.2f}")
print(f"BLEU of 100 test sentences: {translator.bleu(test):.1f}")

# %% tags=["held"]
assert history.smooth(5) < history.losses[0]

# %% [markdown]
# ## The cockpit
#
# The cell trains one short run; then the controls are yours. *Start* trains a new model with what they say, *Stop* keeps it as it is (`pilot.model`).
#
# - **Guess first:** at ten times the rate, does the loss still fall? At a tenth, how much is left to do at the end?
# - Take the widest model with the rate that was best for the narrowest. Is it still the best?


# %% tags=["nbval-ignore-output"]
short, widths = gpu.choose(
    cuda=(1500, (128, 256, 512)), cpu=(20, (16, 32)), pretended=(2, (8,))
)


def of_width(wide):
    """A Transformer of this width, on the device."""
    return Transformer(replace(config, width=wide)).to(device)


def first_sentence(model):
    """What it makes of the first test sentence; on the CPU, beside the training."""
    beside = Translator(deepcopy(model).cpu(), source, target)
    return " ".join(beside.translate([test[0].source])[0])


pilot = training.cockpit(
    of_width,
    lambda: batches(pairs, source, target, size=size, seed=0),
    sizes=widths,
    lr=(width * 4000) ** -0.5,
    schedule=training.inverse_sqrt,
    steps=short,
    sample=first_sentence,
)

# %% tags=["held"]
assert pilot.history.steps == short
assert pilot.model is not model

# %% [markdown] tags=["exercise"] exercise="06.6"
# ### Exercise 6.6 ★★ · The nucleus (12 min)
#
# Write `my_top_p(probabilities, p)` for probabilities $(\dots, V)$ and $0 < p \le 1$. Keep the smallest set of likeliest words whose probabilities add up to at least $p$, set the others to 0, and let the kept ones add up to 1 again. The likeliest word always stays. Rows are
# cut on their own.


# %% tags=["stub"] exercise="06.6"
def my_top_p(probabilities, p):
    """(..., V) -> (..., V)"""
    values = ...  # likeliest first
    order = ...  # where each of them stood
    ahead = ...  # (..., V): how much probability stands before each
    values = ...  # 0 where enough is ahead already
    kept = ...  # back in the order of the words
    return ...


# %% [markdown] tags=["hint"] exercise="06.6"
# `probabilities.sort(dim=-1, descending=True)` gives the values and where they stood. `cumsum` counts a word itself; what stands *ahead* of it is `cumsum − values`.

# %% [markdown] tags=["hint"] exercise="06.6"
# A word stays while less than $p$ is ahead of it. `torch.zeros_like(x).scatter(-1, order, values)` puts sorted values back where they came from.


# %% tags=["solution"] exercise="06.6"
def my_top_p(probabilities, p):
    """(..., V) -> (..., V)"""
    values, order = probabilities.sort(dim=-1, descending=True)
    ahead = values.cumsum(dim=-1) - values  # (..., V)
    values = values * (ahead < p)  # 0 where enough is ahead already
    kept = torch.zeros_like(probabilities).scatter(-1, order, values)
    return kept / kept.sum(dim=-1, keepdim=True)


# %% tags=["check"] exercise="06.6"
check("06.6", my_top_p)

# %% [markdown] tags=["exercise"] exercise="06.7"
# ### Exercise 6.7 ★★★ · One step with a cache (15 min)
#
# A language model has read $S$ tokens and kept their keys `past_k` $(\dots, S, D)$ and values `past_v` $(\dots, S, D_v)$. Now comes the newest token, `x` $(\dots, 1, E)$. Write `my_cached_attention(x, past_k, past_v, w_q, w_k, w_v)`, which gives the newest token's
# output $(\dots, 1, D_v)$: exactly the last row that causal attention over all $S + 1$ tokens would give. The matrices have shapes $(E, D)$, $(E, D)$, $(E, D_v)$. The past may be empty.


# %% tags=["stub"] exercise="06.7"
def my_cached_attention(x, past_k, past_v, w_q, w_k, w_v):
    """One new token (..., 1, E) -> its output (..., 1, D_v)."""
    q = x @ w_q  # (..., 1, D)
    k = ...  # (..., S + 1, D): the past, and the new one
    v = ...  # (..., S + 1, D_v)
    scores = ...  # (..., 1, S + 1)
    return ...


# %% [markdown] tags=["hint"] exercise="06.7"
# The past is ready to use: it was projected when it was new. Only `x` goes through the matrices. `torch.cat([a, b], dim=-2)` appends rows.

# %% [markdown] tags=["hint"] exercise="06.7"
# Which keys may the *last* token see? All of them, itself included. So is a mask needed?


# %% tags=["solution"] exercise="06.7"
def my_cached_attention(x, past_k, past_v, w_q, w_k, w_v):
    """One new token (..., 1, E) -> its output (..., 1, D_v)."""
    q = x @ w_q  # (..., 1, D)
    k = torch.cat([past_k, x @ w_k], dim=-2)  # (..., S + 1, D)
    v = torch.cat([past_v, x @ w_v], dim=-2)  # (..., S + 1, D_v)
    scores = q @ k.mT / math.sqrt(q.shape[-1])  # (..., 1, S + 1)
    return scores.softmax(dim=-1) @ v


# %% tags=["check"] exercise="06.7"
check("06.7", my_cached_attention)

# %% [markdown] tags=["exercise"] exercise="06.8"
# ### Exercise 6.8 ★★ · A step with a loss scale (10 min)
#
# The loss was multiplied by `scale` before the backward pass, so `gradient`, in float16, is `scale` times too large. Write `my_scaled_step(weight, gradient, scale, rate)`: one step of plain gradient descent on `weight`, in float32. If any number of the gradient is
# infinite or not a number, the scale was too large: skip the step, and return the weight as it was.


# %% tags=["stub"] exercise="06.8"
def my_scaled_step(weight, gradient, scale, rate):
    """Weight (…) in float32, gradient (…) in float16 -> the new weight."""
    true_size = ...  # in float32
    if ...:  # something overflowed
        return weight
    return ...


# %% [markdown] tags=["hint"] exercise="06.8"
# First the type, then the division. `gradient / scale` in float16 makes small numbers 0 again: the very thing that the scale is there to prevent.

# %% [markdown] tags=["hint"] exercise="06.8"
# `torch.isfinite(x)` is False for ±inf and for NaN. `.all()` asks the whole tensor; one bad number spoils the step.


# %% tags=["solution"] exercise="06.8"
def my_scaled_step(weight, gradient, scale, rate):
    """Weight (…) in float32, gradient (…) in float16 -> the new weight."""
    true_size = gradient.float() / scale
    if not true_size.isfinite().all():
        return weight
    return weight - rate * true_size


# %% tags=["check"] exercise="06.8"
check("06.8", my_scaled_step)

# %% [markdown] tags=["exercise"] exercise="06.9"
# ### Exercise 6.9 ★★ · Label smoothing (10 min)
#
# The loss of this training, by hand. Write `my_smoothed_losses(logits, target, epsilon)`: logits $(N, V)$, right words $(N,)$, one loss per word $(N,)$. The target distribution $q$ has $\varepsilon / V$ on every word and $1 - \varepsilon$ more on the right one. The loss is the cross-entropy with it,
# $-\sum_v q_v \log p_v$.


# %% tags=["stub"] exercise="06.9"
def my_smoothed_losses(logits, target, epsilon):
    """(N, V), (N,) -> (N,)"""
    log_p = ...  # (N, V)
    right = ...  # (N,): log p of the right words
    everybody = ...  # (N,): the mean of log p over all words
    return ...


# %% [markdown] tags=["hint"] exercise="06.9"
# Split the sum: $(1 - \varepsilon)$ times the right word's $\log p$, and $\varepsilon$ times the *mean* of all $\log p$.

# %% [markdown] tags=["hint"] exercise="06.9"
# `log_p.gather(-1, target[:, None])` picks one entry per row, shape $(N, 1)$. `logits.log_softmax(-1)` is safer than `softmax` and then `log`.


# %% tags=["solution"] exercise="06.9"
def my_smoothed_losses(logits, target, epsilon):
    """(N, V), (N,) -> (N,)"""
    log_p = logits.log_softmax(dim=-1)  # (N, V)
    right = log_p.gather(-1, target[:, None])[:, 0]  # (N,)
    everybody = log_p.mean(dim=-1)  # (N,)
    return -((1 - epsilon) * right + epsilon * everybody)


# %% tags=["check"] exercise="06.9"
check("06.9", my_smoothed_losses)

# %% [markdown]
# ## Your turn
#
# 1. Train with `norm="post"` and `schedule=training.constant`. What does the loss do without the warm-up? Then the same with `norm="pre"`.
# 2. Set `label_smoothing` to 0. The training loss falls lower. Does BLEU follow?
# 3. Let the batch grow until the memory is full (`torch.cuda.max_memory_allocated()`), with and without mixed precision. What grows with the batch, and what does not?
# 4. With `fra.txt`: look at ten translations that are wrong. How many of them are other good translations? That is one reason why BLEU on real data stays far from 100.
#
# <details><summary>Hint for 1</summary>
#
# `dataclasses.replace(config, norm="pre")` makes the second model. Draw both `history.losses` into one figure, on a logarithmic axis. Adam's first steps are all about as long as `lr`, whatever the gradient: which norm copes with that?
#
# </details>
#
# <details><summary>Hint for 2</summary>
#
# Do not compare the two training losses: with smoothing, a perfect model still pays the entropy of the smoothed target. Compare `float(model.loss(batch))`, without smoothing, on the same validation batch.
#
# </details>
#
# <details><summary>Hint for 3</summary>
#
# Weights, gradients and Adam's two averages are there once, however large the batch. What the backward pass needs of every block is there once for each word.
#
# </details>
#
# <details><summary>Hint for 4</summary>
#
# `said = translator.translate([pair.source for pair in test])`, then print source, `said` and `pair.target` where the last two differ. Sort them into four heaps: other word, other order, other tense, wrong. Only the last heap is surely the model's fault, and BLEU punishes all
# four.
#
# </details>
