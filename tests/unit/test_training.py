"""The training loop: it learns, it stops, it survives, it says nothing."""

import contextlib
import io
import itertools

import pytest
import torch
from torch import nn

from attnlab import checkpoints, training

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
    history = training.fit(model, data(), steps=200, lr=0.1, progress=False)
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
        training.fit(model, data(), steps=5, seed=seed, progress=False)
        runs.append(model.linear.weight.detach())
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])


def test_it_stops_at_the_bar():
    def evaluate(model):
        assert not model.training
        return {"distance": float((model.linear.weight - W).abs().max())}

    history = training.fit(
        Line(), data(), steps=5000, lr=0.1, evaluate=evaluate, every=20,
        stop=lambda scores: scores["distance"] < 0.05, progress=False,
    )  # fmt: skip
    assert history.stopped == "bar"
    assert history.steps < 1000
    assert history.scores[-1]["distance"] < 0.05 <= history.scores[0]["distance"]
    assert [score["step"] for score in history.scores] == list(range(20, history.steps + 1, 20))


def test_it_stops_after_cpu_seconds_and_evaluation_is_not_counted():
    def slow(model):
        return {"sum": float(torch.randn(300, 300).matmul(torch.randn(300, 300)).sum())}

    history = training.fit(Line(), data(), seconds=0.2, evaluate=slow, every=10, progress=False)
    assert history.stopped == "seconds"
    assert 0.2 <= history.seconds < 0.6
    assert history.scores[-1]["step"] == history.steps


def test_it_stops_when_the_data_end():
    history = training.fit(Line(), itertools.islice(data(), 7), steps=100, progress=False)
    assert (history.stopped, history.steps) == ("data", 7)


def test_an_interruption_leaves_a_usable_model():
    def interrupted():
        yield from itertools.islice(data(), 50)
        raise KeyboardInterrupt

    model = Line()
    before = model.linear.weight.clone()
    history = training.fit(model, interrupted(), steps=100, lr=0.1, progress=False)
    assert (history.stopped, history.steps) == ("interrupted", 50)
    assert not model.training
    assert not torch.equal(model.linear.weight, before)
    assert torch.isfinite(model.linear(torch.randn(4, 3))).all()
    more = training.fit(model, data(), steps=20, lr=0.1, progress=False)  # and goes on
    assert more.stopped == "steps"


def test_real_errors_are_not_swallowed():
    with pytest.raises(ZeroDivisionError):
        training.fit(Line(), data(), loss=lambda batch: 1 / 0, steps=3, progress=False)


def test_checkpoints_are_safetensors_with_the_weights(tmp_path):
    model = Line()
    path = tmp_path / "line.safetensors"
    training.fit(model, data(), steps=25, every=10, checkpoint=path, progress=False)
    tensors, _ = checkpoints.load(path)
    torch.testing.assert_close(tensors["linear.weight"], model.linear.weight.detach())
    assert list(tmp_path.iterdir()) == [path]


def test_a_loss_and_an_optimizer_of_ones_own():
    model = Line()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    history = training.fit(
        model, data(), loss=lambda batch: 2 * model.loss(batch), optimizer=optimizer,
        schedule=training.constant, clip=None, steps=100, progress=False,
    )  # fmt: skip
    assert history.smooth(5) < 1e-2
    assert optimizer.param_groups[0]["lr"] == 0.05  # as it was given


@pytest.mark.parametrize("clip", [None, 0.5])
def test_a_loss_scale_changes_nothing_but_the_range(clip):
    """Powers of two are exact, so a scaled run takes the same steps."""
    plain, scaled = Line(), Line()
    expected = training.fit(plain, data(), steps=20, clip=clip, progress=False)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    found = training.fit(scaled, data(), steps=20, clip=clip, scaler=scaler, progress=False)
    assert found.losses == pytest.approx(expected.losses)
    torch.testing.assert_close(scaled.linear.weight, plain.linear.weight)


def test_a_loss_scale_skips_a_step_that_overflows():
    model = Line()
    before = model.linear.weight.detach().clone()
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
    training.fit(model, data(), steps=1, lr=0.1, scaler=scaler, progress=False)
    torch.testing.assert_close(model.linear.weight.detach(), before, rtol=0, atol=0)
    assert scaler.get_scale() < 2.0**127


def test_the_schedule_rises_and_falls():
    factors = [training.cosine(done / 100) for done in range(101)]
    top = factors.index(max(factors))
    assert max(factors) == pytest.approx(1.0)
    assert factors[:top] == sorted(factors[:top])
    assert factors[top:] == sorted(factors[top:], reverse=True)
    assert factors[-1] == pytest.approx(0.02)


def test_nothing_is_printed_and_the_bar_leaves_no_trace_on_stdout():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        training.fit(Line(), data(), steps=30, progress=True, figure=True)
    assert out.getvalue() == ""


def test_in_a_notebook_the_bar_and_the_figure_leave_the_same_text_every_time():
    import nbformat
    from nbclient import NotebookClient

    setup = (
        "import itertools, torch\nfrom torch import nn\nfrom attnlab import training\n"
        "model = nn.Linear(2, 1)\n"
        "loss = lambda x: model(x).square().mean()"
    )
    fit = (
        "data = (torch.randn(4, 2) for _ in itertools.count())\n"
        "_ = training.fit(model, data, loss=loss, seconds={}, figure=True)"
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


def test_missing_budgets_are_named():
    with pytest.raises(ValueError, match="needs a budget"):
        training.fit(Line(), data())
    with pytest.raises(ValueError, match="give evaluate"):
        training.fit(Line(), data(), steps=3, stop=lambda scores: True)
