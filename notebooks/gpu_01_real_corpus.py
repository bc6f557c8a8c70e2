# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 1
#     gpu: true
#     title: Length, width and training on real sentences
#     minutes: 40
#     summary: Train the encoder–decoder of chapter 1 on real sentence pairs, with several widths and two amounts of training, and draw the length curve of each.
# ---

# %% [markdown]
# # 1 · GPU exercise: length, width and training on real sentences
#
# [Chapter 1](01_rnn_seq2seq.ipynb) trained a translator on sentences of a small grammar, and changed the vector and the training one at a time. Here the same classes read **real** sentences, and you ask the same question: *does a wider translator help with long sentences, or does longer training?*
#
# The notebook looks at the device it runs on and chooses its sizes. On a CPU it stays tiny and takes about a minute. In Colab choose *Runtime → Change runtime type → GPU* for the full size.

# %% tags=["setup"]
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
widths, lessons, size = gpu.choose(
    cuda=((64, 256, 1024), (2000, 6000), 128),
    mps=((64, 256), (1000, 3000), 64),
    cpu=((48, 96), (500, 1500), 32),
    pretended=((4, 6), (1, 2), 3),
)
many, tested, embedding, dropout = gpu.choose(
    cuda=(200_000, 2000, 256, 0.2),
    mps=(200_000, 2000, 256, 0.2),
    cpu=(20_000, 200, 64, 0.0),
    pretended=(200, 20, 8, 0.2),
)
gpu.banner(
    cuda="three widths, each trained twice.",
    mps="two widths, each trained twice.",
    cpu="two small widths, each trained twice, about a minute in all.",
)

# %% [markdown]
# ## Real sentence pairs
#
# [Tatoeba](https://tatoeba.org) is a collection of sentences and translations that people give away (CC BY 2.0 FR). The [Anki page of manythings.org](https://www.manythings.org/anki/) packs them into tab-separated files, one pair per line:
#
#     Go.    Va !    CC-BY 2.0 (France) Attribution: …
#
# Set `FETCH = True` to download the English–French file (a few megabytes, once), or put your own file into `FILE`: any two languages, separated by a tab. The archive is rebuilt from time to time, so its checksum cannot be known in advance: it is noted when the file arrives, and compared at every later use. Without a file the corpus of the course takes its place.

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
# Real sentences may differ from ours in three ways. There are many words, and rare ones become ⟨unk⟩ (here: words seen fewer than five times). The same English sentence has several right translations, but BLEU knows only one of them. And **long sentences may be rare**: a falling curve may then mean *too little practice* and
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
# One translator for each width $H$ and each amount of training; the vector has $2H$ numbers. (Unlike the chapter's grid, the whole network gets wider here, not the vector alone: this is what you would do in practice, and it cannot tell the two apart. Widths of 200 and more are trained at a smaller learning rate. One seed for each.) **Predict first:** what helps more at the longest sentences, the width or the training?


# %%
def train(hidden, steps):
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
    translator.model.to("cpu")  # where it translates
    return translator


# %% tags=["nbval-ignore-output"]
curves = {}
for hidden in widths:
    for steps in lessons:
        translator = train(hidden, steps)
        said = translator.translate([pair.source for pair in test])
        curve = metrics.by_length(said, test, BUCKETS)
        curves[hidden, steps] = curve
        print(f"H = {hidden:4}, {steps:5} steps:", end=" ")
        print(*(f"{b[0]}–{b[1]}: {v:.0f}" for b, v in curve.items()))

# %% [markdown]
# A translator that is bad at every length says nothing about length. So first ask whether it has learned anything: is it good at its best lengths? Where it is not, read nothing from the curve. Then: how far does it fall from there to its longest sentences?

# %% tags=["nbval-ignore-output"]
for (hidden, steps), curve in curves.items():
    best, last = max(curve.values()), list(curve.values())[-1]
    note = "" if best >= 30 else ": too little learned"
    print(f"H = {hidden:4}, {steps:5} steps: ", end="")
    print(f"{best:.0f} at its best, {last:.0f} at its longest{note}")

# %% tags=["held"]
few = (0, -100, -100)  # on real sentences, and in sizes that teach nothing
bars = gpu.choose(cuda=(60, 20, 0), cpu=(60, 20, 0), pretended=few)
learned, fall, rise = few if real else bars
least, most = curves[widths[-1], lessons[0]], curves[widths[-1], lessons[-1]]
longest = list(most)[-1]
assert max(most.values()) >= learned, curves  # it has learned something
assert max(most.values()) - most[longest] >= fall, curves  # and it falls
lifted = most[longest] - least[longest]
assert lifted >= rise, curves  # training lifts the end

# %% tags=["hide-input"]
fig, axes = plt.subplots(1, len(lessons), figsize=(7.4, 3.6), sharey=True)
for ax, steps in zip(axes, lessons):
    for hidden, marker in zip(widths, "os^"):
        curve = curves[hidden, steps]
        middles = [(low + high) / 2 for low, high in curve]
        ax.plot(middles, list(curve.values()), marker + "-", label=hidden)
    ax.set(
        title=f"{steps} steps", xlabel="words in the source", ylim=(0, 100)
    )
axes[0].set_ylabel("BLEU")
axes[0].legend(title="width H")
figures.show(
    fig,
    alt="BLEU against the number of source words, one panel for each amount of training, one curve for each width.",
    caption="Compare the panels: what does training do at the right end? Compare the curves in a panel: what does the width do there?",
)

# %% [markdown]
# ## Your turn
#
# Where long sentences are rare, they are also practised less. Train with as many long as short ones: what is still bad then is not due to a lack of practice with long sentences. (It may still be the vector, or training that is too short for all. And where long sentences are few, the same few come again and again.)

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
# Now use it. With `lengths = torch.tensor([len(pair.source) for pair in pairs])`, `torch.multinomial(my_shares(lengths), len(pairs), replacement=True)` draws the indices of new training pairs. Give `train` an argument for the pairs it reads, and draw the new curve beside the old one. If it rises at its end, too little practice was a part of the problem.
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
# **Reverse it.** [Sutskever et al. 2014](https://arxiv.org/abs/1409.3215) fed the source backwards, and gained several BLEU points. Our encoder reads both ways already. Reverse the *targets* instead: does the first or the last half of a translation get worse?
#
# <details><summary>Hint</summary>
#
# `dataclasses.replace(pair, target=pair.target[::-1])` reverses the target. Reverse what was said before you compare. Whichever half is said first has no mistakes of its own before it.
#
# </details>
#
# **Take chapter 2's cure**: `kind="additive"` instead of `"none"` in `Config`. Draw both curves in one figure.
#
# <details><summary>Hint</summary>
#
# Give `train` another argument, for the kind. Does the width matter as much as before?
#
# </details>
