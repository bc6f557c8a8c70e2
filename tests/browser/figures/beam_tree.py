"""The beam-search tree, against the search in Python (itself held against `decoding.beam`)."""

from typing import Any

import torch

from attnlab.widgets import BeamTree
from attnlab.widgets.base import LiveFigure
from attnlab.widgets.beam_tree import END, Node
from tests.beam_on_a_tree import search, sentence

TOY = {
    (): {"le": 0.55, "un": 0.44, "la": 0.01},
    ("le",): {"chat": 0.4, "chien": 0.33, "lit": 0.27},
    ("un",): {"chat": 0.9, "lit": 0.1},
    ("le", "chat"): {END: 0.7, "dort": 0.3},
    ("le", "chien"): {END: 0.6, "dort": 0.4},
    ("le", "lit"): {END: 0.95, "dort": 0.05},
    ("un", "chat"): {"dort": 0.8, END: 0.2},
    ("un", "lit"): {END: 1.0},
    ("le", "chat", "dort"): {END: 1.0},
    ("le", "chien", "dort"): {END: 1.0},
    ("un", "chat", "dort"): {END: 1.0},
}


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    rows = zip(
        state["parents"], state["words"], state["log_probabilities"], state["ended"], strict=True
    )
    nodes = [Node(*row) for row in rows]
    longest, width, alpha = (state[key] for key in ("longest", "width", "length_penalty"))
    rankings, endings = search(nodes, width, alpha, longest)
    seen = rankings[: state["shown"]]
    if len(seen) < len(rankings):
        over = {i for ranking in seen for i in ranking.ended}
        endings = [ending for ending in endings if ending.node in over]
    totals = [0.0]
    for node in nodes[1:]:
        totals.append(totals[node.parent] + node.log_p)
    greedy = search(nodes, 1, 0.0, longest)[1][0]
    return {
        "width": width,
        "length_penalty": alpha,
        "steps": len(rankings),
        "shown": len(seen),
        **{
            kind: [" ".join(map(str, getattr(ranking, kind))) for ranking in seen]
            for kind in ("kept", "ended", "dropped")
        },
        "totals": [totals[i] for r in seen for i in (*r.kept, *r.ended, *r.dropped)],
        "endings": [" ".join(sentence(nodes, ending.node)) for ending in endings],
        "logs": [ending.total for ending in endings],
        "scores": [ending.score for ending in endings],
        "greedy": " ".join(sentence(nodes, greedy.node)),
        "greedy_log": greedy.total,
    }


def random_tree() -> LiveFigure:
    """A language of four words whose next word depends on the last one, five words deep."""
    generator = torch.Generator().manual_seed(3)
    log_p = torch.randn(5, 5, generator=generator).log_softmax(-1).tolist()
    names = [END, "ka", "lo", "mi", "tu"]
    nodes, last, layer = [Node(0, "", 0.0)], [0], [0]
    for _ in range(5):
        deeper = []
        for node in layer:
            for word, name in enumerate(names):
                nodes.append(Node(node, name, log_p[last[node]][word], word == 0))
                last.append(word)
                if word:
                    deeper.append(len(nodes) - 1)
        layer = deeper
    return BeamTree(nodes, width=3, length_penalty=0.6)


def examples() -> list[LiveFigure]:
    return [BeamTree.from_table(TOY, width=2), random_tree()]


def rogue(words: list[str]) -> LiveFigure:
    count = len(words)
    first = [Node(0, word, -1.0 - i / 10) for i, word in enumerate(words)]
    second = [Node(i + 1, word, -0.5 - i / 7) for i, word in enumerate(words)]
    ends = [Node(count + i + 1, END, -0.1 - i / 9, True) for i in range(count)]
    return BeamTree([Node(0, "", 0.0), *first, *second, *ends], title=words[0], width=2)
