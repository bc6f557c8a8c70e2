"""How large a KV cache is: a calculator, with the sizes of published models to start from."""

from typing import Any

from traitlets import Enum, Int, Unicode

from attnlab.widgets.base import FigureError, LiveFigure, bundle, stylesheet, together

# layers, heads, kv heads, head width, context, as the papers give them: GPT-3 table 2.1; PaLM
# table 1 (its heads are narrower than width / heads); Mistral table 1 (the whole context: windows
# of 4,096 would keep half); Llama 3 table 3; the others as in their published configs
PRESETS: dict[str, tuple[int, int, int, int, int]] = {
    "stories15M": (6, 6, 6, 48, 256),
    "GPT-2 XL": (48, 25, 25, 64, 1024),
    "GPT-3 175B": (96, 96, 96, 128, 2048),
    "PaLM 540B": (118, 48, 1, 256, 2048),
    "Llama 2 7B": (32, 32, 32, 128, 4096),
    "Llama 2 70B": (80, 64, 8, 128, 4096),
    "Mistral 7B": (32, 32, 8, 128, 8192),
    "Llama 3 8B": (32, 32, 8, 128, 8192),
    "Llama 3.1 405B": (126, 128, 8, 128, 131072),
}
ITEMS = {"float32": 4.0, "float16": 2.0, "int8": 1.0, "int4": 0.5}
FIELDS = ("layers", "heads", "kv_heads", "head_width", "context", "batch")
LARGEST = {
    "layers": 160, "heads": 160, "kv_heads": 160, "head_width": 512, "context": 2**21, "batch": 256,
}  # fmt: skip


class KVCacheCalculator(LiveFigure):
    """Layers, heads, context, batch and number type -> bytes of keys and values.

    KVCacheCalculator("Llama 3 8B")                     a published model
    KVCacheCalculator("Llama 2 7B", context=2**17, dtype="int8")
    """

    figure = "kv_cache"
    _esm, _css = bundle("kv_cache"), stylesheet("kv_cache")

    model = Unicode("").tag(sync=True)  # the preset, or "" for your own sizes
    layers = Int(32).tag(sync=True)
    heads = Int(32).tag(sync=True)
    kv_heads = Int(8).tag(sync=True)
    head_width = Int(128).tag(sync=True)
    context = Int(8192).tag(sync=True)
    batch = Int(1).tag(sync=True)
    dtype = Enum(tuple(ITEMS), "float16").tag(sync=True)

    def __init__(self, model: str = "Llama 3 8B", **traits: Any):
        if model and model not in PRESETS:
            raise FigureError(f"there is no preset {model!r}: choose one of {', '.join(PRESETS)}.")
        sizes = dict(zip(FIELDS[:5], PRESETS.get(model, ()), strict=False))
        alt = "A calculator: the bytes of a model's KV cache, beside those of the same model with "
        super().__init__(
            model=model,
            **{"alt": alt + "multi-head and multi-query attention.", **sizes, **traits},
        )

    @together(*FIELDS)
    def _fits(self, **now: int) -> None:
        for name, most in LARGEST.items():
            if not 1 <= now[name] <= most:
                raise FigureError(f"{name} is {now[name]}: it goes from 1 to {most:,}.")
        if now["heads"] % now["kv_heads"]:
            raise FigureError(
                f"{now['heads']} heads cannot share {now['kv_heads']} kv_heads evenly: choose a "
                "number that divides them."
            )
