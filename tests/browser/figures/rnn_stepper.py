"""The unrolled RNN, against torch's own cells."""

from typing import Any

import torch
from torch import nn

from attnlab.models.recurrent import GRUCell, LSTMCell, RNNCell
from attnlab.widgets import RNNStepper
from attnlab.widgets.base import LiveFigure
from tests.browser.twins import WORDS

CELLS = {"rnn": nn.RNNCell, "gru": nn.GRUCell, "lstm": nn.LSTMCell}
WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def tensor(array: Any) -> torch.Tensor:
    return torch.tensor(array).double()


def run(state: dict[str, Any], muted: list[int]) -> torch.Tensor:
    """All states of the sentence, (T, H)."""
    table, words = tensor(state["embedding"]), state["vocabulary"]
    hidden = state["weight_hh"].shape[1]
    cell = CELLS[state["cell"]](table.shape[1], hidden).double()
    cell.load_state_dict({name: tensor(state[name]) for name in WEIGHTS})
    h: Any = None
    states = []
    for t, token in enumerate(state["tokens"]):
        name = token if token in words else token.lower()
        x = torch.zeros(1, table.shape[1], dtype=torch.double)
        if name in words and t not in muted:
            x = table[[words.index(name)]]
        h = cell(x, h)
        states.append(h[0] if isinstance(h, tuple) else h)
    return torch.cat(states).detach()


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    tokens, words = state["tokens"], state["vocabulary"]
    step = min(state["step"], len(tokens))
    states, plain = run(state, state["muted"]), run(state, [])
    answers = []
    if state["weight_out"] is not None:
        scores = states @ tensor(state["weight_out"]).T + tensor(state["bias_out"])
        answers = scores.softmax(-1)[:step].tolist()
    return {
        "step": step,
        "states": states[:step].tolist(),
        "answers": answers,
        "moved": (states - plain).norm(dim=-1)[:step].tolist(),
        "unknown": [
            t for t, word in enumerate(tokens) if word not in words and word.lower() not in words
        ],
        "muted": [t for t in state["muted"] if t < len(tokens)],
    }


def figure(kind: type, words: list[str], tokens: list[str], **traits: Any) -> LiveFigure:
    torch.manual_seed(3)
    cell, readout = kind(3, 5), nn.Linear(5, 2)
    return RNNStepper(
        cell,
        tokens,
        vocabulary=words,
        embedding=2 * torch.randn(len(words), 3),
        readout=readout,
        labels=["no", "yes"],
        **traits,
    )


def examples() -> list[LiveFigure]:
    words = list(dict.fromkeys(WORDS))
    torch.manual_seed(4)
    plain = RNNStepper(
        LSTMCell(4, 9), WORDS[:3], vocabulary=words, embedding=torch.randn(len(words), 4)
    )
    return [
        figure(RNNCell, words, WORDS, muted=[2]),
        figure(GRUCell, words, [*WORDS[:4], "Bank", "zebra"], step=2),
        plain,
    ]


def rogue(words: list[str]) -> LiveFigure:
    return figure(GRUCell, words[:-2], words)
