"""The cockpit without a browser: it trains its default, its controls train others, Stop keeps."""

import itertools
import time

import pytest
import torch
from torch import nn

from attnlab import training


class Line(nn.Module):
    """y = w x, towards w = 3; `width` numbers of which the mean is taken."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))

    def loss(self, batch: torch.Tensor) -> torch.Tensor:
        return (self.weight.mean() * batch - 3 * batch).square().mean()


def batches():
    return (torch.ones(4) for _ in itertools.count())


def slow():
    for batch in batches():
        time.sleep(0.005)
        yield batch


def made(**changed):
    given = {"sizes": {"small": 2, "large": 5}, "lr": 0.05, "steps": 60, **changed}
    return training.cockpit(Line, given.pop("stream", batches), **given)


def test_the_cell_trains_the_default_once():
    one = made(sample=lambda model: f"w = {model.weight.mean().item():.1f}")
    assert one.model.weight.shape == (2,)
    assert one.history.steps == 60
    assert one.history.stopped == "steps"
    assert one.history.smooth(5) < one.history.losses[0] / 4
    assert [step for step, _ in one.samples] == [12, 24, 36, 48, 60]
    assert one.go.disabled is False
    assert one.halt.disabled is True


def test_start_trains_what_the_controls_say():
    one = made()
    first = one.model
    one.size.value, one.rate.value = "large", 1e-4
    one.go.click()
    one.wait()
    assert one.model is not first
    assert one.model.weight.shape == (5,)
    assert one.history.smooth(5) > 0.9 * one.history.losses[0]  # hardly a step at this rate
    assert one.picture.value[:4] == b"\x89PNG"
    assert "step 60 of 60" in one.status.value


def test_stop_ends_it_and_keeps_the_model():
    one = made(stream=slow, steps=40)
    first, one.steps = one.model, 100_000
    one.start()
    while (running := one.model) is first or not float(running.weight.detach().sum()):
        time.sleep(0.01)
    assert one.halt.disabled is False
    one.halt.click()
    one.wait()
    assert one.model is running
    assert 0 < one.history.steps < 100_000
    assert one.history.stopped == "asked"
    assert float(running.weight.detach().abs().sum()) > 0
    assert not running.training
    assert "kept" in one.status.value


def test_a_page_without_a_kernel_gets_the_recorded_run():
    one = made(sample=lambda model: "<b>bold</b>")
    bundle = one._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"] == "Cockpit(small, large; 60 steps)"
    assert "data:image/png;base64," in bundle["text/html"]
    assert "recorded run" in bundle["text/html"]
    assert "&lt;b&gt;bold" in bundle["text/html"]
    assert "<b>bold" not in bundle["text/html"]


def test_a_loss_of_ones_own():
    one = made(loss=lambda model, batch: (model.weight - 1).square().sum(), steps=200)
    assert one.model.weight.mean().item() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("wrong", [{"sizes": []}, {"lr": 0.0}])
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match=r"sizes is empty|lr is 0"):
        made(**wrong)
