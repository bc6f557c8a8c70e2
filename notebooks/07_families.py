# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 7
#     title: From one Transformer to all of them
#     minutes: 120
#     summary: GPT, BERT and T5 from the same blocks, trained on text that nobody labelled. What pre-training buys, how a model learns from its prompt, and what happens when everything grows.
# ---

# %% [markdown]
# # 7 · From one Transformer to all of them
#
# Chapter 6 built one machine for one task. Now keep its encoder, its decoder, or both, and train on plain text that nobody has labelled: **hide a part, ask for it**. GPT, BERT and T5 are three ways of hiding.
#
# **Question:** in which family does the word *bank* know that a *river* is coming? Switch the family, hide words, and point at a row.

# %% tags=["setup"]
import copy
import json
import math
import random

import matplotlib.pyplot as plt
import plotly.graph_objects as go
import torch
import torch.nn.functional as F
from torch import nn

from attnlab import assets, decoding, figures, metrics, palette, training
from attnlab.checks import check
from attnlab.data import (
    PAD,
    Pair,
    Vocabulary,
    batches,
    collate,
    in_context,
    lexicon,
    shakespeare,
)
from attnlab.data.english_french import EnglishFrench
from attnlab.data.family_tree import BRANCHES, TREE, short
from attnlab.data.sequences import stack
from attnlab.models.attention_only import AttentionOnly
from attnlab.models.families import DecoderOnly, EncoderOnly, Hidden
from attnlab.models.published import minilm, read
from attnlab.models.transformer import Config, Transformer
from attnlab.reproducible import seed
from attnlab.training import Descent, corruption, cost
from attnlab.training.scaling_law import fit_law, resampled
from attnlab.translator import Translator
from attnlab.widgets import (
    Chopper,
    FamilyMasks,
    HeadGrid,
    ModelTree,
    Quiz,
    ScalingCalculator,
    TokenSampler,
)

figures.use_style()
torch.set_printoptions(precision=2, sci_mode=False)

# %% [markdown] tags=["slide", "slides-only"]
# # From one Transformer to all of them
#
# attnlab · chapter 7
#
# Hide a part of a text, and ask for it.

# %% [markdown] tags=["notes"]
# 60 minutes. Three families by their masks (12), pre-training and fine-tuning (10), in context and induction heads (14), scaling and emergence (14), where it all went (7), quiz (3).

# %% tags=["slide", "hide-input"]
FamilyMasks(
    ["we", "sat", "on", "the", "bank", "of", "the", "river"],
    hidden=[1, 2],
    family="GPT",
    row=5,
    title="Three families, one sentence",
    caption="Filled: may be seen. Right: what each position must say. Italic: what an encoder reads.",
)

# %% [markdown] tags=["notes"]
# Start with GPT: the triangle. BERT: the full square, and only the holes are asked. T5: a square for the source, a triangle for the target. Ask: which one can *write*? Which one gets the most questions out of one sentence? (*bank* sees *river* in BERT and in T5's encoder, as long as neither is hidden.)

# %% [markdown]
# At the end you can
#
# - tell GPT, BERT and T5 apart by their masks, and train all three;
# - say what pre-training buys, measured, frozen or fine-tuned;
# - find the head that lets a model learn from its prompt, and build one by hand;
# - fit a scaling law, predict a run before paying for it, and say what a sudden jump may hide.

# %% [markdown]
# ## 1 · The question
#
# A new task: *what kind of thing is the first noun?* Person, animal, food … Somebody has labelled 16 sentences, two of each kind, and is tired. **Guess first:** how good does a fresh encoder get with them, on sentences it has not seen?

# %% [markdown] tags=["slide", "slides-only", "layout-question"]
# ## Sixteen labels
#
# *the old king reads a letter* → person
#
# Eight kinds, two sentences of each. How many new sentences does a fresh encoder get right?

# %% tags=["plumbing", "nbval-ignore-output"]
corpus = EnglishFrench(longest=6)
pairs, unseen_pairs = corpus.take(12_000), corpus.take(400, "test")
source = Vocabulary(sorted({w for p in pairs for w in p.source}))
target = Vocabulary(sorted({w for p in pairs for w in p.target}))
MASK, CLS = len(source), len(source) + 1  # two more words
KINDS = ["person", "animal", "food", "text", "clothing", "vehicle", "thing", "place"]  # fmt: skip
kind_of = {form: n.kind for n in lexicon.ALL_NOUNS for form in n.english}


def numbered(pair):
    """[CLS], then the English words."""
    return [CLS, *source.encode(pair.source)]


def labelled(chosen):
    """Sentences whose first noun is of one of the kinds."""
    for pair in chosen:
        nouns = [kind_of[word] for word in pair.source if word in kind_of]
        if nouns and nouns[0] in KINDS:
            yield numbered(pair), KINDS.index(nouns[0])


known = list(labelled(pairs))
of_kind = [[row for row in known if row[1] == k] for k in range(len(KINDS))]
exam = list(labelled(unseen_pairs))
exam_x, exam_y = (
    stack([w for w, _ in exam]),
    torch.tensor([k for _, k in exam]),
)


def fresh():
    """An untrained encoder."""
    return EncoderOnly(Config(words=len(source) + 2))


class Classifier(nn.Module):
    """An encoder, one vector for the sentence, and one linear layer."""

    def __init__(self, body, frozen=False, read="mean"):
        super().__init__()
        self.body = body.requires_grad_(not frozen)
        self.read, self.head = read, nn.Linear(64, len(KINDS))

    def forward(self, words):
        vectors = self.body.encode(words)  # (B, L, E)
        if self.read == "[CLS]":
            return self.head(vectors[:, 0])
        real = (words != PAD)[..., None]
        return self.head((vectors * real).sum(1) / real.sum(1))

    def loss(self, batch):
        return F.cross_entropy(self(batch[0]), batch[1])


def fine_tune(body, labels, number, steps=240, **how):
    """Right answers in % on unseen sentences, after some steps on few labels."""
    dice = random.Random(number)
    few = [
        row
        for rows in of_kind  # as many of each kind
        for row in dice.sample(rows, labels // len(KINDS))
    ]

    def small_batches():
        while True:
            rows = dice.sample(few, 16)
            yield (
                stack([w for w, _ in rows]),
                torch.tensor([k for _, k in rows]),
            )

    seed(number)
    model = Classifier(copy.deepcopy(body) if body else fresh(), **how)
    rate = 2e-2 if how.get("frozen") else 2e-3
    training.fit(
        model, small_batches(), steps=steps, seed=number,
        descent=Descent(lr=rate), listeners=(),
    )  # fmt: skip
    with torch.no_grad():
        right = model(exam_x).argmax(-1) == exam_y
    return 100 * right.float().mean().item()


LABELS = (16, 128, 1024)
scratch = [[fine_tune(None, n, s) for s in range(3)] for n in LABELS]
mean_of = lambda rows: [sum(r) / len(r) for r in rows]  # noqa: E731
commonest = 100 * (exam_y == exam_y.mode().values).float().mean().item()
for n, right in zip(LABELS, mean_of(scratch)):
    print(f"from scratch, {n:4d} labels: {right:3.0f} % right")
print(f"always the commonest kind:  {commonest:3.0f} %")

# %% tags=["fragment", "slides-only", "hide-input", "nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(6.2, 2.4))
bars = ax.bar([f"{n:,} labels" for n in LABELS], mean_of(scratch), color=palette.colour("transformer"))  # fmt: skip
ax.bar_label(bars, fmt="%.0f", padding=3)
ax.axhline(commonest, color="black", ls=":")
ax.text(-0.4, commonest + 4, "commonest kind")
ax.set(ylabel="right answers, %", ylim=(0, 108))
figures.show(
    fig,
    alt="Right answers of a fresh encoder with 16, 128 and 1,024 labels: with 16 below always saying the commonest kind, with 1,024 far above.",
)

# %% tags=["held"]
assert mean_of(scratch)[0] <= commonest, scratch
assert mean_of(scratch)[-1] >= 85, scratch

# %% [markdown]
# With a thousand labels it works: far better than *always the commonest kind*. With sixteen it is worse than that: sixteen sentences can name few of the nouns. Labels cost somebody's time. Plain sentences are free, and they say a lot about nouns: what is *read*, what is *eaten*, what *walks*. So: **how can a model learn from text alone?**

# %% [markdown]
# ## 2 · By hand
#
# Take a part away and ask for it. A text becomes its own answer sheet, and three families differ in what they take.
#
# | family | the loss it lowers | the mask | it can |
# |---|---|---|---|
# | decoder-only, GPT | $-\sum_t \log p(x_t \mid x_{<t})$ | triangle $(L, L)$ | write on |
# | encoder-only, BERT | $-\sum_{t \in \text{holes}} \log p(x_t \mid \tilde x)$ | all of $(L, L)$ | describe a text |
# | encoder–decoder, T5 | $-\sum_t \log p(y_t \mid y_{<t}, \tilde x)$ | all of $(S, S)$; triangle $(T, T)$ and all of $(T, S)$ | turn one text into another |
#
# $x$: the text, $\tilde x$: the text with parts hidden, $y$: what was hidden. Each $p$ is a softmax over $V$ words at one position. The blocks are those of chapter 6, all of them.


# %%
S, T = 5, 4  # a source of 5 tokens, a target of 4
gpt_mask = torch.ones(S, S).tril().bool()  # who came before
bert_mask = torch.ones(S, S).bool()  # everybody
t5_mask = torch.zeros(S + T, S + T).bool()
t5_mask[:, :S] = True  # everybody sees the source
t5_mask[S:, S:] = torch.ones(T, T).tril().bool()  # and the past of the target

# %% [markdown] tags=["slide", "slides-only"]
# ## Three families, three masks

# %% tags=["fragment", "hide-input"]
fig, axes = plt.subplots(1, 3, figsize=(6.4, 2.7), width_ratios=[5, 5, 9])
for ax, name, mask in zip(
    axes, ("GPT", "BERT", "T5"), (gpt_mask, bert_mask, t5_mask)
):
    ax.imshow(mask, cmap=figures.WEIGHTS, vmin=0, vmax=1.4)
    ax.set_xticks(torch.arange(len(mask) + 1) - 0.5, [])
    ax.set_yticks(torch.arange(len(mask) + 1) - 0.5, [])
    ax.grid(color="white", linewidth=1.5)
    ax.set_title(name)
axes[2].set_xlabel("source     target")
axes[0].set_ylabel("query")
axes[0].set_xlabel("key")
figures.show(
    fig,
    alt="Three masks: a lower triangle for GPT, a full square for BERT, and for T5 a full square for the source, a full block from target to source and a triangle within the target.",
    caption="Filled: may be seen. GPT is T5's lower right corner, BERT its upper left.",
)

# %% tags=["held"]
library = {  # the library's masks, for texts that give these sizes
    "GPT": corruption.views(list("abcd"), [False] * 4, "GPT").mask,
    "BERT": corruption.views(list("abc"), [False] * 3, "BERT").mask,
    "T5": corruption.views(list("abcdef"), [i in (1, 2) for i in range(6)], "T5").mask,
}  # fmt: skip
for name, mask in (("GPT", gpt_mask), ("BERT", bert_mask), ("T5", t5_mask)):
    assert torch.equal(library[name], mask), name

# %% [markdown] tags=["notes"]
# One look: GPT is the lower right corner of T5, BERT its upper left. Where is cross-attention? The lower left block.

# %% [markdown]
# ### BERT hides 15 %, and not all of them
#
# [Devlin et al. 2019](https://arxiv.org/abs/1810.04805) ask for 15 % of the tokens. A second throw of the dice, *luck*, says what the model reads in their place:
#
# | token | asked? | luck | read | answer |
# |---|---|---|---|---|
# | the | no | | the | |
# | cat | yes | 0.35 | [MASK] | cat |
# | sat | yes | 0.86 | *green*, a random word | sat |
# | down | yes | 0.97 | down | down |
#
# Below 0.8: the mark. Below 0.9: a random word. Otherwise: unchanged, but still asked. Asked only at marks, a model could leave the vectors of all other words useless, and after pre-training it never sees a mark again. In front of every text stands **[CLS]**, a token without a word: its vector is free to stand for the whole sentence.
#
# ### T5 hides spans
#
# [Raffel et al. 2020](https://arxiv.org/abs/1910.10683) take out whole runs. One *sentinel* stands for each, and the target tells what was there:

# %%
words = ["the", "old", "cat", "sat", "on", "the", "red", "mat"]
gone = [False, True, True, False, False, False, True, False]
read_by_encoder, told_by_decoder = corruption.spans(words, gone)
print("encoder reads: ", *read_by_encoder)
print("decoder writes:", *told_by_decoder)

# %% [markdown] tags=["slide", "slides-only", "layout-question"]
# ## Three ways to ask
#
# | | reads | must say |
# |---|---|---|
# | GPT | the old cat sat | the next word, everywhere |
# | BERT | the old [MASK] sat | *cat*, and at 15 % of the positions only |
# | T5 | the X sat on | X old cat Y |

# %% [markdown]
# ## 3 · Live
#
# ### The tree
#
# Some forty models that grew from the Transformer, up to the end of 2025, each with its source. Walk along the lines: whose child is ChatGPT? **Guess first:** which branch has grown most since 2020, and can you have the weights?

# %% tags=["slide", "slides-only", "hide-input"]
ModelTree(short(), selected=10, title="One root, three branches")

# %% tags=["hide-input"]
ModelTree(
    selected=[model.name for model in TREE].index("ChatGPT"),
    title="The tree of models",
    caption="Up to the end of 2025. ● weights can be downloaded, ○ they are kept. Lines lead to the model whose design or weights a model mostly follows, as we read its report.",
)

# %% [markdown] tags=["notes"]
# Show the closed ones alone: in our choice all are decoders, from 2020 to 2023. Then the open ones. BERT's branch goes on: ModernBERT is from 2024.

# %% tags=["hide-input"]
later = [model for model in TREE if model.year > 2020]
for branch in BRANCHES:
    here = [model for model in later if model.branch == branch]
    print(f"{branch:16} after 2020: {len(here):2d}, of them {sum(m.open for m in here)} open")  # fmt: skip

# %% tags=["held"]
assert len([m for m in later if m.branch == "decoder"]) > len(later) / 2
assert abs(len(TREE) - 40) <= 2
decoders = [m for m in later if m.branch == "decoder"]
assert sum(m.open for m in decoders) > len(decoders) / 2
assert max(model.year for model in TREE) == 2025

# %% [markdown]
# Most are decoders, and of more than half of those the weights can be had. (Our choice leans to models that people talk about, so the counts say little about the rest.) How large did they get? Hover: each point is a model of the tree whose makers say its size.

# %% tags=["hide-input"]
fig = go.Figure()
for branch, ink, mark in zip(
    BRANCHES, ("blue", "green", "orange"), ("circle", "square", "diamond")
):
    here = [m for m in TREE if m.branch == branch and m.size]
    fig.add_scatter(
        x=[m.year for m in here],
        y=[m.size for m in here],
        text=[f"{m.name} ({m.maker})" for m in here],
        mode="markers",
        name=branch,
        marker_color=palette.colour(ink),
        marker_symbol=mark,
        marker_size=9,
    )
decades = [0.01, 0.1, 1, 10, 100, 1000]
fig.update_layout(
    xaxis_dtick=1,
    yaxis={
        "type": "log",
        "title": "billion parameters",
        "tickvals": decades,
        "ticktext": [f"{d:g}" for d in decades],
    },
    legend={"y": 1.02, "yanchor": "bottom"},
)
figures.interactive(
    fig,
    title="Model sizes over the years",
    alt="Parameters of the tree's models by year on a logarithmic scale: from some hundred million in 2018 to some hundred billion for the largest decoders from 2020 on; the encoders stay below two billion.",
    caption="The largest model of each report. Models of many experts count all their weights, though only some work for each token.",
    shape=0.45,
)

# %% [markdown]
# ### What a training costs
#
# A weight takes part in one multiplication and one addition for each token, and twice as many on the way back: $C \approx 6\,N D$ operations for $N$ parameters and $D$ tokens ([Kaplan et al. 2020](https://arxiv.org/abs/2001.08361)).
#
# - Gopher is set: 280 billion parameters, 300 billion tokens, 4,096 TPU v3 chips. At which share of the peak does it take the 920 hours of its report (38 days)? (The next cell answers.)
# - Switch to Chinchilla: a quarter of the size, more than four times the tokens. Which of the four numbers falls to a quarter, and do the operations?

# %% tags=["slide", "hide-input"]
ScalingCalculator(
    "Gopher",
    device="TPU v3 chip",
    count=4096,
    utilisation=0.3,
    title="What a training costs",
    caption="6ND counts useful operations; real runs reach a part of the peak. Memory: 16 bytes per parameter for weights, gradients and Adam's two moments, without activations.",
)

# %% [markdown] tags=["notes"]
# Gopher on 4,096 chips: drag the share of the peak until it says 38 days. Then our own largest model on one T4: milliseconds. Then GPT-3 on one A100.

# %% [markdown]
# A price often quoted in lectures is \$3,768,320. It is Gopher's, not GPT-3's: a product of three numbers, of which the report ([Rae et al. 2021](https://arxiv.org/abs/2112.11446), its appendix on compute) gives two, the chips and the hours:

# %%
chips, hours = 4096, 920
print(f"{chips:,} chips × {hours} hours = {chips * hours:,} chip hours")
print(f"at one dollar an hour: ${chips * hours * 1:,}")
flops = cost.operations(280e9, 300e9)
peak = cost.DEVICES["TPU v3 chip"].flops
share = flops / (chips * hours * 3600 * peak)
print(f"6ND = {flops:.1e} operations: {share:.0%} of the chips' peak")
smaller = cost.operations(70e9, 1400e9)
print(f"Chinchilla: a quarter of the memory, but {smaller:.1e} operations")

# %% tags=["held"]
assert chips * hours == 3_768_320
assert 0.25 < share < 0.4
assert smaller > flops

# %% [markdown]
# The dollar is the weak factor: chips are rented at many prices, and nobody outside knows what this run cost. (The report's own count, 6.31 · 10²³ operations, includes what was computed twice to save memory; $6ND$ and our share do not. We read chips, hours and count in a [summary](https://ai-papers.xuzou.cn/papers/gopher_2021), not in the report itself; [PaLM's report](https://arxiv.org/abs/2204.02311) lists the same chips, at 32.5 % of their peak.) And it is one run: what was tried before it is not in the bill.

# %% [markdown]
# ## 4 · In the open
#
# ### GPT: the encoder block with one mask
#
# No cross-attention: blocks of an encoder, made causal. Two of them, width 64, and letters of Shakespeare.

# %% tags=["plumbing", "nbval-ignore-output"]
letters = shakespeare.vocabulary()
seed(0)
gpt = DecoderOnly(Config(words=len(letters), positions="rope"))
learned = training.fit(
    gpt,
    shakespeare.windows(length=64, size=16, seed=0),
    steps=700,
    descent=Descent(lr=8e-3),
)
with torch.no_grad():
    gpt_loss = gpt.loss(shakespeare.held_out(64)).item()

# %% [markdown]
# That `causal` is nothing but our triangle, and that the loss is the mean over all positions, can be checked on any text:

# %%
text = torch.tensor([letters.encode("To be, or not to be")])  # (1, L)
L = text.shape[1]
triangle = torch.ones(L, L).tril().bool()
with torch.no_grad():
    x = gpt.embedding(text)  # (1, L, E)
    ours = gpt.generate(gpt.stack(x, mask=triangle))  # (1, L, V)
    torch.testing.assert_close(ours, gpt(text))
    log_p = ours[0, :-1].log_softmax(-1)  # (L - 1, V): the last has no next
    loss = -log_p.gather(-1, text[0, 1:, None]).mean()
    torch.testing.assert_close(loss, gpt.loss(text))
print(f"{L - 1} questions in one text of {L} letters")

# %% tags=["nbval-ignore-output"]
prompt = torch.tensor([letters.encode("ROMEO:\n")])
written = decoding.sample(
    gpt.step, gpt.start(prompt[:, :-1]), bos=int(prompt[0, -1]),
    max_length=140, temperature=0.7, generator=seed(1),
)[0]  # fmt: skip
print(f"{learned.seconds:.0f} CPU seconds, held-out loss {gpt_loss:.2f} nats per letter (knowing nothing: {math.log(65):.2f})\n")  # fmt: skip
print("ROMEO:\n" + "".join(letters.decode(written)))

# %% tags=["held"]
assert gpt_loss <= 2.0, gpt_loss

# %% [markdown]
# ### BERT: no mask, holes
#
# Everybody sees everybody, so predicting the next word would be copying. The 80/10/10 rule in the open, equal to the library's on the same dice:


# %%
def our_masking(tokens, mark, words, share, generator):
    """(B, L) -> what is read (B, L), answers (B, L); 0 is padding."""
    asked = torch.rand(tokens.shape, generator=generator) < share
    asked &= tokens != 0
    luck = torch.rand(tokens.shape, generator=generator)
    other = torch.randint(4, words, tokens.shape, generator=generator)
    instead = torch.where(luck < 0.8, mark, torch.where(luck < 0.9, other, tokens))  # fmt: skip
    return torch.where(asked, instead, tokens), tokens * asked


batch = stack([numbered(pair) for pair in pairs[:400]])
ours = our_masking(batch, MASK, MASK, 0.3, seed(2))
library = corruption.masked(batch, MASK, MASK, share=0.3, generator=seed(2))
assert torch.equal(ours[0], library.tokens)
assert torch.equal(ours[1], library.answers)
holes = ours[1] != 0
print(f"asked: {holes.sum() / (batch != 0).sum():.0%} of the tokens")
print(f"of these marked: {(ours[0][holes] == MASK).float().mean():.0%}, unchanged: {(ours[0] == batch)[holes].float().mean():.0%}")  # fmt: skip

# %% [markdown]
# Our sentences have only 3 to 6 words, so we ask for 30 %. We train on 12,000 of them (one seed), and then ask for the last word of a new one.

# %% tags=["plumbing", "nbval-ignore-output"]
sentences = [numbered(pair) for pair in pairs]


def texts_with_holes(size=128):
    """Endless batches; [CLS] itself is never asked for."""
    dice, luck = random.Random(0), torch.Generator().manual_seed(0)
    while True:
        chosen = stack(dice.sample(sentences, size))
        spoiled = corruption.masked(
            chosen[:, 1:], MASK, MASK, share=0.3, generator=luck
        )
        yield with_cls(spoiled)


def with_cls(spoiled):
    front = torch.full((len(spoiled.tokens), 1), CLS)
    return Hidden(
        tokens=torch.cat([front, spoiled.tokens], dim=1),
        answers=torch.cat([0 * front, spoiled.answers], dim=1),
    )


seed(0)
bert = fresh()
holes = training.fit(
    bert, texts_with_holes(), steps=800, descent=Descent(lr=5e-3)
)

# %% tags=["nbval-ignore-output"]
test_texts = stack([source.encode(pair.source) for pair in unseen_pairs])
asked = with_cls(
    corruption.masked(test_texts, MASK, MASK, share=0.3, generator=seed(9))
)
marked = (asked.answers != PAD) & (asked.tokens == MASK)
with torch.no_grad():
    right = bert(asked.tokens).argmax(-1) == asked.answers
filled = right[marked].float().mean().item()
always = torch.bincount(asked.answers[marked]).max() / marked.sum()
query = torch.tensor(
    [[CLS, *source.encode(["the", "girl", "reads", "a"]), MASK]]
)
with torch.no_grad():
    best = bert(query)[0, -1].topk(5).indices
print(f"marks filled with the very word: {filled:.0%} (commonest word: {always:.0%})")  # fmt: skip
print("the girl reads a …", [source.words[i] for i in best])

# %% tags=["held"]
assert filled >= 2 * always, (filled, always)
assert not any(pair.source[:4] == ("the", "girl", "reads", "a") for pair in pairs)  # fmt: skip

# %% [markdown]
# Many holes have several good answers, so 100 % is out of reach for anybody. Nobody told it what one can read: which of its five guesses make sense?
#
# ### T5: holes of any width
#
# A [MASK] is one word. A sentinel stands for a *run*, so the decoder must also find out how many words are missing. We hide one or two runs in every sentence, at random and anew for every batch, and train an encoder–decoder on nothing but English.


# %% tags=["plumbing", "nbval-ignore-output"]
gapped = Vocabulary(sorted({*source.words[4:], *corruption.SENTINELS}))


def with_gaps(words, dice):
    """A sentence with one or two runs hidden, and what they hid."""
    start, run = dice.randrange(len(words)), dice.choice((1, 2, 2, 3))
    run = min(run, len(words) - 1)
    gone = [start <= i < start + run for i in range(len(words))]
    apart = [i for i in range(len(words)) if not any(gone[max(0, i - 1) : i + 2])]  # fmt: skip
    if apart and dice.random() < 0.5:
        gone[dice.choice(apart)] = True
    reads, tells = corruption.spans(words, gone)
    return Pair(source=tuple(reads), target=tuple(tells))


def gap_batches(size=64):
    dice = random.Random(0)
    while True:
        chosen = [with_gaps(p.source, dice) for p in dice.sample(pairs, size)]
        yield collate(chosen, gapped, gapped)


seed(0)
filler = Translator(Transformer(Config(words=len(gapped))), gapped, gapped)
training.fit(filler.model, gap_batches(), steps=600, descent=Descent(lr=5e-3))
dice = random.Random(9)
gaps = [with_gaps(pair.source, dice) for pair in unseen_pairs]
fills = filler.translate([gap.source for gap in gaps])

# %% tags=["plumbing"]
neighbours = {pair for p in pairs for pair in zip(p.source, p.source[1:])}


def marks(words):
    return [word for word in words if word in corruption.SENTINELS]


def filled_in(reads, tells):
    """The sentence with its gaps filled."""
    runs, now = {}, None
    for word in tells:
        if word in corruption.SENTINELS:
            now = runs.setdefault(word, [])
        elif now is not None:
            now.append(word)
    return [w for word in reads for w in runs.get(word, [word])]


def fits(reads, tells):
    """Whether every two neighbours were neighbours in training, too."""
    words = filled_in(reads, tells)
    return all(pair in neighbours for pair in zip(words, words[1:]))  # noqa: RUF007


any_word = random.Random(
    3
)  # as many words as were hidden, drawn by frequency
drawn = [
    [w if w in corruption.SENTINELS else any_word.choice(any_word.choice(pairs).source) for w in gap.target]
    for gap in gaps
]  # fmt: skip

# %% tags=["hide-input", "nbval-ignore-output"]
in_form = sum(marks(f) == marks(g.target) for f, g in zip(fills, gaps)) / len(gaps)  # fmt: skip
as_long = sum(len(f) == len(g.target) for f, g in zip(fills, gaps)) / len(gaps)  # fmt: skip
very_words = metrics.exact(fills, [g.target for g in gaps])
fit_of = lambda answers: sum(fits(g.source, a) for g, a in zip(gaps, answers)) / len(gaps)  # noqa: E731  # fmt: skip
fluent, by_chance, true_ones = fit_of(fills), fit_of(drawn), fit_of([g.target for g in gaps])  # fmt: skip
for gap, said in list(zip(gaps, fills))[:4]:
    print(f"{' '.join(gap.source):34} → {' '.join(said)}")
print(f"sentinels in order: {in_form:.0%}; as many words as were hidden: {as_long:.0%}; the very words: {very_words:.0%}")  # fmt: skip
print(f"all neighbours known: {fluent:.0%} (the hidden words: {true_ones:.0%}, random words: {by_chance:.0%})")  # fmt: skip

# %% tags=["held"]
assert in_form > 0.9, in_form
assert by_chance + 0.2 < fluent, (fluent, by_chance)
assert very_words < 0.2 < 0.5 < as_long < 0.75, (very_words, as_long)
assert 0.55 < fluent < true_ones - 0.1, (fluent, true_ones)

# %% [markdown]
# The form is right in more than nine of ten sentences, the number of words in about two of three, and the very words rarely: many would do. All neighbours are known in about two of three as well, far more often than with random words and less often than with the hidden words themselves. (One seed, new sentences.)
#
# ### T5: every task is text
#
# One model, three tasks, and a prefix that says which: *translate*, *summarise* (here: drop small words and adjectives), *classify* (is it negated?). The answer is always a text, even if it is a single word.

# %% tags=["plumbing", "nbval-ignore-output"]
NO = {"not", "never", "cannot"}
SMALL = {
    *["the", "a", "an", "some", "this", "that", "these", "those", "my", "your", "his", "her", "our", "their", "is", "are", "was", "were", "am", "be", "very", "often", "always", "sometimes", "today", "yesterday", "two", "three", "can", "could", "must", "to", "of", "in", "for", "near", "with", "at", "on", "and", "not", "never", "cannot", "do", "does", "did"],
    *(a.english for a in (*lexicon.BEFORE, *lexicon.COLOUR, *lexicon.QUALITY)),
}  # fmt: skip


def three_tasks(pair):
    """One sentence, three questions with their answers."""
    short = tuple(w for w in pair.source if w not in SMALL) or ("nothing",)
    negated = "yes" if NO & set(pair.source) else "no"
    return [
        Pair(source=("translate:", *pair.source), target=pair.target),
        Pair(source=("summarise:", *pair.source), target=short),
        Pair(source=("negated?", *pair.source), target=(negated,)),
    ]


brief = [pair for pair in pairs if len(pair.source) <= 5]
brief_test = [pair for pair in unseen_pairs if len(pair.source) <= 5]
extra = {"translate:", "summarise:", "negated?", "yes", "no", "nothing"}
both = Vocabulary(sorted({*source.words[4:], *target.words[4:], *extra}))
lessons = [task for pair in brief[:6000] for task in three_tasks(pair)]
questions = [task for pair in brief_test[:150] for task in three_tasks(pair)]
seed(0)
t5 = Translator(Transformer(Config(words=len(both))), both, both)
training.fit(
    t5.model,
    batches(lessons, both, both, size=32, seed=0),
    steps=1200,
    descent=Descent(lr=4e-3),
)
answers = t5.translate([task.source for task in questions])

# %% tags=["nbval-ignore-output"]
exact = {}
for prefix in ("translate:", "summarise:", "negated?"):
    own = [i for i, q in enumerate(questions) if q.source[0] == prefix]
    exact[prefix] = metrics.exact(
        [answers[i] for i in own], [questions[i].target for i in own]
    )
    asked_for, said = questions[own[7]].source, answers[own[7]]
    print(f"{exact[prefix]:4.0%} right   {' '.join(asked_for)}  →  {' '.join(said)}")  # fmt: skip

# %% tags=["held"]
assert min(exact.values()) >= 0.5, exact
assert min(exact, key=exact.get) == "translate:", exact

# %% [markdown]
# One set of weights, three jobs. Swap the prefix, and the same sentence gets another answer. Each had a third of the lessons; translating is the hardest of the three here. (One seed.)
#
# ### From word vectors to contextual vectors
#
# *Word vectors* (2013) give each word one vector, whatever its sentence. *ELMo* ([Peters et al. 2018](https://arxiv.org/abs/1802.05365)) read the sentence with two LSTMs, one from each side, and joined what they saw. *BERT* lets every layer mix both sides. Measured on the real encoder of chapter 3: *bank* in eight sentences, four of them about rivers. How alike are its vectors, from the table (layer 0) to the last layer?

# %% tags=["plumbing"]
tokenizer, encoder = minilm()
RIVER = [
    "I sat on the bank of the river.",
    "We fished from the muddy bank.",
    "The boat was tied to the bank of the stream.",
    "Reeds grow along the bank of the lake.",
]
MONEY = [
    "I took money to the bank.",
    "The bank raised its interest rate.",
    "She opened an account at the bank.",
    "The bank refused to give him a loan.",
]


@torch.no_grad()
def states_of(sentence, word="bank"):
    """The word's vector at the entrance and after each layer: (N + 1, E)."""
    pieces, numbers = read(sentence)
    return encoder.states(numbers)[:, 0, pieces.index(word)]


vectors = [states_of(s) for s in (*RIVER, *MONEY)]
unit = F.normalize(torch.stack(vectors), dim=-1)  # (8, N + 1, E)
cosines = torch.einsum("ine,jne->nij", unit, unit)  # (N + 1, 8, 8)
sense = torch.arange(8) // 4
alike = (sense[:, None] == sense) & ~torch.eye(8).bool()
same = cosines[:, alike].mean(-1)  # (N + 1,)
other = cosines[:, sense[:, None] != sense].mean(-1)

# %% tags=["hide-input"]
fig, ax = plt.subplots(figsize=(8, 2.9))
ax.plot(same, "o-", label="same sense")
ax.plot(other, "s--", label="other sense")
ax.set(
    xlabel="layer (0: word + position, as it enters)", ylabel="mean cosine",
    ylim=(0, 1.05), title="bank and bank",
)  # fmt: skip
ax.legend()
figures.show(
    fig,
    alt="Cosine between vectors of bank in eight sentences by layer: near one at the entrance for all pairs, then pairs of the same sense stay closer than pairs of different senses.",
    caption="Layer 0 cannot tell the senses apart; what differs there is the position in the sentence.",
)

# %% tags=["hide-input"]
print(f"entrance:   same sense {same[0]:.2f}, other sense {other[0]:.2f}")
print(f"last layer: same sense {same[-1]:.2f}, other sense {other[-1]:.2f}")

# %% tags=["held"]
assert abs(same[0] - other[0]) < 0.15
assert same[-1] - other[-1] > 0.1, (same, other)

# %% [markdown]
# ## 5 · At work
#
# ### Pre-train, then fine-tune
#
# Back to the sixteen labels. The same classifier, three beginnings: fresh weights; the BERT from above with its weights *frozen*, so that only the last linear layer learns; the same BERT with everything *fine-tuned*. **Guess first:** who wins with 16 labels, and who with 1,024?

# %% tags=["plumbing", "nbval-ignore-output"]
frozen = [[fine_tune(bert, n, s, frozen=True) for s in range(3)] for n in LABELS]  # fmt: skip
tuned = [[fine_tune(bert, n, s) for s in range(3)] for n in LABELS]
ways = {"fine-tuned": tuned, "frozen": frozen, "from scratch": scratch}

# %% [markdown] tags=["slide", "slides-only"]
# ## What pre-training buys

# %% tags=["fragment", "hide-input", "nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(8, 3.2))
for (name, rows), mark in zip(ways.items(), ("o-", "^-.", "s--")):
    spread = torch.tensor(rows)  # (labels, seeds)
    ax.plot(LABELS, spread.mean(1), mark, label=name)
    ax.fill_between(LABELS, spread.amin(1), spread.amax(1), alpha=0.2)
ax.set(
    xscale="log", xlabel="labelled sentences", ylabel="right answers, %",
    title="What kind of thing is the first noun?", xticks=LABELS,
    xticklabels=LABELS, ylim=(0, 103),
)  # fmt: skip
ax.minorticks_off()
ax.legend(loc="lower right")
figures.show(
    fig,
    alt="Right answers against the number of labels for a fine-tuned, a frozen and a fresh encoder, with the range of three seeds.",
    caption="Bands: the range over three seeds.",
)

# %% tags=["nbval-ignore-output", "hide-input"]
for name, rows in ways.items():
    shown = "   ".join(
        f"{n}: {m:.0f} %" for n, m in zip(LABELS, mean_of(rows))
    )
    print(f"{name:13} {shown}")

# %% tags=["held"]
gains = [a - b for a, b in zip(mean_of(tuned), mean_of(scratch))]
assert gains[0] >= 10, gains
assert gains[-1] < gains[1], gains
assert abs(mean_of(frozen)[0] - mean_of(tuned)[0]) < 12, ways
assert mean_of(frozen)[-1] < mean_of(tuned)[-1] - 10, ways
assert max(gains) == gains[1], gains
assert min(gains) > 0, gains
assert abs(mean_of(tuned)[0] - commonest) < 8, (ways, commonest)
assert mean_of(scratch)[-1] > mean_of(frozen)[-1], ways

# %% [markdown] tags=["notes"]
# Labels are expensive, text is cheap. Frozen features are one matrix away from an answer; fine-tuning can adapt them. With 16 labels both are no better than always saying the commonest kind.

# %% [markdown]
# Pre-training helps at all three counts, most at 128 labels. With sixteen it lifts the encoder from far below *always the commonest kind* (38 %, printed in part 1) to about as good, no more. One reason may be that words that fill the same holes get similar vectors, so labels for some nouns carry over to others. **Frozen** features are as good as fine-tuned ones with sixteen labels, and fall behind later, with three times the steps as well (see the fold): one matrix can only read what is already there. With a thousand labels the fresh encoder overtakes the frozen one.
#
# One task, and one that asks for what filling holes teaches: pre-training *can* be worth much when labels are few. The figure does not say that it always is.

# %% [markdown] tags=["deeper"]
# ### Dig deeper: [CLS] or the mean, more steps, and what the real ones read
#
# BERT reads its answer from [CLS]; ours takes the mean of all vectors. BERT's [CLS] was trained on a second task (does sentence B follow sentence A?), ours was not. Last, the frozen encoder with more time:

# %% tags=["deeper", "nbval-ignore-output"]
for where in ("mean", "[CLS]"):
    right = [fine_tune(bert, 128, s, read=where) for s in range(3)]
    print(f"128 labels, {where:5}: {sum(right) / 3:.0f} % right")
longer = [fine_tune(bert, 1024, s, steps=720, frozen=True) for s in range(3)]
print(f"frozen, 1024 labels, three times the steps: {sum(longer) / 3:.0f} % right")  # fmt: skip

# %% tags=["held", "deeper"]
assert sum(longer) / 3 < mean_of(tuned)[-1] - 10, longer

# %% [markdown] tags=["deeper"]
# | model | corpora | how much |
# |---|---|---|
# | [GPT](https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf) | BooksCorpus | about 7,000 books |
# | [BERT](https://arxiv.org/abs/1810.04805) | BooksCorpus, English Wikipedia | 800 million + 2.5 billion words |
# | [RoBERTa](https://arxiv.org/abs/1907.11692) | BERT's, CC-News, OpenWebText, Stories | over 160 GB of text |
# | [GPT-2](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf) | WebText: pages that people linked to | 40 GB |
# | [T5](https://arxiv.org/abs/1910.10683) | C4, a cleaned month of Common Crawl | about 750 GB |
# | [GPT-3](https://arxiv.org/abs/2005.14165) | Common Crawl (filtered), WebText2, two sets of books, Wikipedia | 300 billion tokens seen |
# | [Gopher](https://arxiv.org/abs/2112.11446) | MassiveText: web, books, news, code | 300 billion tokens seen, of 10.5 TB |

# %% [markdown]
# ### Learning without training
#
# GPT-3 solves tasks from a few examples *in its prompt*: no weight changes ([Brown et al. 2020](https://arxiv.org/abs/2005.14165)). A small decoder that has seen many tasks of one form can do it, too. Ours: a secret code gives each of six letters a digit.
#
# `b4 e1 a0 b4 f2 e?`
#
# There are $6^6 = 46{,}656$ codes. Every training prompt draws its own; about a tenth of all codes is kept away for the test. **Guess first:** on codes it has never seen, how often is it right after 0, 4 and 12 examples?

# %% [markdown] tags=["slide", "slides-only", "layout-question"]
# ## A secret code
#
# `b4 e1 a0 b4 f2 e?`
#
# Every prompt draws its own code: 46,656 are possible, and a tenth is never trained on.
#
# Can a model answer for a code it has *never* seen, while no weight changes? After how many examples?


# %% tags=["plumbing", "nbval-ignore-output"]
def code_loss(model, prompts):
    """Digits are asked for, letters are not."""
    logits = model(prompts[:, :-1])[:, ::2]  # after each letter
    return F.cross_entropy(logits.flatten(0, 1), prompts[:, 1::2].flatten())


seed(0)
cracker = DecoderOnly(Config(words=13, positions="rope"))
training.fit(
    cracker,
    in_context.codes(seed=0),
    steps=800,
    descent=Descent(lr=5e-3),
    loss=lambda prompts: code_loss(cracker, prompts),
)
prompts = next(in_context.codes(size=2000, unseen=True, seed=77))
with torch.no_grad():
    said = cracker(prompts[:, :-1])[:, ::2].argmax(-1)
live = (said == prompts[:, 1::2]).float().mean(0)  # by number of examples

# %% [markdown] tags=["slide", "slides-only"]
# ## From one in six to nine in ten, and no weight changes

# %% tags=["fragment", "hide-input", "nbval-ignore-output"]
recorded = json.loads(assets.find("data/in_context.json").read_text())
shots = torch.arange(in_context.SHOTS + 1)
fig, ax = plt.subplots(figsize=(8, 3.2))
for run in recorded["codes"]:
    ax.plot(shots, run["right"], color="grey", linewidth=1, label="three recorded seeds" if run["seed"] == 0 else None)  # fmt: skip
ax.plot(shots, live, "o-", label="trained just now")
ax.axhline(1 / 6, linestyle=":", color="black", label="guessing")
ax.set(
    xlabel="examples in the prompt", ylabel="right answers", ylim=(0, 1.05),
    title="Codes it has never seen",
)  # fmt: skip
ax.legend(loc="upper left")
figures.show(
    fig,
    alt="Right answers on unseen codes against the number of examples: from one sixth with none to about nine tenths with twelve, for four trained models alike.",
    caption="No weight changes from left to right. Exercise 7.3 says why it is not 100 % at twelve.",
)

# %% tags=["hide-input", "nbval-ignore-output"]
lied = [run["lied_to"] for run in recorded["codes"]]
print(f"0 examples: {live[0]:.0%}, 4: {live[4]:.0%}, 12: {live[12]:.0%}")
print(f"12 examples whose digits were shuffled: {min(lied):.0%} to {max(lied):.0%} (recorded)")  # fmt: skip

# %% tags=["held"]
assert live[12] - live[0] >= 0.2
for run in recorded["codes"]:
    assert run["right"][12] - run["right"][0] >= 0.2
    assert run["lied_to"] < run["right"][12] - 0.2
assert in_context.LETTERS == 6

# %% [markdown] tags=["notes"]
# It does not learn the code in its weights: those never change here. It has learned to look things up. Shuffle the digits among the examples and it is mostly wrong: it believes its prompt.

# %% [markdown]
# From about one in six without examples to about nine in ten with twelve. It has learned to *look up*: the answer to `e?` stands after the earlier `e`. Shuffle the digits among the examples, and it is mostly wrong. Which head could do that?
#
# ### Induction heads
#
# Take the simplest text in which looking up pays: random tokens, then the same again. A model that finds where the present token stood before knows what comes next. It takes **two heads in a row** ([Olsson et al. 2022](https://arxiv.org/abs/2209.11895)):
#
# 1. a *previous-token head* (chapter 5) writes into each position which token stood before it;
# 2. an *induction head* asks for positions whose note equals the present token, and copies what stands there.
#
# The score of a head: its mean weight on the token that followed the present one *last time*. We train models of attention alone, without networks. **Guess first:** what can a single layer do?

# %% tags=["plumbing", "nbval-ignore-output"]
seed(0)
two = AttentionOnly(in_context.WORDS, layers=2)
training.fit(
    two,
    (text for text, _ in in_context.repeats(seed=0)),
    steps=480,
    descent=Descent(lr=5e-3, schedule=lambda done: min(1.0, 10 * done)),
)
again, period = next(in_context.repeats(size=16, length=28, seed=5, shortest=14, longest=14))  # fmt: skip
maps = two.maps(again)  # (layers, B, H, L, L)
induction = in_context.induction_scores(maps, period)  # (layers, H)
previous = in_context.previous_scores(maps)

# %% tags=["hide-input", "nbval-ignore-output"]
layer, head = divmod(int(induction.argmax()), induction.shape[1])
names = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"
HeadGrid(
    maps[:, 0].clamp(min=1e-9).log(),  # one text of the batch
    tokens=[names[t] for t in again[0].tolist()],
    notes={
        f"{n}.{h}": f"induction {induction[n, h]:.2f}, previous {previous[n, h]:.2f}"
        for n in range(2)
        for h in range(4)
    },
    layer=layer,
    head=head,
    query=period + 3,
    title="Find the induction head",
    caption="Fourteen letters, then the same fourteen. Which head of layer 0 weighs the letter before? Which of layer 1 weighs what came after the last time?",
)

# %% [markdown] tags=["slide", "slides-only"]
# ## Two heads in a row

# %% tags=["fragment", "slides-only", "hide-input", "nbval-ignore-output"]
back = int(previous[0].argmax())  # the best previous-token head of layer 0
fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.4))
for ax, n, h, title in (
    (axes[0], 0, back, f"0.{back}: one back"),
    (axes[1], layer, head, f"{layer}.{head}: after the last time"),
):
    figures.heatmap(ax, maps[n, 0, h], title=title, law="weights", numbers=False)  # fmt: skip
    ax.set_xticks([])
    ax.set_yticks([])
figures.show(
    fig,
    alt="Attention of two heads on fourteen letters said twice: a head of layer 0 weighs the letter before, a head of layer 1 the letter that came after the last time.",
)

# %% [markdown] tags=["notes"]
# Fourteen letters, then the same again. Left, a head of layer 0 weighs the letter before. Right, the stripe thirteen positions back is the induction head. Why thirteen and not fourteen? It wants the letter *after* the last time. The page has all eight heads to click through.

# %% tags=["hide-input", "nbval-ignore-output"]
fig, (left, right_) = plt.subplots(1, 2, figsize=(8, 3.1))
for run in recorded["induction"]:
    step, loss, score = torch.tensor(run["curve"]).T
    how = {
        "color": palette.colour("query" if run["layers"] == 2 else "key"),
        "linestyle": "-" if run["layers"] == 2 else "--",
        "label": f"{run['layers']} layer{'s' * (run['layers'] == 2)}" if run["seed"] == 0 else None,
    }  # fmt: skip
    left.plot(step, loss, **how)
    right_.plot(step, score, **how)
left.set(xlabel="step", ylabel="nats", title="Loss where the text repeats", ylim=(0, None))  # fmt: skip
right_.set(xlabel="step", ylabel="weight", title="Best induction score", ylim=(0, 1))  # fmt: skip
left.legend()
figures.show(
    fig,
    alt="Two panels over training steps, three seeds each. With two layers the loss stays high, then falls within a hundred steps, just when the induction score rises; with one layer neither happens.",
    caption="With two layers the loss falls most when the score rises most, give or take thirty steps. Three seeds each, recorded by training/in_context.py.",
)

# %% tags=["hide-input", "nbval-ignore-output"]
best_of = {
    layers: [max(map(max, run["induction"])) for run in recorded["induction"] if run["layers"] == layers]
    for layers in (1, 2)
}  # fmt: skip
print(
    f"two layers, just now: head {layer}.{head} scores {induction.max():.2f}"
)
for layers, scores in best_of.items():
    print(f"{layers} layer{'s' * (layers > 1)}, recorded, many periods:", *(f"{s:.2f}" for s in scores))  # fmt: skip

# %% tags=["held"]
assert induction.max() >= 0.4
assert layer == 1
assert min(best_of[2]) >= 0.4, best_of
assert max(best_of[1]) <= 0.1, best_of
for run in recorded["induction"]:
    step, loss, score = torch.tensor(run["curve"]).T
    fall, rise = step[loss.diff().argmin()], step[score.diff().argmax()]
    if run["layers"] == 2:
        assert abs(fall - rise) <= 30, (run["seed"], fall, rise)
        assert step[loss < 1].min() - step[loss > 3].max() <= 100, run["seed"]

# %% [markdown]
# With one layer of attention a key holds its own token and position, not the token before it: nobody has written it down, and in our three runs no head found another way. Two layers found the trick in all three, and the loss fell from 3 nats to 1 in fewer than a hundred steps. In exercise 7.4 you set the two heads by hand.
#
# ### Scaling: predict before you pay
#
# `training/scaling.py` trained six sizes on three amounts of Shakespeare, three seeds each: 54 runs, their learning rate set by a rule (0.4 / width, at most 0.04). [Hoffmann et al. 2022](https://arxiv.org/abs/2203.15556) fit such runs by
#
# $$L(N, D) = E + \frac{A}{N^{\alpha}} + \frac{B}{D^{\beta}}$$
#
# $N$: parameters without embeddings, $D$: tokens (letters) read, $E$: what no model can know. For given exponents the rest is linear regression, so we try all pairs of a grid. **The largest size is held out**: its losses are predicted from the others.

# %% tags=["hide-input"]
scaling = json.loads(assets.find("data/scaling_law.json").read_text())
sizes = sorted({run["parameters"] for run in scaling["grid"]})
amounts = sorted({run["tokens"] for run in scaling["grid"]})
losses = torch.tensor([
    [[r["loss"] for r in scaling["grid"] if (r["parameters"], r["tokens"]) == (n, d)] for d in amounts]
    for n in sizes
])  # fmt: skip  # (sizes, amounts, seeds)
N = torch.tensor(sizes, dtype=torch.float64)[:, None].expand(-1, len(amounts))
D = torch.tensor(amounts, dtype=torch.float64).expand_as(N)
small = slice(0, -1)  # all but the largest
law = fit_law(N[small].flatten(), D[small].flatten(), losses[small].mean(-1).flatten())  # fmt: skip
print("loss =", law)

# %% tags=["plumbing"]
luck, guesses = torch.Generator().manual_seed(0), []
for _ in range(100):  # other seeds might have come up: a bootstrap
    drawn = resampled(losses[small].flatten(0, 1), luck).mean(-1)
    again_ = fit_law(N[small].flatten(), D[small].flatten(), drawn)
    guesses.append(again_(N[-1], D[-1]))
guesses = torch.stack(guesses)  # (100, amounts)
seeds_low, seeds_high = guesses.quantile(torch.tensor([0.025, 0.975]).double(), dim=0)  # fmt: skip
predicted, truth = law(N[-1], D[-1]), losses[-1].mean(-1)
# A rehearsal: the same prediction, one size earlier. How wrong was it?
rehearsed = fit_law(N[:-2].flatten(), D[:-2].flatten(), losses[:-2].mean(-1).flatten())  # fmt: skip
miss = (rehearsed(N[-2], D[-2]) - losses[-2].mean(-1)).abs()
low, high = seeds_low - miss, seeds_high + miss

# %% tags=["slide", "hide-input"]
fig = go.Figure()
inks = list(palette.inks().values())
marks = ("circle", "square", "triangle-up", "cross", "x", "diamond")
for i, n in enumerate(sizes):
    held = i == len(sizes) - 1
    fig.add_scatter(
        x=amounts,
        y=losses[i].mean(-1).tolist(),
        mode="markers",
        name=f"{n:,}" + (", held out" if held else ""),
        marker_color=inks[i % len(inks)],
        marker_symbol=marks[i],
        marker_size=11 if held else 7,
        text=[
            f"N = {n:,}, D = {d:,}: loss {m:.3f}, seeds {lo:.3f} to {hi:.3f}"
            for d, m, lo, hi in zip(
                amounts,
                losses[i].mean(-1).tolist(),
                losses[i].amin(-1).tolist(),
                losses[i].amax(-1).tolist(),
            )
        ],
    )
    fine = torch.logspace(4.45, 5.5, 25, dtype=torch.float64)
    fig.add_scatter(
        x=fine.tolist(),
        y=law(torch.tensor(float(n)), fine).tolist(),
        mode="lines",
        line_color=inks[i % len(inks)],
        line_width=3 if held else 1,
        showlegend=False,
        text=[f"the law at N = {n:,}"] * len(fine),
    )
fig.update_layout(
    xaxis={
        "type": "log",
        "title": "letters read, D",
        "tickvals": amounts,
        "ticktext": [f"{d:,}" for d in amounts],
    },
    yaxis_title="held-out loss (nats)",
    legend={"y": 1.02, "yanchor": "bottom", "title": {"text": "N"}},
)
figures.interactive(
    fig,
    title="A law of our own",
    alt="Held-out loss of six model sizes against the letters read, with the curves of a law fitted to the five smaller ones; the curve of the largest is a prediction.",
    caption="Hover for the seeds. Thick line: predicted from the five smaller sizes alone; diamonds: what the largest did.",
)

# %% tags=["hide-input"]
print("largest size, held out:")
for i, d in enumerate(amounts):
    came, runs = truth[i], losses[-1, i]
    print(f"D = {d:7,}: predicted {predicted[i]:.3f}, measured {came:.3f} (seeds {runs.min():.2f} to {runs.max():.2f})")  # fmt: skip
    for name, lo, hi in (("seeds alone", seeds_low, seeds_high), ("seeds + rehearsal", low, high)):  # fmt: skip
        inside = "inside" if lo[i] <= came <= hi[i] else "outside"
        print(f"    {name:18} {lo[i]:.3f} to {hi[i]:.3f}: {inside}")
forecast = json.loads(assets.find("data/forecast.json").read_text())
print(f"a seventh size, N = {forecast['runs'][0]['parameters']:,}, predicted before it was trained:")  # fmt: skip
for one, d in zip(forecast["written_down"], amounts):
    came = sum(r["loss"] for r in forecast["runs"] if r["tokens"] == d) / 3
    inside = "inside" if one["low"] <= came <= one["high"] else "outside"
    print(f"D = {d:7,}: predicted {one['predicted']:.3f}, measured {came:.3f}; bar {one['low']:.3f} to {one['high']:.3f}: {inside}")  # fmt: skip
by_updates = {
    width: [sum(r["loss"] for r in forecast["updates"] if (r["width"], r["tokens"]) == (width, d)) / 3 for d in amounts]
    for width in (48, 72)
}  # fmt: skip
print("four times the steps, sixth | seventh:", *(f"{a:.2f} | {b:.2f}  " for a, b in zip(*by_updates.values())))  # fmt: skip

# %% tags=["held"]
assert ((low <= truth) & (truth <= high)).all(), (low, truth, high)
assert ((seeds_low <= truth) & (truth <= seeds_high)).tolist() == [True, False, True]  # fmt: skip
whole_law = fit_law(N.flatten(), D.flatten(), losses.mean(-1).flatten())
for i, one in enumerate(forecast["written_down"]):
    seventh = {
        rate: sum(r["loss"] for r in runs if r["tokens"] == one["tokens"]) / 3
        for rate, runs in (
            (1, forecast["runs"]),
            *(
                (k, [r for r in forecast["rates"] if r["rate"] == k])
                for k in (0.5, 2)
            ),
        )
    }
    expected = whole_law(torch.tensor(float(one["parameters"])), D[0, i])
    assert abs(expected - one["predicted"]) < 1e-3, (expected, one)
    assert seventh[1] > max(one["high"], truth[i]), (seventh, one)
    assert seventh[1] <= min(seventh.values()), seventh
    sixth = by_updates[48][i], by_updates[72][i]
    assert 0.08 < truth[i] - sixth[0] < 0.5, sixth  # both gain
    assert 0.08 < seventh[1] - sixth[1] < 0.5, sixth
    assert sixth[1] - sixth[0] < seventh[1] - truth[i], sixth  # it catches up
assert by_updates[72][0] > by_updates[48][0]
assert by_updates[72][2] < by_updates[48][2]
longest = [
    [r["loss"] for r in forecast["updates"] if (r["width"], r["tokens"]) == (width, amounts[2])] for width in (48, 72)
]  # fmt: skip
assert all(b < a for a, b in zip(*longest)), longest  # for every seed

# %% [markdown]
# The error bar adds up two doubts: other seeds might have come up (a bootstrap), and the law may have the wrong form. For the second there is a *rehearsal*: the same prediction one size earlier, and how far it missed. We added the rehearsal after a first look: by the seeds alone D = 92,160 lies outside, by a hair; with the rehearsal all three lie inside. A bar widened after the fact proves little.
#
# So we did it again in the right order. A law of all six sizes, and its prediction for a seventh with the same kind of bar, were written down before anything of that size was trained (`training/forecast.py`). **It failed:** all three losses lie above the bar, and none below the sixth size's. Half and twice the learning rate did no better. So we asked for the *steps*: the law knows $N$ and $D$, but not in how many steps $D$ is read. Read in four times as many steps, each on a quarter of the batch, the same letters lower every loss by 0.09 to 0.45. The seventh size is then about level with the sixth on the fewest letters (the seeds overlap), and ahead on the most, for all three seeds. So too few steps seem to be a part of the miss; whether they are all of it we do not know.
#
# What carries over is the method: fit small runs, write the prediction *and its bar* down, then pay. The numbers do not: ours come from letters, and from small models that read little. The printed floor $E$ near 0 cannot be right (nobody knows the next letter for sure): five sizes do not pin it down.
#
# | law | says | measured on |
# |---|---|---|
# | [Kaplan et al. 2020](https://arxiv.org/abs/2001.08361) | $L \propto N^{-0.076}$, $D^{-0.095}$ | web text, up to 1.5 billion |
# | [Hoffmann et al. 2022](https://arxiv.org/abs/2203.15556) | $1.69 + 406.4/N^{0.34} + 410.7/D^{0.28}$ | web text, up to 16 billion |

# %% [markdown] tags=["notes"]
# The method is the lesson: fit small runs, write the prediction down, then run the large one. Then tell of the seventh size: predicted first, trained afterwards, and outside its bar. Who would bet on a prediction ten sizes further out?

# %% [markdown]
# ### Emergence, and what a threshold hides
#
# Some abilities seem to appear all at once when models grow ([Wei et al. 2022](https://arxiv.org/abs/2206.07682)). [Schaeffer et al. 2023](https://arxiv.org/abs/2304.15004) answer: look at the yardstick. Six sizes learned to say eight letters backwards (one learning rate for all, chosen after a first try with smaller rates for wider models). Left, an answer counts if *all eight* letters are right. Right, the same models by the log-likelihood of the right answer.

# %% [markdown] tags=["slide", "slides-only"]
# ## One task, two yardsticks

# %% tags=["fragment", "hide-input"]
emergence = json.loads(assets.find("data/emergence.json").read_text())
grown = sorted({run["parameters"] for run in emergence})


def by_size(key):
    """(sizes, seeds)"""
    rows = [
        [r[key] for r in emergence if r["parameters"] == n] for n in grown
    ]
    return torch.tensor(rows)


whole, single, nats = by_size("all_right"), by_size("letters_right"), by_size("nats")  # fmt: skip
fig, (left, right_) = plt.subplots(1, 2, figsize=(8, 3.1))
for ax, values in ((left, whole), (right_, -8 * nats)):
    ax.plot(grown, values.mean(1), "-")
    for run in values.T:  # one seed
        ax.plot(grown, run, "o", color="grey", markersize=5)
    ax.set(xscale="log", xlabel="parameters", xticks=[2e3, 1e4, 5e4], xticklabels=["2,000", "10,000", "50,000"])  # fmt: skip
    ax.minorticks_off()
left.set(title="All eight letters right", ylabel="share", ylim=(-0.03, 1.03))
right_.set(title="Log-likelihood of the answer", ylabel="nats")
figures.show(
    fig,
    alt="Left: the share of wholly right answers stays near zero for small models and then jumps. Right: the log-likelihood of the same answers rises over the whole range.",
    caption="The same models, the same answers, two yardsticks. Dots: three seeds per size, recorded by training/emergence.py; line: their mean.",
)

# %% tags=["hide-input"]
print("parameters           ", *(f"{n:>7,}" for n in grown))
print("one letter right     ", *(f"{v:7.2f}" for v in single.mean(1)))
print("  to the eighth power", *(f"{v:7.2f}" for v in (single**8).mean(1)))
print("all eight right      ", *(f"{v:7.2f}" for v in whole.mean(1)))
print("log-likelihood       ", *(f"{v:7.2f}" for v in -8 * nats.mean(1)))

# %% tags=["held"]
assert (
    nats.mean(1)[:2].min() > nats.mean(1)[2:4].max() > nats.mean(1)[4:].max()
)
assert (nats.mean(1).diff() < 0).all(), nats
assert (whole.mean(1)[:2] < 0.05).all(), whole
assert whole.mean(1)[-1] > 0.5, whole

# %% [markdown] tags=["notes"]
# A letter right with probability p is eight letters right with about p to the eighth. A smooth p becomes a jump. Schaeffer et al. do not say that nothing ever changes abruptly (look at the induction head over *time*!), but that the yardstick must be ruled out first.

# %% [markdown]
# By the log-likelihood the mean rises with every size, from the smallest on (chance plays a large part: one seed of 14,496 parameters is far ahead of the other two). A letter that is right with probability $p$ makes eight letters right with about $p^8$, and a power of eight turns a gain per letter into a leap (the third row of the table against the fourth; they would agree if the letters were independent). So before you call an ability emergent, look at a yardstick without a threshold. It does not follow that nothing ever comes suddenly: the induction heads above did, over training *time*.

# %% [markdown] tags=["deeper"]
# ### Dig deeper: what the paper reported, and how the models grew
#
# WMT 2014, newstest2014, all of Table 2 of [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762). The paper gives one training cost for each Transformer.
#
# | model | BLEU en–de | BLEU en–fr | FLOPs en–de | FLOPs en–fr |
# |---|---|---|---|---|
# | ByteNet | 23.75 | | | |
# | Deep-Att + PosUnk | | 39.2 | | 1.0 · 10²⁰ |
# | GNMT + RL | 24.6 | 39.92 | 2.3 · 10¹⁹ | 1.4 · 10²⁰ |
# | ConvS2S | 25.16 | 40.46 | 9.6 · 10¹⁸ | 1.5 · 10²⁰ |
# | MoE | 26.03 | 40.56 | 2.0 · 10¹⁹ | 1.2 · 10²⁰ |
# | Deep-Att + PosUnk, ensemble | | 40.4 | | 8.0 · 10²⁰ |
# | GNMT + RL, ensemble | 26.30 | 41.16 | 1.8 · 10²⁰ | 1.1 · 10²¹ |
# | ConvS2S, ensemble | 26.36 | 41.29 | 7.7 · 10¹⁹ | 1.2 · 10²¹ |
# | Transformer, base | 27.3 | 38.1 | 3.3 · 10¹⁸ | 3.3 · 10¹⁸ |
# | Transformer, big | 28.4 | 41.8 | 2.3 · 10¹⁹ | 2.3 · 10¹⁹ |
#
# On en–de both beat all before them, ensembles included. On en–fr big is best, and base is the worst of all, at the lowest price. The paper counted hours × 8 cards × 9.5 · 10¹² operations per second:

# %% tags=["deeper"]
print(f"base: {12 * 3600 * 8 * 9.5e12:.1e} (12 hours)")
print(f"big:  {3.5 * 24 * 3600 * 8 * 9.5e12:.1e} (3.5 days)")

# %% [markdown] tags=["deeper"]
# The same model, trained to write parse trees instead of French (Table 4, F1 on section 23 of the Wall Street Journal):
#
# | parser | training | F1 |
# |---|---|---|
# | Vinyals & Kaiser et al. 2014 | WSJ only, discriminative | 88.3 |
# | Petrov et al. 2006 | WSJ only, discriminative | 90.4 |
# | Zhu et al. 2013 | WSJ only, discriminative | 90.4 |
# | Dyer et al. 2016 | WSJ only, discriminative | 91.7 |
# | Transformer, 4 layers | WSJ only, discriminative | 91.3 |
# | Zhu et al. 2013 | semi-supervised | 91.3 |
# | Huang & Harper 2009 | semi-supervised | 91.3 |
# | McClosky et al. 2006 | semi-supervised | 92.1 |
# | Vinyals & Kaiser et al. 2014 | semi-supervised | 92.1 |
# | Transformer, 4 layers | semi-supervised | 92.7 |
# | Luong et al. 2015 | multi-task | 93.0 |
# | Dyer et al. 2016 | generative | 93.3 |
#
# Not the best, but good, with a model made for translation and hardly tuned to trees.
#
# From base to Gopher the block kept its two parts, attention and a network. A stack of $n$ blocks has about $12\,nE^2$ numbers, and $16\,nE^2$ where it also reads an encoder, plus the table of words:

# %% tags=["deeper", "hide-input"]
FAMOUS = {  # encoder, decoder blocks, width, heads, words, published (million), data, hardware
    "base (2017)": (6, 6, 512, 8, 37_000, 65, "4.5 M pairs", "8 × P100, 12 hours"),
    "big (2017)": (6, 6, 1024, 16, 37_000, 213, "4.5 M pairs", "8 × P100, 3.5 days"),
    "GPT (2018)": (12, 0, 768, 12, 40_478, 117, "7,000 books", "8 GPUs, a month"),
    "BERT-base (2018)": (12, 0, 768, 12, 30_522, 110, "3.3 B words", "4 Cloud TPUs, 4 days"),
    "BERT-large (2018)": (24, 0, 1024, 16, 30_522, 340, "3.3 B words", "16 Cloud TPUs, 4 days"),
    "RoBERTa (2019)": (24, 0, 1024, 16, 50_265, 355, "160 GB", "1,024 × V100, a day per 100 k of 500 k steps"),
    "XLNet-large (2019)": (24, 0, 1024, 16, 32_000, 340, "33 B pieces", "512 × TPU v3, 5.5 days"),
    "GPT-2 (2019)": (48, 0, 1600, 25, 50_257, 1_542, "40 GB", "not in the paper"),
    "Megatron (2019)": (72, 0, 3072, 24, 51_200, 8_300, "174 GB", "512 × V100, about 9 days"),
    "T5-base (2019)": (12, 12, 768, 12, 32_128, 220, "750 GB", "slices of TPU v3 pods"),
    "Turing-NLG (2020)": (78, 0, 4256, 28, 50_257, 17_000, "as Megatron", "256 × V100"),
    "GPT-3 (2020)": (96, 0, 12_288, 96, 50_257, 175_000, "300 B tokens", "V100 cluster"),
    "Gopher (2021)": (80, 0, 16_384, 128, 32_000, 280_000, "300 B tokens", "4,096 × TPU v3, 38 days"),
}  # fmt: skip
print(
    f"{'':18}layers  width heads  formula published  data          hardware"
)
for name, row in FAMOUS.items():
    enc, dec, width, heads, vocabulary, published, data, hardware = row
    ours = ((12 * enc + 16 * dec) * width**2 + vocabulary * width) / 1e6
    layers = f"{enc}+{dec}" if dec else f"{enc}"
    print(f"{name:18}{layers:>6}{width:7,}{heads:6}{ours:9,.0f}{published:10,}  {data:13} {hardware}")  # fmt: skip
print(f"Gopher with 13 instead of 12: {(13 * 80 * 16_384**2 + 32_000 * 16_384) / 1e9:.0f} billion")  # fmt: skip
print(f"Gopher / base: {280_000 / 65:,.0f} times")

# %% tags=["held", "deeper"]
for name, (enc, dec, width, _, vocabulary, published, *_) in FAMOUS.items():
    ours = ((12 * enc + 16 * dec) * width**2 + vocabulary * width) / 1e6
    near = abs(ours / published - 1) < 0.04
    assert near != name.startswith("Gopher"), (name, ours, published)
assert 279 < (13 * 80 * 16_384**2 + 32_000 * 16_384) / 1e9 < 281

# %% [markdown] tags=["deeper"]
# All within a few percent but for Gopher, whose relative positions (as in [Transformer-XL](https://arxiv.org/abs/1901.02860)) add one more matrix to each block: with $13\,nE^2$ the formula gives 280 billion. Sources: [Transformer](https://arxiv.org/abs/1706.03762), [GPT](https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf) (its hardware: the [announcement](https://openai.com/index/language-unsupervised/); its size: the GPT-2 paper), [BERT](https://arxiv.org/abs/1810.04805), [RoBERTa](https://arxiv.org/abs/1907.11692), [XLNet](https://arxiv.org/abs/1906.08237), [GPT-2](https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf), [Megatron](https://arxiv.org/abs/1909.08053), [T5](https://arxiv.org/abs/1910.10683), [Turing-NLG](https://www.microsoft.com/en-us/research/blog/turing-nlg-a-17-billion-parameter-language-model-by-microsoft/), [GPT-3](https://arxiv.org/abs/2005.14165), [Gopher](https://arxiv.org/abs/2112.11446). XLNet's size is BERT-large's, as its paper says; Megatron's days are its 300,000 steps at the reported 2.1 days for 68,507; T-NLG read the kind of text that Megatron read. The rule has its limits: the largest T5 widens the network to 64 times $E$ and attention to 16 times.

# %% [markdown]
# ### Where it went
#
# | field | before | after | cut into tokens as |
# |---|---|---|---|
# | language | LSTM | [BERT](https://arxiv.org/abs/1810.04805), [GPT](https://arxiv.org/abs/2005.14165) | pieces of words |
# | pictures | CNN | [ViT](https://arxiv.org/abs/2010.11929) (chapter 8) | patches |
# | speech | HMM, then LSTM with CTC | [Conformer](https://arxiv.org/abs/2005.08100), [Whisper](https://arxiv.org/abs/2212.04356) | frames of a spectrogram |
# | control and games | Q-learning with CNNs | [Decision Transformer](https://arxiv.org/abs/2106.01345), [Gato](https://arxiv.org/abs/2205.06175) | return, state, action; Gato: all it sees and does |
# | robots | mostly one policy per task | [RT-1](https://arxiv.org/abs/2212.06817) | features of a CNN; the actions are tokens, too |
# | proteins | statistics of alignments | [ESM](https://www.pnas.org/doi/10.1073/pnas.2016239118), [AlphaFold 2](https://www.nature.com/articles/s41586-021-03819-2) | amino acids |
# | graphs | message passing | [Graphormer](https://arxiv.org/abs/2106.05234) | nodes; edges as a bias |
#
# *Before* is a rough word for each field, and in most of them the old ways live on.
#
# Not all of it is size. Chinchilla beat Gopher with a quarter of the parameters and more text; [phi-1](https://arxiv.org/abs/2306.11644), 1.3 billion parameters, read text chosen or written to be like a textbook, and by its report solves half of the programming tasks of HumanEval; [DeepSeek-V3](https://arxiv.org/abs/2412.19437) uses 37 of its 671 billion weights for each token. **Data quality and architecture** (chapter 10) count as well.
#
# ### Sound as tokens
#
# A spectrogram is a picture: time to the right, pitch upwards. Cut it into patches and it is a sentence ([AST](https://arxiv.org/abs/2104.01778)). Change the patch: what does a token then hold, a moment or a note?

# %% [markdown] tags=["slide", "slides-only"]
# ## Sound, cut like a picture

# %% tags=["fragment", "hide-input"]
rate = 4000
time_ = torch.arange(4 * rate) / rate
pitch = 200 * 2 ** ((time_ * 2).floor() % 4 / 3) * (1 + 0.03 * torch.sin(12 * time_))  # fmt: skip
phase = 2 * torch.pi * (pitch / rate).cumsum(0)
tune = sum(torch.sin(k * phase) / k for k in (1, 2, 3, 5)) * torch.exp(-3 * (time_ * 2 % 1))  # fmt: skip
power = torch.stft(tune, 254, hop_length=124, window=torch.hann_window(254), return_complex=True).abs()[:, :128]  # fmt: skip
bright = ((power + 1e-3).log10().flip(0) + 2) / 4
bright = bright.clamp(0, 1)  # (128, 128), low notes below
spectrogram = torch.stack([bright, bright**1.5, 0.25 + 0.5 * bright]).clamp(0, 1)  # fmt: skip
Chopper(
    "eight notes",
    [],
    picture=spectrogram,
    sound=tune[::8],
    what="picture",
    patch=16,
    title="A spectrogram, chopped",
    caption="Eight notes in four seconds, with their overtones. 16 × 16 patches: 64 tokens. Switch to sound for the wave itself.",
)

# %% [markdown] tags=["notes"]
# Time runs to the right. Patch 16: a token is a piece of a note. Patch 64: four tokens for four seconds.

# %% [markdown]
# Three sentences on speech. *CTC* ([Graves et al. 2006](https://www.cs.toronto.edu/~graves/icml_2006.pdf)) lets a model say a letter or nothing at every frame and adds up all ways of saying the same text, so nobody has to mark where a letter begins. *Conformer* ([Gulati et al. 2020](https://arxiv.org/abs/2005.08100)) puts a convolution after attention in each block: neighbours by convolution, distant frames by attention. *Whisper* is an encoder–decoder as in chapter 6 on a spectrogram, trained on 680,000 hours of sound with its text.

# %% [markdown]
# ## 6 · Misconceptions
#
# ### "BERT reads left to right and right to left"
#
# That was ELMo: two readers who do not speak to each other until the end. In BERT a token sees both sides *at once*, in every layer. A test, with the encoder of chapter 3 and one sentence: how does *bank* change if the words on both sides change together? If the two sides were read apart and added, the change would be the sum of the two single changes, exactly.

# %%
sides = {
    "neither": "he went to the bank for a walk",
    "left": "she swam to the bank for a walk",
    "right": "he went to the bank for a loan",
    "both": "she swam to the bank for a loan",
}
v = {name: states_of(sentence)[-1] for name, sentence in sides.items()}
alone = (v["left"] - v["neither"]) + (v["right"] - v["neither"])
together = v["both"] - v["neither"]
gap = (together - alone).norm() / together.norm()
print(f"sum of the two single changes misses the joint one by {gap:.0%}")

# %% tags=["held"]
assert gap > 0.3, gap

# %% [markdown]
# And there is no order of reading to begin with: one matrix of weights, filled at once (the full square of part 2).
#
# ### "Temperature makes a model creative"
#
# A higher temperature makes draws more *varied*. Does that make them better? Draw letters from our GPT, and look at both numbers under the bars: diversity and quality. Then cut with top-p 0.8.

# %% tags=["hide-input"]
contexts = ["ROMEO:\nWhat is th", "ROMEO:\nWhat is ", "KING RICHARD", "O, q"]
with torch.no_grad():
    after = torch.stack(
        [gpt(torch.tensor([letters.encode(c)]))[0, -1] for c in contexts]
    )
TokenSampler(
    after[:, 4:],  # without the special marks
    tokens=letters.words[4:],
    contexts=contexts,
    context=1,
    title="The next letter",
    caption="Bars: what may be drawn. Stripes: the distribution before the cut.",
)

# %% tags=["plumbing"]
english = set(shakespeare.text().lower().replace("\n", " ").split(" "))


@torch.no_grad()
def quality_and_diversity(texts=24, length=120, **knobs):
    """The share of real words, and of different words."""
    first = torch.tensor([letters.encode("\n")] * texts)
    state = gpt.start(first[:, :0])
    drawn = []
    token, dice = first[:, 0], seed(4)
    for _ in range(length):
        logits, state = gpt.step(state, token)
        logits[:, :4] = -torch.inf
        p = decoding.next_word_probabilities(logits, **knobs)
        token = torch.multinomial(p, 1, generator=dice)[:, 0]
        drawn.append(token)
    rows = torch.stack(drawn, 1).tolist()
    said = [w for row in rows for w in "".join(letters.decode(row)).lower().split()[1:-1]]  # fmt: skip
    return sum(w in english for w in said) / len(said), len(set(said)) / len(said)  # fmt: skip


HEATS = (0.3, 0.6, 0.8, 1.0, 1.3, 1.7)
curves = {
    "temperature alone": [quality_and_diversity(temperature=h) for h in HEATS],
    "with top-k 5": [quality_and_diversity(temperature=h, top_k=5) for h in HEATS],
    "with top-p 0.8": [quality_and_diversity(temperature=h, top_p=0.8) for h in HEATS],
}  # fmt: skip

# %% [markdown] tags=["slide", "slides-only"]
# ## “Temperature makes a model creative”

# %% tags=["fragment", "hide-input", "nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(6.8, 3.3))
for (name, points), mark in zip(curves.items(), ("o-", "^-.", "s--")):
    quality, diversity = zip(*points)
    ax.plot(diversity, quality, mark, label=name)
for h, (q, d) in zip(HEATS, curves["temperature alone"]):
    ax.annotate(f"τ = {h}", (d, q), xytext=(5, 5), textcoords="offset points")  # fmt: skip
ax.set(
    xlabel="diversity: different words / words", ylabel="quality: real words",
    ylim=(0, 1.03), title="What heat buys, and what it costs",
)  # fmt: skip
ax.legend(loc="lower left")
figures.show(
    fig,
    alt="Share of real words against share of different words for several temperatures, alone and with top-k or top-p: along each curve more diversity means fewer real words.",
    caption="Along every curve, more variety means fewer real words. Cutting the tail slides back along the trade.",
)

# %% [markdown] tags=["notes"]
# Heat alone: more different words, fewer real ones. A cut by top-k or top-p slides back along the same trade. The page has a live sampler: draw letters, and watch both numbers.

# %% tags=["held"]
plain_ = curves["temperature alone"]
assert plain_[0][0] > plain_[3][0] > plain_[5][0]
assert plain_[0][1] < plain_[3][1] < plain_[5][1]
assert curves["with top-p 0.8"][5][0] > plain_[5][0]
assert curves["with top-p 0.8"][5][1] < plain_[5][1]
for name, points in curves.items():  # more varied, fewer real words
    assert points[-1][0] < points[0][0], name
    assert points[-1][1] > points[0][1], name
    assert torch.corrcoef(torch.tensor(points).T)[0, 1] < -0.9, (name, points)

# %% [markdown]
# In our letter model (one seed) both move, along every curve. Heat does not add ideas: it hands probability to what the model holds unlikely. A *real word* is a crude yardstick for quality, and one letter model says nothing about poets. But the trade is there, and both axes belong in the picture.
#
# ### "Bigger is always better"
#
# With the same number of letters, larger was better among our six sizes, except for one pair of neighbours whose seeds overlap; the seventh was no better. What one pays for is compute. Give every size the same $C = 6ND$: the large ones read less. **Guess first:** which of our sizes wins?

# %% [markdown] tags=["slide", "slides-only"]
# ## One budget of compute: which size wins?

# %% tags=["fragment", "hide-input"]
fig, ax = plt.subplots(figsize=(8, 3.2))
best_for = {}
for flops, mark in zip(sorted({r["flops"] for r in scaling["budget"]}), ("o-", "s--")):  # fmt: skip
    runs = [r for r in scaling["budget"] if r["flops"] == flops]
    ns = sorted({r["parameters"] for r in runs})
    values = torch.tensor([[r["loss"] for r in runs if r["parameters"] == n] for n in ns])  # fmt: skip
    best_for[flops] = ns[int(values.mean(1).argmin())], ns[-1]
    first, power = f"{flops:.0e}".split("e+")
    ax.plot(
        ns,
        values.mean(1),
        mark,
        label=rf"$C = {first} \cdot 10^{{{int(power)}}}$",
    )
    ax.fill_between(ns, values.amin(1), values.amax(1), alpha=0.2)
ax.set(
    xscale="log", xlabel="parameters", ylabel="held-out loss (nats)",
    title="The same compute for every size",
    xticks=ns, xticklabels=[f"{n:,}" for n in ns],
)  # fmt: skip
ax.minorticks_off()
ax.legend()
figures.show(
    fig,
    alt="Held-out loss against size at two fixed compute budgets: both curves are lowest at the two smallest sizes and then rise steadily to the largest.",
    caption="The same operations for every point: a larger model has read fewer letters. Bands: three seeds.",
)

# %% tags=["hide-input"]
for flops, (best_n, largest) in best_for.items():
    print(f"C = {flops:.0e}: best with {best_n:,} parameters; the largest had {largest:,}")  # fmt: skip
print("\nthe law of part 5 along D = C / 6N, and what was measured:")
print(f"{'':20}", *(f"{n:>7,}" for n in ns))
fine, turns, misses = torch.logspace(2, 5, 3001, dtype=torch.float64), [], []
for flops in best_for:
    runs = [[r["loss"] for r in scaling["budget"] if (r["parameters"], r["flops"]) == (n, flops)] for n in ns]  # fmt: skip
    came, each = torch.tensor(runs).mean(1), torch.tensor(ns).double()
    expected = law(each, flops / (6 * each))
    misses.append((expected - came).abs().max().item())
    turns.append(fine[law(fine, flops / (6 * fine)).argmin()].item())
    print(f"C = {flops:.0e}  law      ", *(f"{v:7.2f}" for v in expected))
    print(f"{'':11}measured ", *(f"{v:7.2f}" for v in came))
print("lowest by the law: N =", " and ".join(f"{n:.0f}" for n in turns))

# %% tags=["held"]
assert all(best_n <= sizes[1] for best_n, _ in best_for.values()), best_for
assert all(largest == sizes[-1] for _, largest in best_for.values())
assert max(misses) < 0.17, misses
assert 200 < turns[0] < turns[1] < sizes[0], turns
assert by_updates[48][0] > came[0] + 0.1, (by_updates, came)  # last again

# %% [markdown] tags=["notes"]
# Chinchilla in miniature: what counts is not the size but what it has read for the money.

# %% [markdown]
# At both budgets the largest came last, and not by a little: with the same compute it could read only about 11 and 30 thousand letters. Some of that is steps again: part 5's sixth size, which is this one, came to 2.46 when it read 30,720 letters in four times as many. That is still well behind the 2.28 of the smallest. The smallest had the lowest mean; its spread touches that of the second smallest at both budgets, so between these two we cannot tell. The law, which has seen none of these runs, says the same: along $D = C / 6N$ it is at most 0.17 nats off, and its best size grows with the budget but lies below our smallest at both. At scale this is [Chinchilla](https://arxiv.org/abs/2203.15556): with about Gopher's compute, a quarter of the parameters and more than four times the tokens gave the better model.

# %% [markdown]
# ## 7 · Exercises
#
# Write your answer where the dots are, run the cell, then run the check.

# %% [markdown] tags=["exercise"] exercise="07.1"
# ### Exercise 7.1 ★ · 80, 10, 10 (8 min)
#
# Write `my_masking(tokens, asked, luck, other, mark)`. All but `mark` have shape $(B, L)$: the tokens, whether each is asked for, a number between 0 and 1, and a random word. Return what the model reads and the answers (the old token where asked, 0 elsewhere). Asked tokens become `mark` where luck is below 0.8, `other` where it is below 0.9, and stay otherwise.


# %% tags=["stub"] exercise="07.1"
def my_masking(tokens, asked, luck, other, mark):
    """All (B, L), mark a number -> what is read (B, L), the answers (B, L)."""
    read = ...
    answers = ...
    return read, answers


# %% [markdown] tags=["hint"] exercise="07.1"
# `torch.where(condition, a, b)` takes from `a` where the condition holds. Conditions are combined with `&`, each in brackets.

# %% [markdown] tags=["hint"] exercise="07.1"
# First the mark, `asked & (luck < 0.8)`; then, on the result, the other word where luck lies between 0.8 and 0.9. The answers do not depend on luck at all.


# %% tags=["solution"] exercise="07.1"
def my_masking(tokens, asked, luck, other, mark):
    """All (B, L), mark a number -> what is read (B, L), the answers (B, L)."""
    read = torch.where(asked & (luck < 0.8), mark, tokens)
    swap = asked & (luck >= 0.8) & (luck < 0.9)
    read = torch.where(swap, other, read)
    answers = torch.where(asked, tokens, 0)
    return read, answers


# %% tags=["check"] exercise="07.1"
check("07.1", my_masking)

# %% [markdown] tags=["exercise"] exercise="07.2"
# ### Exercise 7.2 ★★ · Spans and sentinels (12 min)
#
# Write `my_spans(tokens, hidden, first)` for tokens $(L,)$ and a mask $(L,)$. Each run of hidden tokens is replaced by one sentinel in the source: `first`, then `first + 1`, … The target lists every sentinel followed by the tokens it hid, and ends with the next unused sentinel. Return both as tensors.


# %% tags=["stub"] exercise="07.2"
def my_spans(tokens, hidden, first):
    """(L,), (L,), number -> source (S,), target (T,)"""
    source, target = [], []
    ...  # go through tokens.tolist() and hidden.tolist() together
    return ..., ...


# %% [markdown] tags=["hint"] exercise="07.2"
# Remember whether the token before was hidden: a run *begins* where this one is hidden and that one was not.

# %% [markdown] tags=["hint"] exercise="07.2"
# When a run begins, put the sentinel into both lists and count it up. Hidden tokens go into the target, the others into the source. Do not forget the last sentinel.


# %% tags=["solution"] exercise="07.2"
def my_spans(tokens, hidden, first):
    """(L,), (L,), number -> source (S,), target (T,)"""
    source, target = [], []
    sentinel, before = first, False
    for token, gone in zip(tokens.tolist(), hidden.tolist()):
        if gone:
            if not before:  # a run begins
                source.append(sentinel)
                target.append(sentinel)
                sentinel += 1
            target.append(token)
        else:
            source.append(token)
        before = gone
    target.append(sentinel)
    return torch.tensor(source), torch.tensor(target)


# %% tags=["check"] exercise="07.2"
check("07.2", my_spans)

# %% [markdown] tags=["exercise"] exercise="07.3"
# ### Exercise 7.3 ★★ · Predict, then run: how good can it be? (10 min)
#
# A perfect reader of the secret codes knows the digit if its letter has come up among the examples, and guesses otherwise. Letters are drawn independently, each of `letters` equally likely. Write `ideal_accuracy(shots, letters, digits)`: for numbers of examples $(K,)$ the share of right answers $(K,)$. **Before you run the last cell:** will our model lie above, on or below your curve?


# %% tags=["stub"] exercise="07.3"
def ideal_accuracy(shots, letters, digits):
    """Numbers of examples (K,) -> the share of right answers (K,)."""
    seen = ...  # how likely it is that the letter has come up
    return ...


# %% [markdown] tags=["hint"] exercise="07.3"
# One example misses the letter with probability $1 - 1/\text{letters}$. What about $k$ of them?

# %% [markdown] tags=["hint"] exercise="07.3"
# Right answers: all of those who have seen it, and one in `digits` of the others.


# %% tags=["solution"] exercise="07.3"
def ideal_accuracy(shots, letters, digits):
    """Numbers of examples (K,) -> the share of right answers (K,)."""
    seen = 1 - (1 - 1 / letters) ** shots  # (K,)
    return seen + (1 - seen) / digits


# %% tags=["check"] exercise="07.3"
check("07.3", ideal_accuracy)

# %% [markdown]
# Now run it against the model:

# %% tags=["nbval-ignore-output"]
try:
    ideal = ideal_accuracy(shots, 6, 6)
    for k in (0, 4, 12):
        print(
            f"{k:2d} examples: ideal {ideal[k]:.0%}, our model {live[k]:.0%}"
        )
except (NameError, TypeError):
    print("Solve exercise 7.3 first.")

# %% tags=["held"]
assert (live - ideal_accuracy(shots, 6, 6)).abs().max() < 0.06

# %% [markdown] tags=["exercise"] exercise="07.4"
# ### Exercise 7.4 ★★★ · An induction head by hand (15 min)
#
# Set the two heads yourself. Tokens come as one-hot rows `x` $(L, V)$. A first head weighs the token before (row 0: nothing, all zeros) and writes it down: $(L, V)$. A second head compares the *present* token (query) with what was *written* (key): scores $(L, L)$, times `strength`, causal, softmax. Return its weights $(L, L)$.


# %% tags=["stub"] exercise="07.4"
def my_induction(x, strength):
    """Tokens (L, V), one-hot -> weights (L, L)."""
    previous = ...  # (L, L): row i weighs i - 1
    written = ...  # (L, V): which token came before
    scores = ...  # (L, L)
    return ...


# %% [markdown] tags=["hint"] exercise="07.4"
# `torch.eye(L).roll(1, dims=0)` is chapter 5's previous-token head in its purest form, but for row 0, which must be all zeros. `previous @ x` applies it.

# %% [markdown] tags=["hint"] exercise="07.4"
# Scores: `strength * x @ written.T`. Mask what lies above the diagonal with −∞ before the softmax.


# %% tags=["solution"] exercise="07.4"
def my_induction(x, strength):
    """Tokens (L, V), one-hot -> weights (L, L)."""
    length = len(x)
    previous = torch.eye(length).roll(1, dims=0)  # row i weighs i - 1
    previous[0] = 0  # nothing stands before the first
    written = previous @ x  # (L, V): which token came before
    scores = strength * x @ written.T  # (L, L)
    past = torch.ones(length, length).tril().bool()
    return scores.masked_fill(~past, -torch.inf).softmax(dim=-1)


# %% tags=["check"] exercise="07.4"
check("07.4", my_induction)

# %% [markdown] tags=["exercise"] exercise="07.5"
# ### Exercise 7.5 ★★ · Predict a loss before paying for it (12 min)
#
# Write `predict_loss(sizes, losses, larger)`: fit a power law $L = a N^{-\alpha}$ to runs $(R,)$ by a straight line through *all* points of log loss against log size, and return the losses to expect at `larger` sizes $(M,)$.


# %% tags=["stub"] exercise="07.5"
def predict_loss(sizes, losses, larger):
    """(R,), (R,), (M,) -> the losses to expect (M,)."""
    x, y = ..., ...
    slope = ...
    level = ...
    return ...


# %% [markdown] tags=["hint"] exercise="07.5"
# $\log L = \log a - \alpha \log N$ is a straight line in $x = \log N$.

# %% [markdown] tags=["hint"] exercise="07.5"
# Least squares: slope $= \sum (x - \bar x)(y - \bar y) / \sum (x - \bar x)^2$, level $= \bar y - \text{slope} \cdot \bar x$. Come back with `exp`.


# %% tags=["solution"] exercise="07.5"
def predict_loss(sizes, losses, larger):
    """(R,), (R,), (M,) -> the losses to expect (M,)."""
    x, y = sizes.log(), losses.log()
    slope = ((x - x.mean()) * (y - y.mean())).sum() / (x - x.mean()).square().sum()  # fmt: skip
    level = y.mean() - slope * x.mean()
    return torch.exp(level + slope * larger.log())


# %% tags=["check"] exercise="07.5"
check("07.5", predict_loss)

# %% [markdown] tags=["exercise"] exercise="07.6"
# ### Exercise 7.6 ★ · Find the bug: a model that gets better by padding (6 min)
#
# Perplexity is $e$ to the mean loss per token: the model is as unsure as if it had to choose among that many equally likely words. This version runs, and for texts of unequal length it is wrong:
#
# ```python
# log_p = logits.log_softmax(dim=-1)
# right = log_p.gather(-1, target[..., None])[..., 0]
# return (-right).mean().exp()
# ```
#
# Write `my_perplexity(logits, target)` without the bug: logits $(B, L, V)$, targets $(B, L)$, padded with 0.


# %% tags=["stub"] exercise="07.6"
def my_perplexity(logits, target):
    """(B, L, V), (B, L) padded with 0 -> a number."""
    log_p = logits.log_softmax(dim=-1)
    right = ...  # (B, L)
    return ...


# %% [markdown] tags=["hint"] exercise="07.6"
# What does the buggy version ask of the model where a short text has already ended?

# %% [markdown] tags=["hint"] exercise="07.6"
# `right[target != 0]` picks the real positions, of all texts together. One mean over them, then the exponential.


# %% tags=["solution"] exercise="07.6"
def my_perplexity(logits, target):
    """(B, L, V), (B, L) padded with 0 -> a number."""
    log_p = logits.log_softmax(dim=-1)
    right = log_p.gather(-1, target[..., None])[..., 0]  # (B, L)
    real = target != 0
    return (-right[real]).mean().exp()


# %% tags=["check"] exercise="07.6"
check("07.6", my_perplexity)

# %% [markdown]
# ### GPU exercise
#
# One more has a notebook of its own: [pre-train a small GPT](gpu_07_pretrain.ipynb), on the shipped text or on one of yours, and watch it from a cockpit. It runs in a small size on any laptop.

# %% [markdown]
# ## 8 · Takeaways
#
# 1. **The mask makes the family**: triangle, square, or both. The blocks are the same.
# 2. **Text is its own teacher**: hide a part, ask for it. In our test it helped at every number of labels, most in the middle.
# 3. **Induction heads look up**: two layers of attention find what came after the last time, one did not.
# 4. **Loss falls with size and data**, along a law that small runs can fit; our law failed one size further on. Yardsticks with thresholds may jump.
# 5. **At a fixed budget bigger can be worse**: a model must also have time to read.

# %% [markdown] tags=["slide", "slides-only", "layout-question"]
# ## Takeaways
#
# 1. The mask makes the family.
# 2. Text is its own teacher.
# 3. Induction heads look up: two layers found it, one layer did not.
# 4. Loss follows a law, until it does not; thresholds may jump.
# 5. At a fixed budget bigger can be worse.

# %% [markdown]
# ### Shapes and costs
#
# | | GPT | BERT | T5 |
# |---|---|---|---|
# | reads | $(L)$ | $(L)$ with holes | $(S)$ with sentinels, $(T)$ |
# | mask | triangle $(L, L)$ | full $(L, L)$ | full $(S, S)$, triangle $(T, T)$, full $(T, S)$ |
# | asked per text | $L - 1$ positions | 15 % of them | all $T$ positions |
# | parameters of $n$ blocks | $12\,nE^2$ | $12\,nE^2$ | $12\,nE^2 + 16\,nE^2$ |
# | writes on | yes | no | yes |
# | training | $6ND$ | $6ND$ | $6ND$, each half on its own tokens |
#
# ### Test yourself

# %% tags=["slide", "hide-input"]
Quiz(
    [
        {
            "question": "You want one vector per document, to search with. Whose mask fits that job best?",
            "choices": [
                {"text": "Encoder-only", "correct": True, "why": "Every token has seen the whole text, and nothing has to be written."},
                {"text": "Decoder-only", "why": "It can be done, but all tokens except the last have not seen the end."},
                {"text": "Encoder–decoder", "why": "Its encoder half would do; that is an encoder."},
            ],
        },
        {
            "question": "Why does BERT leave a tenth of the asked tokens as they are?",
            "choices": [
                {"text": "To make the task easier", "why": "It does a little, but that is not why."},
                {"text": "So that it must have an opinion about unmarked words, too", "correct": True, "why": "After pre-training there are no marks: every word's vector must be of use."},
                {"text": "To save time", "why": "The time is the same."},
            ],
        },
        {
            "question": "A text of 512 tokens: how many predictions does it teach GPT, and BERT at 15 %?",
            "choices": [
                {"text": "511 and about 77", "correct": True, "why": "Every position but the first is asked, against 15 % of them."},
                {"text": "1 and 512", "why": "The causal mask asks at every position at once."},
                {"text": "512 and 512", "why": "BERT is asked at the holes only."},
            ],
        },
        {
            "question": "Which of these can a one-layer attention model not do?",
            "choices": [
                {"text": "Weigh the previous token", "why": "One head with positions does it."},
                {"text": "Weigh tokens equal to the present one", "why": "One head does it: query and key are the same word."},
                {"text": "Weigh what came after the last time", "correct": True, "why": "The key must know its predecessor, and a first layer has to write it down."},
            ],
        },
        {
            "question": "A model gets 8 letters right in 0 % of cases, a larger one in 25 %. Its accuracy per letter rose from 0.67 to 0.86. What happened?",
            "choices": [
                {"text": "An ability emerged from nothing", "why": "0.67⁸ is 0.04, 0.86⁸ is 0.30: the counting alone would give such a jump."},
                {"text": "A gain per letter, seen through a threshold", "correct": True, "why": "All eight must be right, so it looks like a jump."},
                {"text": "The test is broken", "why": "It measures what it says. It is just a steep yardstick."},
            ],
        },
        {
            "question": "You have a fixed budget of compute. Twice as many parameters mean …",
            "choices": [
                {"text": "half as many tokens", "correct": True, "why": "C = 6ND. Whether that is better depends on which side of the best size you are."},
                {"text": "a better model", "why": "Only if you were below the best size."},
                {"text": "twice the training time", "why": "The budget is the time; it stays."},
            ],
        },
    ],
    title="Self-test: all of them",
    key="07",
)  # fmt: skip

# %% [markdown] tags=["deeper"]
# ### References
#
# - A. Radford and others (2018), [Improving Language Understanding by Generative Pre-Training](https://cdn.openai.com/research-covers/language-unsupervised/language_understanding_paper.pdf); J. Devlin and others (2019), [BERT](https://arxiv.org/abs/1810.04805); C. Raffel and others (2020), [T5](https://arxiv.org/abs/1910.10683).
# - M. Peters and others (2018), [Deep contextualized word representations](https://arxiv.org/abs/1802.05365): ELMo.
# - T. Brown and others (2020), [Language Models are Few-Shot Learners](https://arxiv.org/abs/2005.14165). C. Olsson and others (2022), [In-context Learning and Induction Heads](https://arxiv.org/abs/2209.11895); N. Elhage and others (2021), [A Mathematical Framework for Transformer Circuits](https://transformer-circuits.pub/2021/framework/index.html).
# - J. Kaplan and others (2020), [Scaling Laws for Neural Language Models](https://arxiv.org/abs/2001.08361); J. Hoffmann and others (2022), [Training Compute-Optimal Large Language Models](https://arxiv.org/abs/2203.15556); J. Rae and others (2021), [Gopher](https://arxiv.org/abs/2112.11446).
# - J. Wei and others (2022), [Emergent Abilities of Large Language Models](https://arxiv.org/abs/2206.07682); R. Schaeffer, B. Miranda, S. Koyejo (2023), [Are Emergent Abilities a Mirage?](https://arxiv.org/abs/2304.15004)
# - A. Holtzman and others (2020), [The Curious Case of Neural Text Degeneration](https://arxiv.org/abs/1904.09751): top-p, and why the likeliest text is dull.
# - A. Vaswani and others (2017), [Attention Is All You Need](https://arxiv.org/abs/1706.03762): Tables 2 and 4.
#
# **Next:** chapter 8 cuts pictures into tokens and lets the same blocks look at them.
