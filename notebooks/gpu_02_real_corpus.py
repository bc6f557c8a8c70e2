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
# [Chapter 2](02_bahdanau.ipynb) trained on a grammar of ours. Real sentences are messier: ten thousands of words, several right translations for one sentence, typing errors. Here you train the same two translators on sentence pairs that volunteers wrote for
# [Tatoeba](https://tatoeba.org), and draw the length curve again.
#
# The notebook looks at the device it runs on and chooses its sizes. On a CPU, or without the file, it runs small, on sentences of our grammar written to a file in the same format. In Colab choose *Runtime → Change runtime type → GPU* for the full size.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import torch

from attnlab import figures, metrics
from attnlab.data import batches
from attnlab.data.english_french import EnglishFrench
from attnlab.data.pairs import PairFile
from attnlab.reproducible import seed
from attnlab.seq2seq import Config, Seq2Seq
from attnlab.training import fit
from attnlab.translator import Translator
from attnlab.widgets import Pronouncer

figures.use_style()

# %% [markdown]
# ## Real words first
#
# The speller of chapter 2, trained on 112 thousand words of the CMU dictionary. Type any word, even your own name: each sound shows the letters it looked at. The model runs in your browser.
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
if torch.cuda.is_available() or torch.backends.mps.is_available():
    device = "cuda" if torch.cuda.is_available() else "mps"
    hidden, embedding, steps, batch, longest = 512, 256, 12_000, 128, 20
    found = f"a GPU ({device})"
    expect = "full size. Have a coffee: two trainings of 12,000 batches."
else:
    device, hidden, embedding, steps, batch, longest = (
        "cpu",
        48,
        32,
        120,
        32,
        12,
    )
    found = "no GPU, so the CPU"
    expect = "a tiny version in a few seconds. It shows that everything runs, not how well it can get."

print(f"Device found: {found}.")
print(f"What to expect: {expect}")

# %% [markdown]
# ## The file
#
# Download a file of pairs (for example *fra-eng.zip* from [manythings.org/anki](https://www.manythings.org/anki/), made from Tatoeba), unpack it, upload it to Colab, and write its name below. Each line is a sentence, a tab, its translation, and maybe a note on the licence:
#
# ```
# Go.	Va !	CC-BY 2.0 (France) …
# ```
#
# Nothing is downloaded behind your back. Without the file, the next cell writes a small stand-in.

# %%
FILE = Path("fra.txt")  # the name of your file

real = FILE.exists()
if not real:
    FILE = Path(tempfile.mkdtemp()) / "pairs.txt"
    made = EnglishFrench(longest=12).take(3000)
    lines = [f"{' '.join(p.source)}\t{' '.join(p.target)}\n" for p in made]
    FILE.write_text("".join(lines), encoding="utf-8")

# A word must occur 2 times to be learned; rarer ones become <unk>.
corpus = PairFile(FILE, longest=longest, smallest=2)
english, french = corpus.vocabularies()
train_pairs = corpus.take(400_000, "train")
test = corpus.take(1000 if real else 100, "test")
print("your file" if real else "the stand-in")

# %% tags=["nbval-ignore-output"]
print(f"{len(train_pairs):,d} pairs to train on, {len(test):,d} to test")
print(f"{len(english):,d} English and {len(french):,d} French words")

# %% [markdown]
# ## Train both
#
# **Predict first:** on real sentences, will the two be as far apart as on our grammar? Most sentences in such a file are short.


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
    model = Seq2Seq(config)
    stream = batches(train_pairs, english, french, size=batch, seed=0)
    fit(model, stream, steps=steps, lr=2e-3, device=device)
    return Translator(model.to("cpu"), english, french)


# %% tags=["nbval-ignore-output"]
translators = {"fixed context": train("none"), "RNNsearch": train("additive")}
said = {
    name: one.translate([pair.source for pair in test])
    for name, one in translators.items()
}
for name, words in said.items():
    bleu = metrics.bleu(words, [pair.target for pair in test])
    print(f"{name:14} BLEU {bleu:.1f}")

# %% [markdown]
# A BLEU from a few hundred batches on a CPU means nothing, and we print it anyway so that you see where it starts. On a GPU compare the two lines, not with numbers from papers: another test set, another BLEU.

# %% [markdown]
# ## The length curve

# %% tags=["nbval-ignore-output", "hide-input"]
BUCKETS = [(1, 4), (5, 6), (7, 8), (9, 11), (12, 15), (16, 20)]
fig, ax = plt.subplots(figsize=(7, 3.6))
for (name, words), style in zip(said.items(), ("s--", "o-")):
    curve = metrics.by_length(words, test, BUCKETS)
    ax.plot(
        [f"{a}–{b}" for a, b in curve],
        list(curve.values()),
        style,
        label=name,
    )
ax.set(xlabel="English words", ylabel="BLEU")
ax.set_ylim(bottom=0)
ax.legend()
figures.show(
    fig,
    alt="BLEU against sentence length for a fixed context and for RNNsearch.",
    caption="Which curve falls faster? How many test sentences stand behind the last point?",
)

# %% [markdown]
# ## Look at it
#
# Nobody drew gold links for this corpus, so there is no AER. But you have eyes.

# %% tags=["nbval-ignore-output", "hide-input"]
pair = max(test[:50], key=lambda p: len(p.source))
(alpha,) = translators["RNNsearch"].align([pair])
fig, ax = plt.subplots(figsize=(6, 5))
figures.heatmap(
    ax,
    alpha,
    rows=[*pair.target, "(end)"],
    columns=[*pair.source, "(end)"],
    row_label="French",
    column_label="English",
)
figures.show(
    fig,
    alt="Attention weights of RNNsearch on one test sentence.",
    caption="After a short training this is a grey cloud. After a long one, an alignment.",
)

# %%
both_ran = all(len(words) == len(test) for words in said.values())
print("both translators answered every test sentence:", both_ran)

# %% [markdown]
# ## Exercises
#
# **1 ★ (5 min)** How many test sentences does each bucket hold? Print it, and decide which points of the curve you believe.
#
# **2 ★★ (15 min)** A sentence in such a file often has several right translations, and BLEU knows only one. Collect for each English test sentence *all* French ones from `corpus.pairs`, and count an answer as right if it equals any of them. Does the gap between the two models change?
#
# **3 ★★★ (20 min)** Turn the languages round: swap the columns of the file, and translate from French to English. Which direction is easier, and why? (Think of what French marks and English does not.)
#
# <details><summary>Hint for 3</summary>
#
# English *the* has to become *le*, *la*, *l'* or *les*; the other way round all four become *the*. The target with fewer choices is easier to hit. But French sentences carry the information, so nothing has to be guessed either.
#
# </details>
#
# ## What to take home
#
# - The corpus changed, the model did not: a `PairFile` has the methods of our grammar.
# - Most of a real corpus is short. The bottleneck shows in the tail, so look at the curve and not at one number.
# - Without gold links, alignment can be looked at but not measured. That is why the chapter used a grammar.
