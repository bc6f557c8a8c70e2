"""Diagrams that more than one place of the course draws."""

from collections.abc import Sequence
from typing import Any

from attnlab.widgets.diagram import Arrow, Diagram, Matrix, Op, Step


def query_key_value(
    words: Sequence[str],
    *,
    x: Any,
    q: Any,
    k: Any,
    v: Any,
    scores: Any,
    weights: Any,
    output: Any,
    links: dict[str, str] | None = None,
    **traits: Any,
) -> Diagram:
    """From words to outputs through queries, keys and values, with the numbers of each matrix.

    x is (L, E); q and k are (L, D), v is (L, D_v); scores and weights are (L, L). `links` holds
    the anchors of sections by the names of the parts: x, q, k, v, scores, weights, output.
    """
    anchor = (links or {}).get

    def table(name: str, label: str, values: Any, at: tuple[float, float], **more: Any) -> Matrix:
        return Matrix(name, label, values=values, at=at, link=anchor(name, ""), **more)

    parts = [
        table("x", "X", x, (0, 1), rows=words),
        table("q", "Q", q, (1, 0), colour="query"),
        table("k", "K", k, (1, 1), colour="key"),
        table("v", "V", v, (1, 2), colour="value"),
        table("scores", "Q K^T", scores, (2, 0.5), rows=words),
        table("weights", "weights", weights, (3, 0.5), colour="attention"),
        Op("mix", "×", at=(3, 2)),
        table("output", "O", output, (4, 2), colour="value"),
    ]
    arrows: list[Arrow | str] = [
        Arrow("x", "q", "W_q"),
        Arrow("x", "k", "W_k"),
        Arrow("x", "v", "W_v"),
        *("q -> scores", "k -> scores", "scores -> weights: softmax(· / √D)"),
        *("weights -> mix", "v -> mix", "mix -> output"),
    ]
    steps = [
        Step("Every word comes in as a row of X.", ["x"]),
        Step("Three learned matrices give it three roles: query, key and value.",
             ["x", "q", "k", "v"]),
        Step("Each query is compared with each key: one score for each pair of words.",
             ["q", "k", "scores"]),
        Step("The softmax turns every row of scores into weights that add up to 1.",
             ["scores", "weights"]),
        Step("Every word takes its weighted mean of the values.",
             ["weights", "v", "mix", "output"]),
    ]  # fmt: skip
    tall = {
        "x": (1, 0), "q": (0, 1), "k": (1, 1), "v": (2, 1),
        "scores": (0.5, 2), "weights": (0.5, 3), "mix": (2, 3), "output": (2, 4),
    }  # fmt: skip
    return Diagram(parts, arrows, (), steps, tall=tall, **traits)
