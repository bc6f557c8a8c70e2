// DINOv2 on a photograph: which patches a chosen patch attends to, by layer and head. On request the model itself runs
// in a worker, on photographs that never leave the page.
import { array, button, context2d, frame, lecture, make, nice, shorten, slider } from "./kit.js";
import { letter, onPress, outline, paintMap, photograph } from "./chart.js";
import { weightPlace } from "./palette.js";
import { look, open } from "./dino_job.js";
import { pictureButtons, readPicture } from "./own_picture.js";
import { keepMass } from "./patch_attention.js";
import { weightsPanel } from "./weights.js";
import { openWorker } from "./worker.js";

const MEAN = -1, SIZE = 224;
const KEYS = ["layer", "head", "row", "column", "share"];

/** What came with the page: [CLS] in every layer, every token in the last one. `row` is null for the others. */
export function shippedMaps(firsts, lasts, colours) {
  const [layers, heads, length] = firsts.shape;
  const weight = (root) => (root / 255) ** 2;
  const read = ({ data }, start) => Float64Array.from(data.subarray(start, start + length), weight);
  return {
    layers, heads, side: Math.round(Math.sqrt(length - 1)), whole: false,
    colours: Float64Array.from(colours.data, (value) => value / 255),
    row: (layer, head, token) => token === 0
      ? read(firsts, (layer * heads + head) * length)
      : layer === layers - 1 ? read(lasts, (head * length + token) * length) : null,
  };
}

/** What the model found: every token in every layer and head. */
export function foundMaps({ maps, side, colours }, layers, heads) {
  const length = 1 + side * side;
  return {
    layers, heads, side, colours, whole: true,
    row: (layer, head, token) => {
      const start = ((layer * heads + head) * length + token) * length;
      return maps.subarray(start, start + length);
    },
  };
}

/** The weights of one token: one head's, or the mean of all. null where the page does not know them. */
export function weightsOf(source, layer, head, token) {
  if (head !== MEAN) return source.row(layer, head, token);
  const rows = Array.from({ length: source.heads }, (_, h) => source.row(layer, h, token));
  return rows[0] && rows[0].map((_, j) => rows.reduce((sum, row) => sum + row[j], 0) / source.heads);
}

/** What is drawn: the map over the patches, which of them are lit, and what goes to [CLS]. */
export function compute(source, { layer, head, row, column, share }) {
  const { side, colours } = source, cls = row < 0 || column < 0, token = cls ? 0 : 1 + row * side + column;
  const all = weightsOf(source, layer, head, token);
  if (!all) return { side, cls, token, known: false, map: [], kept: [], count: 0, elsewhere: 0, colours };
  const map = Array.from(all.subarray(1)), kept = keepMass(map, share).map(Number);
  const count = kept.reduce((a, b) => a + b, 0);
  return { side, cls, token, known: true, map, kept, count, elsewhere: all[0], colours };
}

/** The model's part: loads it on request, then reads one picture at a time. `found(result)` gets what it saw. */
function runner(figure, model, { picture, found, words }) {
  const bar = make("progress", { max: 1, value: 0, "aria-label": "The model reads the picture" });
  const step = make("span.al-weights-words"), again = button("Read it again", () => run());
  const cancel = button("Cancel", () => job?.cancel());
  const node = make("div.al-weights", { hidden: true }, bar, step, cancel, again);
  let worker = null, ready = false, job = null;

  const panel = weightsPanel(figure, model, {
    what: "DINOv2",
    ready: async (bytes) => {
      worker ??= openWorker("dino_job", { fallback: { open, look } });
      await worker.call("open", { bytes });
      ready = true;
      run();
    },
  });
  function show(busy, retry = false) {
    node.hidden = !busy && !retry;
    bar.hidden = step.hidden = cancel.hidden = !busy;
    again.hidden = !retry;
  }
  async function run() {
    if (!ready) return;
    job?.cancel();
    const { pixels, size } = picture(), layers = model.get("firsts").shape[0];
    const mine = (job = worker.call("look", { pixels, size }, {
      progress: (share, { layer }) => {
        if (job !== mine) return;
        bar.value = share;
        step.textContent = `layer ${layer} of ${layers}`;
      },
    }));
    bar.value = 0;
    step.textContent = "cutting it into patches";
    words("");
    show(true);
    try {
      const result = await mine;
      if (job === mine) { show(false); found(result); }
    } catch (error) {
      if (job !== mine) return; // another picture has taken its place
      show(false, true);
      words(error.name === "Cancelled" ? "Cancelled." : error.message);
    }
  }
  figure.cleanup(() => worker?.close());
  return { nodes: [panel, node], run, ready: () => ready };
}

/** All heads and their mean as small maps that are buttons. */
function headStrip(figure, heads, chosen) {
  const thumbs = [...Array(heads).keys(), MEAN].map((head) => {
    const canvas = make("canvas"), name = head === MEAN ? "mean" : String(head + 1);
    const label = head === MEAN ? "Mean of the heads" : `Head ${head + 1}`;
    const node = make("button.al-de-thumb", { type: "button", "aria-label": label, onclick: () => chosen(head) },
      canvas, make("span", {}, name));
    return { head, canvas, node };
  });
  const title = make("div.al-de-title"), rows = thumbs.map(({ node }) => node);
  const strip = make("div.al-de-heads.al-aside", { role: "group", "aria-label": "Heads of this layer" },
    title, make("div.al-de-strip", {}, ...rows));
  const paint = (source, now, cell) => {
    title.textContent = `All heads of layer ${now.layer + 1}`;
    for (const { head, canvas, node } of thumbs) {
      const { side } = source, token = now.row < 0 ? 0 : 1 + now.row * side + now.column;
      const map = weightsOf(source, now.layer, head, token)?.subarray(1) ?? new Float64Array(side ** 2);
      const top = map.reduce((a, b) => Math.max(a, b), 1e-9);
      paintMap(canvas, map, side, side, side * cell, side * cell, figure.theme, (w) => weightPlace(w, top));
      node.setAttribute("aria-pressed", String(head === now.head));
    }
  };
  return { strip, paint };
}

const titled = (canvas) => {
  const title = make("div.al-de-title");
  return { canvas, title, node: make("div", {}, title, canvas) };
};

/** The three pictures: what is lit, the map, the colours of the patches. Returns { nodes, paint }. */
function threePictures(figure, place, side) {
  const [photo, map, colours] = [
    { role: "application", tabindex: "0" }, { role: "img" }, { role: "img" },
  ].map((given) => titled(make("canvas", given)));
  for (const { canvas } of [photo, map, colours]) onPress(figure, canvas, () => [side(), side()], place);
  const grid = make("div.al-de-grid", {}, photo.node, map.node, colours.node);
  let width = 720;

  function sizes(em) {
    if (lecture()) { // two pictures side by side
      const half = Math.floor(Math.min((width - em) / 2, figure.tall(24 * em, photo.canvas)));
      return [half, half, half];
    }
    const three = width > 44 * em;
    grid.dataset.columns = three ? 3 : 2;
    const small = Math.floor(Math.min((width - (three ? 2 : 1) * em) / (three ? 3 : 2), 25 * em));
    return [three ? small : Math.floor(Math.min(width, 26 * em)), small, small];
  }
  function paint(now, picture, { row, column, share }) {
    const [first, second, third] = sizes(letter(figure)), cell = first / now.side, percent = Math.round(100 * share);
    const ink = context2d(photo.canvas, first, first);
    ink.drawImage(picture, 0, 0, first, first);
    ink.fillStyle = "rgba(0, 0, 0, 0.68)"; // what is not kept is dimmed
    now.kept.forEach((kept, i) => {
      const column = i % now.side, line = Math.floor(i / now.side); // whole pixels: no seams
      const [x, y, right, below] = [column, line, column + 1, line + 1].map((at) => Math.round(at * cell));
      if (!kept) ink.fillRect(x, y, right - x, below - y);
    });
    const top = now.map.reduce((a, b) => Math.max(a, b), 1e-9), blank = new Float64Array(now.side ** 2);
    const shown = now.known ? now.map : blank;
    const over = paintMap(map.canvas, shown, now.side, now.side, second, second, figure.theme,
      (w) => weightPlace(w, top));
    const palette = context2d(colours.canvas, third, third);
    palette.imageSmoothingEnabled = false;
    palette.clearRect(0, 0, third, third);
    const bytes = Array.from(now.colours, (value) => 255 * value);
    if (bytes.length) palette.drawImage(photograph(bytes, now.side), 0, 0, third, third);
    if (!now.cls)
      for (const [one, size] of [[ink, first], [over, second], [palette, third]])
        outline(one, row, column, size / now.side);
    photo.title.textContent = now.known ? `Lit: ${percent} % of the mass` : "The photograph";
    map.title.textContent = now.known ? `Weights, 0 to ${nice(top, 3)}, colour by √` : "No map yet";
    colours.title.textContent = now.colours.length ? "Patch colours (PCA)" : "No colours yet";
    const lit = now.known ? ` ${now.count} of ${now.map.length} patches are lit.` : "";
    photo.canvas.setAttribute("aria-label", `The photograph; arrow keys move the patch that looks.${lit}`);
    map.canvas.setAttribute("aria-label", `Attention map of ${now.side} by ${now.side} patches`);
    colours.canvas.setAttribute("aria-label", "The three main directions of the patches as red, green and blue");
  }
  return { node: grid, photo: photo.canvas, paint, resize: (now) => { width = now; } };
}

/** Arrow keys move the patch that attends. */
function byKeys(figure, canvas, model, side, place) {
  figure.listen(canvas, "keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    const middle = Math.floor(side() / 2);
    const start = model.get("row") < 0 ? [middle, middle] : [model.get("row"), model.get("column")];
    place(...start.map((at, axis) => Math.max(0, Math.min(side() - 1, at + move[axis]))));
  });
}

function render(context) {
  const { model } = context, image = array(model.get("image")), heavy = Boolean(model.get("weights"));
  const shipped = shippedMaps(...["firsts", "lasts", "colours"].map((key) => array(model.get(key))));
  const ours = { pixels: image.data, size: image.shape[0], name: "", own: false };
  const nothing = { ...shipped, colours: [], row: () => null };
  let picture = ours, canvas = photograph(ours.pixels, ours.size), source = shipped, seconds = 0;
  const chosen = () => Object.fromEntries(KEYS.map((key) => [key, model.get(key)]));
  const numbers = () => ({ ...compute(source, chosen()), own: picture.own });
  const figure = frame(context, { name: "dino-explorer", numbers });

  const layer = slider({
    label: "Layer", min: 0, max: shipped.layers - 1, step: 1, value: 0,
    format: (n) => `${n + 1} of ${shipped.layers}`, input: (v) => figure.push("layer", v),
  });
  const share = slider({
    label: "Light", min: 0.1, max: 1, step: 0.05, value: 0.6,
    format: (v) => `${Math.round(100 * v)} % of the mass`, input: (v) => figure.push("share", v),
  });
  const cls = button("[CLS] looks", () => place(-1, -1));
  figure.controls.append(layer, share, cls);
  function place(row, column) {
    figure.push("row", row);
    figure.push("column", column);
  }
  const views = threePictures(figure, place, () => source.side);
  byKeys(figure, views.photo, model, () => source.side, place);
  const heads = headStrip(figure, shipped.heads, (head) => figure.push("head", head));
  const readout = make("div.al-readout");
  figure.body.append(views.node, heads.strip, readout);

  const status = make("p.al-de-status", { role: "status" }), back = button("Back to ours", () => take(ours));
  const words = (text, bad = false) => { status.textContent = text; status.dataset.bad = bad; status.hidden = !text; };
  const run = heavy && runner(figure, model, { picture: () => picture, words, found: (result) => {
    source = foundMaps(result, shipped.layers, shipped.heads);
    seconds = result.milliseconds / 1000;
    paint();
    figure.say(`The model has read ${picture.own ? "your photograph" : "the picture"}. ${readout.textContent}`);
  } });
  if (heavy) {
    const promise = make("p", {}, "DINOv2 runs here, in your browser. Your photograph stays on this page: " +
      "nothing is uploaded.");
    figure.body.append(make("div.al-de-own", {}, promise, ...run.nodes,
      make("div.al-de-open", {}, ...pictureButtons(figure, opened), back), status));
  }
  words("");

  /** Another picture: what was found on the last one is not shown on it. */
  function take(next) {
    picture = next;
    canvas = photograph(next.pixels, next.size);
    source = next.own ? nothing : shipped;
    paint();
    run.run();
  }
  async function opened(file) {
    try {
      const next = await readPicture(file, SIZE);
      take({ ...next, own: true });
      words([...next.notes, ...(run.ready() ? [] : ["Load DINOv2 to see what it sees."])].join(" "));
    } catch (error) {
      words(error.name === "Unreadable" ? error.message : `The file could not be read: ${error.message}`, true);
    }
  }
  function sentence(now, { layer: n, head, row, column, share: part }) {
    const who = now.cls ? "[CLS]" : `The patch in row ${row + 1}, column ${column + 1}`;
    if (!now.known) return picture.own
      ? `${shorten(picture.name, 40)} is open, but the model has not read it yet.`
      : `${who} in layer ${n + 1}: for this map, load the model. Without it, patches are shown in the last layer only.`;
    return `${who}, layer ${n + 1}, ${head === MEAN ? "mean of the heads" : `head ${head + 1}`}: ` +
      `${now.count} of ${now.map.length} patches hold ${Math.round(100 * part)} % of what goes to patches; ` +
      `${nice(100 * now.elsewhere, 0)} % goes to [CLS].${source.whole ? ` Read here in ${nice(seconds, 1)} s.` : ""}`;
  }
  function paint() {
    const choice = chosen(), now = compute(source, choice);
    [layer.value, share.value, back.hidden] = [choice.layer, choice.share, !picture.own];
    cls.setAttribute("aria-pressed", String(now.cls));
    views.paint(now, canvas, choice);
    heads.paint(source, choice, 4);
    readout.textContent = sentence(now, choice);
  }
  paint();
  figure.on(KEYS, () => figure.schedule(paint));
  figure.onTheme(() => figure.schedule(paint));
  let wide = 0;
  figure.onResize((now) => { if (now > 0 && Math.abs(now - wide) > 0.5) { views.resize((wide = now)); paint(); } });
  return figure.dispose;
}

export default { render };
