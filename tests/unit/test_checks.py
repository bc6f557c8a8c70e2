"""The framework of the checkers: ids, verdicts, suspects, the thread and its time limit, state."""

import builtins
import contextlib
import os
import random
import subprocess
import sys
import threading
import time
import warnings

import nbformat
import numpy as np
import pytest
import torch
from nbclient import NotebookClient

from attnlab import checks, masks
from attnlab.checks import Exercise, Mistake, check, close, exercises, numbers, safely
from attnlab.checks.compare import apart, difference, unlike
from attnlab.checks.explain import blank

TOO_LONG = "still running after"


@pytest.fixture
def mean():
    """The example of the package's docstring, registered for one test."""
    exercise = Exercise(
        "99.1",
        title="The mean of each row",
        call="my_mean(x)",
        returns="one mean a row, shape (L,)",
        reference=lambda x: x.mean(dim=-1),
        suspects=[
            ("This is the sum: divide by the length.", lambda x: x.sum(dim=-1)),
            ("This is the mean of the columns: a row is the last axis.", lambda x: x.mean(dim=0)),
        ],
        lesson="A mean is a sum with equal weights.",
    )

    @exercise.property
    def a_constant_row_keeps_its_value(answer):
        seen = answer(torch.full((3, 4), 7.0))
        if not close(seen, 7.0):
            raise Mistake(f"A row of sevens gave {seen[0]:.2f}, not 7.", likely="Divided by 4?")

    @exercise.property
    def equals_the_formula(answer):
        answer.must_match(numbers(5, 3))

    yield exercise
    del checks.EXERCISES["99.1"]


@pytest.fixture
def in_a_thread(monkeypatch):
    """In the same process, so that a test sees what an answer leaves behind."""
    monkeypatch.setattr(safely, "ISOLATION", "thread")


def right_mean(x):
    return x.mean(-1)


# Verdicts ----------------------------------------------------------------------------------------


def test_a_right_answer_passes_and_says_the_lesson(mean):
    verdict = mean.judge(right_mean)
    assert verdict
    assert str(verdict) == (
        "✓ 99.1 The mean of each row: all properties hold.\n  A mean is a sum with equal weights."
    )


def test_a_wrong_answer_stops_at_the_first_property_that_fails(mean):
    verdict = mean.judge(lambda x: x.mean(-1) + (x.shape[0] == 5))
    assert not verdict
    assert (verdict.failed, verdict.held) == ("equals the formula", 1)
    assert "not yet “equals the formula” (1 of 2 hold)" in str(verdict)
    assert "With x (5, 3), at [" in verdict.message


def test_a_suspect_replaces_the_likely_mistake(mean):
    assert mean.judge(lambda x: x.sum(-1)).message == (
        "This is the sum: divide by the length. A row of sevens gave 28.00, not 7."
    )
    assert mean.judge(lambda x: x.sum(-1) * 0.5).message.endswith("Divided by 4?")


def test_a_suspect_is_named_only_if_it_explains_every_call(mean):
    """Right on the first call and a sum on the second is not what the suspect does."""
    verdict = mean.judge(lambda x: x.mean(-1) if len(x) == 3 else x.sum(-1))
    assert "This is the sum" not in verdict.message


def test_a_suspect_that_agrees_with_the_reference_is_not_named(mean):
    mean.suspects = (("Guilty by accident.", right_mean),)
    assert "Guilty" not in mean.judge(lambda x: x.mean(-1) * 2).message


def test_the_verdict_has_no_repr_and_a_truth_value(mean):
    verdict = mean.judge(right_mean)
    assert repr(verdict) == ""
    assert bool(verdict) is True
    assert bool(mean.judge(lambda x: x)) is False


def test_html_has_a_role_a_mark_and_escapes(mean):
    page = mean.judge(right_mean).html()
    assert 'role="status"' in page
    assert "✓" in page

    def tag(x):
        raise ValueError("<script>alert(1)</script> `x`")

    page = mean.judge(tag).html()
    assert "✗" in page
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "<code>x</code>" in page


def test_equal_answers_give_equal_text(mean):
    assert str(mean.judge(right_mean)) == str(mean.judge(right_mean))


# Ids ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", ["03.1", "3.1", " 03.1 "])
def test_ids_may_be_written_shortly(id):
    assert check(id, lambda q, k: None).id == "03.1"


@pytest.mark.parametrize("id", ["03.99", "99.9", "nonsense", "", None, 3])
def test_an_unknown_id_gets_one_sentence_with_the_known_ones(id, capsys):
    verdict = check(id, right_mean)
    assert not verdict
    shown = capsys.readouterr().out
    assert f"There is no exercise {id!r}" in shown
    assert all(known in shown for known in exercises())


def test_only_the_chapter_asked_for_is_imported():
    code = (
        "import sys\n"
        "from attnlab.checks import check\n"
        "assert not any('checks.ch' in m for m in sys.modules)\n"
        "result = check('03.2', 5)\n"
        "assert 'attnlab.checks.ch03' in sys.modules\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"}, check=True,
    )  # fmt: skip
    assert run.stdout.count("✗ 3.2") == 1


def test_no_check_waits_for_the_compiler_of_torch():
    """In a process of its own it would be imported in every check: half a second, or more."""
    code = (
        "import sys\n"
        "from attnlab.checks import exercises\n"
        "for id, exercise in exercises().items():\n"
        "    exercise.inputs()  # runs every property on a right answer\n"
        "    assert not {'torch._dynamo', 'sympy'} & set(sys.modules), id\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


# Where the learner sees it -----------------------------------------------------------------------


def test_a_notebook_shows_the_verdict_exactly_once():
    sources = [
        "import torch, math\n"
        "from attnlab.checks import check\n"
        "def my_causal_mask(L, S):\n"
        "    print('hello')\n"
        "    return torch.ones(L, S).tril(S - L) > 0",
        "check('03.2', my_causal_mask)",
        "verdict = check('03.2', my_causal_mask)",
        "def my_causal_mask(L, S):\n    where = ...\n    return where",
        "check('03.2', my_causal_mask)",
        "def my_causal_mask(L, S):\n    low = torch.ones(L, S)\n    return low.trill()",
        "check('03.2', my_causal_mask)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [cell.outputs for cell in notebook.cells]
    assert [len(o) for o in outputs] == [0, 1, 1, 0, 1, 0, 1]
    passed, again, unfinished, raised = (outputs[i][0] for i in (1, 2, 4, 6))
    assert passed == again
    assert passed.data["text/plain"].startswith("✓ 3.2 A causal mask: all properties hold.")
    assert "hello" in passed.data["text/plain"]
    assert 'role="status"' in passed.data["text/html"]
    assert "the line `where = ...` is still to be written" in unfinished.data["text/plain"]
    text = " ".join(raised.data["text/plain"].split())
    assert "(line 3: `return low.trill()`)" in text
    assert "raised AttributeError" in text


# Answers that misbehave --------------------------------------------------------------------------


def test_the_line_of_the_learners_code_is_named(mean):
    def my_mean(x):
        total = x.sum(-1)
        return total / torch.ones(17)  # here

    message = mean.judge(my_mean).message
    assert "raised RuntimeError" in message
    assert "`return total / torch.ones(17)  # here`" in message
    assert "It was called with x (3, 4)." in message
    assert "do not fit together" in message


def test_a_name_that_is_not_defined_is_explained(mean):
    def my_mean(x):
        return einsum(x)  # noqa: F821

    assert "`einsum` has no value here" in mean.judge(my_mean).message


def test_a_mistake_raised_by_the_answer_is_an_exception_like_any_other(mean):
    def my_mean(x):
        raise Mistake("I know what I am doing.")

    assert "raised Mistake" in mean.judge(my_mean).message


def test_the_time_limit_counts_for_the_whole_check(mean):
    def slow(x):
        end = time.process_time() + 0.7
        while time.process_time() < end:
            pass
        return x.mean(-1)

    start = time.monotonic()
    verdict = mean.judge(slow)
    assert TOO_LONG in verdict.message
    assert time.monotonic() - start < 2.5


def test_a_loop_that_never_ends_is_named_and_its_thread_ends(mean):
    def endless(x):
        count = 0
        while True:
            count += 1

    before = set(threading.enumerate())
    verdict = mean.judge(endless)
    assert TOO_LONG in verdict.message
    assert "`count += 1`" in verdict.message or "`while True:`" in verdict.message
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("isolation", ["auto", "thread"])
def test_imports_do_not_count(monkeypatch, isolation):
    """A first import may be slow, and is not the learner's doing."""
    monkeypatch.setattr(safely, "ISOLATION", isolation)
    monkeypatch.setattr(sys, "meta_path", [SlowFinder(), *sys.meta_path])
    progress = safely.Progress()
    progress.running = True
    names = [f"attnlab_no_such_module_{i}" for i in range(6)]
    outcome = safely.run(lambda _: [import_or_not(n) for n in names], 0.3, progress)
    assert outcome.value == names


def import_or_not(name):
    with contextlib.suppress(ModuleNotFoundError):
        builtins.__import__(name)
    return name


class SlowFinder:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("attnlab_no_such_module"):
            time.sleep(0.1)


def test_what_the_answer_prints_is_shown_but_not_endlessly(mean, capsys):
    def chatty(x):
        print("shape", tuple(x.shape))
        print("y" * 5000)
        warnings.warn("careful", stacklevel=1)
        return x.mean(-1)

    verdict = mean.judge(chatty)
    assert verdict
    assert "shape (3, 4)" in str(verdict)
    assert "… and more" in str(verdict)
    assert len(str(verdict)) < 2000
    assert capsys.readouterr().out == ""


def test_warnings_are_shown_without_paths(mean):
    def careless(x):
        warnings.warn("careful", stacklevel=1)
        return x.mean(-1)

    assert "UserWarning: careful" in mean.judge(careless).printed
    assert __file__ not in mean.judge(careless).printed


def test_global_state_is_put_back(mean, tmp_path):
    def vandal(x):
        torch.manual_seed(123)
        np.random.seed(5)
        random.seed(7)
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        torch.set_num_threads(1)
        sys.setrecursionlimit(5000)
        os.chdir(tmp_path)
        return x.mean(-1)

    def state():
        return (
            torch.get_rng_state().tolist(), np.random.get_state()[1].tolist(), random.getstate(),
            torch.get_default_dtype(), torch.is_grad_enabled(), torch.get_num_threads(),
            sys.getrecursionlimit(), os.getcwd(), sys.stdout, sys.stderr, warnings.showwarning,
        )  # fmt: skip

    torch.randn(3)
    before = state()
    assert mean.judge(vandal)
    assert state() == before


def test_the_verdict_does_not_hang_on_the_learners_state(mean):
    def noisy(x):
        return x.mean(-1) + 0 * torch.rand(len(x))

    torch.set_default_dtype(torch.float64)
    try:
        assert mean.judge(noisy)
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.no_grad():
        assert mean.judge(noisy)


def test_inputs_are_copies(mean, in_a_thread):
    first = []

    def keeps(x):
        first.append(x.clone())
        return x.mean(-1)

    mean.judge(keeps)
    mean.judge(keeps)
    assert torch.equal(first[0], first[2])


def test_an_edited_input_is_seen(mean):
    def edits(x):
        return x.div_(x.shape[-1]).sum(-1)

    message = mean.judge(edits).message
    assert "changed its argument `x` in place" in message


def test_a_result_that_cannot_be_examined_is_no_traceback(mean):
    @mean.property
    def breaks_on_everything(answer):
        raise ZeroDivisionError("ours")

    verdict = mean.judge(right_mean)
    assert not verdict
    assert (
        "check stumbled over what `my_mean` returned: ZeroDivisionError('ours')" in verdict.message
    )


def test_modules_and_partials_are_answers(mean):
    class Mean(torch.nn.Module):
        def forward(self, x):
            return x.mean(-1)

    assert mean.judge(Mean())
    assert mean.judge(torch.Tensor.mean) is not None  # a built-in has no signature: no crash


RANDOM = "something in it is random"


def test_dice_are_named(mean):
    assert RANDOM in mean.judge(lambda x: torch.rand(len(x))).message
    assert RANDOM in mean.judge(lambda x: (random.random(), [str(random.random())])).message


def forgets_the_last_row(x):
    out = x.new_empty(len(x))
    for i in range(len(x) - 1):
        out[i] = x[i].mean()
    out[-1] = torch.rand(())  # what was in memory may be the same twice
    return out


def test_memory_that_is_never_filled_is_no_dice(mean):
    said = mean.judge(forgets_the_last_row).message
    assert "`new_empty` holds whatever was in memory" in said
    assert RANDOM not in said


async def a_coroutine(x):
    return x.mean(-1)


def test_an_object_that_cannot_be_compared_is_no_dice(mean):
    """Two of them are never equal, however alike they are."""
    answers = {
        "a generator": lambda x: (row.mean() for row in x),
        "a coroutine": a_coroutine,
        "a Mask": lambda x: masks.causal(3),
        "a list of 1": lambda x: [masks.causal(3)],
        "an object": lambda x: object(),
    }
    for kind, answer in answers.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "was never awaited"
            message = mean.judge(answer).message
        assert f"returned {kind}, expected one mean a row" in message
        assert RANDOM not in message


def test_what_cannot_be_compared_is_not_called_again(mean, in_a_thread):
    calls = []
    mean.judge(lambda x: calls.append(1) or object())
    assert len(calls) == 1


def test_a_mask_is_told_to_become_a_tensor(mean):
    assert "call `.dense()`" in mean.judge(lambda x: masks.causal(3)).message


def test_extreme_inputs_have_words_of_their_own_but_an_exception_keeps_its(mean):
    @mean.property
    def survives(answer):
        answer.must_survive(torch.full((2, 5), 1e38), likely="It overflows.")

    mean.reference = lambda x: (x / x.shape[-1]).sum(-1)
    assert mean.judge(mean.reference)
    assert mean.judge(right_mean).message.endswith("are inf. It overflows.")
    raised = mean.judge(lambda x: x.mean(-1) if x[0, 0] < 1e9 else 1 / 0)
    assert "ZeroDivisionError" in raised.message
    assert "It overflows" not in raised.message


def test_dtype_and_shape_are_held(mean):
    assert mean.judge(lambda x: x.double().mean(-1))  # more digits are no mistake
    assert "float16" in mean.judge(lambda x: x.mean(-1).half()).message
    assert "shape (3, 1), not (3,)" in mean.judge(lambda x: x.mean(-1, keepdim=True)).message
    assert "An axis of size 1" in mean.judge(lambda x: x.mean(-1, keepdim=True)).message
    assert "a tuple of 2" in mean.judge(lambda x: (x, x)).message


# Blanks ------------------------------------------------------------------------------------------


def test_blanks_are_found():
    def stub(x):
        y = x[..., 0]
        z = ...  # to do
        return y + z

    def empty(x):
        """Only words."""

    def done(x: tuple[int, ...]):
        return x[..., 0]

    assert blank(stub) == "the line `z = ...` is still to be written"
    assert blank(empty) == "its body is still empty"
    assert blank(done) is None
    assert blank(len) is None


def test_a_blank_is_named_even_if_it_raises(mean):
    def my_mean(x):
        total = ...
        return total / 3

    verdict = mean.judge(my_mean)
    assert verdict.unfinished
    assert "not filled in yet" in str(verdict)


def test_not_implemented_is_unfinished(mean):
    def my_mean(x):
        raise NotImplementedError

    assert mean.judge(my_mean).unfinished


# Comparing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (torch.ones(2), torch.ones(2) + 1e-7, True),
        (torch.ones(2), torch.ones(2) + 1e-3, False),
        (torch.ones(2), torch.ones(1, 2), False),
        (torch.ones(2), torch.ones(2, dtype=torch.long), False),
        (torch.tensor([torch.nan]), torch.tensor([torch.nan]), True),
        (torch.tensor([torch.inf]), torch.tensor([-torch.inf]), False),
        (torch.tensor([True]), torch.tensor([True]), True),
        ((1.0, torch.zeros(2)), [1.0, torch.zeros(2)], True),
        ((1.0,), (1.0, 2.0), False),
        (torch.tensor(2.0), 2.0, True),
        (torch.tensor([50.0, 5e-5]), torch.tensor([50.0, 0.0]), True),  # float32: 50 ± 4e-6
        (torch.tensor([50.0, 5e-4]), torch.tensor([50.0, 0.0]), False),
        (torch.tensor([1.0, 5e-5]), torch.tensor([1.0, 0.0]), False),
        (torch.tensor([torch.inf, 5e-5]), torch.tensor([torch.inf, 0.0]), False),
        (True, 1, False),
        ("a", "a", True),
        (np.ones(3), np.ones(3), True),
        (np.ones(3), np.ones(2), False),
        (np.ones(3), torch.ones(3), False),
        (None, 1.0, False),
    ],
)
def test_close(one, other, same):
    assert close(one, other) is same


def test_difference_names_the_place():
    seen = torch.zeros(2, 3)
    seen[1, 2] = 0.5
    assert difference(seen, torch.zeros(2, 3)) == "at [1, 2] there is 0.500, expected 0.000"
    near = difference(torch.tensor([0.1234567]), torch.tensor([0.1234]))
    assert near == "at [0] there is 0.1234567, expected 0.1234"
    assert "expected True" in difference(torch.tensor([False]), torch.tensor([True]))


def test_numbers_that_differ_are_told_apart():
    assert apart(0.9996, 1) == ("0.9996", "1.0000")
    assert apart(0.5, 1, 2) == ("0.50", "1.00")
    assert unlike(torch.tensor([[1.0, 1.0], [1.2, 1.0]]), 1) == "1.200"  # not the first
    assert unlike(torch.tensor([1.0, torch.nan]), 1) == "nan"
    assert unlike(torch.tensor(1.0), 1, 2) == "1.00"


def test_numbers_do_not_touch_the_global_generator():
    before = torch.get_rng_state()
    assert torch.equal(numbers(2, 3), numbers(2, 3))
    assert not torch.equal(numbers(2, 3), numbers(2, 3, seed=1))
    assert torch.equal(before, torch.get_rng_state())


def test_the_time_of_the_checker_itself_does_not_count(mean):
    """On a busy machine our own comparisons may be slow; a learner is not blamed for them."""

    @mean.property
    def looks_closely(answer):
        time.sleep(safely.SECONDS + 0.3)

    assert mean.judge(right_mean)
