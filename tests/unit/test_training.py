"""The training loop: it learns, it stops, it survives, it says nothing."""

import contextlib
import io
import itertools

import pytest
import torch
from torch import nn

from attnlab import checkpoints
from attnlab.training import (
    Curve,
    Descent,
    Evaluate,
    Listener,
    Progress,
    Save,
    constant,
    cosine,
    fit,
)
from attnlab.training.live_loss import loss_picture

W = torch.tensor([[1.0, -2.0, 0.5]])


class Line(nn.Module):
    """y = x Wᵀ, to be found again."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 1)

    def loss(self, batch):
        x, y = batch
        return (self.linear(x) - y).square().mean()


def data(seed=0):
    generator = torch.Generator().manual_seed(seed)
    while True:
        x = torch.randn(16, 3, generator=generator)
        yield x, x @ W.T


def test_it_learns_and_tells_what_happened():
    model = Line()
    history = fit(model, data(), steps=200, descent=Descent(lr=0.1), listeners=())
    assert history.stopped == "steps"
    assert history.steps == len(history.losses) == 200
    assert history.smooth() < 1e-3 < history.losses[0]
    assert history.seconds > 0
    assert not model.training
    torch.testing.assert_close(model.linear.weight, W, atol=0.02, rtol=0)


def test_the_same_seed_gives_the_same_model():
    class Noisy(Line):
        def loss(self, batch):
            return super().loss(batch) + (torch.rand(1) * self.linear.weight).sum()

    runs = []
    for seed in (3, 3, 4):
        model = Noisy()
        fit(model, data(), steps=5, listeners=(), seed=seed)
        runs.append(model.linear.weight.detach())
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])


def test_it_stops_at_the_bar():
    def evaluate(model):
        assert not model.training
        return {"distance": float((model.linear.weight - W).abs().max())}

    bar = Evaluate(evaluate, every=20, stop=lambda scores: scores["distance"] < 0.05)
    history = fit(Line(), data(), steps=5000, descent=Descent(lr=0.1), listeners=(bar,))
    assert history.stopped == "bar"
    assert history.steps < 1000
    assert history.scores[-1]["distance"] < 0.05 <= history.scores[0]["distance"]
    assert [score["step"] for score in history.scores] == list(range(20, history.steps + 1, 20))


def test_it_stops_after_cpu_seconds_and_evaluation_is_not_counted():
    def slow(model):
        return {"sum": float(torch.randn(300, 300).matmul(torch.randn(300, 300)).sum())}

    history = fit(Line(), data(), seconds=0.2, listeners=(Evaluate(slow, every=10),))
    assert history.stopped == "seconds"
    assert 0.2 <= history.seconds < 0.6
    assert history.scores[-1]["step"] == history.steps


def test_it_stops_when_the_data_end():
    history = fit(Line(), itertools.islice(data(), 7), steps=100, listeners=())
    assert (history.stopped, history.steps) == ("data", 7)


def interrupted(after=0):
    yield from itertools.islice(data(), after)
    raise KeyboardInterrupt


def test_an_interruption_leaves_a_usable_model():
    model = Line()
    before = model.linear.weight.clone()
    history = fit(model, interrupted(50), steps=100, descent=Descent(lr=0.1), listeners=())
    assert (history.stopped, history.steps) == ("interrupted", 50)
    assert not model.training
    assert not torch.equal(model.linear.weight, before)
    assert torch.isfinite(model.linear(torch.randn(4, 3))).all()
    more = fit(model, data(), steps=20, descent=Descent(lr=0.1), listeners=())  # and goes on
    assert more.stopped == "steps"


def test_real_errors_are_not_swallowed():
    with pytest.raises(ZeroDivisionError):
        fit(Line(), data(), steps=3, loss=lambda batch: 1 / 0, listeners=())


def test_checkpoints_are_safetensors_with_the_weights(tmp_path):
    model = Line()
    path = tmp_path / "line.safetensors"
    fit(model, data(), steps=25, listeners=(Save(path, every=10),))
    tensors, _ = checkpoints.load(path)
    torch.testing.assert_close(tensors["linear.weight"], model.linear.weight.detach())
    assert list(tmp_path.iterdir()) == [path]


def test_a_loss_and_an_optimizer_of_ones_own():
    model = Line()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    history = fit(
        model, data(), steps=100, loss=lambda batch: 2 * model.loss(batch), listeners=(),
        descent=Descent(schedule=constant, clip=None, optimizer=optimizer),
    )  # fmt: skip
    assert history.smooth(5) < 1e-2
    assert optimizer.param_groups[0]["lr"] == 0.05  # as it was given


@pytest.mark.parametrize("clip", [None, 0.5])
def test_a_loss_scale_changes_nothing_but_the_range(clip):
    """Powers of two are exact, so a scaled run takes the same steps."""
    plain, scaled = Line(), Line()
    expected = fit(plain, data(), steps=20, descent=Descent(clip=clip), listeners=())
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    found = fit(scaled, data(), steps=20, descent=Descent(clip=clip, scaler=scaler), listeners=())
    assert found.losses == pytest.approx(expected.losses)
    torch.testing.assert_close(scaled.linear.weight, plain.linear.weight)


def test_a_loss_scale_skips_a_step_that_overflows():
    model = Line()
    before = model.linear.weight.detach().clone()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
    fit(model, data(), steps=1, descent=Descent(lr=0.1, scaler=scaler), listeners=())
    torch.testing.assert_close(model.linear.weight.detach(), before, rtol=0, atol=0)
    assert scaler.get_scale() < 2.0**127


def test_the_schedule_rises_and_falls():
    factors = [cosine(done / 100) for done in range(101)]
    top = factors.index(max(factors))
    assert max(factors) == pytest.approx(1.0)
    assert factors[:top] == sorted(factors[:top])
    assert factors[top:] == sorted(factors[top:], reverse=True)
    assert factors[-1] == pytest.approx(0.02)


def test_nothing_is_printed_and_the_bar_leaves_no_trace_on_stdout():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        fit(Line(), data(), steps=30, listeners=(Progress(), Curve()))
    assert out.getvalue() == ""


def test_in_a_notebook_the_bar_and_the_figure_leave_the_same_text_every_time():
    import nbformat
    from nbclient import NotebookClient

    setup = (
        "import itertools, torch\nfrom torch import nn\nfrom attnlab.training import Curve, fit\n"
        "model = nn.Linear(2, 1)\n"
        "loss = lambda x: model(x).square().mean()"
    )
    fit = (
        "data = (torch.randn(4, 2) for _ in itertools.count())\n"
        "_ = fit(model, data, loss=loss, seconds={}, listeners=(Curve(),))"
    )
    sources = (setup, fit.format(0.05), fit.format(0.2))
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
    NotebookClient(book, kernel_name="python3", timeout=120).execute()
    texts = [
        [
            (out.output_type, out.get("text", ""), out.get("data", {}).get("text/plain", ""))
            for out in c.outputs
        ]
        for c in book.cells[1:]
    ]
    assert texts[0] == texts[1]
    assert any("Figure: The training loss" in text for _, _, text in texts[0])
    assert all(kind != "stream" for kind, _, _ in texts[0])


def test_a_missing_budget_is_named():
    with pytest.raises(ValueError, match="needs a budget"):
        fit(Line(), data())


def test_listeners_hear_everything_in_order_and_one_may_hear_several_trainings():
    class Notes(Listener):
        def start(self):
            self.heard = ["start"]

        def step(self, model, history):
            self.heard.append(history.steps)
            assert model.training
            assert history.done == history.steps / 3

        def last(self, model, history):
            self.heard.append("last")

        def close(self, history):
            self.heard.append("close")

    notes = Notes()
    for _ in range(2):
        fit(Line(), data(), steps=3, listeners=(notes,))
        assert notes.heard == ["start", 1, 2, 3, "last", "close"]
    fit(Line(), itertools.chain(itertools.islice(data(), 1), interrupted()), steps=3,
        listeners=(notes,))  # fmt: skip
    assert notes.heard == ["start", 1, "close"]


def test_the_bar_may_be_reached_at_the_last_step():
    history = fit(
        Line(), data(), steps=10, listeners=(Evaluate(lambda _: {}, 5, stop=lambda _: True),)
    )
    assert (history.stopped, history.steps, len(history.scores)) == ("bar", 5, 1)
    history = fit(
        Line(), data(), steps=3, listeners=(Evaluate(lambda _: {}, 5, stop=lambda _: True),)
    )
    assert (history.stopped, history.steps, len(history.scores)) == ("bar", 3, 1)


@pytest.mark.parametrize("losses", [[0.0], [1e-45] * 3, [0.5] * 4, [1.0, 0.5, 0.0]])
@pytest.mark.filterwarnings("error")
def test_a_loss_that_does_not_move_is_drawn_without_a_word(losses):
    assert loss_picture(losses).data.startswith(b"\x89PNG")
