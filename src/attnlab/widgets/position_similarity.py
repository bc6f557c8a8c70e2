"""How alike are two positions? Cosines of positional encodings, for a text or an image."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from traitlets import Int, List, validate

from attnlab.widgets.base import Array, FigureError, LiveFigure, Words, as_array, bundle, stylesheet
from attnlab.widgets.traits import pack, unpack

MOST = 128  # positions of a text: the map has MOST² cells


def _as_bytes(image: np.ndarray | None, _widget: object = None) -> dict[str, Any] | None:
    """A picture as it is sent: a byte for each number, a quarter of the size of floats."""
    return None if image is None else pack(np.round(255 * image).astype(np.uint8))


def _as_shares(value: dict[str, Any] | None, _widget: object = None) -> np.ndarray | None:
    """And back: 0 to 1."""
    array = unpack(value)
    return None if array is None else array.astype(np.float32) / 255


class PositionSimilarity(LiveFigure):
    """Choose an encoding and a position, and see which positions have similar vectors.

    PositionSimilarity({"sinusoids": sinusoidal(64, 32), "2-D": sinusoidal_2d(8, 12, 32)})

    A table (L, E) is a text, a table (R, C, E) an image; `image`, (height, width, 3) with numbers
    from 0 to 1, is drawn beside the map of the patches.
    """

    figure = "position_similarity"
    _esm, _css = bundle("position_similarity"), stylesheet("position_similarity")
    made = ("names", "shapes", "tables")

    names = Words()
    shapes = List(List(Int())).tag(sync=True)
    tables = Array(ndim=(1,))  # all tables, flat, one after the other
    image = Array(ndim=(3,), allow_none=True).tag(to_json=_as_bytes, from_json=_as_shares)
    chosen = Int(0).tag(sync=True)
    place = Int(0).tag(sync=True)
    row = Int(0).tag(sync=True)
    column = Int(0).tag(sync=True)

    def __init__(self, encodings: Mapping[str, Any], **traits: Any):
        if not isinstance(encodings, Mapping) or not encodings:
            raise FigureError(
                'encodings is empty or no dictionary: give names with tables, {"sinusoids": '
                "sinusoidal(64, 32)}."
            )
        tables = [_table(str(name), table) for name, table in encodings.items()]
        super().__init__(
            names=list(encodings),
            shapes=[list(table.shape) for table in tables],
            tables=np.concatenate([table.reshape(-1) for table in tables]),
            **{
                "alt": "A map of the similarity of positional encodings: positions near the "
                "probe are similar, positions far away are not.",
                **traits,
            },
        )

    @validate("image")
    def _image(self, proposal: Any) -> Any:
        image = proposal["value"]
        if image is None:
            return None
        if not image.size or image.shape[2] != 3:
            raise FigureError(f"image has shape {image.shape}: give (height, width, 3), 0 to 1.")
        if image.min() < 0 or image.max() > 1:
            raise FigureError(
                f"image has numbers from {image.min():.1f} to {image.max():.1f}: give 0 to 1."
            )
        return image

    @validate("chosen", "place", "row", "column")
    def _counted(self, proposal: Any) -> int:
        if proposal["value"] < 0:
            raise FigureError(
                f"{proposal['trait'].name} is {proposal['value']}: it is counted from 0."
            )
        return proposal["value"]


def _table(name: str, table: Any) -> np.ndarray:
    array = as_array(name[:40], table)
    if array.ndim not in (2, 3) or 0 in array.shape:
        raise FigureError(
            f"{name[:40]} has shape {array.shape}: give a table (positions, width) for a text, or "
            "(rows, columns, width) for an image."
        )
    if (array.ndim == 2 and len(array) > MOST) or array[..., 0].size > MOST**2:
        raise FigureError(
            f"{name[:40]} has shape {array.shape}: this figure draws up to {MOST} places, or "
            f"{MOST} × {MOST} patches."
        )
    return _turned(array)


def _turned(table: np.ndarray) -> np.ndarray:
    """The same angles in as many numbers as positions, if that is fewer: a lighter page."""
    rows = table.reshape(-1, table.shape[-1])
    if len(rows) >= table.shape[-1]:
        return table
    coordinates = np.linalg.qr(rows.T)[1].T  # in axes that the rows themselves span
    return coordinates.reshape(*table.shape[:-1], len(rows))
