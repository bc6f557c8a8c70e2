"""The memory of training: the count against real models, and the figure's limits."""

import pytest
import torch

from attnlab.models.modern import Config, LanguageModel
from attnlab.training.memory import GIB, budget, parameters
from attnlab.training.optimisers import make
from attnlab.widgets import MemoryBudget
from attnlab.widgets.base import FigureError


def tiny(optimiser: str) -> LanguageModel:
    config = Config(
        words=40, width=48, heads=4, layers=2, bias=False, norm="pre", norm_kind="rms",
        positions="rope", network="swiglu", tied=True, hidden=128, optimiser=optimiser,
    )  # fmt: skip
    return LanguageModel(config)


def bytes_of(tensors: list[torch.Tensor]) -> int:
    return sum(t.numel() * t.element_size() for t in tensors)


@pytest.mark.parametrize("optimiser", ["adamw", "soap"])
def test_parameters_gradients_and_states_are_as_counted(optimiser: str) -> None:
    """In float32, where torch holds just these; norms are the whole difference."""
    model = tiny(optimiser)
    rule = make(optimiser, model, 1e-3, 0.0)
    model.loss(torch.randint(0, 40, (2, 9))).backward()
    rule.step()
    ddp, _ = budget(layers=2, width=48, vocabulary=40, optimiser=optimiser, mixed=False)
    weights = list(model.parameters())
    assert ddp.parameters == pytest.approx(bytes_of(weights), rel=0.01)
    grads = [p.grad for p in weights if p.grad is not None]
    assert ddp.gradients == pytest.approx(bytes_of(grads), rel=0.01)
    states = [v for s in rule.state.values() for v in s.values() if isinstance(v, torch.Tensor)]
    table = 4 * 2 * (40**2 + 48**2) if optimiser == "soap" else 0  # the bases of the table of words
    assert ddp.optimiser + table == pytest.approx(bytes_of(states), rel=0.01)


def test_seven_billion_needs_sixteen_bytes_each_and_fsdp() -> None:
    """ZeRO's own example: 16 bytes for each parameter with Adam in mixed precision."""
    count = parameters(32, 4096, 32_000)
    ddp, fsdp = budget(layers=32, width=4096, vocabulary=32_000, gpus=8)
    assert ddp.parameters + ddp.gradients + ddp.optimiser == 16 * count
    assert ddp.total > 80 * GIB > fsdp.total
    assert fsdp.optimiser == ddp.optimiser / 8
    assert fsdp.activations == ddp.activations


def test_one_gpu_has_nothing_to_share() -> None:
    ddp, fsdp = budget(layers=4, width=256, vocabulary=1000, gpus=1)
    assert ddp == fsdp


def test_recomputing_keeps_less() -> None:
    plain, _ = budget(layers=24, width=2048, vocabulary=32_000)
    again, _ = budget(layers=24, width=2048, vocabulary=32_000, recompute=True)
    assert again.activations < plain.activations / 2


@pytest.mark.parametrize(
    ("given", "words"),
    [({"gpus": 0}, "gpus is 0"), ({"optimiser": "lion"}, "one of sgd"), ({"card": 1}, "card is 1")],
)
def test_what_cannot_be_counted_is_refused(given: dict, words: str) -> None:
    with pytest.raises(FigureError, match=words):
        MemoryBudget(**given)
