"""The whole Transformer at work: type a sentence, watch it translated word by word."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from traitlets import Bool, Dict, Enum, Float, Int, Unicode, observe, validate

from attnlab.widgets.base import FigureError, LiveFigure, Temperature, Words, bundle, stylesheet
from attnlab.widgets.browser_translator import reading

if TYPE_CHECKING:  # torch comes with the first figure that computes with it
    from attnlab.translator import Translator

BLOCKS = ("encoder", "decoder", "cross")
OPENING = 3  # French words that are there at first, unless `said` is given
LONGEST = 24  # words: beyond that, the maps are no longer legible


class TransformerStepper(LiveFigure):
    """Every head of every layer, the residual stream and the next word, computed on the page.

    TransformerStepper.shipped("we show the trains to them", said=["nous", "leur"])
    TransformerStepper(translator, store="float32")      # one that was trained in the notebook

    - `said`: the French words so far, three to begin with; Step adds the likeliest one, or with
      `sampling` one that is drawn (`temperature`, `top_k`, `top_p`, `seed`).
    - `block`, `layer`, `head`: the head in focus, from 0; `row`: the word in focus, -1 = newest.
    - `off`: heads that are knocked out, such as "cross.1.3": decoder layer 1, head 3.
    """

    figure = "transformer_stepper"
    _esm, _css = bundle("transformer_stepper"), stylesheet("transformer_stepper")
    made = ("model",)

    model = Dict().tag(sync=True)
    sentence = Unicode("").tag(sync=True)
    said = Words()
    examples = Words()
    block = Enum(BLOCKS, "cross").tag(sync=True)
    layer = Int(0).tag(sync=True)
    head = Int(0).tag(sync=True)
    row = Int(-1).tag(sync=True)
    off = Words()
    temperature = Temperature("For the likeliest word use sampling=False.")
    top_k = Int(0).tag(sync=True)  # 0: all words
    top_p = Float(1.0).tag(sync=True)
    sampling = Bool(False).tag(sync=True)
    seed = Int(0).tag(sync=True)
    view = Enum(("stack", "head", "next"), "stack").tag(sync=True)  # on a narrow screen

    def __init__(
        self,
        translator: Translator,
        sentence: str = "we show the trains to them",
        *,
        store: str = "int8",
        **traits: Any,
    ):
        """`store`: how the weights are sent; take what the translator was stored as."""
        net = getattr(translator, "model", translator)
        from attnlab.models.transformer import Transformer
        from attnlab.translator import Translator

        if not isinstance(translator, Translator) or not isinstance(net, Transformer):
            raise FigureError(
                f"this figure shows a Translator with a Transformer in it, but was given a "
                f'{type(net).__name__}: use Translator.shipped("transformer").'
            )
        if net.config.activation != "relu":
            raise FigureError(
                f"activation is {net.config.activation!r}, but the page computes 'relu' only."
            )
        layer, head = net.config.alignment_head
        if "examples" not in traits:
            from attnlab.data.english_french import EnglishFrench

            texts = [" ".join(pair.source) for pair in EnglishFrench().examples()]
            traits["examples"] = telling(translator, texts)
        super().__init__(
            model=translator.to_browser(store),
            sentence=sentence,
            **{
                "layer": layer % net.config.layers,
                "head": head,
                "alt": "A Transformer translates an English sentence into French, word by word. "
                "Small attention maps of all heads, one enlarged, the length of the residual "
                "stream after every part, and bars of the likeliest next words.",
                **traits,
            },
        )
        if "said" not in traits:  # open in the middle, where there is something to see
            self.said = translator.translate([reading(self.sentence)])[0][:OPENING]

    @classmethod
    def shipped(cls, sentence: str = "we show the trains to them", **traits: Any) -> Self:
        """With the Transformer that the course carries."""
        from attnlab.translator import Translator

        return cls(Translator.shipped("transformer"), sentence, **traits)

    @validate("sentence")
    def _readable(self, proposal: Any) -> str:
        words = reading(proposal["value"])
        if not 1 <= len(words) <= LONGEST:
            raise FigureError(
                f"the sentence has {len(words)} words, but this figure shows 1 to {LONGEST}."
            )
        from attnlab.data.sequences import SPECIAL

        known = self.model.get("source", [])[len(SPECIAL) :]
        unknown = [word for word in words if word not in known]
        if unknown:
            near = difflib.get_close_matches(unknown[0], known, n=3)
            raise FigureError(
                f"the model never learned {', '.join(map(repr, unknown[:4]))}."
                + (f" Close to {unknown[0]!r}: {', '.join(near)}." if near else "")
            )
        return " ".join(words)

    @validate("said")
    def _sayable(self, proposal: Any) -> list[str]:
        known = set(self.model.get("target", []))
        strange = [word for word in proposal["value"] if word not in known]
        if strange:
            raise FigureError(f"the model cannot say {strange[0]!r}: it is not among its words.")
        return list(proposal["value"])

    @validate("examples")
    def _all_readable(self, proposal: Any) -> list[str]:
        return [self._readable({"value": text}) for text in proposal["value"]]

    @validate("layer", "head")
    def _inside(self, proposal: Any) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        count = self.model.get("config", {}).get(name + "s", 1)
        if not 0 <= value < count:
            raise FigureError(f"{name} is {value}, but they are counted from 0 to {count - 1}.")
        return int(value)

    @validate("off")
    def _heads(self, proposal: Any) -> list[str]:
        config = self.model.get("config", {})
        for name in proposal["value"]:
            found = re.fullmatch(r"(encoder|decoder|cross)\.(\d+)\.(\d+)", name)
            if not found or int(found[2]) >= config["layers"] or int(found[3]) >= config["heads"]:
                raise FigureError(
                    f"off names {name!r}, but heads are called like 'cross.1.3': encoder, decoder "
                    f"or cross, a layer below {config['layers']}, a head below {config['heads']}."
                )
        return sorted(proposal["value"])

    @validate("top_k")
    def _some(self, proposal: Any) -> int:
        if proposal["value"] < 0:
            raise FigureError(f"top_k is {proposal['value']}: use 1 or more, or 0 for all words.")
        return int(proposal["value"])

    @validate("top_p")
    def _share(self, proposal: Any) -> float:
        if not 0 < proposal["value"] <= 1:
            raise FigureError(f"top_p is {proposal['value']}: use a probability, 0 < top_p ≤ 1.")
        return float(proposal["value"])

    @observe("sentence")
    def _start_again(self, change: Any) -> None:
        if change["old"]:  # a new sentence; the first one may come with words already said
            self.said, self.row = [], -1


def telling(translator: Translator, texts: Sequence[str]) -> list[str]:
    """Those of the texts that the translator can read and the figure can show."""
    return [
        text
        for text in texts
        if len(reading(text)) <= LONGEST and not translator.source.unknown(reading(text))
    ]
