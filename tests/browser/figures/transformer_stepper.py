"""The whole Transformer."""

import copy
import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from attnlab import checkpoints, decoding
from attnlab.attention import softmax
from attnlab.data.pairs import detokenise
from attnlab.data.sequences import BOS, EOS, SPECIAL, Vocabulary
from attnlab.models.transformer import Config, Transformer
from attnlab.record import record
from attnlab.reproducible import seed
from attnlab.translator import Translator
from attnlab.widgets import TransformerStepper
from attnlab.widgets.base import LiveFigure
from attnlab.widgets.browser_translator import reading
from tests.browser.live import Live
from tests.browser.twins import entropy

PATHS = {
    "encoder": "encoder.layers.{}.self_attention",
    "decoder": "decoder.layers.{}.self_attention",
    "cross": "decoder.layers.{}.cross_attention",
}
BARS = 8
_opened: dict[str, Transformer] = {}


def open_model(sent: dict[str, Any]) -> Transformer:
    """The model that a page holds, in torch and in double precision."""
    key = str(sent["config"]) + "".join(array["data"] for array in sent["arrays"].values())
    if key not in _opened:
        model = Transformer(Config(**sent["config"]))
        model.load_state_dict(checkpoints.from_json(sent["arrays"]))
        _opened[key] = model.double().eval()
    return _opened[key]


def without(model: Transformer, off: Sequence[str]) -> Transformer:
    """The model with some heads knocked out: their columns of the output projection are 0."""
    model = copy.deepcopy(model)
    for name in off:
        block, layer, head = name.split(".")
        heads = model.get_submodule(PATHS[block].format(layer))
        width = model.config.width // model.config.heads
        heads.out.weight.data[:, int(head) * width : (int(head) + 1) * width] = 0
    return model


class Seen:
    """One pass over a source and the French read so far, without a cache, and what went on."""

    @torch.no_grad()
    def __init__(self, model: Transformer, source: Sequence[int], read: Sequence[int]) -> None:
        stages: dict[str, list[Tensor]] = {"encoder": [], "decoder": []}
        hooks = [
            # With pre-norm every LayerNorm reads the residual stream as it is.
            module.register_forward_pre_hook(lambda _, x, side=side: stages[side].append(x[0][0]))
            for side in stages
            for path, module in model.get_submodule(side).named_modules()
            if path.split(".")[-1] == "norm" and not isinstance(module, nn.Identity)
        ]
        numbers = torch.tensor([source])
        with record(model) as maps:
            state = model.start(numbers, torch.tensor([len(source)]))
            x = model.decoder(model.target(torch.tensor([read])), state.memory)
            self.logits = model.generate(x)[0]  # (T, V)
        for hook in hooks:
            hook.remove()
        layers = range(model.config.layers)
        self.maps = {
            block: torch.stack([maps[path.format(i)][0] for i in layers])  # (layers, H, T, S)
            for block, path in PATHS.items()
        }
        # (stages, words): how long the residual stream is
        self.stream = {side: torch.stack(x).norm(dim=-1) for side, x in stages.items()}


def draws(start: int) -> Any:
    """The page's generator (mulberry32), one number after the other."""
    state = start & 0xFFFFFFFF
    while True:
        state = (state + 0x6D2B79F5) & 0xFFFFFFFF
        t = ((state ^ (state >> 15)) * (state | 1)) & 0xFFFFFFFF
        t ^= (t + (((t ^ (t >> 7)) * (t | 61)) & 0xFFFFFFFF)) & 0xFFFFFFFF
        yield ((t ^ (t >> 14)) & 0xFFFFFFFF) / 2**32


def draw(state: dict[str, Any], place: int) -> float:
    return float(next(itertools.islice(draws(state["seed"]), place, None)))


def shares(state: dict[str, Any], logits: Tensor) -> Tensor:
    return decoding.next_word_probabilities(
        logits,
        temperature=state["temperature"],
        top_k=state["top_k"] or None,
        top_p=state["top_p"] if state["top_p"] < 1 else None,
    )


def ranked(logits: Tensor) -> Tensor:
    return logits.argsort(descending=True, stable=True)


def choose(state: dict[str, Any], logits: Tensor, place: int) -> int:
    if not state["sampling"]:
        return int(logits.argmax())
    order = ranked(logits)
    ends = shares(state, logits)[order].cumsum(0)
    rank = int(torch.searchsorted(ends, torch.tensor(draw(state, place)), right=True))
    return int(order[min(rank, int((shares(state, logits) > 0).sum()) - 1)])


def limit(words: Sequence[str]) -> int:
    return 2 * len(words) + 5


def free_run(state: dict[str, Any], off: Sequence[str], words: Sequence[str]) -> str:
    """What the model says when nobody interferes."""
    model, target = without(open_model(state["model"]), off), state["model"]["target"]
    source = [*(state["model"]["source"].index(word) for word in words), EOS]
    said: list[int] = []
    while len(said) < limit(words) and (not said or said[-1] != EOS):
        said.append(choose(state, Seen(model, source, [BOS, *said]).logits[-1], len(said)))
    return detokenise([target[n] for n in said if target[n] not in SPECIAL])


def twin(state: dict[str, Any], numbers: Any) -> dict[str, Any]:
    sent = state["model"]
    target = list(sent["target"])
    words = reading(state["sentence"])
    # While it plays, a word may be said between the two looks at the page.
    said = [target.index(w) for w in (numbers["said"] if numbers["playing"] else state["said"])]
    finished = bool(said) and (said[-1] == EOS or len(said) >= limit(words))
    read = [BOS, *(said[:-1] if finished else said)]
    model = without(open_model(sent), state["off"])
    seen = Seen(model, [*(sent["source"].index(word) for word in words), EOS], read)
    logits, place = seen.logits[-1], len(read) - 1
    share, order = shares(state, logits), ranked(logits)
    top = order[:BARS]
    known = set(sent["source"][len(SPECIAL) :])
    typed = reading(numbers["typed"])
    focus = seen.maps[state["block"]][state["layer"], state["head"]]
    assert 0 <= numbers["row"] < len(focus)
    return {
        "words": words,
        "said": [target[n] for n in said],
        "finished": finished,
        "playing": numbers["playing"],
        "row": numbers["row"],  # the pointer may rest on another one
        "strongest": int(focus[numbers["row"]].argmax()),
        "typed": numbers["typed"],
        "unknown": []
        if len(typed) > 24
        else list(dict.fromkeys(word for word in typed if word not in known)),
        "maps": seen.maps,
        "stream": {
            "encoder": seen.stream["encoder"].mean(-1),
            "decoder": seen.stream["decoder"][:, -1],
        },
        "next": {
            "words": [target[n] for n in top.tolist()],
            "plain": softmax(logits)[top],
            "shares": share[top],
            "kept": kept(state, logits),
            "bits": entropy(share),
            "draw": draw(state, place),
            "choice": target[said[-1] if finished else choose(state, logits, place)],
        },
        "answers": {
            "intact": free_run(state, [], words) if state["off"] else "",
            "now": free_run(state, state["off"], words) if state["off"] else "",
        },
    }


def kept(state: dict[str, Any], logits: Tensor) -> int:
    """How many words may be drawn, however unlikely the last of them are."""
    p = softmax(logits / state["temperature"])[ranked(logits)]
    many = int((p.cumsum(0) - p < state["top_p"]).sum()) if state["top_p"] < 1 else len(p)
    return max(1, min(many, state["top_k"] or len(p)))


@cache
def shipped() -> Translator:
    """The course's own."""
    return Translator.shipped("transformer")


def as_sent(translator: Translator, store: str = "int8") -> Translator:
    """With the weights that a page gets: rounded."""
    model = copy.deepcopy(open_model(translator.to_browser(store))).float()
    return Translator(model, translator.source, translator.target)


def untrained(source: Sequence[str], target: Sequence[str], **sizes: Any) -> Translator:
    """A small model of unequal sizes that has learned nothing."""
    seed(5)
    words = Vocabulary(source), Vocabulary(target)
    config = Config(source_words=len(words[0]), words=len(words[1]), **sizes)
    return Translator(Transformer(config).eval(), *words)


def examples() -> list[LiveFigure]:
    return [
        TransformerStepper(
            shipped(),
            said=["nous", "leur", "montrons"],
            examples=["we love her", "this girl spoke to the king"],
        )
    ]


def rogue(words: list[str]) -> LiveFigure:
    model = untrained(["we", "speak", "to", "them"], words, width=12, heads=3, layers=1)
    return TransformerStepper(model, "we speak to them", title=words[0], caption=words[2], layer=0)


def move(live: Live) -> None:
    """One word more; at the end of the sentence, one less."""
    step = live.place.get_by_role("button", name="Step")
    (step if step.is_enabled() else live.place.get_by_role("button", name="‹ Back")).click()
