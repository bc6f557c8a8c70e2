"""Train the Transformer that the course ships: English to French, small enough for a web page.

    python training/transformer.py                       # about 10 CPU minutes on one core
    python training/transformer.py --steps 500 --folder /tmp/try

The same corpus, lengths and test sentences as `training/translators.py`, and as there some target
words are hidden while it trains, and every head of the last cross-attention is asked to give each
source word its share of looks. No gold link is shown to any head. Which head's looks agree best
with the gold links is found on validation sentences and noted in the config.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import torch
from noted import register

from attnlab import assets, metrics, reproducible, training
from attnlab.data import Batch, Pair, batches, collate
from attnlab.data.english_french import EnglishFrench
from attnlab.models.transformer import POSITIONS, Config, Transformer, cross_maps
from attnlab.record import record
from attnlab.training.coverage import Fertility
from attnlab.translator import Translator

ASKED = "decoder.layers.1.cross_attention"  # the last: behind it, words are said


def best_head(translator: Translator, pairs: list[Pair]) -> tuple[tuple[int, int], float]:
    """The (layer, head) of the cross-attention with the lowest alignment error, and that error."""
    model = translator.model
    assert isinstance(model, Transformer)
    maps = cross_maps(model, collate(pairs, translator.source, translator.target))
    errors = {}
    for layer in range(maps.shape[1]):
        for head in range(maps.shape[2]):
            looks = [
                metrics.links(maps[i, layer, head, : len(p.target) + 1, : len(p.source) + 1], p)
                for i, p in enumerate(pairs)
            ]
            errors[layer, head] = metrics.aer(looks, pairs)
    found = min(errors, key=errors.__getitem__)
    return found, errors[found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=14_000)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--longest", type=int, default=32)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--word-dropout", type=float, default=0.25)
    parser.add_argument("--even", type=float, default=0.2)
    parser.add_argument("--positions", default="sinusoidal", choices=POSITIONS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", default="int8", choices=("float16", "int8"))
    parser.add_argument("--folder", type=Path, default=assets.folder() / "weights")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    corpus = EnglishFrench(longest=arguments.longest)
    sentences = corpus.take(arguments.sentences)
    held_out = corpus.take(200, "valid")
    test = corpus.take(400, "test")
    source, target = corpus.vocabularies()
    watched = collate(held_out, source, target)

    reproducible.seed(arguments.seed)
    config = Config(
        words=len(target),
        source_words=len(source),
        width=arguments.width,
        dropout=arguments.dropout,
        word_dropout=arguments.word_dropout,
        positions=arguments.positions,
    )
    translator = Translator(Transformer(config), source, target)

    fertility = [Fertility(len(source)) for _ in range(config.heads)]

    def loss(batch: Batch) -> torch.Tensor:
        with record(translator.model, ASKED, attached=True) as maps:
            own = translator.model.loss(batch)
        looks = maps[ASKED]
        assert isinstance(looks, torch.Tensor)
        strayed = [f.penalty(looks[:, head], batch) for head, f in enumerate(fertility)]
        return own + arguments.even * torch.stack(strayed).mean()

    def evaluate(model: Transformer) -> dict[str, float]:
        loss = float(model.loss(watched))
        head, error = best_head(translator, held_out)
        print(f"validation loss {loss:.4f}, head {head}: AER {error:.3f}", flush=True)
        return {"loss": loss}

    history = training.fit(
        translator.model,
        batches(sentences, source, target, size=32, seed=arguments.seed),
        steps=arguments.steps,
        descent=training.Descent(lr=arguments.lr),
        loss=loss,
        listeners=(training.Evaluate(evaluate, every=500),),
        seed=arguments.seed,
    )
    head, _ = best_head(translator, held_out)
    translator.model.config = replace(config, alignment_head=head)
    path = translator.save(
        arguments.folder / "transformer.safetensors",
        store=arguments.store,
        steps=history.steps,
        seconds=round(history.seconds),
    )
    shipped = Translator.load(path)  # measure what is shipped, not what was trained
    size = sum(p.numel() for p in shipped.model.parameters())
    for name, found in (("trained", translator), ("shipped", shipped)):
        print(f"{name}: BLEU {found.bleu(test):.2f}, head {head}, AER {found.aer(test):.4f}")
    print(f"{size} parameters, {path.stat().st_size} bytes, {history.seconds:.0f} CPU seconds")
    register(
        path,
        script="transformer",
        origin="trained by this project on its own English-French grammar",
    )


if __name__ == "__main__":
    main()
