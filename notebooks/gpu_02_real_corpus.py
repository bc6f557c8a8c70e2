# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 2
#     gpu: true
#     title: RNNsearch on real words and sentences
#     minutes: 40
#     summary: Type any word and see which letters each sound looks at. Then both translators on sentence pairs that people wrote, and the length curve, from a file of your choice.
# ---

# %% [markdown]
# # 2 · GPU exercise: RNNsearch on real words and sentences
#
# First a figure: **type any word, even your own name, and see which letters each sound looks at.** Then real sentences. They may be messier than those of our grammar: look for rare words, several right translations of one sentence, typos. You train the two translators of [chapter 2](02_bahdanau.ipynb) on sentence pairs that volunteers wrote for
# [Tatoeba](https://tatoeba.org), and draw the length curve again.
#
# The notebook looks at the device it runs on and chooses its sizes. On a CPU it runs at a small size. Without the file it takes sentences of our grammar, written to a file in the same format. In Colab choose *Runtime → Change runtime type → GPU* for the full size.

# %% tags=["setup"]
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import torch

from attnlab import figures, metrics, palette
from attnlab.checks import check
from attnlab.data import batches, real_pairs
from attnlab.data.english_french import EnglishFrench
from attnlab.data.pairs import PairFile
from attnlab.device import find
from attnlab.models.seq2seq import Config, Seq2Seq
from attnlab.reproducible import seed
from attnlab.training import Descent, fit
from attnlab.translator import Translator
from attnlab.widgets import Pronouncer

figures.use_style()

# %% [markdown]
# ## Real words first
#
# This is the speller of chapter 2, trained on words of the CMU dictionary. Type any word: each sound shows the letters it looked at. The model runs in your browser.
#
# - Find a silent letter, and a pair of letters that make one sound.
# - Find a word that it gets wrong. Is the spelling to blame, or the model?

# %% tags=["hide-input"]
Pronouncer.shipped(
    text="knight",
    title="How is it pronounced?",
    caption="Each sound, and the letters it looked at.",
)

# %% [markdown]
# ## Your device

# %% tags=["nbval-ignore-output"]
gpu = find()
device = gpu.place
full = (512, 256, 12_000, 128, 20, 2e-3)
hidden, embedding, steps, batch, longest, rate = gpu.choose(
    cuda=full,
    mps=full,
    cpu=(64, 48, 700, 32, 12, 6e-3),  # a short time: larger steps
    pretended=(6, 4, 2, 3, 12, 6e-3),
)
gpu.banner(
    cuda="full size. Have a coffee: two trainings of 12,000 batches.",
    mps="full size. Have a coffee: two trainings of 12,000 batches.",
    cpu="a tiny version in well under a minute, for the trend only.",
)

# %% [markdown]
# ## The file
#
# Set `FETCH = True` to download the English–French pairs of [manythings.org/anki](https://www.manythings.org/anki/), made from Tatoeba (a few megabytes, once; the checksum is noted and compared at every later use), or put a file of your own into `FILE`. Each line is a sentence, a tab, its translation, and maybe a note on the licence:
#
# ```
# Go.	Va !	CC-BY 2.0 (France) …
# ```
#
# Nothing is downloaded unless you ask for it. Without a file, the next cell writes a small stand-in.

# %%
FETCH = False
FILE = Path("fra.txt")  # or a file of your own

if FETCH:
    try:
        real_pairs.fetch(FILE)
    except real_pairs.FetchError as error:
        print(error)
real = FILE.is_file()
if not real:
    FILE = Path(tempfile.mkdtemp()) / "pairs.txt"
    made = EnglishFrench(longest=12).take(10_000)
    lines = [f"{' '.join(p.source)}\t{' '.join(p.target)}\n" for p in made]
    FILE.write_text("".join(lines), encoding="utf-8")

# A word must occur twice to be learned; rarer ones become <unk>.
corpus = PairFile(FILE, longest=longest, smallest=2)
english, french = corpus.vocabularies()
train_pairs = corpus.take(400_000, "train")
test = corpus.take(1000 if real else 300, "test")
print("your file" if real else "the stand-in")

# %% tags=["nbval-ignore-output"]
print(f"{len(train_pairs):,d} pairs to train on, {len(test):,d} to test")
print(f"{len(english):,d} English and {len(french):,d} French words")

# %% [markdown]
# ## Train both
#
# **Predict first:** on real sentences, will the two be as far apart as on our grammar? How many of your sentences are long?


# %%
def train(kind):
    """The same sizes, data and steps; only the context differs."""
    seed(0)
    config = Config(
        source_words=len(english),
        target_words=len(french),
        kind=kind,
        hidden=hidden,
        embedding=embedding,
        dropout=0.2 if real else 0.0,
    )
    model = Seq2Seq(config).to(device)
    stream = batches(train_pairs, english, french, size=batch, seed=0)
    fit(model, stream, steps=steps, descent=Descent(lr=rate))
    return Translator(model.to("cpu"), english, french)


# %% tags=["nbval-ignore-output"]
translators = {"fixed context": train("none"), "RNNsearch": train("additive")}
said = {
    name: one.translate([pair.source for pair in test])
    for name, one in translators.items()
}
bleu = {
    name: metrics.bleu(words, [pair.target for pair in test])
    for name, words in said.items()
}
for name, value in bleu.items():
    print(f"{name:14} BLEU {value:.1f}")

# %% tags=["held"]
assert all(len(words) == len(test) for words in said.values())
assert bleu["RNNsearch"] - bleu["fixed context"] >= 20, bleu

# %% [markdown]
# On the stand-in, a few hundred batches on a CPU set the two far apart (one seed each). With a file of your own, compare the two lines with each other, not with numbers from papers: those have other test sets and other ways to compute BLEU.

# %% [markdown]
# ## The length curve

# %% tags=["nbval-ignore-output", "hide-input"]
BUCKETS = [(1, 4), (5, 6), (7, 8), (9, 11), (12, 15), (16, 20)]
fig, ax = plt.subplots(figsize=(7, 3.6))
hues = [palette.colour(sense) for sense in ("fixed context", "attention")]
for (name, words), style, hue in zip(said.items(), ("s--", "o-"), hues):
    curve = metrics.by_length(words, test, BUCKETS)
    ax.plot(
        [f"{a}–{b}" for a, b in curve],
        list(curve.values()),
        style,
        color=hue,
        label=name,
    )
ax.set(xlabel="English words", ylabel="BLEU", ylim=(0, 105))
ax.set_title("The length curve of both translators")
ax.legend()
figures.show(
    fig,
    alt="BLEU against sentence length for a fixed context and for RNNsearch.",
    caption="Which curve falls faster? How many test sentences is the last point made from?",
)

# %% [markdown]
# ## Look at it
#
# A file of pairs has no gold links, so there is no AER. Judge by eye.

# %% tags=["nbval-ignore-output", "hide-input"]
pair = max(test[:50], key=lambda p: len(p.source))
(alpha,) = translators["RNNsearch"].align([pair])
fig, ax = plt.subplots(figsize=(6, 5))
figures.heatmap(
    ax,
    alpha,
    rows=[*pair.target, "(end)"],
    columns=[*pair.source, "(end)"],
    title="Where RNNsearch looks",
    row_label="French",
    column_label="English",
)
figures.show(
    fig,
    alt="Attention weights of RNNsearch on one test sentence.",
    caption="The longest of fifty test sentences. Which rows have nearly all their weight in one cell, and which are spread out?",
)

# %% [markdown]
# ## Exercises
#
# One thing you can measure without gold links: over how many words each row of weights is spread.

# %% [markdown] tags=["exercise"] exercise="02.6"
# ### Exercise 2.6 ★★ · Over how many words? (10 min)
#
# Write `my_spread(alpha)`. It takes weights of shape $(\dots, T, S)$, zeros among them, and returns a number for each target word, shape $(\dots, T)$: the exponential of the entropy of its row,
#
# $$\exp\Bigl(-\sum_i \alpha_{ti} \ln \alpha_{ti}\Bigr), \qquad \text{with } 0 \ln 0 = 0 .$$
#
# All weight on one word gives 1, equal weights on five words give 5.


# %% tags=["stub"] exercise="02.6"
def my_spread(alpha):
    """Weights (..., T, S) -> over how many words each row is spread (..., T)."""
    entropy = ...  # (..., T), at least 0
    return ...


# %% [markdown] tags=["hint"] exercise="02.6"
# One row belongs to one target word. Along which axis do you sum?

# %% [markdown] tags=["hint"] exercise="02.6"
# `alpha.log()` is −∞ at a weight of 0, and 0 times −∞ is not a number. `torch.xlogy(alpha, alpha)` is $\alpha \ln \alpha$, and 0 there.


# %% tags=["solution"] exercise="02.6"
def my_spread(alpha):
    """Weights (..., T, S) -> over how many words each row is spread (..., T)."""
    entropy = -torch.xlogy(alpha, alpha).sum(dim=-1)
    return entropy.exp()


# %% tags=["check"] exercise="02.6"
check("02.6", my_spread)

# %% [markdown]
# Put it to work: `my_spread(alpha)` for the sentence above, and the mean over the test set after a short and a long training. Which words keep a wide spread? Are they the ones with no partner in English?
#
# ### Three more, without a check
#
# **How many test sentences does each bucket hold?** Print it, and decide which points of the curve you believe.
#
# <details><summary>Hint</summary>
#
# `sum(a <= len(pair.source) <= b for pair in test)`. With few sentences BLEU jumps from one draw to the next: draw twice and see.
#
# </details>
#
# **Several right answers.** A sentence in such a file often has several right translations, and BLEU knows only one. Collect for each English test sentence *all* French ones from `corpus.pairs`, and count an answer as right if it equals any of them. Does the gap between the two models change?
#
# <details><summary>Hint</summary>
#
# A dictionary from the source (a tuple) to a set of targets (tuples), filled in one loop. `tuple(words) in right[pair.source]` is the question.
#
# </details>
#
# **The other way round:** swap the columns of the file, and translate from French to English. Which direction gets the better BLEU? (Think of what French marks and English does not.)
#
# <details><summary>Hint</summary>
#
# English *the* has to become *le*, *la*, *l'* or *les*; in the other direction all four can become *the*. That speaks for French to English. But measure it: other words have more choices in English.
#
# </details>
#
# ## What to take home
#
# - The corpus changed, the model did not: a `PairFile` has the same methods as our grammar.
# - One number hides the long sentences: look at the curve, and at how many sentences each point has.
# - Without gold links there is no error rate. That is why the chapter used a grammar.
