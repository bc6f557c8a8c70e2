// The matrix of sinusoids, with a probe on a position (row) and a dimension (column); beside it, the binary counter.
// Vaswani et al. 2017, section 3.5.
import { choice, frame, make, nice, slider } from "./kit.js";
import { chart, letter, onPress, paintMap, roundTicks } from "./chart.js";
import { amountPlace } from "./palette.js";
import { bits, frequencies, sinusoid } from "./places.js";

/** Everything the figure shows. Probes that fall outside are moved to the edge. */
export function compute({ view, length, width, base, place, dim }) {
  const binary = view === "binary";
  const columns = binary ? Math.max(1, Math.ceil(Math.log2(length))) : width;
  const matrix = Array.from({ length }, (_, p) => (binary ? bits(p, columns) : sinusoid(p, width, base)));
  place = Math.min(place, length - 1);
  dim = Math.min(dim, columns - 1);
  const wavelength = binary ? 2 ** (dim + 1) : (2 * Math.PI) / frequencies(width, base)[dim >> 1];
  return { view, place, dim, base, value: matrix[place][dim], wavelength, row: matrix[place],
    wave: matrix.map((row) => row[dim]), matrix };
}

const long = (places) => nice(places, places < 100 ? 1 : 0);

function render(context) {
  const { model } = context;
  const state = () => compute(
    Object.fromEntries(["view", "length", "width", "base", "place", "dim"].map((key) => [key, model.get(key)])));
  const figure = frame(context, { name: "sinusoid-matrix", numbers: state });

  const view = choice({
    label: "Show", options: [["waves", "sinusoids"], ["binary", "binary counter"]], value: model.get("view"),
    input: (name) => figure.push("view", name),
  });
  const place = slider({ label: "Position", min: 0, max: model.get("length") - 1, step: 1, value: model.get("place"),
    input: (p) => figure.push("place", p) });
  const dim = slider({ label: "Dimension", min: 0, max: model.get("width") - 1, step: 1, value: model.get("dim"),
    input: (d) => figure.push("dim", d) });
  const base = slider({
    label: "Base", min: 10, max: 1e6, log: true, detents: [10, 100, 1000, 1e4, 1e5, 1e6], value: model.get("base"),
    format: (b) => String(Math.round(b)), input: (b) => figure.push("base", b),
  });
  figure.controls.append(place, dim, base, view);

  const canvas = make("canvas", { role: "img" });
  const map = make("div.al-map.al-sm-map", {}, canvas);
  const rowsName = make("div.al-sm-name.al-aside");
  const wave = make("div"), row = make("div.al-aside");
  const waveName = make("div.al-sm-title"), rowName = make("div.al-sm-title.al-aside");
  const left = make("div", {}, make("div.al-sm-title", {}, "Rows: positions. Columns: dimensions"), map, rowsName);
  const grid = make("div.al-sm-grid", {}, left, make("div", {}, waveName, wave, rowName, row));
  const readout = make("div.al-readout");
  figure.body.append(grid, readout);
  onPress(figure, canvas, () => { const m = state().matrix; return [m.length, m[0].length]; }, (p, d) => {
    figure.push("place", p);
    figure.push("dim", d);
  });

  let size = 720;
  function paint() {
    const now = state(), binary = now.view === "binary", low = binary ? 0 : -1;
    const rows = now.matrix.length, columns = now.row.length, em = letter(figure);
    for (const [knob, last, value] of [[place, rows - 1, now.place], [dim, columns - 1, now.dim]]) {
      knob.querySelector("input").max = last;
      knob.value = value;
    }
    base.value = now.base;
    base.hidden = binary;
    view.value = now.view;
    const two = size > 40 * em;
    grid.dataset.columns = two ? 2 : 1;
    const wide = Math.max(140, Math.floor(two ? size * 0.45 : size));
    const high = Math.round(figure.tall((two ? 20 : 15) * em, canvas));
    const half = Math.min(8.6 * em, two ? (high - 3 * em) / 2 + em : Infinity); // of the two plots
    const ink = paintMap(canvas, now.matrix.flat(), rows, columns, wide, high, figure.theme,
      (v) => amountPlace(v, low, 1));
    const cw = wide / columns, ch = high / rows;
    for (const [colour, thick] of [[figure.theme.background, 4], [figure.theme.text, 1.8]]) {
      ink.strokeStyle = colour;
      ink.lineWidth = thick;
      ink.strokeRect(1, now.place * ch, wide - 2, ch);
      ink.strokeRect(now.dim * cw, 1, cw, high - 2);
    }
    canvas.setAttribute("aria-label",
      `Matrix of ${rows} positions and ${columns} dimensions, probed at position ${now.place}, dimension ${now.dim}.`);
    const [most, least] = figure.theme.dark ? ["light", "dark"] : ["dark", "light"];
    const places = `↓ positions 0 to ${rows - 1} · → dimensions 0 to ${columns - 1}`;
    rowsName.textContent = `${places} · ${most} = 1, ${least} = ${low}`.replaceAll("-", "−");

    const room = Math.max(180, two ? size - wide - 1.5 * em : size), yTicks = binary ? [0, 1] : [-1, 0, 1];
    const span = binary ? [-0.1, 1.1] : [-1.1, 1.1];
    const over = chart({ wide: room, high: half, em, x: [0, rows - 1], y: span,
      xTicks: roundTicks(rows - 1, room / (4 * em)), yTicks, xName: "position",
      label: `Dimension ${now.dim} over the positions` });
    if (binary) over.line(now.wave.flatMap((v, p) => [[p - 0.5, v], [p + 0.5, v]]).map(
      ([p, v]) => [Math.max(0, Math.min(rows - 1, p)), v]), { class: "al-sm-line" });
    else {
      // The wave is smooth between the positions, which are the dots on it.
      const w = frequencies(model.get("width"), now.base)[now.dim >> 1], f = now.dim % 2 ? Math.cos : Math.sin;
      over.line(Array.from({ length: 12 * rows - 11 }, (_, i) => [i / 12, f((i / 12) * w)]), { class: "al-sm-line" });
      now.wave.forEach((v, p) => over.dot(p, v, { r: 2, class: "al-sm-sample" }));
    }
    over.dot(now.place, now.value, { class: "al-sm-probe" });
    wave.replaceChildren(over.node);
    const bars = chart({ wide: room, high: half, em, x: [-0.6, columns - 0.4], y: span,
      xTicks: roundTicks(columns - 1, room / (4 * em)), yTicks, xName: "dimension",
      label: `The vector of position ${now.place}` });
    now.row.forEach((v, d) => bars.line([[d, 0], [d, v]], { class: d === now.dim ? "al-sm-bar al-sm-here"
      : "al-sm-bar", "stroke-width": Math.max(2, 0.6 * (bars.x(1) - bars.x(0))) }));
    row.replaceChildren(bars.node);
    waveName.textContent = binary ? `Bit ${now.dim}: flips every ${2 ** now.dim} positions`
      : `Dimension ${now.dim}: wavelength ${long(now.wavelength)} positions`;
    rowName.textContent = binary ? `Position ${now.place} = ${[...now.row].reverse().join("")} in binary`
      : `The vector of position ${now.place}`;
    readout.textContent = binary
      ? `Bit ${now.dim} of position ${now.place} is ${now.value}. Low bits flip fast, high bits slowly.`
      : `PE(${now.place}, ${now.dim}) ` +
        `= ${now.dim % 2 ? "cos" : "sin"}(${now.place} / ${nice(now.wavelength / (2 * Math.PI), 2)}) ` +
        `= ${nice(now.value)}`;
  }
  paint();
  figure.on(["view", "length", "width", "base", "place", "dim"], () => figure.schedule(paint));
  figure.onTheme(() => figure.schedule(paint));
  figure.onWidth((now) => { size = now; paint(); });
  return figure.dispose;
}

export default { render };
