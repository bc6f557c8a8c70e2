"""stories15M in the reader's browser: a story grows token by token, and every head is shown."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from traitlets import Float, Int, List, Unicode, validate

from attnlab.widgets.base import (
    Array,
    FigureError,
    Words,
    as_array,
    bundle,
    recorded,
    stylesheet,
    together,
)
from attnlab.widgets.weights import HeavyFigure

if TYPE_CHECKING:  # it brings torch
    from attnlab.data.pieces import Pieces

LIKELIEST = 40  # next tokens of each position that are sent with the page
MOST = 1000  # characters of an opening
HOTTEST = 2.0
FIRST_PIECE = 259  # before it: three marks and 256 bytes
LAST = 128  # added to the length of a piece that is merged after all others


def short(pieces: "Pieces") -> np.ndarray:
    """A length and the bytes of each piece, half the size of the file. Scores are left out: after
    marks and bytes each piece scores 1 less than the one before it, or is last of all (LAST).
    """
    rows = []
    for i, (text, score) in enumerate(zip(pieces.texts, pieces.scores, strict=True)):
        last = score == -1e9
        if not last and score != min(0, FIRST_PIECE - i):
            raise FigureError(f"piece {i} has score {score}: a page knows scores by their order.")
        rows.append(bytes([len(text) + LAST * last]) + text)
    return np.frombuffer(b"".join(rows), dtype=np.uint8)


class StoryTeller(HeavyFigure):
    """A small Llama tells a story: its next tokens, its attention, its cache.

    StoryTeller.shipped("Once upon a time")   # stories15M: a story at once, others on request
    StoryTeller(maps, tokens=texts, logits=logits, words=vocabulary, opened=5)

    `maps` are record(model)'s on one text of T tokens, `logits` (T, V) what it expects after each,
    `words` the V texts, `opened` how many of the tokens are the opening. With them the page shows a
    story that is told already. On request (`weights`; "" leaves that out) the model runs on the
    page and tells another, from the reader's own opening.

    `position` is the token that attends and predicts, −1 the last one; temperature 0 always takes
    the likeliest token; `top_p` keeps the likeliest tokens that together hold that much.
    """

    figure = "story_teller"
    _esm, _css = bundle("story_teller"), stylesheet("story_teller")
    made = ("roots", "tokens", "logits", "nexts", "opened", "width", "vocabulary")

    roots = Array((4,), "uint8")  # (N, H, T, T): 255 · √weight
    tokens = Words()  # T
    logits = Array((2,))  # (T, K): of the K likeliest next tokens
    nexts = List(List(Unicode())).tag(sync=True)  # and their texts
    opened = Int(1).tag(sync=True)
    width = Int(288).tag(sync=True)  # numbers of a key, all heads together: what the cache holds
    vocabulary = Array((1,), "uint8", allow_none=True)  # its pieces, see `short`
    opening = Unicode("").tag(sync=True)
    layer = Int(0).tag(sync=True)
    head = Int(0).tag(sync=True)
    position = Int(-1).tag(sync=True)
    temperature = Float(0.0).tag(sync=True)
    top_p = Float(1.0).tag(sync=True)

    def __init__(
        self,
        maps: Any,
        *,
        tokens: Sequence[str],
        logits: Any,
        words: Sequence[str],
        opened: int = 1,
        **traits: Any,
    ):
        weights = recorded(maps)
        scores = as_array("logits", logits)
        _check(weights, tokens, scores, words, opened)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :LIKELIEST]  # (T, K)
        super().__init__(
            roots=np.round(255 * np.sqrt(np.clip(weights, 0, 1))),
            tokens=tokens,
            logits=np.take_along_axis(scores, best, axis=1),
            nexts=[[str(words[i]) for i in row] for row in best],
            opened=opened,
            **{
                "alt": "A story of a small language model, token by token: where the chosen token "
                "looks in every layer and head, which tokens may come next, and how the cache of "
                "keys and values fills.",
                **traits,
            },
        )

    @classmethod
    def shipped(
        cls, opening: str = "Once upon a time", *, length: int = 44, **traits: Any
    ) -> "StoryTeller":
        """stories15M and its likeliest story of `length` tokens, computed here and now."""
        import torch

        from attnlab.models.stories import stories15m
        from attnlab.record import record

        if len(opening) > MOST:
            raise FigureError(f"opening has {len(opening):,} characters: give {MOST:,} at most.")
        teller = stories15m()
        numbers = teller.numbers(opening)
        told = torch.tensor([teller.continue_(opening, length=length)], dtype=torch.long)
        every = torch.cat([numbers, told], dim=1)
        with torch.no_grad(), record(teller.model) as maps:
            logits = teller.model(every)[0]
        names = [piece_name(teller.pieces, n) for n in range(len(teller.pieces))]
        given = {"weights": "stories15m", "opening": opening, **traits}
        given["vocabulary"] = short(teller.pieces)
        return cls(
            maps, tokens=[names[n] for n in every[0].tolist()], logits=logits, words=names,
            opened=numbers.shape[1], width=teller.model.config.width, **given,
        )  # fmt: skip

    @together("layer", "head", "position", "temperature", "top_p")
    def _inside(self, **now: Any) -> None:
        if self.roots is None:
            return
        layers, heads, length, _ = self.roots.shape
        bounds = {"layer": (0, layers), "head": (0, heads), "position": (-1, length)}
        for name, (low, high) in bounds.items():
            if not low <= now[name] < high:
                raise FigureError(f"{name} is {now[name]}, but goes from {low} to {high - 1}.")
        if not 0 <= now["temperature"] <= HOTTEST:
            raise FigureError(f"temperature is {now['temperature']}: give 0 to {HOTTEST:.0f}.")
        if not 0 < now["top_p"] <= 1:
            raise FigureError(f"top_p is {now['top_p']}: use a number above 0 and at most 1.")

    @validate("opening")
    def _short(self, proposal: Any) -> str:
        text = str(proposal["value"]).encode("utf-8", "replace").decode("utf-8")
        if len(text) > MOST:
            raise FigureError(f"opening has {len(text):,} characters: give {MOST:,} at most.")
        return text


def piece_name(pieces: Any, number: int) -> str:
    """One piece as the page shows it: marks by name, bytes that are no character in hex."""
    if number < 3:
        return ("<unk>", "<s>", "</s>")[number]
    text = bytes(pieces.piece(number))
    if 3 <= number < 259 and not (31 < text[0] < 127 or text[0] == 10):
        return f"⟨{text[0]:02X}⟩"
    return text.decode("utf-8", "replace")


def _check(weights: Any, tokens: Any, scores: Any, words: Any, opened: Any) -> None:
    if weights.ndim != 4 or weights.shape[2] != weights.shape[3] or not weights.size:
        raise FigureError(
            f"maps have shape {weights.shape}, but (layers, heads, tokens, tokens) is expected."
        )
    if weights.min() < 0 or weights.max() > 1 + 1e-4:
        raise FigureError("maps hold numbers outside of 0 … 1: give weights, not scores.")
    if np.triu(weights, 1).max() > 0:
        raise FigureError("maps look ahead: a story teller sees only what it has told (causal).")
    length = weights.shape[2]
    if isinstance(tokens, str) or len(tokens) != length:
        raise FigureError(f"tokens must be a list of {length} texts, one for each row of maps.")
    if scores.shape != (length, len(words)):
        raise FigureError(
            f"logits have shape {scores.shape}, but ({length} tokens, {len(words)} words) is "
            "expected."
        )
    if not isinstance(opened, int) or not 1 <= opened <= length:
        raise FigureError(f"opened is {opened!r}: give 1 to {length}, the tokens of the opening.")
