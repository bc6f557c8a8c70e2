"""The bytes of a KV cache, against the library's formula."""

from typing import Any

from attnlab.layers.cache import cache_bytes
from attnlab.widgets import KVCacheCalculator
from attnlab.widgets.base import LiveFigure
from attnlab.widgets.kv_cache import ITEMS


def twin(state: dict[str, Any], _: Any) -> dict[str, Any]:
    def size(kv_heads: int, context: int, batch: int) -> int:
        return cache_bytes(
            layers=state["layers"], kv_heads=kv_heads, head_width=state["head_width"],
            context=context, batch=batch, item=ITEMS[state["dtype"]],
        )  # fmt: skip

    all_ = (state["context"], state["batch"])
    return {
        "token": size(state["kv_heads"], 1, 1),
        "bytes": size(state["kv_heads"], *all_),
        "multi_head": size(state["heads"], *all_),
        "multi_query": size(1, *all_),
        "saved": state["heads"] / state["kv_heads"],
    }


def examples() -> list[LiveFigure]:
    return [
        KVCacheCalculator("Llama 3 8B"),
        KVCacheCalculator("PaLM 540B", batch=4, dtype="int8"),
        KVCacheCalculator("", layers=3, heads=6, kv_heads=2, head_width=16, context=1024),
    ]


def rogue(words: list[str]) -> LiveFigure:
    return KVCacheCalculator("stories15M", title=words[0], caption=words[-1])
