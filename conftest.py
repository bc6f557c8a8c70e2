"""What runs when, and what stays together: the longest first, so that all cores end together.

A notebook and a file of tests go to one process as a whole, because their cells and fixtures build
on each other; files of many tests that stand alone are dealt out in parts. pytest-xdist would begin
with the files of most tests, and end with a long notebook of few cells on one core.
"""

import gc
import os

import pytest

# Kernels run in Triton's interpreter: no test needs a GPU. Before anything imports Triton.
os.environ.setdefault("TRITON_INTERPRET", "1")

# By CPU seconds. What is not named takes little, and fills the gaps at the end.
LONGEST = (
    *("08_vit_dino", "06_transformer", "02_bahdanau", "10_transformer_pp", "09_swin"),
    *("test_mutants", "05_positions", "test_answers", "07_families", "01_rnn_seq2seq"),
    *("test_pretended", "test_pretrain", "gpu_08_finetune", "04_multi_head", "test_thread_mode"),
    *("gpu_01_real_corpus", "03_self_attention", "test_launch", "test_nbval_record"),
)
# File -> the parameter whose values may go to different processes, and how much of it counts.
PARTS = {"test_answers": ("id", 2), "test_pretended": ("path", None), "test_thread_mode": ("id", 2)}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(LONGEST)))  # stable
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            if "browser" not in item.path.parts:  # those tests have groups of their own
                item.add_marker(pytest.mark.xdist_group(_group(item)))


def _group(item: pytest.Item) -> str:
    name, letters = PARTS.get(item.path.stem, ("", None))
    chosen = item.callspec.params if hasattr(item, "callspec") else {}
    part = str(chosen.get(name, ""))[:letters].rpartition("/")[2]
    return f"{item.path.name}-{part}".replace("@", "-")


def pytest_collection_finish() -> None:
    """Thousands of tests are never garbage: to look through them again and again takes minutes."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # or libraries report what is left at the end as leaked
