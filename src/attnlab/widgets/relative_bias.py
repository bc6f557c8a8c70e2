"""The table of relative-position biases: which entry two cells of a window share."""

from typing import Any

from traitlets import Int

from attnlab.widgets.base import Array, FigureError, LiveFigure, bundle, stylesheet, together


class RelativeBiasTable(LiveFigure):
    """A window, a query and a key in it, and the entry of the table that their offset has.

    RelativeBiasTable(table, row=1, column=1, key_row=0, key_column=2)

    `table` is (2R − 1, 2C − 1), or (heads, 2R − 1, 2C − 1), for windows of R × C cells.
    """

    figure = "relative_bias"
    _esm, _css = bundle("relative_bias"), stylesheet("relative_bias")
    made = ("table",)

    table = Array((3,))  # (H, 2R − 1, 2C − 1)
    head = Int(0).tag(sync=True)
    row = Int(0).tag(sync=True)
    column = Int(0).tag(sync=True)
    key_row = Int(0).tag(sync=True)
    key_column = Int(0).tag(sync=True)

    def __init__(self, table: Any, **traits: Any):
        shape = tuple(getattr(table, "shape", ()))
        table = table[None] if len(shape) == 2 else table
        words = "A window and the table of its relative biases, a pair of cells lit in both."
        super().__init__(table=table, **{"alt": words, **traits})

    @together("table", "head", "row", "column", "key_row", "key_column")
    def _fits(self, **now: Any) -> None:
        if now["table"] is None:
            return
        heads, high, wide = now["table"].shape
        if high % 2 == 0 or wide % 2 == 0:
            raise FigureError(
                f"the table is {high} × {wide}, but a window of R × C cells has (2R − 1) × (2C − 1)"
                " offsets: both are odd."
            )
        rows, columns = (high + 1) // 2, (wide + 1) // 2
        if not 0 <= now["head"] < heads:
            raise FigureError(f"head is {now['head']}, but goes from 0 to {heads - 1}.")
        for name, most in (
            ("row", rows), ("key_row", rows), ("column", columns), ("key_column", columns)
        ):  # fmt: skip
            if not 0 <= now[name] < most:
                raise FigureError(f"{name} is {now[name]}, but goes from 0 to {most - 1}.")
