"""The tree of models."""

from typing import Any

from attnlab.data.family_tree import BRANCHES, TREE, Model, short
from attnlab.widgets import ModelTree
from attnlab.widgets.base import LiveFigure
from tests.browser.live import Live


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    models, selected, show = state["models"], state["selected"], state["show"]
    place = {model["name"]: i for i, model in enumerate(models)}
    line = [selected]
    while models[line[-1]]["parent"]:
        line.append(place[models[line[-1]]["parent"]])
    wanted = {"all": (True, False), "open": (True,), "closed": (False,)}[show]
    shown = [i for i, model in enumerate(models) if model["open"] in wanted]
    name = models[selected]["name"]
    return {
        "selected": selected,
        "line": line,
        "children": [i for i, model in enumerate(models) if model["parent"] == name],
        "shown": shown,
        "counts": [sum(models[i]["branch"] == branch for i in shown) for branch in BRANCHES],
    }


def examples() -> list[LiveFigure]:
    return [ModelTree(selected=10), ModelTree(TREE[:7], show="open")]


def lecture() -> LiveFigure:
    """A hall sees the branches and who is whose child; the whole tree is for a page."""
    return ModelTree(short(), selected=5)


def rogue(words: list[str]) -> LiveFigure:
    return ModelTree(
        [
            Model(
                name=f"{i}{word}", year=2017 + i, branch=BRANCHES[i % 3], maker=word, open=True,
                size=None, parent="", text=word, source=word,
            )
            for i, word in enumerate(words)
        ]
    )  # fmt: skip


def move(live: Live) -> None:
    """There is no slider: go on to the next model."""
    live.place.get_by_role("button", name="Later").click()
