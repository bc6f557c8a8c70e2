// A captioner at work: the words one by one, and the attention before each, laid over the picture.
// α = softmax(scores / τ) over the cells of the grid. The picture is bright where the weight is large: by its
// square root, so that small weights can be seen, too.
import { button, choice, context2d, frame, legible, make, nice, shorten, slider, toggle, visible } from "./kit.js";
import { entropy, nested, softmax } from "./math.js";
import { weightPlace } from "./palette.js";
import { player } from "./player.js";

const PACE = 1100; // milliseconds per word
const PRESETS = [0.3, 1, 3];
const SIDE = 400; // of the picture, at most

/** Does the middle of cell (row, column) lie in one of the boxes (left, top, right, bottom)? */
export function inBoxes(row, column, [rows, columns], [width, height], boxes) {
  const x = ((column + 0.5) * width) / columns, y = ((row + 0.5) * height) / rows;
  return boxes.some(([left, top, right, bottom]) => x >= left && x < right && y >= top && y < bottom);
}

/** Everything the figure shows of one word. */
export function look(scene, word, temperature) {
  const [rows, columns] = scene.grid;
  const weights = softmax(scene.scores[word], { temperature });
  let top = 0;
  for (let c = 1; c < weights.length; c++) if (weights[c] > weights[top]) top = c;
  const peak = [Math.floor(top / columns), top % columns];
  const boxes = scene.boxes[word];
  let inside = 0;
  for (let c = 0; c < weights.length; c++)
    if (inBoxes(Math.floor(c / columns), c % columns, scene.grid, scene.size, boxes)) inside += weights[c];
  return {
    weights, peak, boxes, inside, largest: weights[top], bits: entropy(weights),
    hit: boxes.length ? inBoxes(...peak, scene.grid, scene.size, boxes) : null,
  };
}

/** What is shown, and the controls: whatever the reader does, the playing stops. */
function controls(it) {
  const { context } = it;
  const { model } = context;
  const sceneNow = () => model.get("scenes")[model.get("scene")];
  const wordNow = () => Math.min(model.get("word"), sceneNow().words.length - 1);
  const lookNow = () => look(sceneNow(), wordNow(), model.get("temperature"));
  const figure = frame(context, {
    name: "caption-stepper",
    numbers: () => {
      const now = lookNow(), [rows, columns] = sceneNow().grid;
      return {
        scene: model.get("scene"), word: wordNow(), said: sceneNow().words[wordNow()],
          temperature: model.get("temperature"),
        weights: nested(now.weights, rows, columns), peak: now.peak, largest: now.largest, entropy: now.bits,
        inside: now.inside, hit: now.hit === null ? "no object word" : now.hit ? "inside" : "outside",
      };
    },
  });

  // ---- controls; whatever the reader does, the playing stops
  const by = (key, value) => { walk.stop(); figure.push(key, value); };
  const go = (word) => { const last = sceneNow().words.length - 1; by("word", Math.max(0, Math.min(last, word))); };
  const titles = () => model.get("scenes").map(
    (scene, i) => [i, `${i + 1}: ${shorten(visible(scene.words.join(" ")), 44)}`]);
  const which = choice({ label: "Picture", options: titles(), value: model.get("scene"), input: (v) => {
    walk.stop();
    model.set("word", 0);
    figure.push("scene", Number(v));
  } });
  const heat = slider({
    label: "Temperature τ", min: 0.1, max: 10, log: true, detents: PRESETS, value: model.get("temperature"),
    format: (t) => (t >= 10 ? t.toFixed(1) : t.toFixed(2)), input: (t) => by("temperature", t),
  });
  const figures = toggle({ label: "Weights in %", value: model.get("show_numbers"),
    input: (v) => by("show_numbers", v) });
  const walk = player(figure, {
    at: wordNow, last: () => sceneNow().words.length - 1, go: (word) => figure.push("word", word), pace: PACE,
    names: { label: "Word by word" }, tag: "div.al-player.al-main.al-cs-steps",
  });
  figure.controls.append(which, heat, figures);
  Object.assign(it, {
    model, sceneNow, wordNow, lookNow, figure, go, titles, which, heat, figures, walk,
  });
}

/** The picture and the words beside it. */
function body(it) {
  const { figure, walk } = it;
  const canvas = make("canvas");
  const map = make("div.al-cs-map", {
    role: "application", tabindex: 0,
      "aria-label": "The picture with the attention weights. Arrow keys go from cell to cell.",
  }, canvas);
  const chips = make("div.al-cs-words", { role: "group", "aria-label": "Words of the caption" });
  const verdict = make("p.al-cs-verdict");
  const readout = make("div.al-readout");
  const legend = make("p.al-cs-legend", {},
    make("span.al-cs-key.al-cs-peak", { "aria-hidden": "true" }), " largest weight  ",
    make("span.al-cs-key.al-cs-box", { "aria-hidden": "true" }),
      " where the named object is (the model never saw this)");
  const side = make("div.al-cs-side", {},
    walk.node, chips, verdict, readout, legend);
  figure.body.append(make("div.al-cs-layout", {}, map, side));
  Object.assign(it, { canvas, map, chips, verdict, readout });
}

/** The picture, with the weights laid over it. */
function picturing(it) {
  const { model, sceneNow, lookNow, figure, canvas } = it;
  const images = new Map();
  function imageOf(address) {
    if (!images.has(address)) {
      const image = new Image();
      if (String(address).startsWith("data:image/png;base64,")) image.src = address;
      image.onload = () => figure.schedule(paint);
      images.set(address, image);
    }
    return images.get(address);
  }
  figure.cleanup(() => { for (const image of images.values()) image.onload = null; });

  Object.assign(it, { width: 0, active: null, made: "" });
  const outline = (ctx, x, y, w, h, { dash = [], colour }) => {
    ctx.setLineDash([]);
    ctx.lineWidth = 5;
    ctx.strokeStyle = "rgba(0, 0, 0, 0.75)";
    ctx.strokeRect(x, y, w, h);
    ctx.setLineDash(dash);
    ctx.lineWidth = 2.5;
    ctx.strokeStyle = colour;
    ctx.strokeRect(x, y, w, h);
    ctx.setLineDash([]);
  };

  function paint() {
    if (!it.width) return;
    const scene = sceneNow(), now = lookNow(), [rows, columns] = scene.grid;
    const wide = Math.min(it.width, figure.tall(SIDE, canvas)), high = (wide * scene.size[1]) / scene.size[0];
    const ctx = context2d(canvas, wide, high);
    const cw = wide / columns, ch = high / rows, scale = wide / scene.size[0];
    ctx.clearRect(0, 0, wide, high);
    ctx.imageSmoothingQuality = "high";
    const image = imageOf(scene.picture);
    if (image.complete && image.naturalWidth) ctx.drawImage(image, 0, 0, wide, high);
    for (let c = 0; c < rows * columns; c++) { // a veil that is thin where the weight is large
      ctx.fillStyle = `rgba(10, 12, 20, ${(0.76 * (1 - weightPlace(now.weights[c], now.largest))).toFixed(3)})`;
      const x = Math.round((c % columns) * cw), y = Math.round(Math.floor(c / columns) * ch);
      ctx.fillRect(x, y, Math.round((c % columns + 1) * cw) - x, Math.round((Math.floor(c / columns) + 1) * ch) - y);
    }
    ctx.strokeStyle = "rgba(255, 255, 255, 0.14)";
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (let i = 1; i < rows; i++) {
      ctx.moveTo(0, Math.round(i * ch) + 0.5);
      ctx.lineTo(wide, Math.round(i * ch) + 0.5);
    }
    for (let j = 1; j < columns; j++) {
      ctx.moveTo(Math.round(j * cw) + 0.5, 0);
      ctx.lineTo(Math.round(j * cw) + 0.5, high);
    }
    ctx.stroke();
    for (const [left, top, right, bottom] of now.boxes)
      outline(ctx, left * scale, top * scale, (right - left) * scale, (bottom - top) * scale,
        { dash: [7, 5], colour: "#ffffff" });
    outline(ctx, now.peak[1] * cw, now.peak[0] * ch, cw, ch, { colour: figure.theme.peak });
    if (model.get("show_numbers")) paintNumbers(ctx, now, cw, ch, columns);
    if (it.active) {
      ctx.lineWidth = 2;
      ctx.strokeStyle = figure.theme.trail;
      ctx.strokeRect(it.active[1] * cw + 3, it.active[0] * ch + 3, cw - 6, ch - 6);
    }
    it.words(scene, now);
  }

  function paintNumbers(ctx, now, cw, ch, columns) {
    ctx.font = `600 ${legible(Math.max(9, Math.min(14, cw / 3)))}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.lineWidth = 3;
    ctx.strokeStyle = "rgba(0, 0, 0, 0.8)";
    ctx.fillStyle = "#fff";
    now.weights.forEach((w, c) => {
      if (w < 0.005) return;
      const x = (c % columns + 0.5) * cw, y = (Math.floor(c / columns) + 0.5) * ch;
      ctx.strokeText((100 * w).toFixed(0), x, y);
      ctx.fillText((100 * w).toFixed(0), x, y);
    });
  }
  Object.assign(it, { images, paint });
}

/** The words that were said. */
function telling(it) {
  const { model, wordNow, go, which, heat, figures, walk, chips, verdict, readout } = it;
  function words(scene, now) {
    const word = wordNow(), key = `${model.get("scene")} ${scene.words.length}`;
    if (it.made !== key) {
      it.made = key;
      chips.replaceChildren(...scene.words.map((text, i) => button(shorten(visible(text), 16), () => go(i),
        { title: shorten(text, 200) })));
    }
    [...chips.children].forEach((chip, i) => {
      chip.setAttribute("aria-pressed", String(i === word));
      chip.classList.toggle("al-cs-later", i > word);
      chip.classList.toggle("al-cs-wrong", scene.right.length > 0 && scene.right[i] !== scene.words[i]);
    });
    const same = scene.right.length === scene.words.length && scene.right.every((w, i) => w === scene.words[i]);
    verdict.textContent = !scene.right.length ? "" : same ? "✓ The whole caption is right."
      : `✗ Right would be: ${shorten(visible(scene.right.join(" ")), 120)}`;
    walk.paint();
    if (which.value !== String(model.get("scene"))) which.value = model.get("scene");
    if (heat.value !== model.get("temperature")) heat.value = model.get("temperature");
    figures.value = model.get("show_numbers");
    const cells = scene.grid[0] * scene.grid[1];
    const lines = [
      `Before “${shorten(visible(scene.words[word]), 24)}”: largest weight ${nice(now.largest)} in ` +
        `row ${now.peak[0] + 1}, column ${now.peak[1] + 1}` +
        (now.hit === null ? "." : `, ${now.hit ? "inside" : "outside"} the box.`),
      now.hit === null ? "This word names no object: no box."
        : `${nice(100 * now.inside, 0)} % of the weight lies inside.`,
      `Entropy ${nice(now.bits, 2)} bits (all ${cells} cells alike: ${nice(Math.log2(cells), 2)}).`,
      it.active ? `Row ${it.active[0] + 1}, column ${it.active[1] + 1}: ` +
        `weight ${nice(now.weights[it.active[0] * scene.grid[1] + it.active[1]], 4)}.`
        : "Point at a cell, or use the arrow keys on the picture, for its weight.",
    ];
    readout.replaceChildren(...lines.map((line) => make("div", {}, line)));
  }
  Object.assign(it, { words });
}

/** Pointing at cells. */
function pointing(it) {
  const { sceneNow, lookNow, figure, canvas, map, paint } = it;
  const point = (cell) => {
    if (String(cell) === String(it.active)) return;
    it.active = cell;
    figure.schedule(paint);
  };
  const cellAt = (event) => {
    const box = canvas.getBoundingClientRect(), [rows, columns] = sceneNow().grid;
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
    const column = Math.floor(((event.clientX - box.left) / box.width) * columns);
    return row >= 0 && column >= 0 && row < rows && column < columns ? [row, column] : null;
  };
  figure.listen(canvas, "pointermove", (event) => point(cellAt(event)));
  figure.listen(canvas, "pointerdown", (event) => point(cellAt(event)));
  figure.listen(canvas, "pointerleave", (event) => { if (event.pointerType !== "touch") point(null); });
  figure.listen(map, "keydown", (event) => {
    const [rows, columns] = sceneNow().grid, [i, j] = it.active ?? lookNow().peak;
    const moves = { ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1] };
    if (event.key in moves) {
      const [row, column] = moves[event.key];
      point([Math.max(0, Math.min(rows - 1, row)), Math.max(0, Math.min(columns - 1, column))]);
      figure.say(`Row ${it.active[0] + 1}, column ${it.active[1] + 1}: ` +
        `weight ${nice(lookNow().weights[it.active[0] * columns + it.active[1]])}`);
    } else if (event.key === "Escape" && it.active) point(null);
    else return;
    event.preventDefault();
  });
}

/** What happens when something changes. */
function life(it) {
  const { sceneNow, wordNow, lookNow, figure, titles, which, walk, images, paint } = it;
  figure.onTheme(() => figure.schedule(paint));
  figure.onResize((w) => {
    const narrow = w < 640;
    figure.body.firstChild.dataset.narrow = String(narrow);
    it.width = narrow ? Math.floor(w) - 2 : Math.min(SIDE, Math.floor(w * 0.5));
    paint();
  });
  const speak = () => {
    const now = lookNow();
    figure.say(`${shorten(visible(sceneNow().words[wordNow()]), 30)}: largest weight ${nice(now.largest)}` +
      (now.hit === null ? "" : now.hit ? ", inside the box" : ", outside the box"));
  };
  figure.on(["word", "scene"], () => { it.active = null; figure.schedule(paint); figure.schedule(speak); });
  figure.on(["temperature", "show_numbers"], () => figure.schedule(paint));
  figure.on("scenes", () => {
    walk.stop();
    images.clear();
    it.made = "";
    which.fill(titles());
    figure.schedule(paint);
  });
}

function render(context) {
  const it = { context };
  for (const piece of [controls, body, picturing, telling, pointing, life]) piece(it);
  const { figure } = it;
  return figure.dispose;
}

export default { render };
