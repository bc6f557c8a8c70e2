"""English to French in the browser, word by word, with and without attention."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from traitlets import Bool, Dict, Int, List, validate

from attnlab.widgets.base import FigureError, Temperature, bundle, stylesheet
from attnlab.widgets.one_by_one import OneByOne, whole

if TYPE_CHECKING:  # torch comes with the first figure that computes with it
    from attnlab.data.sequences import Pair
    from attnlab.translator import Translator

# What people write, in words of the corpus. The page has the same list.
CONTRACTIONS = (
    ("can't", "cannot"), ("can not", "cannot"), ("n't", " not"), ("i'm", "i am"), ("'re", " are"),
    ("'ve", " have"),
)  # fmt: skip
MOST = 60  # words; the page refuses longer texts with a sentence


def reading(text: str) -> list[str]:
    """Text to words, as the page reads it: lower case, commas apart, other signs left out."""
    plain = unicodedata.normalize("NFC", text).lower().replace("’", "'").replace("‘", "'")
    plain = plain.replace("\u200d", "").replace("\ufe0f", "")
    for short, long in CONTRACTIONS:
        plain = plain.replace(short, long)
    # Letters stay, with their accents, and an apostrophe between letters; a comma is a word.
    kept = "".join(c if _letter(c) or c in "'," else " " for c in plain)
    apart = (word.strip("'") for word in re.findall(r",|[^\s,]+", kept))
    return [word for word in apart if word]


def _letter(sign: str) -> bool:
    return unicodedata.category(sign)[0] in "LM"


def sent(name: str, translator: Any, store: str) -> dict[str, Any]:
    """A translator as it is sent to the page, or say why it cannot be."""
    from attnlab.models.seq2seq import Seq2Seq
    from attnlab.translator import Translator

    if not isinstance(translator, Translator):
        raise FigureError(
            f"{name} is a {type(translator).__name__}: give an attnlab.translator.Translator, "
            'for instance Translator.shipped("rnnsearch").'
        )
    if not isinstance(translator.model, Seq2Seq):
        raise FigureError(
            f"{name} holds a {type(translator.model).__name__}: this figure runs the recurrent "
            "translators of attnlab.models.seq2seq."
        )
    if translator.model.config.order != "after":
        raise FigureError(
            f"{name} attends before it reads the last word (order='before'); the page computes "
            "order='after' only."
        )
    return translator.to_browser(store)


class BrowserTranslator(OneByOne):
    """Type a sentence and watch the translation and its alignment appear, word by word.

    BrowserTranslator.shipped(text="the black cat sleeps")
    BrowserTranslator(rnnsearch, fixed_context, examples=corpus.examples(), trained=15)
    BrowserTranslator(fixed=fixed_context)               # only one of the two: nothing to switch

    Both run in the browser. `attention` switches between them; `shown` is how many French words
    are visible, the end mark included, and −1 is all; `speed` is words per second; `temperature` is
    that of the weights, and the page translates again with it. A sentence of `examples` is compared
    with its reference. `trained` is the longest sentence in training,
    mentioned when the reader goes beyond it. Models are sent in int8, as they are shipped;
    `store="float32"` sends one that was trained in the notebook without rounding.
    """

    figure = "browser_translator"
    _esm, _css = bundle("browser_translator"), stylesheet("browser_translator")
    made = ("attending", "fixed", "examples")

    attending = Dict().tag(sync=True)
    fixed = Dict().tag(sync=True)
    examples = List(Dict()).tag(sync=True)
    unit = "words"
    attention = Bool(True).tag(sync=True)
    temperature = Temperature("Near 0 each word looks at one place only, so try 0.05.")
    trained = Int(0).tag(sync=True)

    def __init__(
        self,
        attending: Translator | None = None,
        fixed: Translator | None = None,
        *,
        examples: Iterable[Pair] = (),
        text: str | None = None,
        store: str = "int8",
        **traits: Any,
    ):
        if attending is None and fixed is None:
            raise FigureError(
                "no translator was given: give one with attention, one without, or both; "
                "BrowserTranslator.shipped() takes the course's own."
            )
        models = {"attending": attending, "fixed": fixed}
        given = {name: sent(name, one, store) for name, one in models.items() if one is not None}
        _check_kinds(given)
        pairs = [_plain(pair) for pair in examples]
        if text is None:
            text = " ".join(pairs[0]["source"]).replace(" ,", ",") if pairs else ""
        super().__init__(
            **given,
            examples=pairs,
            text=text,
            **{
                "attention": attending is not None,
                "alt": "A translator from English to French that runs on this page: words appear "
                "one by one, with a map of where each French word looked in the English sentence. "
                "Without attention, long sentences go wrong.",
                **traits,
            },
        )

    @classmethod
    def shipped(cls, **traits: Any) -> BrowserTranslator:
        """The two translators that the course carries, trained on sentences of 3 to 32 words."""
        from attnlab.data.english_french import EnglishFrench
        from attnlab.translator import Translator

        corpus = EnglishFrench(longest=32)
        return cls(
            Translator.shipped("rnnsearch"),
            Translator.shipped("fixed_context"),
            **{"examples": corpus.examples(), "trained": 32, **traits},
        )

    @validate("shown", "trained")
    def _count(self, proposal: Any) -> int:
        name, lowest = proposal["trait"].name, -1 if proposal["trait"].name == "shown" else 0
        if proposal["value"] < lowest:
            meaning = "−1 shows all words" if name == "shown" else "0 when it is not known"
            raise FigureError(f"{name} is {proposal['value']}: give a count of words; {meaning}.")
        return int(proposal["value"])


def _check_kinds(given: Mapping[str, Mapping[str, Any]]) -> None:
    if given.get("attending", {"config": {"kind": "additive"}})["config"]["kind"] == "none":
        raise FigureError("attending has no attention (kind='none'): give it as fixed=.")
    if given.get("fixed", {"config": {"kind": "none"}})["config"]["kind"] != "none":
        raise FigureError(
            f"fixed attends (kind={given['fixed']['config']['kind']!r}): give it as the first "
            "argument, and one with kind='none' here."
        )
    if len(given) == 2:
        for side in ("source", "target"):
            if given["attending"][side] != given["fixed"][side]:
                raise FigureError(
                    f"the two translators have different {side} words: to be compared they must "
                    "read and write the same vocabularies."
                )


def _plain(pair: Any) -> dict[str, list[str]]:
    """An example as the page needs it: its words."""
    from attnlab.data.sequences import Pair

    if not isinstance(pair, Pair):
        raise FigureError(
            f"an example is a {type(pair).__name__}: give Pairs, for instance "
            "EnglishFrench().examples()."
        )
    return {"source": [*map(whole, pair.source)], "target": [*map(whole, pair.target)]}
