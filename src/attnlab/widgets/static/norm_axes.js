// LayerNorm and BatchNorm of a small batch (sentences, tokens, features), and who shares the statistics.
import { array, choice, frame, make, nice, shorten, slider, visible } from "./kit.js";

const EPS = 1e-5;

/** Indices of the numbers that share mean and variance with (row, column): a row, or a column through all rows. */
export function sharing(norm, rows, width, row, column) {
  return norm === "layer"
    ? Array.from({ length: width }, (_, j) => row * width + j)
    : Array.from({ length: rows }, (_, i) => i * width + column);
}

/** Every number minus the mean of its group, over the root of the group's variance. */
export function normalise(x, norm, rows, width) {
  const out = new Float64Array(x.length);
  const groups = norm === "layer" ? rows : width;
  for (let g = 0; g < groups; g++) {
    const group = norm === "layer" ? sharing(norm, rows, width, g, 0) : sharing(norm, rows, width, 0, g);
    const { mean, variance } = moments(x, group);
    for (const i of group) out[i] = (x[i] - mean) / Math.sqrt(variance + EPS);
  }
  return out;
}

export function moments(x, group) {
  let mean = 0, variance = 0;
  for (const i of group) mean += x[i] / group.length;
  for (const i of group) variance += (x[i] - mean) ** 2 / group.length;
  return { mean, variance };
}

/** All that is shown. `moved`: how far turning up sentence 1 moved the results of the other sentences. */
export function computeNorms({ shape, data }, norm, volume, row, column) {
  const [sentences, tokens, width] = shape, rows = sentences * tokens, first = tokens * width;
  const x = Float64Array.from(data, (v, i) => (i < first ? v * volume : v));
  const out = normalise(x, norm, rows, width);
  const before = normalise(Float64Array.from(data), norm, rows, width);
  let moved = 0;
  for (let i = first; i < out.length; i++) moved = Math.max(moved, Math.abs(out[i] - before[i]));
  const group = sharing(norm, rows, width, row, column);
  const { mean, variance } = moments(x, group);
  return { x: [...x], out: [...out], group, mean, variance, moved, picked: row * width + column };
}

function render(context) {
  const { model } = context;
  const state = () => computeNorms(
    array(model.get("x")), model.get("norm"), model.get("volume"), model.get("row"), model.get("column"),
  );
  const figure = frame(context, { name: "norm-axes", numbers: state });
  const labels = (count) => {
    const words = model.get("tokens");
    return Array.from({ length: count }, (_, i) => visible(words[i] ?? `token ${i + 1}`));
  };

  const norm = choice({
    label: "Normalise by", options: [["layer", "LayerNorm"], ["batch", "BatchNorm"]], value: model.get("norm"),
    input: (value) => figure.push("norm", value),
  });
  const loud = slider({
    label: "Volume of sentence 1", min: 0.1, max: 10, log: true, detents: [1], value: model.get("volume"),
    format: (v) => `× ${nice(v, 1)}`, input: (v) => figure.push("volume", v),
  });
  const who = choice({ label: "Row", options: [], value: "0", input: (v) => figure.push("row", Number(v)) });
  const what = choice({ label: "Feature", options: [], value: "0", input: (v) => figure.push("column", Number(v)) });
  figure.controls.append(norm, loud, who, what);

  const place = make("div.al-n-tables");
  const readout = make("div.al-readout");
  figure.body.append(place, readout);
  let cells = [];

  function build() {
    const { shape } = array(model.get("x"));
    const [sentences, tokens, width] = shape, names = labels(sentences * tokens);
    who.fill(names.map((name, i) => [i, `${Math.floor(i / tokens) + 1}: ${shorten(name, 14)}`]));
    what.fill(Array.from({ length: width }, (_, j) => [j, `${j + 1}`]));
    cells = [];
    place.replaceChildren(...Array.from({ length: sentences }, (_, s) => {
      const body = make("tbody");
      for (let t = 0; t < tokens; t++) {
        const row = s * tokens + t;
        const line = make("tr", {}, make("th", { scope: "row", title: shorten(names[row], 200) },
          shorten(names[row], 9)));
        for (let j = 0; j < width; j++) {
          const cell = make("td", { onclick: () => { figure.push("row", row); figure.push("column", j); } });
          cells.push(cell);
          line.append(cell);
        }
        body.append(line);
      }
      return make("table.al-n-table", {}, make("caption", {}, `sentence ${s + 1}`), body);
    }));
  }

  function paint() {
    const now = state(), group = new Set(now.group), { shape } = array(model.get("x"));
    if (cells.length !== now.out.length) build();
    if (norm.value !== model.get("norm")) norm.value = model.get("norm");
    if (loud.value !== model.get("volume")) loud.value = model.get("volume");
    who.value = model.get("row");
    what.value = model.get("column");
    const layer = model.get("norm") === "layer";
    cells.forEach((cell, i) => {
      cell.textContent = nice(now.out[i], 1);
      cell.style.background = figure.theme.signed(now.out[i], 2.5);
      cell.style.color = figure.theme.inkOnSigned(now.out[i], 2.5);
      cell.classList.toggle("al-n-in", group.has(i));
      cell.classList.toggle("al-n-picked", i === now.picked);
      cell.title = `before ${nice(now.x[i], 2)}, after ${nice(now.out[i], 3)}`;
    });
    const whose = layer ? `the ${shape[2]} features of this token alone`
      : `feature ${model.get("column") + 1} of all ${shape[0] * shape[1]} tokens in the batch`;
    const x = now.x[now.picked], out = now.out[now.picked];
    readout.replaceChildren(
      make("div", {}, `Framed: ${whose}. Mean ${nice(now.mean, 2)}, variance ${nice(now.variance, 2)}.`),
      make("div", {}, `Picked: (${nice(x, 2)} − ${nice(now.mean, 2)}) / √(${nice(now.variance, 2)} + ε) ` +
        `= ${nice(out, 2)}.`),
      make("div", {}, `Because sentence 1 is at × ${nice(model.get("volume"), 1)}, numbers in the other sentences ` +
        `moved by up to ${nice(now.moved, 2)}.`),
    );
  }
  build();
  paint();
  figure.on(["norm", "volume", "row", "column"], () => figure.schedule(paint));
  figure.on(["x", "tokens"], () => figure.schedule(() => { build(); paint(); }));
  figure.onTheme(() => figure.schedule(paint));
  return figure.dispose;
}

export default { render };
