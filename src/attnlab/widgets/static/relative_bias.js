// The table of relative-position biases: a window, two cells of it, and the entry that their offset has.
import { array, choice, context2d, frame, legible, make, nice, slider } from "./kit.js";
import { letter, onPress } from "./chart.js";

/** Size of the window, offset, place in the table (flat), its value, and the bias of the query to every key. */
export function compute({ table, head, row, column, key_row, key_column }) {
  const [, high, wide] = table.shape,
    rows = (high + 1) / 2,
    columns = (wide + 1) / 2;
  const at = (r, c) => (row - r + rows - 1) * wide + (column - c + columns - 1);
  const value = (place) => table.data[head * high * wide + place];
  const map = Array.from({ length: rows * columns }, (_, i) => value(at(Math.floor(i / columns), i % columns)));
  const index = at(key_row, key_column);
  return { rows, columns, offset: [row - key_row, column - key_column], index, value: value(index), map };
}

/** A number of one digit after the point, where cells are small: −.8 for −0.8, and 0 for nothing. */
export function tight(text) {
  return text.replace(/^([−-]?)0\./, "$1.").replace(/^[−-]?\.0$/, "0");
}

const KEYS = ["head", "row", "column", "key_row", "key_column"];

/** Values on a canvas, from blue to red through the ground; returns its 2-D context. */
function paintSigned(canvas, values, rows, columns, cell, theme, limit, em) {
  const ink = context2d(canvas, columns * cell, rows * cell);
  for (let i = 0; i < rows * columns; i++) {
    ink.fillStyle = theme.signed(values[i], limit);
    ink.fillRect((i % columns) * cell, Math.floor(i / columns) * cell, cell + 0.5, cell + 0.5);
  }
  if (cell >= 30) {
    ink.font = `${legible(Math.min(em, Math.floor(cell / 2.6)))}px sans-serif`;
    ink.textAlign = "center";
    const said = (value) => (cell < 44 ? tight(nice(value, 1)) : nice(value, 1));
    ink.textBaseline = "middle";
    for (let i = 0; i < rows * columns; i++) {
      ink.fillStyle = theme.inkOnSigned(values[i], limit);
      ink.fillText(said(values[i]), ((i % columns) + 0.5) * cell, (Math.floor(i / columns) + 0.5) * cell);
    }
  }
  return ink;
}

function box(ink, r, c, high, wide, cell, dash = []) {
  ink.setLineDash(dash);
  for (const [colour, thick] of [
    ["#ffffff", 5],
    ["#000000", 2.5],
  ]) {
    ink.strokeStyle = colour;
    ink.lineWidth = thick;
    ink.strokeRect(c * cell + 1.5, r * cell + 1.5, wide * cell - 3, high * cell - 3);
  }
  ink.setLineDash([]);
}

function render(context) {
  const { model } = context,
    table = array(model.get("table")),
    [heads, high, wide] = table.shape;
  const state = () => compute({ table, ...Object.fromEntries(KEYS.map((key) => [key, model.get(key)])) });
  const figure = frame(context, { name: "relative-bias", numbers: state });
  const { rows, columns } = state();
  const head = choice({
    label: "Head",
    options: Array.from({ length: heads }, (_, h) => [h, h + 1]),
    value: 0,
    input: (v) => figure.push("head", Number(v)),
  });
  const key = (name, label, count) =>
    slider({
      label,
      min: 0,
      max: Math.max(1, count - 1),
      step: 1,
      value: 0,
      input: (v) => figure.push(name, Math.min(v, count - 1)),
    });
  const keyRow = key("key_row", "Key (dashed): row", rows),
    keyColumn = key("key_column", "column", columns);
  figure.controls.append(keyRow, keyColumn, ...(heads > 1 ? [head] : []));
  const cells = make("canvas", { role: "application", tabindex: "0" }),
    all = make("canvas", { role: "img" });
  const grid = make(
    "div.al-rb-grid",
    {},
    make("div", {}, make("div.al-rb-title", {}, "The window: press to move the query (solid)"), cells),
    make(
      "div",
      {},
      make("div.al-rb-title", {}, `The table: ${high} × ${wide} offsets; framed: what this query uses`),
      all,
    ),
  );
  const readout = make("div.al-readout");
  figure.body.append(grid, readout);
  const place = (r, c) => {
    figure.push("row", r);
    figure.push("column", c);
  };
  onPress(figure, cells, () => [rows, columns], place);
  figure.listen(cells, "keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    const limit = (value, count) => Math.max(0, Math.min(count - 1, value));
    place(limit(model.get("row") + move[0], rows), limit(model.get("column") + move[1], columns));
  });
  let size = 720;
  function paint() {
    const now = state(),
      em = letter(figure),
      row = model.get("row"),
      column = model.get("column");
    const flat = wide > 2 * high,
      two = size > 32 * em && !flat;
    grid.dataset.columns = two ? 2 : 1;
    const room = Math.min(two ? (size - 1.5 * em) / 2 : size, flat ? 50 * em : figure.tall(17 * em, all)),
      cell = Math.max(3, Math.floor(room / wide));
    const values = table.data.subarray(model.get("head") * high * wide, (model.get("head") + 1) * high * wide);
    const limit = values.reduce((a, b) => Math.max(a, Math.abs(b)), 1e-6);
    head.value = model.get("head");
    keyRow.value = model.get("key_row");
    keyColumn.value = model.get("key_column");
    const unit = Math.floor(flat ? room / wide : Math.min(room / columns, (room * 1.2) / rows)),
      left = paintSigned(cells, now.map, rows, columns, unit, figure.theme, limit, em);
    box(left, row, column, 1, 1, unit);
    box(left, model.get("key_row"), model.get("key_column"), 1, 1, unit, [4, 3]);
    const right = paintSigned(all, values, high, wide, cell, figure.theme, limit, em);
    box(right, row, column, rows, columns, cell);
    box(right, Math.floor(now.index / wide), now.index % wide, 1, 1, cell, [4, 3]);
    cells.setAttribute(
      "aria-label",
      `A window of ${rows} by ${columns} cells; press or use arrow keys to move the query.`,
    );
    all.setAttribute("aria-label", `The table of ${high} by ${wide} biases, −${nice(limit, 2)} to ${nice(limit, 2)}`);
    readout.textContent =
      `Query (${row}, ${column}), key (${model.get("key_row")}, ${model.get("key_column")}): offset ` +
      `(${now.offset.join(", ").replace(/-/g, "−")}), entry ${now.index} of ${high * wide}, ` +
      `bias ${nice(now.value, 2)}.`;
  }
  paint();
  figure.on(KEYS, () => figure.schedule(paint));
  figure.onTheme(() => figure.schedule(paint));
  figure.onWidth((now) => { size = now; paint(); });
  return figure.dispose;
}

export default { render };
