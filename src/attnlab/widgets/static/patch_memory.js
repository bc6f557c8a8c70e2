// A picture, cut into patches, and what the attention weights of all layers and heads would take in memory.
import { array, binary, choice, context2d, frame, make, slider } from "./kit.js";
import { letter } from "./chart.js";

const SIZES = [32, 64, 128, 224, 256, 384, 512], PATCHES = [1, 2, 4, 7, 8, 14, 16, 28, 32];

/** Tokens along a side, tokens in all, bytes of one matrix of float32 weights and of all of them. */
export function compute({ size, patch, layers, heads }) {
  const side = Math.floor(size / patch), tokens = side * side, one = 4 * tokens * tokens;
  return { side, tokens, numbers: 3 * patch * patch, one, all: one * layers * heads };
}

function render(context) {
  const { model } = context;
  const image = array(model.get("image"));
  const state = () => compute(
    Object.fromEntries(["size", "patch", "layers", "heads"].map((key) => [key, model.get(key)])));
  const figure = frame(context, { name: "patch-memory", numbers: state });
  const pick = (key, label, values) => choice({ label, options: values.map((v) => [v, `${v} × ${v} pixels`]),
    value: model.get(key), input: (v) => figure.push(key, Number(v)) });
  const size = pick("size", "Picture", SIZES), patch = slider({
    label: "Patch", min: 0, max: PATCHES.length - 1, step: 1, value: 0, format: (i) => (PATCHES[i] === 1
      ? "1 pixel" : `${PATCHES[i]} × ${PATCHES[i]}`), input: (i) => figure.push("patch", PATCHES[i]),
  });
  const layers = slider({ label: "Layers", min: 1, max: 96, step: 1, value: 1,
    input: (v) => figure.push("layers", v) });
  const heads = slider({ label: "Heads", min: 1, max: 64, step: 1, value: 1, input: (v) => figure.push("heads", v) });
  figure.controls.append(size, patch, layers, heads);
  const canvas = make("canvas", { role: "img" }), table = make("div.al-pm-table"), readout = make("div.al-readout");
  const grid = make("div.al-pm-grid", {}, canvas, table);
  figure.body.append(grid, readout);

  const small = document.createElement("canvas");
  [small.height, small.width] = image.shape;
  const pixels = new ImageData(small.width, small.height);
  for (let i = 0; i < small.width * small.height; i++) pixels.data.set([image.data[3 * i], image.data[3 * i + 1],
    image.data[3 * i + 2], 255], 4 * i);
  small.getContext("2d").putImageData(pixels, 0, 0);

  let width = 720;
  function paint() {
    const now = state(), em = letter(figure), two = width > 34 * em;
    grid.dataset.columns = two ? 2 : 1;
    size.value = model.get("size");
    patch.value = PATCHES.indexOf(model.get("patch"));
    layers.value = model.get("layers");
    heads.value = model.get("heads");
    const wide = Math.floor(Math.min(two ? width / 2 - em : width, figure.tall(22 * em, canvas)));
    const ink = context2d(canvas, wide, wide);
    const coarse = document.createElement("canvas"); // the picture at the chosen size
    coarse.width = coarse.height = model.get("size");
    coarse.getContext("2d").drawImage(small, 0, 0, coarse.width, coarse.height);
    ink.imageSmoothingEnabled = false;
    ink.fillStyle = figure.theme.colour("soft");
    ink.fillRect(0, 0, wide, wide);
    const cell = wide / now.side, gap = cell > 6 ? Math.min(0.12 * cell, 4) : 0, source = model.get("patch");
    if (!gap) ink.drawImage(coarse, 0, 0, wide, wide);
    else for (let r = 0; r < now.side; r++) for (let c = 0; c < now.side; c++)
      ink.drawImage(coarse, c * source, r * source, source, source, c * cell + gap / 2, r * cell + gap / 2,
        cell - gap, cell - gap);
    const rows = [
      ["tokens", `${now.side} × ${now.side} = ${now.tokens.toLocaleString("en")}`],
      ["numbers in a token", `3 · ${source}² = ${now.numbers.toLocaleString("en")}`],
      ["one matrix of weights", `${now.tokens.toLocaleString("en")}² · 4 bytes = ${binary(now.one)}`],
      [`all ${model.get("layers")} × ${model.get("heads")}`, binary(now.all)],
    ];
    table.replaceChildren(...rows.map(([name, value]) => make("div.al-pm-row", {}, make("span.al-pm-name", {}, name),
      make("span.al-pm-value", {}, value))));
    canvas.setAttribute("aria-label", `The picture in ${now.side} by ${now.side} patches`);
    readout.textContent = `${now.tokens.toLocaleString("en")} tokens: ${binary(now.one)} for one ` +
      `matrix, ${binary(now.all)} for all.`;
  }
  paint();
  figure.on(["size", "patch", "layers", "heads"], () => figure.schedule(paint));
  figure.onTheme(() => figure.schedule(paint));
  figure.onWidth((now) => { width = now; paint(); });
  return figure.dispose;
}

export default { render };
