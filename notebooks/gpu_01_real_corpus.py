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
# The notebook looks at the device it runs on and chooses its sizes. On a CPU it stays tiny and takes seconds. In Colab choose *Runtime → Change runtime type → GPU* for the full size.

# %%
import hashlib
import io
import urllib.request
import zipfile
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from tqdm.auto import tqdm

from attnlab import figures, metrics
from attnlab.data import batches
from attnlab.data.english_french import EnglishFrench
from attnlab.data.pairs import PairFile
from attnlab.reproducible import seed
from attnlab.seq2seq import Config, Seq2Seq
from attnlab.training import fit
from attnlab.translator import Translator

figures.use_style()

# %% tags=["nbval-ignore-output"]
if torch.cuda.is_available():
    device, widths, steps, size = "cuda", (64, 256, 1024), 6000, 128
    found = torch.cuda.get_device_name()
    expect = "three translators, some minutes each."
elif torch.backends.mps.is_available():
    device, widths, steps, size = "mps", (64, 256), 3000, 64
    found = "an Apple GPU"
    expect = "two translators, some minutes each."
else:
    device, widths, steps, size = "cpu", (16, 64), 300, 32
    found = "no GPU, so the CPU"
    expect = "two tiny translators, seconds each. Read the trend only."

print(f"Device found: {found}.")
print(f"What to expect: {expect}")

# %% [markdown]
# ## Real sentence pairs
#
# [Tatoeba](https://tatoeba.org) is a collection of sentences and translations that people give away (CC BY 2.0 FR). The [Anki page of manythings.org](https://www.manythings.org/anki/) packs them into tab-separated files, one pair a line:
#
#     Go.    Va !    CC-BY 2.0 (France) Attribution: …
#
# Set `FETCH = True` to download the English–French file (a few megabytes, once), or put the path of your own file into `FILE`: any two languages, separated by a tab. Without either, or without a network, the corpus of the course takes its place.

# %%
FETCH = False
FILE = None  # for example "fra.txt"
ADDRESS = "https://www.manythings.org/anki/fra-eng.zip"


def fetch(address, path):
    """Download a zip once, and unpack the text file inside it."""
    if path.is_file():
        return path
    asked = urllib.request.Request(address, headers={"User-Agent": "attnlab"})
    with urllib.request.urlopen(asked, timeout=20) as answer:
        total = int(answer.headers.get("Content-Length") or 0)
        packed = io.BytesIO()
        with tqdm(total=total, unit="B", unit_scale=True) as bar:
            while chunk := answer.read(1 << 16):
                packed.write(chunk)
                bar.update(len(chunk))
    digest = hashlib.sha256(packed.getvalue()).hexdigest()
    print(f"downloaded, sha256 {digest[:16]}…")
    with zipfile.ZipFile(packed) as archive:
        inside = next(n for n in archive.namelist() if n.endswith("fra.txt"))
        path.write_bytes(archive.read(inside))
    return path


def real_file():
    """The path of a file of sentence pairs, or None."""
    if FILE is not None:
        return Path(FILE)
    if not FETCH:
        return None
    try:
        return fetch(ADDRESS, Path("fra.txt"))
    except (OSError, StopIteration, zipfile.BadZipFile) as error:
        print(f"The file could not be fetched ({error}): using our corpus.")
        return None


# %%
path = real_file()
if path is not None:
    corpus = PairFile(path, longest=20, smallest=5)  # rare words: unknown
else:
    corpus = EnglishFrench(longest=15)
source, target = corpus.vocabularies()
pairs = corpus.take(20_000 if device == "cpu" else 200_000)
test = corpus.take(200 if device == "cpu" else 2000, "test")
print("real sentences:", path is not None)
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
        embedding=64 if device == "cpu" else 256,
        dropout=0.0 if device == "cpu" else 0.2,
    )
    translator = Translator(Seq2Seq(config), source, target)
    rate = 5e-3 if hidden < 200 else 1e-3
    endless = batches(pairs, source, target, size=size, seed=0)
    fit(translator.model, endless, steps=steps, lr=rate, device=device)
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
# The bar, on any device and any corpus: every translator is worse at its longest sentences than at its best.

# %%
for hidden, curve in curves.items():
    falls = list(curve.values())[-1] < max(curve.values())
    print(f"H = {hidden}: worst where sentences are long: {falls}")

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
# 1. **Read ten translations** of the longest sentences, beside the references. Which words are lost first: names, numbers, adjectives, the end of the sentence?
# 2. **Practice or room?** Long sentences are rare in real text. Train once more with as many long as short ones (repeat the long ones in `pairs`). If the curve rises at its end, practice was the problem; what is left is the vector.
# 3. **Turn the source round.** [Sutskever et al. 2014](https://arxiv.org/abs/1409.3215) fed the source backwards, and gained several BLEU points. Our encoder reads both ways already. Reverse the *targets* instead: does the first or the last half of a translation get worse?
# 4. **Take chapter 2's cure**: `kind="additive"` instead of `"none"` in `Config`. Draw both curves in one figure.
