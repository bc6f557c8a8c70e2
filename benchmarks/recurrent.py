"""Speed of chapters 1 and 2: the hand-written GRU step against torch's, and beam search.

    python -m benchmarks.recurrent

Times are CPU seconds on one thread; the step is a ratio within one run, the best of several rounds.
"""

import sys
import time
from collections.abc import Callable

import torch
from torch import nn

from attnlab.data.english_french import EnglishFrench
from attnlab.models.recurrent import GRUCell
from attnlab.models.seq2seq import Config, Seq2Seq
from attnlab.translator import Translator

GRU_BAR = 1.5  # our step over torch's
BEAM_BAR = 5.0  # CPU seconds for 100 sentences x beam 5


def clock(call: Callable[[], object], times: int) -> float:
    start = time.process_time()
    for _ in range(times):
        call()
    return (time.process_time() - start) / times


def gru_step(batch: int = 32, width: int = 64, hidden: int = 128, rounds: int = 12) -> float:
    """Time of our step over torch's. Rounds alternate, so that a busy machine slows both."""
    torch.manual_seed(0)
    theirs, ours = nn.GRUCell(width, hidden), GRUCell(width, hidden)
    ours.load_state_dict(theirs.state_dict())
    x, h = torch.randn(batch, width), torch.randn(batch, hidden)
    clock(lambda: (ours(x, h), theirs(x, h)), 50)  # warm up
    best = {"ours": float("inf"), "theirs": float("inf")}
    for _ in range(rounds):
        best["ours"] = min(best["ours"], clock(lambda: ours(x, h), 200))
        best["theirs"] = min(best["theirs"], clock(lambda: theirs(x, h), 200))
    return best["ours"] / best["theirs"]


def beam_search(sentences: int = 100, width: int = 5) -> float:
    """CPU seconds to translate test sentences of 3 to 30 words by beam search."""
    try:
        translator = Translator.shipped("rnnsearch")
    except KeyError:  # not trained yet: an untrained one of the same size never stops early
        source, target = EnglishFrench().vocabularies()
        torch.manual_seed(0)
        config = Config(source_words=len(source), target_words=len(target))
        translator = Translator(Seq2Seq(config), source, target)
    pairs = EnglishFrench(longest=30).take(sentences, "test")
    return clock(lambda: translator.translate([pair.source for pair in pairs], beam=width), 1)


def main() -> bool:
    """Print both numbers with their verdicts; are the bars held?"""
    torch.set_num_threads(1)
    step, search = gru_step(), beam_search()
    verdict = {True: "held", False: "BROKEN"}
    print(f"GRU step, ours / torch: {step:.2f}, bar {GRU_BAR} {verdict[step <= GRU_BAR]}")
    print(
        f"beam search, 100 sentences x beam 5: {search:.2f} CPU s, "
        f"bar {BEAM_BAR:.0f} s {verdict[search <= BEAM_BAR]}"
    )
    return step <= GRU_BAR and search <= BEAM_BAR


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
