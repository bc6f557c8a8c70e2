// How alike are two positions? The cosine of their encodings: a curve and a map for a text, a map for an image.
import { array, choice, frame, make, nice, shorten, slider } from "./kit.js";
import { chart, letter, onPress, outline, paintMap, photograph, roundTicks } from "./chart.js";
import { amountPlace } from "./palette.js";
import { cosines } from "./places.js";

/** The chosen table and the cosines of its probe. `shapes` are [L, E] or [R, C, E], one after the other in `tables`. */
export function compute({ tables, shapes, chosen, place, row, column }) {
  chosen = Math.min(chosen, shapes.length - 1);
  const size = (shape) => shape.reduce((a, b) => a * b, 1);
  const start = shapes.slice(0, chosen).reduce((sum, shape) => sum + size(shape), 0), shape = shapes[chosen];
  const table = tables.subarray(start, start + size(shape)), width = shape.at(-1), grid = shape.length === 3;
  const inside = (i, n) => Math.max(0, Math.min(n - 1, i));
  if (!grid) {
    place = inside(place, shape[0]);
    const matrix = Array.from({ length: shape[0] }, (_, i) => cosines(table, width, i));
    return { chosen, grid, shape, place, similarity: matrix[place], matrix };
  }
  row = inside(row, shape[0]);
  column = inside(column, shape[1]);
  return { chosen, grid, shape, row, column, similarity: cosines(table, width, row * shape[1] + column) };
}

function render(context) {
  const { model } = context;
  const state = () => compute({
    tables: array(model.get("tables")).data, shapes: model.get("shapes"),
    ...Object.fromEntries(["chosen", "place", "row", "column"].map((key) => [key, model.get(key)])),
  });
  const figure = frame(context, { name: "position-similarity", numbers: state });

  const options = () => model.get("names").map((name, i) => [i, shorten(name, 40)]);
  const encoding = choice({ label: "Encoding", options: options(), value: model.get("chosen"),
    input: (i) => figure.push("chosen", Number(i)) });
  const knob = (key, label) => slider({ label, min: 0, max: 1, step: 1, value: 0, input: (v) => figure.push(key, v) });
  const place = knob("place", "Position"), row = knob("row", "Row"), column = knob("column", "Column");
  figure.controls.append(encoding, place, row, column);

  const canvas = make("canvas", { role: "img" });
  const picture = make("canvas", { role: "img", "aria-label": "The image, with the probed patch outlined" });
  const mapName = make("div.al-ps-title"), sideName = make("div.al-ps-title"), scale = make("div.al-ps-name");
  const curve = make("div"), photo = make("div", {}, picture);
  const grid = make("div.al-ps-grid", {}, make("div", {}, mapName, make("div.al-map.al-ps-map", {}, canvas), scale),
    make("div", {}, sideName, curve, photo));
  const readout = make("div.al-readout");
  figure.body.append(grid, readout);
  onPress(figure, canvas, () => {
    const { shape, grid: two } = state();
    return two ? shape : [shape[0], shape[0]];
  }, (r, c) => {
    if (state().grid) {
      figure.push("row", r);
      figure.push("column", c);
    } else figure.push("place", r);
  });

  /** The image under the grid, if there is one, with the patch in a frame. */
  function paintPhoto(now, wide) {
    const image = array(model.get("image"));
    photo.hidden = !image;
    if (!image) return;
    const [h, w] = image.shape, small = photograph(image.data, w, h);
    const [rows, columns] = now.shape;
    const side = wide / columns, ink = paintMap(picture, [0], 1, 1, wide, side * rows, figure.theme, Number);
    ink.imageSmoothingEnabled = true;
    ink.drawImage(small, 0, 0, wide, side * rows);
    outline(ink, now.row, now.column, side, side, rows * side, columns * side);
  }
  let size = 720;
  function paint() {
    const now = state(), em = letter(figure), two = size > 36 * em;
    const [rows, columns] = now.grid ? now.shape : [now.shape[0], now.shape[0]];
    encoding.value = now.chosen;
    place.hidden = now.grid;
    row.hidden = column.hidden = !now.grid;
    for (const [node, last, value] of now.grid ? [[row, rows - 1, now.row], [column, columns - 1, now.column]]
      : [[place, rows - 1, now.place]]) {
      node.querySelector("input").max = last;
      node.value = value;
    }
    grid.dataset.columns = two ? 2 : 1;
    const half = Math.floor(two ? (size - 1.5 * em) / 2 : size), top = Math.round(figure.tall(20 * em, canvas));
    const cell = Math.min(half / columns, top / rows);
    const wide = Math.round(cell * columns), high = Math.round(cell * rows);
    const values = now.grid ? now.similarity : now.matrix.flat();
    const least = values.reduce((a, b) => Math.min(a, b), 1); // the scale runs from the least similar pair to 1
    const ink = paintMap(canvas, values, rows, columns, wide, high, figure.theme,
      (v) => amountPlace(v, least, 1));
    if (now.grid) outline(ink, now.row, now.column, wide / columns, high / rows);
    else outline(ink, now.place, 0, wide, high / rows);
    const name = model.get("names")[now.chosen] ?? "";
    canvas.setAttribute("aria-label", `Cosine similarity, ${shorten(name, 60)}, ${rows} by ${columns}`);
    mapName.textContent = now.grid ? `Patch (${now.row}, ${now.column}) with every patch`
      : "Every position with every position";
    const [little, much] = figure.theme.dark ? ["dark", "light"] : ["light", "dark"];
    scale.textContent = `cosine: ${little} = ${nice(least, 2)}, ${much} = 1`;
    curve.hidden = now.grid;
    photo.hidden = true;
    if (now.grid) {
      sideName.textContent = model.get("image") ? "Where the patch is in the image" : "";
      paintPhoto(now, wide);
    } else {
      sideName.textContent = `Position ${now.place} with every position`;
      const plot = chart({
        wide: Math.max(200, half), high: Math.min(14 * em, two ? high : 11 * em), em, x: [0, rows - 1],
          y: [-1.05, 1.08], xTicks: roundTicks(rows - 1, half / (4 * em)),
        yTicks: [-1, 0, 1], xName: "position", label: `Cosine of position ${now.place} with every position`,
      });
      plot.rule(plot.x(now.place), plot.box.top, plot.x(now.place), plot.box.bottom, "al-ps-probe");
      plot.line(now.similarity.map((v, i) => [i, v]), { class: "al-ps-line" });
      now.similarity.forEach((v, i) => plot.dot(i, v, { r: 2, class: "al-ps-dot" }));
      curve.replaceChildren(plot.node);
    }
    const around = now.grid
      ? [["right", 0, 1], ["below", 1, 0], ["diagonal", 1, 1]].flatMap(([words, r, c]) => near(now, words, r, c))
      : [1, 2, 8].flatMap((k) => (now.place + k < rows ? [`${k} further: ${nice(now.similarity[now.place + k], 2)}`]
        : []));
    readout.textContent = `${shorten(name, 60)}. ${around.join(" · ") || "Move the probe away from the edge."}`;
  }
  const near = (now, words, r, c) => {
    const [rows, columns] = now.shape, [y, x] = [now.row + r, now.column + c];
    return y < rows && x < columns ? [`${words}: ${nice(now.similarity[y * columns + x], 2)}`] : [];
  };
  paint();
  figure.on(["tables", "shapes", "names", "image", "chosen", "place", "row", "column"], () => figure.schedule(paint));
  figure.on("names", () => encoding.fill(options()));
  figure.onTheme(() => figure.schedule(paint));
  figure.onWidth((now) => { size = now; paint(); });
  return figure.dispose;
}

export default { render };
