"""The tree of models: one column per branch, one row per year, and a line from each model to
its parent."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from traitlets import Dict, Enum, Int, List, validate

from attnlab.widgets.base import FigureError, LiveFigure, bundle, stylesheet

if TYPE_CHECKING:  # torch comes with the package of data
    from attnlab.data.family_tree import Model

SHOWN = ("all", "open", "closed")


class ModelTree(LiveFigure):
    """Walk through the models that grew from the Transformer; each has its source.

    ModelTree()                      the tree of `attnlab.data.family_tree`
    ModelTree(models, selected=3)    your own tree, parents before children
    """

    figure = "model_tree"
    _esm, _css = bundle("model_tree"), stylesheet("model_tree")

    models = List(Dict()).tag(sync=True)
    selected = Int(0).tag(sync=True)
    show = Enum(SHOWN, "all").tag(sync=True)

    def __init__(self, models: "Sequence[Model] | None" = None, **traits: Any):
        from attnlab.data.family_tree import TREE

        super().__init__(
            models=[asdict(model) for model in (TREE if models is None else models)],
            **{
                "alt": "A tree of models since 2017 in three branches: encoder, encoder–decoder "
                "and decoder, by year, each with its maker, size and source.",
                **traits,
            },
        )

    @validate("models")
    def _a_tree(self, proposal: Any) -> list[dict[str, Any]]:
        from attnlab.data.family_tree import BRANCHES

        models = proposal["value"]
        if not models:
            raise FigureError("there are no models: give at least one.")
        years: dict[str, int] = {}
        for model in models:
            name, parent = model["name"], model["parent"]
            if name in years:
                raise FigureError(f"models has {name} twice: give each model once.")
            if model["branch"] not in BRANCHES:
                raise FigureError(
                    f"{name} is on the branch {model['branch']!r}: choose one of "
                    f"{', '.join(BRANCHES)}."
                )
            if parent and parent not in years:
                raise FigureError(f"{name} comes from {parent!r}, which is not listed before it.")
            if parent and years[parent] > model["year"]:
                raise FigureError(f"{name} is older than {parent}, from which it comes.")
            years[name] = model["year"]
        return models

    @validate("selected")
    def _one_of_them(self, proposal: Any) -> int:
        if not 0 <= proposal["value"] < len(self.models):
            raise FigureError(
                f"selected is {proposal['value']}, but there are {len(self.models)} models, "
                "counted from 0."
            )
        return int(proposal["value"])
