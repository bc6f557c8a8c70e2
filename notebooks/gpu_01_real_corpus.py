# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 1
#     gpu: true
#     title: The bottleneck on real sentences
#     minutes: 40
#     summary: Train the encoder–decoder of chapter 1 on real sentence pairs, with vectors of several widths, and draw the length curve of each.
# ---

# %% [markdown]
# # 1 · GPU exercise: the bottleneck on real sentences
#
# [Chapter 1](01_rnn_seq2seq.ipynb) trained a translator on sentences of a small grammar. Here the same classes read **real** sentences, and you ask the question that the chapter left open: *does a wider vector help?*
#
# The notebook looks at the device it runs on and chooses its sizes. On a CPU it stays tiny and takes less than a minute. In Colab choose *Runtime → Change runtime type → GPU* for the full size.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import torch

from attnlab import figures, metrics
from attnlab.checks import check
from attnlab.data import batches, real_pairs
from attnlab.data.english_french import EnglishFrench
from attnlab.data.pairs import PairFile
from attnlab.device import find
from attnlab.models.seq2seq import Config, Seq2Seq
from attnlab.reproducible import seed
from attnlab.training import Descent, fit
from attnlab.translator import Translator

figures.use_style()

# %% tags=["nbval-ignore-output"]
gpu = find()
device = gpu.place
widths, steps, size = gpu.choose(
    cuda=((64, 256, 1024), 6000, 128),
    mps=((64, 256), 3000, 64),
    cpu=((16, 96), 1000, 32),
    pretended=((4, 6), 2, 3),
)
many, tested, embedding, dropout = gpu.choose(
    cuda=(200_000, 2000, 256, 0.2),
    mps=(200_000, 2000, 256, 0.2),
    cpu=(20_000, 200, 64, 0.0),
    pretended=(200, 20, 8, 0.2),
)
gpu.banner(
    cuda="three translators, some minutes each.",
    mps="two translators, some minutes each.",
    cpu="two tiny translators, well under a minute. Read the trend only.",
)

# %% [markdown]
# ## Real sentence pairs
#
# [Tatoeba](https://tatoeba.org) is a collection of sentences and translations that people give away (CC BY 2.0 FR). The [Anki page of manythings.org](https://www.manythings.org/anki/) packs them into tab-separated files, one pair a line:
#
#     Go.    Va !    CC-BY 2.0 (France) Attribution: …
#
# Set `FETCH = True` to download the English–French file (a few megabytes, once), or put your own file into `FILE`: any two languages, separated by a tab. The archive is made anew every few months, so its checksum cannot be known beforehand: it is noted when it arrives, and compared at every later use. Without a file the corpus of the course takes its place.

# %%
FETCH = False
FILE = Path("fra.txt")  # or a file of your own

if FETCH:
    try:
        real_pairs.fetch(FILE)
    except real_pairs.FetchError as error:
        print(error)
real = FILE.is_file()

# %%
if real:
    corpus = PairFile(FILE, longest=20, smallest=5)  # rare words: unknown
else:
    corpus = EnglishFrench(longest=15)
source, target = corpus.vocabularies()
pairs, test = corpus.take(many), corpus.take(tested, "test")
print("real sentences" if real else "the course's own grammar")
print(len(pairs), "pairs,", len(source), "and", len(target), "words")

# %% [markdown]
# Real sentences differ from ours in three ways. Words are many and most are rare, so some become ⟨unk⟩. The same English sentence has several right translations, but BLEU knows only one of them. And **long sentences are rare**: a falling curve may then mean *too little practice* and
# not *too small a vector*. Look at the counts before you look at the curve.

# %%
BUCKETS = [(1, 3), (4, 6), (7, 9), (10, 12), (13, 15), (16, 20)]


def count(pairs):
    """How many pairs are in each bucket, empty ones left out."""
    sizes = [len(pair.source) for pair in pairs]
    found = {b: sum(b[0] <= n <= b[1] for n in sizes) for b in BUCKETS}
    return {b: n for b, n in found.items() if n}


for (low, high), n in count(pairs).items():
    print(f"{low:2}–{high:2} words: {n:6d} training pairs")

# %% [markdown]
# ## Train
#
# One translator for each width $H$; the vector has $2H$ numbers. **Predict first:** how does the curve of the widest differ from that of the narrowest? At short sentences, at long ones, or everywhere?


# %%
def train(hidden):
    """A fixed-context translator with a vector of 2 · hidden numbers."""
    seed(0)
    config = Config(
        source_words=len(source),
        target_words=len(target),
        kind="none",
        hidden=hidden,
        embedding=embedding,
        dropout=dropout,
    )
    translator = Translator(Seq2Seq(config), source, target)
    rate = 5e-3 if hidden < 200 else 1e-3
    endless = batches(pairs, source, target, size=size, seed=0)
    model = translator.model.to(device)
    fit(model, endless, steps=steps, descent=Descent(lr=rate))
    translator.model.to("cpu")  # decoding is quick anywhere
    return translator


# %% tags=["nbval-ignore-output"]
curves = {}
for hidden in widths:
    translator = train(hidden)
    said = translator.translate([pair.source for pair in test])
    curves[hidden] = metrics.by_length(said, test, BUCKETS)
    whole = metrics.bleu(said, [pair.target for pair in test])
    print(f"H = {hidden:4}: BLEU {whole:.1f};", end=" ")
    print(*(f"{b[0]}–{b[1]}: {v:.0f}" for b, v in curves[hidden].items()))

# %% [markdown]
# On any device and any corpus, every translator is worse at its longest sentences than at its best. How much worse is yours?

# %% tags=["nbval-ignore-output"]
for hidden, curve in curves.items():
    best, last = max(curve.values()), list(curve.values())[-1]
    print(
        f"H = {hidden:4}: {best:.0f} at its best, {last:.0f} at its longest"
    )

# %% tags=["held"]
for hidden, curve in curves.items():
    assert list(curve.values())[-1] < max(curve.values()), (hidden, curve)

# %% tags=["hide-input"]
fig, ax = plt.subplots()
for (hidden, curve), marker in zip(curves.items(), "os^"):
    middles = [(low + high) / 2 for low, high in curve]
    ax.plot(
        middles, list(curve.values()), marker + "-", label=f"H = {hidden}"
    )
ax.set(xlabel="words in the source", ylabel="BLEU", ylim=(0, 100))
ax.set_title("Length curve, one line for each width")
ax.legend()
figures.show(
    fig,
    alt="BLEU against the number of source words, one falling curve for each width of the vector.",
    caption="Look at where each curve starts to fall. On a CPU the training is far too short: only the direction counts.",
)

# %% [markdown]
# ## Your turn
#
# Long sentences are rare in real text. Is a falling curve a matter of *practice*, or of *room* in the vector? Train with as many long as short ones: what is still bad then is the vector.

# %% [markdown] tags=["exercise"] exercise="01.5"
# ### Exercise 1.5 ★★ · As many long as short (10 min)
#
# Write `my_shares(lengths)`. It takes the lengths of $N$ sentences, shape $(N,)$, whole numbers, and returns the share with which each sentence should be drawn, shape $(N,)$. The shares add up to 1, all lengths that occur are drawn equally often, and so are the sentences of one length.
#
# For lengths 2, 2, 2, 9 the nine gets $1/2$, and each two $1/6$.


# %% tags=["stub"] exercise="01.5"
def my_shares(lengths):
    """Lengths (N,) -> shares (N,) that add up to 1."""
    many = ...  # (N,): how many sentences have this length
    shares = ...
    return shares / ...


# %% [markdown] tags=["hint"] exercise="01.5"
# The rarer a length, the larger the share of each of its sentences. Which number falls as the count rises, so that count times share is the same for all lengths?

# %% [markdown] tags=["hint"] exercise="01.5"
# `torch.bincount(lengths)` counts how often each number occurs. Indexing it with `lengths` gives every sentence the count of its own length.


# %% tags=["solution"] exercise="01.5"
def my_shares(lengths):
    """Lengths (N,) -> shares (N,) that add up to 1."""
    many = torch.bincount(lengths)[lengths]  # (N,)
    shares = 1 / many
    return shares / shares.sum()


# %% tags=["check"] exercise="01.5"
check("01.5", my_shares)

# %% [markdown]
# Now use it. `torch.multinomial(my_shares(lengths), len(pairs), replacement=True)` draws new training pairs; hand them to `train`, and draw the curve beside the old one. If it rises at its end, practice was the problem.
#
# ### Three more, without a check
#
# **Read ten translations** of the longest sentences, beside the references. Which words are lost first: names, numbers, adjectives, the end of the sentence?
#
# <details><summary>Hint</summary>
#
# `sorted(test, key=lambda pair: len(pair.source))[-10:]` are the sentences, `translator.translate(…)` says them. Colour what is missing by hand: ten are enough to see a pattern, and to be wrong about it.
#
# </details>
#
# **Turn it round.** [Sutskever et al. 2014](https://arxiv.org/abs/1409.3215) fed the source backwards, and gained several BLEU points. Our encoder reads both ways already. Reverse the *targets* instead: does the first or the last half of a translation get worse?
#
# <details><summary>Hint</summary>
#
# `dataclasses.replace(pair, target=pair.target[::-1])` turns a pair round. Turn what was said back before you compare. What is said first is nearest to the vector, and has no mistakes before it.
#
# </details>
#
# **Take chapter 2's cure**: `kind="additive"` instead of `"none"` in `Config`. Draw both curves in one figure.
#
# <details><summary>Hint</summary>
#
# Give `train` a second argument for the kind. With attention the width matters much less: why?
#
# </details>
