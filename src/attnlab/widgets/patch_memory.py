"""What pixels as tokens cost, and what patches save: a picture, a grid and a calculator."""

from typing import Any

from traitlets import Int

from attnlab.widgets.base import Array, FigureError, LiveFigure, bundle, stylesheet, together
from attnlab.widgets.patch_attention import _pixels

SIZES, PATCHES = (32, 64, 128, 224, 256, 384, 512), (1, 2, 4, 7, 8, 14, 16, 28, 32)


class PatchMemory(LiveFigure):
    """Choose the size of a picture and of its patches; see tokens and the memory of all weights.

    PatchMemory(image=pixels, size=128, patch=1, layers=48, heads=16)

    Memory counts the (L, L) weights alone, in float32 and binary units, as a model that writes them
    out would need. A last row or column that is not a whole patch is left out.
    """

    figure = "patch_memory"
    _esm, _css = bundle("patch_memory"), stylesheet("patch_memory")
    made = ("image",)

    image = Array((3,), "uint8")  # (S, S, 3)
    size = Int(128).tag(sync=True)
    patch = Int(16).tag(sync=True)
    layers = Int(48).tag(sync=True)
    heads = Int(16).tag(sync=True)

    def __init__(self, *, image: Any, **traits: Any):
        super().__init__(
            image=_pixels(image),
            **{"alt": "A picture cut into patches, and the memory of its attention.", **traits},
        )

    @together("size", "patch", "layers", "heads")
    def _fits(self, **now: Any) -> None:
        if now["size"] not in SIZES or now["patch"] not in PATCHES:
            raise FigureError(
                f"size is {now['size']} and patch {now['patch']}: sizes are "
                f"{', '.join(map(str, SIZES))}, patches {', '.join(map(str, PATCHES))}."
            )
        if not 1 <= now["layers"] <= 96 or not 1 <= now["heads"] <= 64:
            raise FigureError(
                f"{now['layers']} layers and {now['heads']} heads were given: 1 to 96 and 1 to 64."
            )
