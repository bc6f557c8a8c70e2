"""Chapter 6's comparisons over three seeds: dropout, label smoothing, three machines.

    python training/recipes.py                     # about 9 CPU minutes on one core

Everything as in the chapter: its sentences of 3 to 10 words, steps, batches and rates; only the
seed differs (weights, order of the sentences, holes). A run that is finished is written down at
once, to build/recipes.jsonl: interrupted, the script goes on where it was.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import torch
from noted import Run, noted, ship
from torch import nn

from attnlab import metrics, reproducible, training
from attnlab.data import PAD, batches, collate
from attnlab.data.english_french import EnglishFrench
from attnlab.layers.heads import MultiHead
from attnlab.layers.norms import AddNorm
from attnlab.models import seq2seq
from attnlab.models.seq2seq import Seq2Seq
from attnlab.models.transformer import Config, Transformer, cross_maps
from attnlab.training.coverage import with_coverage
from attnlab.translator import Translator

SEEDS = (0, 1, 2)
HOLES = {"nothing": (0, 0), "weights": (0.2, 0), "sublayers": (0, 0.2), "both": (0.2, 0.2)}
EPSILONS = {"0": 0.0, "0.1": 0.1}
MACHINES = {
    "RNN, fixed context": ("none", 0.0),
    "RNNsearch": ("additive", 0.15),
}
BINS = 25  # of the certainty from 0.5 to 1


class Course:
    """The sentences of chapter 6."""

    def __init__(self) -> None:
        corpus = EnglishFrench(longest=10)
        self.pairs, self.test = corpus.take(24_000), corpus.take(200, "test")
        self.valid = corpus.take(200, "valid")
        self.source, self.target = corpus.vocabularies()
        self.known = collate(self.pairs[:200], self.source, self.target)
        self.exam = collate(self.test, self.source, self.target)
        self.config = Config(words=len(self.target), source_words=len(self.source))

    def batches(self, seed: int, few: int | None = None) -> Iterator[Any]:
        return batches(self.pairs[:few], self.source, self.target, size=32, seed=seed)

    def translator(self, model: Any) -> Translator:
        return Translator(model.eval(), self.source, self.target)


@cache
def course() -> Course:
    return Course()


def fit(model: nn.Module, stream: Any, seed: int, steps: int, **how: Any) -> training.History:
    descent = how.pop("descent", training.Descent(lr=4e-3))
    listeners = how.pop("listeners", ())
    return training.fit(
        model, stream, steps=steps, seed=seed, descent=descent, listeners=listeners, **how
    )


def dropout(name: str, seed: int) -> Run:
    """2,000 sentences, holes in some places: the losses on the way, and at the end."""
    here, (weights, sublayers) = course(), HOLES[name]
    model = Transformer(here.config)
    for module in model.modules():
        if isinstance(module, MultiHead):
            module.dropout = weights
        elif isinstance(module, AddNorm):
            module.dropout = sublayers

    @torch.no_grad()
    def losses(m: Any) -> dict[str, float]:
        return {k: round(float(m.loss(getattr(here, k))), 4) for k in ("known", "exam")}

    history = fit(
        model, here.batches(seed, few=2000), seed, 800,
        listeners=(training.Evaluate(losses, every=50),),
    )  # fmt: skip
    found = {side: [score[side] for score in history.scores] for side in ("known", "exam")}
    bleu = round(here.translator(model).bleu(here.test), 2)
    reproducible.seed(seed)
    with torch.no_grad():
        forgot = round(float(model.train().loss(here.exam)), 4)
    return {"steps": [int(s["step"]) for s in history.scores], **found, "bleu": bleu,
            "forgot": forgot}  # fmt: skip


@torch.no_grad()
def certainty(model: Transformer) -> Run:
    """How sure it is of the likeliest word, and how often that word is right."""
    exam = course().exam
    real = exam.target_out != PAD
    sure, word = model(exam).softmax(-1)[real].max(-1)
    return {
        "loss": round(float(model.loss(exam)), 4),
        "sure": round(sure.mean().item(), 4),
        "right": round((word == exam.target_out[real]).float().mean().item(), 4),
        "histogram": torch.histc(sure, BINS, 0.5, 1.0).int().tolist(),
    }


def aligned(model: Transformer) -> Run:
    """AER on the test of the cross-attention head that is best on validation sentences."""
    here = course()
    maps = cross_maps(model, collate(here.valid, here.source, here.target))

    def error(layer: int, head: int) -> float:
        found = [
            metrics.links(maps[i, layer, head, : len(p.target) + 1, : len(p.source) + 1], p)
            for i, p in enumerate(here.valid)
        ]
        return metrics.aer(found, here.valid)

    layers, heads = maps.shape[1:3]
    best = min(((n, h) for n in range(layers) for h in range(heads)), key=lambda at: error(*at))
    model.config = replace(model.config, alignment_head=best)
    return {"aer": round(here.translator(model).aer(here.test), 4)}


def size_of(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def smoothing(name: str, seed: int) -> Run:
    """The chapter's translator. Without smoothing it is also the table's third machine."""
    here, epsilon = course(), EPSILONS[name]
    model = Transformer(here.config)
    history = fit(
        model, here.batches(seed), seed, 2000,
        loss=lambda batch: model.loss(batch, label_smoothing=epsilon),
    )  # fmt: skip
    found = {"bleu": round(here.translator(model).bleu(here.test), 2), **certainty(model)}
    return {**found, **aligned(model), "seconds": round(history.seconds, 1),
            "parameters": size_of(model)}  # fmt: skip


def machine(name: str, seed: int) -> Run:
    """A recurrent translator of chapter 2's sizes, its weights asked to be even, as there."""
    here, (kind, share) = course(), MACHINES[name]
    sizes = seq2seq.Config(
        source_words=len(here.source), target_words=len(here.target), kind=kind, hidden=96
    )
    model = Seq2Seq(sizes)
    loss = with_coverage(model, share) if share else None
    history = fit(model, here.batches(seed), seed, 2000, loss=loss)
    translator = here.translator(model)
    found: Run = {"bleu": round(translator.bleu(here.test), 2)}
    if kind != "none":
        found["aer"] = round(translator.aer(here.test), 4)
    return {**found, "seconds": round(history.seconds, 1), "parameters": size_of(model)}


KINDS = {
    "dropout": (dropout, HOLES),
    "smoothing": (smoothing, EPSILONS),
    "machine": (machine, MACHINES),
}


def plan() -> Iterator[Run]:
    for kind, (_, names) in KINDS.items():
        for name in names:
            for seed in SEEDS:
                yield {"kind": kind, "name": name, "seed": seed}


def run(kind: str, name: str, seed: int) -> Run:
    reproducible.seed(seed)
    return KINDS[kind][0](name, seed)


def main() -> None:
    torch.set_num_threads(1)
    results = noted("recipes", plan(), run)
    ship("data/recipes.json", results, script="recipes", origin="measured by this project")


if __name__ == "__main__":
    main()
