// An attention map on one canvas: who (row) attends to whom (column), with temperature, masks and heads.
// Scores come from q and k, or are the logarithms of given weights; everything after them is recomputed here.
import { measuring, painting } from "./heatmap_painting.js";
import { array, button, choice, frame, lecture, make, nice, pack, shorten, slider, toggle, visible } from "./kit.js";
import { paintWeights } from "./map.js";
import { attend, nested, presetMask, scores } from "./math.js";
import { weightPlace } from "./palette.js";

const PRESETS = [["none", "none"], ["causal", "causal"], ["padding", "padding"], ["window", "window"]];

/** What the traits say, as typed arrays: H heads, L queries, S keys, D width (null with given weights). */
export function unpackData({ weights, q, k }) {
  const w = array(weights), queries = array(q), keys = array(k);
  if (w) {
    const [L, S] = w.shape.slice(-2);
    return { H: w.shape.length === 3 ? w.shape[0] : 1, L, S, D: null, weights: w.data };
  }
  const [L, D] = queries.shape.slice(-2), S = keys.shape.at(-2);
  return { H: queries.shape.length === 3 ? queries.shape[0] : 1, L, S, D, q: queries.data, k: keys.data };
}

/** Scores (L, S) of one head before scaling: q·k, or log weights. */
export function headScores(data, head) {
  const { L, S, D } = data;
  if (!data.q) return Float64Array.from(data.weights.subarray(head * L * S, (head + 1) * L * S), Math.log);
  return scores(data.q.subarray(head * L * D, (head + 1) * L * D), data.k.subarray(head * S * D, (head + 1) * S * D),
    L, S, D);
}

/** Scores divided by √D; given weights have nothing to scale. */
export function scaleScores(data, raw, scaled) {
  return data.q && scaled ? raw.map((s) => s / Math.sqrt(data.D)) : raw;
}

/** Scores, scaled scores, weights, sums and entropy (bits) of one head. `mask` is flat (L, S), 1 = may attend. */
export function compute(data, { head = 0, temperature = 1, scaled = true, mask = null }) {
  const raw = headScores(data, head), scaledScores = scaleScores(data, raw, scaled);
  return { raw, scaledScores, ...attend(scaledScores, data.L, data.S, { temperature, mask }) };
}

/** A mask from Python, (L, S) or with an axis of 1, as flat (L, S). */
function spread(mask, L, S) {
  const [rows, columns] = mask.shape, out = new Uint8Array(L * S);
  for (let i = 0; i < L; i++)
    for (let j = 0; j < S; j++) out[i * S + j] = mask.data[(rows === 1 ? 0 : i) * columns + (columns === 1 ? 0 : j)];
  return out;
}

/** What the reader can turn and switch. */
function controls(it) {
  const { context } = it;
  const { model } = context;
  const CHOICES = ["temperature", "scaled", "mask", "radius", "padding", "head", "edited"];
  const start = Object.fromEntries(CHOICES.map((key) => [key, model.get(key)]));
  const figure = frame(context, { name: "attention-heatmap", numbers: (...given) => it.numbers(...given) });

  // from Python, until it changes them; kept: scores of each head
  Object.assign(it, { data: null, queries: null, keys: null });
  Object.assign(it, { mask: null, preset: null, shown: null });              // from the choices
  // the cell under the pointer or the keyboard cursor: [row, column]
  Object.assign(it, { active: null });

  // ---- controls
  const heads = choice({ label: "Head", options: [], value: 0, input: (v) => figure.push("head", Number(v)) });
  const heat = slider({
    label: "Temperature", min: 0.05, max: 20, log: true, detents: [1], value: model.get("temperature"),
    format: (t) => t.toFixed(2), input: (t) => figure.push("temperature", t),
  });
  const kind = choice({ label: "Mask", options: PRESETS, value: "none", input: (v) => {
    figure.push("edited", null);
    figure.push("mask", v);
  } });
  const amount = (key, label) => slider({
    label, min: 0, max: 8, step: 1, value: model.get(key), format: (n) => n.toFixed(0),
    input: (n) => { figure.push("edited", null); figure.push(key, Math.round(n)); },
  });
  const radius = amount("radius", "radius"), padding = amount("padding", "padded keys");
  const scaled = toggle({ label: "scale by 1/√d", value: true, input: (v) => figure.push("scaled", v) });
  const reset = button("Reset", () => {
    for (const key of CHOICES) if (key !== "head") figure.push(key, start[key]);
    figure.say("Temperature and mask are reset.");
  });
  figure.controls.append(heat, heads, kind, radius, padding, scaled, reset);
  Object.assign(it, { model, CHOICES, figure, heads, heat, kind, radius, padding, scaled });
}

/** The map, its legend and its thumbnails. */
function body(it) {
  const { figure } = it;
  const canvas = make("canvas", { "aria-hidden": "true" });
  const map = make("div.al-map", {
    tabindex: 0, role: "application", "aria-roledescription": "attention map",
    "aria-label": "Attention map. Arrow keys move between cells, space blocks or allows a cell, Home and End go to " +
      "the ends of a row.",
  }, canvas);
  const readout = make("div.al-readout.al-cell-readout");
  const strip = make("div.al-heads", { role: "radiogroup", "aria-label": "Heads" });
  const ramp = make("div.al-ramp", { "aria-hidden": "true" });
  const note = make("span.al-mask-note");
  const legend = make("div.al-legend", {},
    make("div.al-scale", { "aria-hidden": "true", title: "The colour grows with the square root of the weight." }, ramp,
      make("div.al-ticks", {},
        ...[0, 0.1, 0.3, 0.6, 1].map((w) => make("span", { style: `left:${100 * weightPlace(w)}%` }, String(w))))),
    make("span.al-blocked-key", {}, make("span.al-hatch", { "aria-hidden": "true" }), note));
  const side = make("div.al-side", {}, strip, legend, readout);
  const layout = make("div.al-heat", {}, map, side);
  figure.body.append(layout);

  const offscreen = document.createElement("canvas");
  Object.assign(it, { canvas, map, readout, strip, ramp, note, layout, offscreen });
}

/** From the traits to weights and pixels. */
function dataOf(it) {
  const { model, figure, heads, heat, kind, radius, padding, scaled, strip, offscreen } = it;
  let names;
  let kept;
  let pixels;
  let thumbs = [];
  let stale = 0;
  function reload() {
    it.data = unpackData({ weights: model.get("weights"), q: model.get("q"), k: model.get("k") });
    const { H, L, S } = it.data;
    kept = Array.from({ length: H }, () => null);
    it.queries = model.get("tokens");
    it.keys = model.get("key_tokens")?.length ? model.get("key_tokens") : it.queries;
    const given = model.get("head_names");
    names = Array.from({ length: H }, (_, h) => given?.[h] ?? `head ${h}`);
    heads.fill(names.map((name, h) => [h, shorten(name, 24)]));
    heads.hidden = strip.hidden = H < 2;
    scaled.hidden = !it.data.q;
    kind.fill([...PRESETS, ...Object.keys(model.get("masks") ?? {}).map((name) => [name, shorten(name, 24)])]);
    for (const knob of [radius, padding]) knob.querySelector("input").max = String(Math.max(1, S - 1));
    offscreen.width = S;
    offscreen.height = L;
    pixels = new ImageData(S, L);
    if (it.active && (it.active[0] >= L || it.active[1] >= S)) it.active = null;
    buildThumbs();
    it.metrics = null;
    update();
  }
  /** `compute` of one head, with the scores kept from the last time: only the softmax runs again. */
  function attendNow(head) {
    const scale = model.get("scaled");
    if (kept[head]?.scale !== scale) {
      const raw = kept[head]?.raw ?? headScores(it.data, head);
      kept[head] = { scale, raw, scaledScores: scaleScores(it.data, raw, scale) };
    }
    const { raw, scaledScores } = kept[head];
    return { raw, scaledScores,
      ...attend(scaledScores, it.data.L, it.data.S, { temperature: model.get("temperature"), mask: it.mask }) };
  }
  const headNow = () => Math.min(model.get("head"), it.data.H - 1);

  function readMask() {
    const { L, S } = it.data, name = model.get("mask"), own = model.get("masks")?.[name];
    it.preset = own ? spread(array(own), L, S)
      : presetMask(name, L, S, { radius: model.get("radius"), padding: model.get("padding") })
        ?? presetMask("none", L, S);
    const edited = array(model.get("edited"));
    it.mask = edited && edited.data.length === L * S ? edited.data : it.preset;
  }

  /** Recompute what the choices changed, and draw. */
  function update() {
    readMask();
    it.blockedPath = null;
    it.shown = attendNow(headNow());
    stale = 0;
    paintThumbs();
    fillPixels(pixels, it.shown.weights);
    offscreen.getContext("2d").putImageData(pixels, 0, 0);
    heads.value = headNow();
    heat.value = model.get("temperature");
    kind.value = model.get("mask");
    radius.value = model.get("radius");
    padding.value = model.get("padding");
    radius.hidden = model.get("mask") !== "window";
    padding.hidden = model.get("mask") !== "padding";
    scaled.value = model.get("scaled");
    it.paint();
  }

  /** All thumbnails in this frame; those of huge maps one per frame, so that the slider stays smooth. */
  function paintThumbs() {
    const most = it.data.H * it.data.L * it.data.S > 120_000 ? stale + 1 : thumbs.length;
    for (; stale < Math.min(most, thumbs.length); stale++) {
      const { node, picture } = thumbs[stale], chosen = stale === headNow();
      fillPixels(picture.pixels, chosen ? it.shown.weights : attendNow(stale).weights);
      picture.context.putImageData(picture.pixels, 0, 0);
      node.setAttribute("aria-checked", String(chosen));
      node.tabIndex = chosen ? 0 : -1;
    }
    if (stale < thumbs.length) figure.schedule(paintThumbs);
  }

  const fillPixels = (image, weights) => paintWeights(image, weights, figure.theme, {
    shown: (c) => it.mask[c], ground: figure.theme.dark ? [38, 43, 52] : [228, 228, 222],
  });

  function buildThumbs() {
    const { H, L, S } = it.data;
    thumbs = [];
    strip.replaceChildren();
    if (H < 2) return;
    strip.style.setProperty("--al-thumb", names.some((name) => name.length > 8) ? "84px" : "58px");
    for (let h = 0; h < H; h++) {
      const small = make("canvas", { "aria-hidden": "true", width: S, height: L, style: `aspect-ratio:${S}/${L}` });
      const node = make("button.al-head", { type: "button", role: "radio", title: names[h],
        onclick: () => figure.push("head", h) },
        small, make("span", {}, shorten(names[h], 18)));
      thumbs.push({ node, picture: { context: small.getContext("2d"), pixels: new ImageData(S, L) } });
      strip.append(node);
    }
  }
  figure.listen(strip, "keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (headNow() + step + it.data.H) % it.data.H;
    figure.push("head", next);
    thumbs[next].node.focus();
  });
  Object.assign(it, { reload, attendNow, headNow, readMask, update });
}

/** The cell in words: what is shown beside the map, and what is said aloud. */
function telling(it) {
  const { model, figure, readout, note, headNow } = it;
  const vector = (from, row) => {
    const all = from.subarray(row * it.data.D, (row + 1) * it.data.D);
    const first = Array.from(all.subarray(0, 4), (x) => nice(x, 2)).join(", ");
    return all.length > 4 ? `[${first}, … ${it.data.D} numbers]` : `[${first}]`;
  };

  function describe() {
    const changed = it.mask.reduce((n, m, c) => n + (m !== it.preset[c]), 0);
    const blocked = it.mask.reduce((n, m) => n + (m ? 0 : 1), 0);
    note.textContent = `${blocked} masked` + (changed ? `, ${changed} by hand` : "");
    if (!it.active) {
      readout.replaceChildren(make("p.al-hint", {},
        matchMedia("(pointer: coarse)").matches
          ? "Tap a cell to see where its weight comes from. Tap it again to mask it."
          : "Point at a cell to see where its weight comes from. Click or drag to mask cells. Keyboard: arrows and " +
            "space."));
      return;
    }
    const [i, j] = it.active, { L, S, D } = it.data, c = i * S + j, head = headNow();
    const line = (name, value) => [make("dt", {}, name), make("dd", {}, value)];
    const t = model.get("temperature");
    const rows = it.data.q ? [
      line("q", vector(it.data.q.subarray(head * L * D), i)),
      line("k", vector(it.data.k.subarray(head * S * D), j)),
      line("score q·k", nice(it.shown.raw[c])),
      line(model.get("scaled") ? `÷ √${D}` : "not scaled", nice(it.shown.scaledScores[c])),
    ] : [line("given weight", nice(it.data.weights[head * L * S + c], 4))];
    if (t !== 1) rows.push(line(`${it.data.q ? "÷" : "log ÷"} τ = ${t.toFixed(2)}`,
      nice(it.shown.scaledScores[c] / t)));
    rows.push(line("weight", it.mask[c] ? nice(it.shown.weights[c], 4) : "0, masked"));
    rows.push(line("row", `Σ ${nice(it.shown.sums[i], 2)}, entropy ${nice(it.shown.bits[i], 2)} bits`));
    readout.replaceChildren(
      make("div.al-pair", {}, make("bdi", { title: shorten(it.queries[i], 200) }, shorten(visible(it.queries[i]), 24)),
        " → ",
        make("bdi", { title: shorten(it.keys[j], 200) }, shorten(visible(it.keys[j]), 24))),
      make("dl", {}, ...rows.flat()),
      blockButton);
    blockButton.textContent = it.mask[c] ? "Mask this cell" : "Unmask this cell";
  }
  const blockButton = button("", () => {
    if (it.active) it.setCells([it.active], !it.mask[it.active[0] * it.data.S + it.active[1]]);
  });

  function speak() {
    if (!it.active) return; // left meanwhile
    const [i, j] = it.active, c = i * it.data.S + j;
    figure.say(`${shorten(visible(it.queries[i]), 30)} to ${shorten(visible(it.keys[j]), 30)}: ` +
      (it.mask[c] ? `weight ${nice(it.shown.weights[c])}` : "masked"));
  }
  Object.assign(it, { describe, speak });
}

/** Masks by hand: pointer, finger, keyboard. */
function hands(it) {
  const { figure, canvas, map, paint, speak } = it;
  function setCells(cells, value) {
    const { L, S } = it.data, next = it.mask.slice();
    for (const [i, j] of cells) next[i * S + j] = value ? 1 : 0;
    if (next.every((m, c) => m === it.mask[c])) return;
    it.mask = next;
    figure.push("edited", next.every((m, c) => m === it.preset[c]) ? null : pack([L, S], next));
  }

  function cellAt(event) {
    if (!it.metrics) return null;
    const box = canvas.getBoundingClientRect(), zoom = canvas.offsetWidth / box.width; // slides are scaled
    const j = Math.floor(((event.clientX - box.left) * zoom - it.metrics.left) / it.metrics.cell);
    const i = Math.floor(((event.clientY - box.top) * zoom - it.metrics.top) / it.metrics.cell);
    return i >= 0 && j >= 0 && i < it.data.L && j < it.data.S ? [i, j] : null;
  }
  const same = (a, b) => a && b && a[0] === b[0] && a[1] === b[1];
  const point = (cell) => {
    if (same(cell, it.active)) return;
    it.active = cell;
    figure.schedule(paint);
  };

  let brush = null, last = null; // while dragging: the value painted, the last cell
  figure.listen(canvas, "pointermove", (event) => {
    if (event.pointerType === "touch") return;
    const cell = cellAt(event);
    if (cell) point(cell);
    if (brush !== null && cell && !same(cell, last)) {
      const steps = Math.max(Math.abs(cell[0] - last[0]), Math.abs(cell[1] - last[1]));
      setCells(Array.from({ length: steps },
        (_, s) => last.map((v, a) => Math.round(v + ((cell[a] - v) * (s + 1)) / steps))), brush);
      last = cell;
    }
  });
  figure.listen(canvas, "pointerdown", (event) => {
    const cell = cellAt(event);
    if (!cell || event.button !== 0) return;
    if (event.pointerType === "touch") return;
    canvas.setPointerCapture(event.pointerId);
    brush = !it.mask[cell[0] * it.data.S + cell[1]];
    last = cell;
    point(cell);
    setCells([cell], brush);
  });
  for (const end of ["pointerup", "pointercancel"]) figure.listen(canvas, end, (event) => {
    // A finger scrolls the page; its tap chooses a cell, and a second tap on that cell masks it.
    if (event.pointerType === "touch" && end === "pointerup") {
      const cell = cellAt(event);
      if (cell && same(cell, it.active)) setCells([cell], !it.mask[cell[0] * it.data.S + cell[1]]);
      else if (cell) point(cell);
    }
    brush = null;
  });

  figure.listen(map, "keydown", (event) => {
    const { L, S } = it.data, [i, j] = it.active ?? [0, 0];
    const moves = {
      ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1],
      Home: event.ctrlKey ? [0, 0] : [i, 0], End: event.ctrlKey ? [L - 1, S - 1] : [i, S - 1],
    };
    if (event.key in moves) {
      const [row, column] = it.active ? moves[event.key] : [0, 0];
      point([Math.max(0, Math.min(L - 1, row)), Math.max(0, Math.min(S - 1, column))]);
      speak();
    } else if (event.key === " " || event.key === "Enter") {
      point([i, j]);
      setCells([[i, j]], !it.mask[i * S + j]);
      figure.schedule(speak);
    } else if (event.key === "Escape" && it.active) point(null);
    else return;
    event.preventDefault();
  });
  let pressed = false; // a click also focuses, but the pointer has chosen its cell
  figure.listen(map, "pointerdown", () => { pressed = true; });
  figure.listen(map, "focus", () => {
    if (!pressed && !it.active) { point([0, 0]); speak(); }
    pressed = false;
  });
  Object.assign(it, { setCells });
}

/** What happens when something changes. */
function life(it) {
  const { model, CHOICES, figure, ramp, layout, reload, attendNow, headNow, readMask, update, paint } = it;
  function restyle() {
    it.hatchPattern = null;
    const { ramp: colour } = figure.theme;
    ramp.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(colour).join(", ")})`;
  }
  restyle();
  reload();
  figure.onTheme(() => { restyle(); figure.schedule(update); });
  figure.onResize((w) => {
    if (Math.abs(w - it.width) < 1) return;
    it.width = w;
    layout.dataset.narrow = String(w < 660 && !lecture());
    it.metrics = it.blockedPath = null;
    paint();
  });
  figure.on(CHOICES, () => figure.schedule(update));
  figure.on(["weights", "q", "k", "tokens", "key_tokens", "masks", "head_names"], () => figure.schedule(reload));

  function numbers() {
    const { L, S } = it.data;
    readMask();
    const now = attendNow(headNow());
    return {
      weights: nested(now.weights, L, S), temperature: model.get("temperature"), head: headNow(),
      mask: nested(it.mask, L, S).map((row) => row.map(Boolean)), entropy: [...now.bits], rowSums: [...now.sums],
      scores: nested(now.raw, L, S), scaledScores: nested(now.scaledScores, L, S), scaled: model.get("scaled"),
    };
  }
  Object.assign(it, { numbers });
}

function render(context) {
  const it = { context };
  for (const piece of [controls, body, dataOf, measuring, painting, telling, hands, life]) piece(it);
  const { figure } = it;
  return figure.dispose;
}

export default { render };
