"""Leave parts of the Transformer out, or put them elsewhere, and write down what becomes of it.

    python training/transformer_parts.py                       # about 40 CPU minutes on one core
    python training/transformer_parts.py --only wiring table   # some of the comparisons
    python training/transformer_parts.py --steps 20 --file /tmp/try.json

Four comparisons for chapter 6, three seeds each, on the chapter's own sentences of 3 to 10 words:

- table: a recurrent translator with one fixed context, one with attention, and the Transformer
- smoothing: labels smoothed by 0.1, against none (which is the table's Transformer)
- wiring: 4 + 4 blocks that read the last encoder block, the first, or floor by floor; and the
  first kind rewired after its training
- dropout: on 2,000 sentences only, so that there is something to learn by heart

All have the same steps, batches and rate. A run that is finished is written down at once, to
build/transformer_parts/: interrupted, the script goes on where it was.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attnlab import assets, metrics, reproducible, training
from attnlab.data import PAD, Pair, batches, collate
from attnlab.data.english_french import EnglishFrench
from attnlab.inside.rewired import Rewired
from attnlab.layers.heads import MultiHead
from attnlab.layers.norms import AddNorm
from attnlab.models import seq2seq
from attnlab.models.seq2seq import Seq2Seq
from attnlab.models.transformer import Config, Transformer, cross_maps
from attnlab.training.coverage import with_even_looks
from attnlab.translator import Translator

ROOT = Path(__file__).parents[1]
SEEDS = (0, 1, 2)
FEW, MANY = 2000, 24_000
DEEP = 4  # blocks in each stack of the wiring
WIRINGS = {"last": [3, 3, 3, 3], "first": [0, 0, 0, 0], "floor by floor": [0, 1, 2, 3]}
DROPPED = {
    "none": (0.0, 0.0),
    "weights 0.1": (0.1, 0.0),
    "sublayers 0.1": (0.0, 0.1),
    "both 0.1": (0.1, 0.1),
    "both 0.3": (0.3, 0.3),
}


class Course:
    """The sentences, and how a translator is trained and measured on them."""

    def __init__(self, steps: int) -> None:
        corpus = EnglishFrench(longest=10)
        self.steps = steps
        self.pairs = corpus.take(MANY)
        self.valid, self.test = corpus.take(200, "valid"), corpus.take(400, "test")
        self.source, self.target = corpus.vocabularies()
        self.exam = collate(self.test, self.source, self.target)
        self.sizes: dict[str, Any] = {
            "words": len(self.target),
            "source_words": len(self.source),
        }

    def train(
        self,
        model: Transformer | Seq2Seq,
        seed: int,
        *,
        loss: Callable[..., Tensor] | None = None,
        pairs: Sequence[Pair] | None = None,
        watch: Callable[[Any], dict[str, float]] | None = None,
    ) -> dict[str, Any]:
        """One training, and what it cost."""
        stream = batches(pairs or self.pairs, self.source, self.target, size=32, seed=seed)
        listeners: tuple[Any, ...] = ()
        if watch is not None:
            listeners = (training.Evaluate(watch, every=max(1, self.steps // 20)),)
        history = training.fit(
            model,
            stream,
            loss=loss,
            steps=self.steps,
            descent=training.Descent(lr=4e-3),
            seed=seed,
            listeners=listeners,
        )
        size = sum(p.numel() for p in model.parameters())
        found = {"seconds": round(history.seconds, 1), "parameters": size}
        return found | ({"curve": history.scores} if watch else {})

    def scores(self, model: Transformer | Seq2Seq) -> dict[str, float]:
        """BLEU of what it says by itself, and its loss when the right words are read."""
        translator = Translator(model.eval(), self.source, self.target)
        with torch.no_grad():
            loss = float(model.loss(self.exam))
        return {"bleu": round(translator.bleu(self.test), 2), "loss": round(loss, 4)}

    def alignment(self, model: Transformer) -> float:
        """AER on the test of the cross-attention head that aligns best on other sentences."""

        def errors(pairs: Sequence[Pair]) -> dict[tuple[int, int], float]:
            maps = cross_maps(model, collate(pairs, self.source, self.target))
            return {
                (layer, head): metrics.aer(
                    [
                        metrics.links(
                            maps[i, layer, head, : len(p.target) + 1, : len(p.source) + 1], p
                        )
                        for i, p in enumerate(pairs)
                    ],
                    pairs,
                )
                for layer in range(maps.shape[1])
                for head in range(maps.shape[2])
            }

        chosen = errors(self.valid)
        return round(errors(self.test)[min(chosen, key=lambda place: chosen[place])], 4)


@torch.no_grad()
def calibration(model: Transformer, course: Course) -> dict[str, Any]:
    """Is it right as often as it says? Ten bins of confidence, on the words of the test."""
    logits = model(course.exam)
    real = course.exam.target_out != PAD
    sure, word = logits.softmax(-1)[real].max(-1)  # (words,)
    right = (word == course.exam.target_out[real]).float()
    place = (sure * 10).long().clamp(max=9)
    bins = []
    for n in range(10):
        own = place == n
        if own.any():
            bins.append([int(own.sum()), float(sure[own].mean()), float(right[own].mean())])
    gap = sum(count * abs(said - was) for count, said, was in bins) / len(sure)
    return {
        "sure": round(float(sure.mean()), 4),
        "right": round(float(right.mean()), 4),
        "gap": round(gap, 4),
        "bins": [[count, round(said, 4), round(was, 4)] for count, said, was in bins],
    }


def table_and_smoothing(course: Course, kind: str, seed: int) -> dict[str, Any]:
    """One row of the table; the two Transformers also say how sure they are."""
    reproducible.seed(seed)
    if kind in ("none", "additive"):
        config = seq2seq.Config(
            source_words=len(course.source), target_words=len(course.target), kind=kind, hidden=96
        )
        rnn = Seq2Seq(config)
        asked = with_even_looks(rnn, 0.15) if kind == "additive" else None
        found = course.train(rnn, seed, loss=asked) | course.scores(rnn)
        if kind == "additive":
            translator = Translator(rnn, course.source, course.target)
            found["aer"] = round(translator.aer(course.test), 4)
        return found
    model = Transformer(Config(**course.sizes))
    epsilon = 0.1 if kind == "smoothed" else 0.0
    found = course.train(model, seed, loss=lambda batch: model.loss(batch, epsilon))
    found |= course.scores(model) | {"aer": course.alignment(model)}
    return found | {"calibration": calibration(model, course)}


def wiring(course: Course, kind: str, seed: int) -> dict[str, Any]:
    """Trained in one wiring; the right one is then rewired in the two wrong ways."""
    reproducible.seed(seed)
    model = Rewired(Config(**course.sizes, layers=DEEP), WIRINGS[kind])
    found = course.train(model, seed) | course.scores(model)
    if kind == "last":
        found["rewired"] = {}
        for other in ("first", "floor by floor"):
            model.reads = WIRINGS[other]
            found["rewired"][other] = course.scores(model)
    return found


def dropout(course: Course, kind: str, seed: int) -> dict[str, Any]:
    """Few sentences; its loss on them and on others, with everything there and with holes."""
    reproducible.seed(seed)
    model = Transformer(Config(**course.sizes))
    on_weights, on_sublayers = DROPPED[kind]
    for module in model.modules():
        if isinstance(module, MultiHead):
            module.dropout = on_weights
        elif isinstance(module, AddNorm):
            module.dropout = on_sublayers
    few = course.pairs[:FEW]
    known = collate(few[:400], course.source, course.target)

    def watch(model: Transformer) -> dict[str, float]:
        return {"train": float(model.loss(known)), "test": float(model.loss(course.exam))}

    found = course.train(model, seed, pairs=few, watch=watch) | course.scores(model)
    with torch.no_grad():
        found["train loss"] = round(float(model.loss(known)), 4)
        model.train()  # as if somebody had forgotten eval()
        found["loss with holes"] = round(float(model.loss(course.exam)), 4)
    return found


def runs() -> Iterator[tuple[str, str, int, Callable[[Course, str, int], dict[str, Any]]]]:
    """Comparison, kind, seed, and how it is run; all of one seed before the next."""
    for seed in SEEDS:
        for kind in WIRINGS:
            yield "wiring", kind, seed, wiring
        for kind in ("transformer", "none", "additive"):
            yield "table", kind, seed, table_and_smoothing
        yield "smoothing", "smoothed", seed, table_and_smoothing
        for kind in DROPPED:
            yield "dropout", kind, seed, dropout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument(
        "--file", type=Path, default=assets.folder() / "data/transformer_parts.json"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    course = Course(arguments.steps)
    folder = ROOT / "build" / "transformer_parts" / str(arguments.steps)
    folder.mkdir(parents=True, exist_ok=True)
    whole = []
    for what, kind, seed, run in runs():
        note = folder / f"{what}, {kind}, {seed}.json"
        if not note.exists() and (not arguments.only or what in arguments.only):
            note.write_text(json.dumps(run(course, kind, seed)), encoding="utf-8")
            print(note.stem, flush=True)
        if note.exists():
            found = json.loads(note.read_text(encoding="utf-8"))
            whole.append({"what": what, "kind": kind, "seed": seed, **found})
    if len(whole) < len(list(runs())):
        return  # another process may be doing the rest
    lines = ",\n".join(json.dumps(run) for run in whole)
    arguments.file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    if arguments.file.parent == assets.folder() / "data":
        assets.register(
            "data/transformer_parts.json",
            licence="MIT",
            origin="measured by this project",
            command="python training/transformer_parts.py",
        )


if __name__ == "__main__":
    main()
