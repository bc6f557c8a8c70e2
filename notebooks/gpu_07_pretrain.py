# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
#   attnlab:
#     number: 7
#     gpu: true
#     title: Pre-train a small GPT
#     minutes: 40
#     summary: A decoder-only model on the shipped text or on one of yours, in mixed precision, with its loss drawn while it falls, and the share of your card that it really uses.
# ---

# %% [markdown]
# # 7 · GPU exercise: pre-train a small GPT
#
# [Chapter 7](07_families.ipynb) trained a GPT of width 64 in seconds. On a GPU it now grows to ten million parameters, reads the text many times, and you find out two things: when it stops *learning* and begins to *remember*, and which share of your card's peak it uses.
#
# The notebook looks at the device it runs on and chooses its sizes. On a CPU it stays tiny, takes seconds, and reads too little of the text to remember any. In Colab choose *Runtime → Change runtime type → GPU* for the full size.

# %% tags=["setup"]
from pathlib import Path

import torch

from attnlab import decoding
from attnlab.checks import check
from attnlab.data import Vocabulary, shakespeare
from attnlab.device import find
from attnlab.models.families import DecoderOnly
from attnlab.models.transformer import Config
from attnlab.reproducible import seed
from attnlab.training import (
    Curve,
    Descent,
    Evaluate,
    Progress,
    cockpit,
    fit,
)
from attnlab.training.cost import DEVICES, operations

# %% [markdown]
# ## Your device

# %% tags=["nbval-ignore-output"]
gpu = find("cuda")
device = gpu.place
width, heads, layers, length, batch, steps = gpu.choose(
    cuda=(384, 6, 6, 256, 64, 3000),
    cpu=(32, 2, 2, 32, 8, 60),
    pretended=(8, 2, 1, 8, 2, 2),
)
gpu.banner(
    cuda="ten million parameters, 3,000 steps of 16 thousand letters. Some minutes, by guess.",
    cpu="a toy of width 32, to see that everything runs. A few seconds.",
)

# %% [markdown]
# ## The text
#
# Put a file `text.txt` beside this notebook to train on your own: a novel, your notes, source code. Shakespeare, which is read without it, has a million letters; more is better.

# %%
FILE = Path("text.txt")
text = (
    FILE.read_text(encoding="utf-8") if FILE.is_file() else shakespeare.text()
)
letters = Vocabulary(sorted(set(text)))
numbers = torch.tensor(letters.encode(text))
cut = int(0.9 * len(numbers))
train, valid = numbers[:cut], numbers[cut:]
print(f"{len(train):,} letters to read, {len(valid):,} held out")


def windows(part, seed):
    """Endless batches (batch, length + 1) of stretches of the text."""
    dice = torch.Generator().manual_seed(seed)
    while True:
        starts = torch.randint(len(part) - length, (batch, 1), generator=dice)
        yield part[starts + torch.arange(length + 1)]


# %% [markdown]
# ## Train
#
# Products in 16 bits, sums in 32; in float16 the loss is scaled, as in [chapter 6's GPU exercise](gpu_06_base_model.ipynb). Dropout 0.2, because ten million parameters may learn a million letters by heart. **Predict first:** after how many readings of the text will the held-out loss be lowest?

# %%
seed(0)
config = Config(
    words=len(letters), width=width, heads=heads, layers=layers,
    positions="rope", dropout=0.2, activation="gelu",
)  # fmt: skip
model = DecoderOnly(config).to(device)
size = sum(p.numel() for p in model.stack.parameters())
print(f"{size:,} parameters without the table of letters")
readings = steps * batch * length / len(train)
print(f"the text is read {readings:.2g} times")


def half_loss(tokens):
    """The loss, with products in 16 bits where the device has them."""
    with torch.autocast(device, dtype=gpu.half, enabled=gpu.kind == "cuda"):
        return model.loss(tokens)


@torch.no_grad()
def held_out(_):
    """Loss on text that is not trained on, nats per letter."""
    stream = windows(valid, seed=1)
    losses = [model.loss(next(stream).to(device)).item() for _ in range(4)]
    return {"held out": sum(losses) / len(losses)}


# %% tags=["nbval-ignore-output"]
spent = gpu.stopwatch()  # it waits until the device has finished
history = fit(
    model,
    windows(train, seed=0),
    steps=steps,
    descent=Descent(
        lr=gpu.choose(cuda=1e-3, cpu=8e-3),
        scaler=torch.amp.GradScaler(
            device,
            enabled=gpu.kind == "cuda" and gpu.half is torch.float16,
        ),
    ),
    loss=half_loss,
    listeners=(
        Progress(),
        Curve(),
        Evaluate(held_out, every=max(1, steps // 10)),
    ),
)
seconds = spent()

# %% tags=["nbval-ignore-output"]
for score in history.scores:
    read = score["step"] * batch * length / len(train)
    print(f"step {score['step']:5.0f}, text read {read:.2g} times: held out {score['held out']:.3f}")  # fmt: skip
best = min(history.scores, key=lambda score: score["held out"])
print(f"lowest after {best['step']:.0f} steps; training loss at the end {history.smooth():.3f}")  # fmt: skip

# %% [markdown]
# Where the held-out loss turns up while the training loss still falls, the model has begun to remember the text. Stop there, try more dropout, or find more text.
#
# ## The cockpit
#
# Now fly yourself: choose a size and a learning rate, press Start, watch the loss and what the model writes. **Find out:** at which rate does a small model learn fastest, and can the large one take the same rate?


# %%
def write(model, letters_to_write=60):
    """What the model says after the first letters of the text."""
    begin = torch.tensor([letters.encode(text[:20])], device=device)
    said = decoding.sample(
        model.step, model.start(begin[:, :-1]), bos=int(begin[0, -1]),
        max_length=letters_to_write, temperature=0.7,
    )[0]  # fmt: skip
    return text[:20] + "".join(letters.decode(said))


# %% tags=["nbval-ignore-output"]
pilot = cockpit(
    make_model=lambda width: DecoderOnly(
        Config(words=len(letters), width=width, heads=2, positions="rope")
    ).to(device),
    batches=lambda: windows(train, seed=0),
    sizes=gpu.choose(
        cuda={"small": 64, "large": 256},
        cpu={"small": 16, "large": 64},
        pretended={"small": 8},
    ),
    lr=8e-3,
    steps=gpu.choose(cuda=600, cpu=40, pretended=2),
    sample=write,
)

# %% [markdown]
# ## Let it write

# %% tags=["nbval-ignore-output"]
prompt = torch.tensor([letters.encode(text[:40])], device=device)
written = decoding.sample(
    model.step,
    model.start(prompt[:, :-1]),
    bos=int(prompt[0, -1]),
    max_length=gpu.choose(cuda=600, cpu=120, pretended=5),
    temperature=0.8,
    generator=seed(0) if device == "cpu" else None,
)[0]
print(text[:40] + "".join(letters.decode(written)))

# %% [markdown]
# ## How much of the card?
#
# $6ND$ operations, by the clock, against the peak of the data sheet.

# %% [markdown] tags=["exercise"] exercise="07.7"
# ### Exercise 7.7 ★ · What share of the peak? (5 min)
#
# Write `my_utilisation(parameters, tokens, seconds, peak)`: the share of the peak (operations per second) that a training of $6ND$ operations reached.


# %% tags=["stub"] exercise="07.7"
def my_utilisation(parameters, tokens, seconds, peak):
    """Numbers -> a share between 0 and 1."""
    operations = ...
    return ...


# %% [markdown] tags=["hint"] exercise="07.7"
# How many operations could the card have done in that time?

# %% [markdown] tags=["hint"] exercise="07.7"
# Done: six for each parameter and token. Possible: seconds times peak.


# %% tags=["solution"] exercise="07.7"
def my_utilisation(parameters, tokens, seconds, peak):
    """Numbers -> a share between 0 and 1."""
    operations = 6 * parameters * tokens
    return operations / (seconds * peak)


# %% tags=["check"] exercise="07.7"
check("07.7", my_utilisation)

# %% tags=["nbval-ignore-output"]
PEAK = DEVICES["T4"].flops  # look up your own: DEVICES lists some
done = operations(size, steps * batch * length)  # 6ND
print(f"{100 * done / (seconds * PEAK):.2g} % of a T4's peak")

# %% [markdown]
# A small share is common for small models: much of the time may go into starting operations and moving numbers instead of multiplying. Try a larger batch, a larger width, `gpu.compile(model)`: which of them raises the share, and which raises it most?
