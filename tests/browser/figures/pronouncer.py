"""The pronouncer."""

from typing import Any

from attnlab.data import pronunciation
from attnlab.widgets import Pronouncer
from attnlab.widgets.base import LiveFigure
from attnlab.widgets.pronouncer import LONGEST, spelling
from tests.browser.figures.browser_translator import check_right, received, said, translator
from tests.browser.live import Live


def twin(state: dict[str, Any], numbers: Any) -> dict[str, Any]:
    words = spelling(state["text"])
    word = words[min(state["which"], len(words) - 1)] if words else ""
    shown = numbers["shown"]  # while it plays, the page may be a sound ahead
    expected = {
        "word": word,
        "words": len(words),
        "left": numbers["left"],
        "speed": state["speed"],
        "shown": shown,
    }
    if not 0 < len(word) <= LONGEST:
        keys = "sounds hints probability weights looked most overlooked right"
        silent = {key: [] for key in keys.split()}
        return {
            **expected, **silent, "total": 0, "finished": True, "selected": -1, "gold": "",
        }  # fmt: skip
    found = said(received(state["speaker"]), list(word))
    assert 0 <= shown <= found["total"]
    if state["shown"] < 0:
        assert shown == found["total"]
    ways = next((e["ways"] for e in state["examples"] if e["word"] == word), [])
    gold = numbers["gold"].split()
    assert gold in ways or (not ways and not gold), "the reference is not the dictionary's"
    if gold and shown >= len(found["target"]):
        check_right(numbers["right"], found["target"], gold)
    now = numbers["selected"]
    assert -1 <= now < max(shown, 1)
    weights = found["weights"]
    most = weights[: len(found["target"]), :-1].amax(0) if found["target"] else [0.0] * len(word)
    sounds = found["target"][:shown]
    return {
        **expected,
        "total": found["total"],
        "finished": found["finished"],
        "sounds": sounds,
        "hints": [
            f"as in {pronunciation.SOUNDS_LIKE[s]}" if s in pronunciation.SOUNDS_LIKE else ""
            for s in sounds
        ],
        "probability": found["probability"][:shown],
        "weights": weights[:shown].tolist(),
        "selected": now,
        "looked": weights[now] if now >= 0 else [],
        "most": most,
        "overlooked": [place for place, weight in enumerate(most) if weight < 0.2],
        "gold": " ".join(gold),
        "right": numbers["right"],
    }


def speaker(seed: int = 6):
    return translator("additive", seed, *pronunciation.vocabularies())


def examples() -> list[LiveFigure]:
    return [
        Pronouncer(speaker(), examples=["knight", "read", "queue"], title="Test"),
        Pronouncer(speaker(7), examples=[], text="Ada O’Hara-Žižek 3", which=1, store="float32"),
    ]


def lecture() -> LiveFigure:
    """A trained model knows where a word ends."""
    return Pronouncer.shipped(examples=["knight", "queue"])


def rogue(words: list[str]) -> LiveFigure:
    return Pronouncer(speaker(), text=" ".join(words), title=words[0], caption=words[1])


def move(live: Live) -> None:
    """Type a word: the speed alone changes no picture."""
    box = live.place.locator("input[type=text]")
    box.fill("receipt")
    box.press("Enter")
