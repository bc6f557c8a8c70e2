"""A recurrent network, unrolled: one step at a time, its states as a heatmap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from traitlets import Int, List, Unicode, validate

from attnlab.widgets.base import Array, FigureError, LiveFigure, Words, bundle, stylesheet

if TYPE_CHECKING:  # torch comes with the first figure that computes with it
    from torch import nn

KINDS = {1: "rnn", 3: "gru", 4: "lstm"}  # by the number of blocks of rows in its weights
LONGEST = 16  # words that fit side by side


class RNNStepper(LiveFigure):
    """Step through a sentence, silence a word, type another sentence: the states follow.

    `cell` is an RNNCell, GRUCell or LSTMCell, of `attnlab.models.recurrent` or of torch.
    `embedding` has one row for each word of `vocabulary`; a word that is not
    there is read as zeros. With a `readout` (a linear layer from state to one score per label)
    the figure also shows what the network would answer after each word.

    RNNStepper(cell, "a b a".split(), vocabulary=["a", "b"], embedding=torch.eye(2))
    """

    figure = "rnn_stepper"
    _esm, _css = bundle("rnn_stepper"), stylesheet("rnn_stepper")
    made = (
        "cell", "vocabulary", "labels", "embedding", "weight_ih", "weight_hh", "bias_ih", "bias_hh",
        "weight_out", "bias_out",
    )  # fmt: skip

    tokens = Words()
    vocabulary = Words()
    labels = Words()
    cell = Unicode("rnn").tag(sync=True)
    embedding = Array(ndim=(2,))
    weight_ih = Array(ndim=(2,))
    weight_hh = Array(ndim=(2,))
    bias_ih = Array(ndim=(1,))
    bias_hh = Array(ndim=(1,))
    weight_out = Array(ndim=(2,), allow_none=True)
    bias_out = Array(ndim=(1,), allow_none=True)
    step = Int(0).tag(sync=True)
    muted = List(Int()).tag(sync=True)

    def __init__(
        self,
        cell: nn.Module,
        tokens: Sequence[str],
        *,
        vocabulary: Sequence[str],
        embedding: Any,
        readout: nn.Linear | None = None,
        labels: Sequence[str] = (),
        step: int | None = None,
        **traits: Any,
    ):
        kind, hidden, inputs = _kind(cell)
        super().__init__(
            cell=kind,
            vocabulary=vocabulary,
            labels=labels,
            embedding=embedding,
            **{name: getattr(cell, name) for name in WEIGHTS},
            weight_out=None if readout is None else readout.weight,
            bias_out=None if readout is None else readout.bias,
            **{
                "alt": "A recurrent network unrolled along a sentence: the words below, above each "
                "word the state after it as a column of coloured numbers. A slider goes through "
                "the steps; a click on a word silences it.",
                **traits,
            },
        )
        self._check_sizes(hidden, inputs)
        self.tokens = tokens
        self.step = len(self.tokens) if step is None else step

    def _check_sizes(self, hidden: int, inputs: int) -> None:
        if self.embedding.shape != (len(self.vocabulary), inputs):
            raise FigureError(
                f"embedding has shape {self.embedding.shape}, but there are "
                f"{len(self.vocabulary)} words and the cell reads {inputs} numbers: give "
                f"({len(self.vocabulary)}, {inputs})."
            )
        if self.weight_out is not None and self.weight_out.shape != (len(self.labels), hidden):
            raise FigureError(
                f"readout has shape {self.weight_out.shape}, but there are {len(self.labels)} "
                f"labels and {hidden} numbers in a state: give one label for each row."
            )

    @validate("tokens")
    def _some_words(self, proposal: Any) -> list[str]:
        if not 1 <= len(proposal["value"]) <= LONGEST:
            raise FigureError(
                f"{len(proposal['value'])} tokens were given: the figure reads 1 to {LONGEST}."
            )
        return list(proposal["value"])

    @validate("step")
    def _some_step(self, proposal: Any) -> int:
        # The page clips to the last word, so that a shorter sentence may come first.
        if not 0 <= proposal["value"] <= LONGEST:
            raise FigureError(
                f"step is {proposal['value']}: 0 is before the first word, and there are at most "
                f"{LONGEST} words."
            )
        return int(proposal["value"])


WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _kind(cell: Any) -> tuple[str, int, int]:
    """ "rnn", "gru" or "lstm", the width of a state, the width of an input."""
    if any(getattr(cell, name, None) is None for name in WEIGHTS):
        raise FigureError(
            f"cell is a {type(cell).__name__}: give an RNNCell, GRUCell or LSTMCell with biases, "
            "one step of a network, not a whole layer."
        )
    rows, hidden = cell.weight_hh.shape
    if rows % hidden or rows // hidden not in KINDS or getattr(cell, "nonlinearity", "") == "relu":
        raise FigureError(
            f"cell has weights of shape ({rows}, {hidden}): this figure knows the tanh RNN, the "
            "GRU and the LSTM, with 1, 3 and 4 blocks of rows."
        )
    return KINDS[rows // hidden], hidden, cell.weight_ih.shape[1]
