// Attention on a picture: which patches a chosen patch attends to in a layer and head, and how many hold most of it.
import { array, choice, context2d, frame, make, nice, slider } from "./kit.js";
import { letter, onPress, outline, paintMap, photograph } from "./chart.js";
import { weightPlace } from "./palette.js";

const MEAN = -1, ROLLOUT = -2;

/** The row of weights of one token: one head's, the mean of all heads, or the rollout of all layers up to `layer`. */
export function weightsOf({ roots, layer, head, token }) {
  const [, heads, length] = roots.shape;
  const row = (n, h, i) => {
    const start = ((n * heads + h) * length + i) * length;
    return Float64Array.from(roots.data.subarray(start, start + length), (root) => (root / 255) ** 2);
  };
  const mean = (n, i) => {
    const sum = new Float64Array(length);
    for (let h = 0; h < heads; h++) row(n, h, i).forEach((w, j) => { sum[j] += w / heads; });
    return sum;
  };
  if (head >= 0) return row(layer, head, token);
  if (head === MEAN) return mean(layer, token);
  let share = new Float64Array(length); // follow the token back, layer by layer: half stays, half is mixed in
  share[token] = 1;
  for (let n = layer; n >= 0; n--) {
    const next = share.map((w) => w / 2);
    share.forEach((w, i) => { if (w > 1e-9) mean(n, i).forEach((a, j) => { next[j] += (w * a) / 2; }); });
    share = next;
  }
  return share;
}

/** The fewest entries that hold `share` of the sum. */
export function keepMass(values, share) {
  const order = Array.from(values.keys()).sort((a, b) => values[b] - values[a] || a - b);
  const total = values.reduce((a, b) => a + b, 0), kept = new Array(values.length).fill(false);
  let before = 0;
  for (const i of order) {
    if (before >= share * total) break;
    kept[i] = true;
    before += values[i];
  }
  return kept;
}

/** What is drawn: the map over the patches, which of them are kept, and what goes to the tokens before them. */
export function compute({ roots, skip, layer, head, row, column, share }) {
  const side = Math.round(Math.sqrt(roots.shape[2] - skip));
  const cls = row < 0 || column < 0, token = cls ? 0 : skip + row * side + column;
  const all = weightsOf({ roots, layer, head, token });
  const map = Array.from(all.subarray(skip)), elsewhere = all.subarray(0, skip).reduce((a, b) => a + b, 0);
  const kept = keepMass(map, share);
  return { side, cls, token, map, kept: kept.map(Number), count: kept.filter(Boolean).length, elsewhere };
}

function render(context) {
  const { model } = context;
  const roots = array(model.get("roots")), image = array(model.get("image")), [layers, heads] = roots.shape;
  const state = () => compute({
    roots, ...Object.fromEntries(["skip", "layer", "head", "row", "column",
      "share"].map((key) => [key, model.get(key)])),
  });
  const figure = frame(context, { name: "patch-attention", numbers: state });
  const layer = slider({ label: "Layer", min: 0, max: layers - 1, step: 1, value: 0,
    format: (n) => `${n + 1} of ${layers}`, input: (v) => figure.push("layer", v) });
  const names = [...Array.from({ length: heads }, (_, h) => [h, `head ${h + 1}`]), [MEAN, "mean of the heads"],
    [ROLLOUT, "rollout to this layer"]];
  const head = choice({ label: "Look", options: names, value: 0, input: (v) => figure.push("head", Number(v)) });
  const share = slider({ label: "Keep", min: 0.1, max: 1, step: 0.05, value: 0.6,
    format: (v) => `${Math.round(100 * v)} % of the mass`, input: (v) => figure.push("share", v) });
  const centre = make("button.al-button", { type: "button", onclick: () => place(-1, -1) }, "[CLS] looks");
  figure.controls.append(layer, head, share, centre);

  const photo = make("canvas", { role: "application", tabindex: "0" }), map = make("canvas", { role: "img" });
  const photoName = make("div.al-pa-title"), mapName = make("div.al-pa-title");
  const grid = make("div.al-pa-grid", {}, make("div", {}, photoName, photo), make("div", {}, mapName, map));
  const readout = make("div.al-readout");
  figure.body.append(grid, readout);
  function place(r, c) {
    figure.push("row", r);
    figure.push("column", c);
  }
  for (const canvas of [photo, map]) onPress(figure, canvas, () => {
    const { side } = state();
    return [side, side];
  }, place);
  figure.listen(photo, "keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    const { side } = state();
    const start = model.get("row") < 0 ? [Math.floor(side / 2), Math.floor(side / 2)]
      : [model.get("row"), model.get("column")];
    place(...start.map((at, axis) => Math.max(0, Math.min(side - 1, at + move[axis]))));
  });

  const small = photograph(image.data, image.shape[1], image.shape[0]);
  let size = 720;
  function paint() {
    const now = state(), em = letter(figure), two = size > 32 * em;
    grid.dataset.columns = two ? 2 : 1;
    const wide = Math.floor(Math.min(two ? (size - 1.5 * em) / 2 : size, figure.tall(26 * em, photo)));
    const cell = wide / now.side;
    layer.value = model.get("layer");
    head.value = model.get("head");
    share.value = model.get("share");
    centre.setAttribute("aria-pressed", String(now.cls));
    const ink = context2d(photo, wide, wide);
    ink.drawImage(small, 0, 0, wide, wide);
    ink.fillStyle = "rgba(0, 0, 0, 0.68)"; // what is not kept is dimmed
    now.kept.forEach((kept, i) => {
      const column = i % now.side, line = Math.floor(i / now.side); // whole pixels: no seams
      const [x, y, right, below] = [column, line, column + 1, line + 1].map((at) => Math.round(at * cell));
      if (!kept) ink.fillRect(x, y, right - x, below - y);
    });
    const top = now.map.reduce((a, b) => Math.max(a, b), 1e-9);
    const over = paintMap(map, now.map, now.side, now.side, wide, wide, figure.theme, (w) => weightPlace(w, top));
    if (!now.cls) for (const one of [ink, over]) outline(one, model.get("row"), model.get("column"), cell);
    const who = now.cls ? "[CLS]" : `The patch in row ${model.get("row") + 1}, column ${model.get("column") + 1}`;
    photoName.textContent = `Lit: ${Math.round(100 * model.get("share"))} % of the mass`;
    mapName.textContent = `Weights, 0 to ${nice(top, 3)}, colour by √`;
    photo.setAttribute("aria-label",
      `The picture; arrow keys move the patch. ${now.count} of ${now.map.length} patches are lit.`);
    map.setAttribute("aria-label", `Attention map of ${now.side} by ${now.side} patches`);
    const name = names.find(([value]) => value === model.get("head"))?.[1] ?? "";
    readout.textContent = `${who}, ` +
      `layer ${model.get("layer") + 1}, ${name}: ${now.count} of ${now.map.length} patches ` +
      `${now.count === 1 ? "holds" : "hold"} ` +
      `${Math.round(100 * model.get("share"))} % of what goes to patches; ${nice(100 * now.elsewhere, 0)} % goes to ` +
        `tokens that are not patches.`;
  }
  paint();
  figure.on(["layer", "head", "row", "column", "share"], () => figure.schedule(paint));
  figure.onTheme(() => figure.schedule(paint));
  figure.onWidth((now) => { size = now; paint(); });
  return figure.dispose;
}

export default { render };
