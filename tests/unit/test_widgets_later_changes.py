"""Whatever a living figure is given, it says in one sentence what is wrong, and stays as it was."""

import inspect
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from traitlets import TraitError

from attnlab import widgets
from attnlab.widgets import static_page
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import kinds

NONE_MEANS_NOTHING_THERE = {"edited", "image", "masks"}
ANY_LENGTH = {
    "attention_heatmap.masks", "chopper.merges", "chopper.sound", "extrapolation_plot.shown",
    "head_grid.notes", "head_grid.tokens", "norm_axes.tokens", "quiz.answers", "quiz.questions",
    "rnn_stepper.muted", "rnn_stepper.tokens", "transformer_stepper.examples",
    "transformer_stepper.said",
}  # fmt: skip


def wrong_values(value: Any) -> Iterator[Any]:
    """What is wrong instead of this value, whatever it stands for."""
    if isinstance(value, np.ndarray):
        yield from ("one string", 1.5, value.astype(complex), np.ones((1,) * 5))
        if value.dtype != bool:
            yield np.full(value.shape, math.nan)
    elif isinstance(value, list):
        yield from ("one string", 1.5)
        if value and isinstance(value[0], float):
            yield [math.nan] * len(value)
    elif isinstance(value, dict):
        yield from ("one string", [1.5])
    elif isinstance(value, str):
        yield 1.5
    else:
        yield from ("one string", math.nan, [])


def wrong_lengths(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray):
        yield from (value[:0], np.concatenate([value, value[:1]]))
    elif isinstance(value, list | dict) and value:
        yield type(value)()
        if isinstance(value, list):
            yield value + value[:1]


@pytest.mark.parametrize("kind", static_page.figures())
def test_a_wrong_value_is_refused_in_a_sentence_and_the_old_one_stays(kind: str) -> None:
    figure = kinds()[kind].examples()[0]
    for name in sorted(set(figure.static_state()) - set(LiveFigure.class_trait_names())):
        value, before = getattr(figure, name), figure.get_state()
        wrong = list(wrong_values(value))
        if f"{kind}.{name}" not in ANY_LENGTH:
            wrong += wrong_lengths(value)
        if value is None:
            wrong = []
        elif name not in NONE_MEANS_NOTHING_THERE:
            wrong.append(None)
        for one in wrong:
            with pytest.raises(TraitError) as caught:
                setattr(figure, name, one)
            assert "\n" not in str(caught.value)
            assert name.removesuffix("s") in str(caught.value)
            assert figure.get_state() == before, f"{name} = {one!r}"


@pytest.mark.parametrize("name", widgets.__all__)
@pytest.mark.parametrize("wrong", [None, "one string", 3, [], [None]], ids=repr)
def test_a_figure_is_not_made_from_nonsense(name: str, wrong: Any) -> None:
    parameters = inspect.signature(made := getattr(widgets, name)).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    if needed:
        with pytest.raises(TraitError):
            made(**dict.fromkeys(needed, wrong))
