"""Show, Attend and Tell: say what is in a picture, attending to it afresh for every word.

    picture -> small CNN -> a grid of cells, each a vector                     the annotations
    words   -> the decoder of `seq2seq.py`, unchanged: a GRU with additive attention

The translator of `seq2seq.py` reads words; this one reads the cells of a grid (Xu et al. 2015).
Only the encoder is new. B batch, G cells per side, S = G·G cells, H hidden width.

Where we leave the paper: its CNN is a large one, trained on photographs; ours is small, trained
here, and each cell sees little more than itself (`receptive_field`), so that a weight on a cell
speaks of that place. The paper's order of steps is `order="before"`, as in `seq2seq.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attnlab import decoding
from attnlab.attention import log_softmax
from attnlab.carried import Carried
from attnlab.data import scenes
from attnlab.data.scenes import Box, Scene
from attnlab.data.sequences import BOS, EOS, SPECIAL, Batch, Vocabulary, stack
from attnlab.models import seq2seq

# Kernel, stride and channels of each layer; after the last one there is one pixel per cell. Kernels
# reach over their stride by the same number of pixels on both sides: a cell sees around its middle.
LAYERS = ((4, 2, 16), (4, 2, 40), (3, 3, 96))
GRID = 8  # cells per side: 96 pixels / (2 · 2 · 3)
CELL = scenes.SIZE // GRID  # pixels per side
LONGEST = 12  # words; the grammar says 9 at most


@dataclass(frozen=True, kw_only=True)
class Config(seq2seq.Config):
    """A translator's sizes; its source has no words, but cells.

    In the paper's order the context goes into the GRU, and so the state knows where the cat was
    when it must choose between "above" and "below".
    """

    source_words: int = 1  # not used
    order: str = "before"
    embedding: int = 32
    hidden: int = 64
    grid: int = GRID


class GridEncoder(nn.Module):
    """Convolutions, then two more numbers for every cell: what is here, and where here is.

    Row and column as plain numbers, as Liu et al. 2018 (CoordConv): a convolution cannot tell
    where it is, and "above" is about nothing else.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        channels, layers = 3, []
        for kernel, stride, width in LAYERS:
            layers += [
                nn.Conv2d(channels, width, kernel, stride, padding=(kernel - stride) // 2),
                nn.BatchNorm2d(width),
                nn.ReLU(),
            ]
            channels = width
        self.look = nn.Sequential(*layers)
        self.widen = nn.Linear(channels + 2, 2 * config.hidden)
        line = torch.linspace(-1, 1, config.grid)
        self.where: Tensor  # (S, 2): row and column of every cell, from -1 to 1
        self.register_buffer("where", torch.cartesian_prod(line, line), persistent=False)

    def forward(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """(B, 3, 96, 96), 0…1 -> annotations (B, S, 2H), summary (B, 2H)."""
        cells = self.look(pictures).flatten(2).transpose(1, 2)  # (B, S, channels), row by row
        where = self.where.expand(len(cells), -1, -1)
        annotations = self.widen(torch.cat([cells, where], dim=-1))
        return annotations, annotations.mean(1)


class Captioner(seq2seq.Seq2Seq):
    """RNNsearch with other eyes."""

    config: Config

    def __init__(self, config: Config) -> None:
        super().__init__(config, encoder=GridEncoder(config))

    def start(self, source: Tensor, lengths: Tensor | None = None) -> seq2seq.State:
        """Look at the pictures: (B, 3, 96, 96) -> the state before the first word."""
        annotations, summary = self.encoder(source)
        count, cells, _ = annotations.shape
        real = torch.ones(count, 1, 1, cells, dtype=torch.bool, device=source.device)  # all
        memory = seq2seq.Memory(annotations, self.context.keys(annotations), real, summary)
        return seq2seq.State(torch.tanh(self.bridge(summary)), memory)


def receptive_field() -> int:
    """Pixels per side that one cell can see: a layer adds (kernel − 1) · the strides before it."""
    sees, step = 1, 1
    for kernel, stride, _ in LAYERS:
        sees += (kernel - 1) * step
        step *= stride
    return sees


def to_tensor(pictures: Sequence[np.ndarray]) -> Tensor:
    """uint8 pictures, (96, 96, 3) each -> (B, 3, 96, 96), 0…1."""
    return torch.from_numpy(np.stack(pictures)).permute(0, 3, 1, 2).float() / 255


def collate(some: Sequence[Scene], words: Vocabulary) -> Batch:
    """Scenes to a batch: the source is a picture."""
    return _batch(
        to_tensor([scene.picture for scene in some]),
        [words.encode(scene.caption) for scene in some],
    )


def _batch(pictures: Tensor, targets: Sequence[Sequence[int]]) -> Batch:
    return Batch(
        source=pictures,
        source_lengths=torch.full((len(targets),), GRID * GRID),
        target_in=stack([[BOS, *row] for row in targets]),
        target_out=stack([[*row, EOS] for row in targets]),
    )


def batches(words: Vocabulary, *, size: int, seed: int = 0) -> Iterator[Batch]:
    """Batches without end; no scene comes twice."""
    source = scenes.stream(split="train", seed=seed)
    while True:
        yield collate([next(source) for _ in range(size)], words)


@dataclass(frozen=True, eq=False)
class Telling:
    """What was said of a picture, how sure it was, and where it looked before each word."""

    words: tuple[str, ...]
    probability: float  # of the whole caption, the end mark included
    looks: Tensor  # (words + 1, G, G): α as a grid; the last map is before the end mark


@dataclass(frozen=True, kw_only=True)
class Pointing:
    """How often the largest weight falls on the named object, and how often a dart would."""

    nouns: float
    colours: float
    chance: float  # a cell drawn at random, at nouns
    words: int  # how many nouns were asked


@dataclass(frozen=True)
class Teller(Carried, what="captioner", needs=("words",)):
    """A captioner to pass on: the model with its words.

    teller = Teller.shipped()
    teller.tell([scene.picture])[0].words
    """

    model: Captioner
    words: Vocabulary

    @torch.no_grad()
    def tell(self, pictures: Sequence[np.ndarray], size: int = 100) -> list[Telling]:
        """Say what is in each picture, greedily."""
        self.model.eval()
        told = []
        for start in range(0, len(pictures), size):
            source = to_tensor(pictures[start : start + size])
            said = decoding.greedy(self.model.step, self.model.start(source), max_length=LONGEST)
            told += self._look_back(source, said)
        return told

    def _look_back(self, source: Tensor, said: list[list[int]]) -> list[Telling]:
        """Read the captions that were said once more, to see the weights and the probabilities."""
        batch = _batch(source, said)
        log_p = log_softmax(self.model(batch))  # (B, T, V)
        chosen = log_p.gather(-1, batch.target_out.unsqueeze(-1)).squeeze(-1)  # (B, T)
        looks = self._grids(seq2seq.alignments(self.model, batch))
        return [
            Telling(
                tuple(self.words.words[number] for number in row),
                float(chosen[i, : len(row) + 1].sum().exp()),
                looks[i, : len(row) + 1],
            )
            for i, row in enumerate(said)
        ]

    def looks(self, some: Sequence[Scene]) -> list[Tensor]:
        """The weights while the right caption is read: (words + 1, G, G) for each scene."""
        grids = self._grids(seq2seq.alignments(self.model, collate(some, self.words)))
        return [grids[i, : len(scene.caption) + 1] for i, scene in enumerate(some)]

    def _grids(self, weights: Tensor) -> Tensor:
        return weights.unflatten(-1, (self.model.config.grid, -1))  # (B, T, S) -> (B, T, G, G)

    def exact(self, some: Sequence[Scene]) -> float:
        """The share of scenes whose caption is right, word for word."""
        told = self.tell([scene.picture for scene in some])
        return sum(t.words == s.caption for t, s in zip(told, some, strict=True)) / len(some)

    def pointing(self, some: Sequence[Scene]) -> Pointing:
        """Is the middle of the cell with the largest weight inside a box of the named object?"""
        hits: dict[bool, list[bool]] = {True: [], False: []}
        chance = []
        for scene, looks in zip(some, self.looks(some), strict=True):
            for place, boxes in scene.boxes.items():
                cells = inside(boxes)
                noun = place in scene.nouns
                hits[noun].append(bool(cells.flatten()[looks[place].argmax()]))
                chance += [float(cells.float().mean())] if noun else []
        return Pointing(
            nouns=sum(hits[True]) / max(1, len(hits[True])),
            colours=sum(hits[False]) / max(1, len(hits[False])),
            chance=sum(chance) / max(1, len(chance)),
            words=len(hits[True]),
        )

    def mistakes(self, some: Sequence[Scene], count: int) -> list[tuple[Scene, Telling]]:
        """The wrong captions it was surest of, surest first: picked by rule, not by hand."""
        told = self.tell([scene.picture for scene in some])
        wrong = [(s, t) for s, t in zip(some, told, strict=True) if t.words != s.caption]
        return sorted(wrong, key=lambda pair: -pair[1].probability)[:count]

    def header(self) -> dict[str, Any]:
        return {"words": self.words.words[len(SPECIAL) :]}

    @classmethod
    def from_header(cls, about: dict[str, Any]) -> "Teller":
        return cls(Captioner(Config(**about["config"])), Vocabulary(about["words"]))

    @classmethod
    def shipped(cls, name: str = "captioning") -> "Teller":
        """The one that the course carries."""
        return super().shipped(name)


def inside(boxes: Sequence[Box], grid: int = GRID) -> Tensor:
    """Which cells have their middle in one of the boxes: (G, G), bool."""
    middle = (torch.arange(grid) + 0.5) * (scenes.SIZE / grid)
    cells = torch.zeros(grid, grid, dtype=torch.bool)
    for left, top, right, bottom in boxes:
        across, down = (middle >= left) & (middle < right), (middle >= top) & (middle < bottom)
        cells |= down[:, None] & across[None, :]
    return cells
