// Why attention divides by √d: for standard normal q and k, Var(q·k) = d, so the scores spread
// with √d, the softmax saturates, and its gradient vanishes. Vaswani et al. 2017, section 3.2.1.
import { button, frame, make, nice, slider, svg, toggle } from "./kit.js";
import { entropy, normals, softmax } from "./math.js";

const PAIRS = 4096, LARGEST = 1024, BINS = 32, SPAN = 4; // bins cover ±4 standard deviations
const STEP = 0x6d2b79f5; // what `random` in math.js adds to its state for every number

/**
 * Scores q·k of `rows` queries with `keys` keys each, one width after the other: the sums over
 * the first 1, 2, 4 … 1024 coordinates. Coordinate i is a block of one long stream of normals:
 * first one number for every query, then the keys of query 0, of query 1, …
 */
export class Sample {
  constructor(keys, seed) {
    this.keys = keys;
    this.seed = seed;
    this.rows = Math.floor(PAIRS / keys);
    this.width = 0;
    this.sums = new Float64Array(this.rows * keys);
    this.kept = new Map();
  }
  /** Add coordinates until the sums are of width `dims`. */
  advance(dims) {
    const { rows, keys, sums } = this;
    const block = rows * (keys + 1) + ((rows * (keys + 1)) % 2); // an even number: Box–Muller makes pairs
    for (; this.width < dims; this.width++) {
      // The generator counts, so it can start in the middle of its stream.
      const x = normals(block, (this.seed + Math.imul(this.width * block, STEP)) >>> 0);
      for (let i = 0, at = rows, out = 0; i < rows; i++)
        for (let j = 0; j < keys; j++) sums[out++] += x[i] * x[at++];
      const done = this.width + 1;
      if ((done & (done - 1)) === 0) this.kept.set(done, sums.slice());
    }
  }
  at(dims) {
    this.advance(dims);
    return this.kept.get(dims);
  }
}

/** Frobenius norm of the softmax's Jacobian, diag(p) − p pᵀ: how much a nudge of the scores moves the weights. */
export function jacobianNorm(p) {
  let square = 0;
  for (let i = 0; i < p.length; i++) square += p[i] * p[i];
  let sum = 0;
  for (let i = 0; i < p.length; i++) sum += p[i] * p[i] * ((1 - p[i]) ** 2 + square - p[i] * p[i]);
  return Math.sqrt(Math.max(0, sum));
}

/** Everything the figure shows, from raw scores (rows × keys, flat). */
export function compute(raw, { dims, scaled, keys, query = 0 }) {
  const factor = scaled ? 1 / Math.sqrt(dims) : 1;
  const theory = scaled ? 1 : dims;
  const rows = raw.length / keys;
  let mean = 0, variance = 0;
  for (const x of raw) mean += (x * factor) / raw.length;
  for (const x of raw) variance += (x * factor - mean) ** 2 / raw.length;

  const counts = new Array(BINS).fill(0);
  const edge = SPAN * Math.sqrt(theory);
  let outside = 0;
  for (const x of raw) {
    const bin = Math.floor(((x * factor) / edge + 1) * (BINS / 2));
    if (bin >= 0 && bin < BINS) counts[bin]++;
    else outside++;
  }

  let gradient = 0, still = 0, meanLargest = 0, weights = null;
  const scores = new Float64Array(keys);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < keys; j++) scores[j] = raw[i * keys + j] * factor;
    const p = softmax(scores);
    const norm = jacobianNorm(p);
    gradient += norm / rows;
    if (norm < 0.01) still += 1 / rows;
    meanLargest += Math.max(...p) / rows;
    if (i === query % rows) weights = [...p];
  }
  return {
    dims, scaled, keys, rows, query: query % rows, mean, variance, theory, std: Math.sqrt(variance),
    weights, largest: Math.max(...weights), entropy: entropy(weights), meanLargest,
    gradient, still, counts, outside, edge,
  };
}

const WIDTHS = Array.from({ length: Math.log2(LARGEST) + 1 }, (_, e) => 2 ** e);
const short = (x) => (x >= 100 ? nice(x, 0) : x >= 10 ? nice(x, 1) : nice(x, 2));

function render(context) {
  const { model } = context;
  let sample = new Sample(model.get("key_count"), model.get("seed"));
  const memory = new Map(); // what was computed for one width and one switch
  const numbersFor = (dims, scaled) => {
    const query = model.get("query"), id = `${dims} ${scaled} ${query}`;
    if (!memory.has(id)) memory.set(id, compute(sample.at(dims), { dims, scaled, keys: sample.keys, query }));
    return memory.get(id);
  };
  const state = () => numbersFor(model.get("dims"), model.get("scaled"));
  const figure = frame(context, { name: "scale-histogram", numbers: state });
  keepKeys(figure);

  const dims = slider({
    label: "Width d", min: 0, max: Math.log2(LARGEST), step: 1, value: Math.log2(model.get("dims")),
    format: (e) => String(2 ** e), input: (e) => figure.push("dims", 2 ** e),
  });
  const scaled = toggle({ label: "divide by √d", value: model.get("scaled"), input: (on) => figure.push("scaled", on) });
  const zoom = toggle({ label: "zoom to the bell", value: model.get("zoom"), input: (on) => figure.push("zoom", on) });
  const other = button("Another query", () => figure.push("query", (state().query + 1) % sample.rows));
  figure.controls.append(dims, scaled, zoom, other);

  const panel = (name, title) => {
    const heading = make("div.al-panel-title", {}, title);
    const place = make("div.al-plot");
    const words = make("div.al-panel-words");
    return { node: make(`div.al-panel.al-${name}`, {}, heading, place, words), heading, place, words };
  };
  const bell = panel("bell", "");
  const bars = panel("bars", "");
  const slope = panel("slope", "Gradient through the softmax");
  const grid = make("div.al-panels", {}, bell.node, bars.node, slope.node);
  figure.body.append(grid);

  let width = 720, em = 15;

  /** An empty plot with room for axes. */
  function plot(wide, high, label) {
    const box = { left: 2.6 * em, right: wide - 0.8 * em, top: 1.3 * em, bottom: high - 2.7 * em };
    const node = svg("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img", "aria-label": label });
    const text = (x, y, words, anchor = "middle", kind = "al-tick") =>
      node.append(svg("text", { x, y, "text-anchor": anchor, class: kind }, words));
    const line = (x1, y1, x2, y2, kind) => node.append(svg("line", { x1, y1, x2, y2, class: kind }));
    const path = (d, kind) => node.append(svg("path", { d, class: kind }));
    line(box.left, box.bottom, box.right, box.bottom, "al-axis");
    return { node, box, text, line, path };
  }

  function drawBell(now, wide, high) {
    const sigma = Math.sqrt(now.theory);
    const reach = model.get("zoom") ? SPAN * sigma : 3.5 * Math.sqrt(LARGEST);
    const { node, box, text, line, path } = plot(wide, high, `Histogram of ${now.keys * now.rows} scores: variance ${short(now.variance)}, theory ${now.theory}`);
    box.left = 0.8 * em;
    const x = (v) => box.left + ((v / reach + 1) / 2) * (box.right - box.left);
    const bin = (2 * now.edge) / BINS, total = now.keys * now.rows;
    const density = now.counts.map((c) => c / total / bin);
    const curve = (v) => Math.exp((-v * v) / (2 * now.theory)) / Math.sqrt(2 * Math.PI * now.theory);
    const top = Math.max(curve(0), ...density);
    const y = (p) => box.bottom - (p / top) * (box.bottom - box.top);
    const clip = (v) => Math.max(-reach, Math.min(reach, v));

    let shape = "";
    density.forEach((p, i) => {
      const from = clip(-now.edge + i * bin), to = clip(-now.edge + (i + 1) * bin);
      if (to > from) shape += `M${x(from)} ${box.bottom}V${y(p)}H${x(to)}V${box.bottom}Z`;
    });
    path(shape, `al-hist ${now.scaled ? "al-scaled" : "al-raw"}`);
    let d = "";
    for (let i = 0; i <= 240; i++) {
      // Half of the points lie within the bell, however narrow it is.
      const v = i % 2 ? ((i / 240) * 2 - 1) * reach : clip(((i / 240) * 2 - 1) * SPAN * sigma);
      d += `${v} `;
    }
    const points = [...new Set(d.trim().split(" ").map(Number))].sort((a, b) => a - b);
    path(`M${points.map((v) => `${x(v).toFixed(2)} ${y(curve(v)).toFixed(2)}`).join("L")}`, "al-curve");
    // One standard deviation each way.
    const level = box.bottom + 0.35 * em;
    path(`M${x(-sigma)} ${level}v${0.3 * em}H${x(sigma)}v${-0.3 * em}`, "al-sigma");

    const step = [0.5, 1, 2, 5, 10, 20, 50].find((s) => reach / s <= 3) ?? 50;
    for (let v = -Math.floor(reach / step) * step; v <= reach; v += step) {
      line(x(v), box.bottom, x(v), box.bottom + 0.25 * em, "al-axis");
      text(x(v), box.bottom + 1.5 * em, nice(v, step < 1 ? 1 : 0));
    }
    text((box.left + box.right) / 2, high - 0.2 * em, now.scaled ? "score q·k / √d" : "score q·k", "middle", "al-name");
    text(box.right, box.top + 0.4 * em, now.scaled ? "curve: N(0, 1)" : `curve: N(0, ${now.dims})`, "end", "al-name");
    return node;
  }

  function drawBars(now, wide, high) {
    const { node, box, text, line } = plot(wide, high, `Softmax weights of query ${now.query + 1}: largest ${nice(now.largest)}`);
    const y = (p) => box.bottom - p * (box.bottom - box.top);
    for (const p of [0, 0.5, 1]) {
      line(box.left, y(p), box.right, y(p), p ? "al-grid" : "al-axis");
      text(box.left - 0.4 * em, y(p) + 0.35 * em, String(p), "end");
    }
    const slot = (box.right - box.left) / now.keys;
    const best = now.weights.indexOf(now.largest);
    now.weights.forEach((p, j) => {
      node.append(svg("rect", {
        x: box.left + j * slot + slot * 0.12, width: slot * 0.76, y: y(p), height: Math.max(0.75, box.bottom - y(p)),
        class: `al-column ${now.scaled ? "al-scaled" : "al-raw"}${j === best ? " al-best" : ""}`,
      }));
    });
    const middle = Math.max(box.left + 1.4 * em, Math.min(box.right - 1.4 * em, box.left + (best + 0.5) * slot));
    text(middle, y(now.largest) - 0.35 * em, nice(now.largest, 2), "middle", "al-strong");
    line(box.left, y(1 / now.keys), box.right, y(1 / now.keys), "al-uniform");
    const last = now.keys > 20 ? [1, Math.round(now.keys / 2), now.keys] : [1, Math.ceil(now.keys / 2), now.keys];
    for (const j of new Set(last)) text(box.left + (j - 0.5) * slot, box.bottom + 1.5 * em, String(j));
    text((box.left + box.right) / 2, high - 0.2 * em, `key (dashed: uniform, 1/${now.keys})`, "middle", "al-name");
    return node;
  }

  function drawSlope(now, wide, high) {
    const { node, box, text, line, path } = plot(wide, high, `Mean gradient against d: ${nice(now.gradient)} at d = ${now.dims}`);
    const ceiling = 0.35;
    const x = (d) => box.left + (Math.log2(d) / Math.log2(LARGEST)) * (box.right - box.left);
    const y = (g) => box.bottom - (Math.min(g, ceiling) / ceiling) * (box.bottom - box.top);
    for (const g of [0, 0.1, 0.2, 0.3]) {
      line(box.left, y(g), box.right, y(g), g ? "al-grid" : "al-axis");
      text(box.left - 0.4 * em, y(g) + 0.35 * em, String(g), "end");
    }
    const few = box.right - box.left < 15 * em;
    for (const d of WIDTHS) if (Math.log2(d) % (few ? 5 : 2) === 0) text(x(d), box.bottom + 1.5 * em, String(d));
    text((box.left + box.right) / 2, high - 0.2 * em, "width d", "middle", "al-name");
    const ready = WIDTHS.filter((d) => d <= sample.width);
    for (const on of [false, true]) {
      const points = ready.map((d) => [x(d), y(numbersFor(d, on).gradient)]);
      const active = on === now.scaled ? " al-active" : "";
      path(`M${points.map(([a, b]) => `${a.toFixed(1)} ${b.toFixed(1)}`).join("L")}`, `al-trend ${on ? "al-scaled" : "al-raw"}${active}`);
    }
    const end = (on) => y(numbersFor(Math.min(sample.width, LARGEST) >= LARGEST ? LARGEST : ready.at(-1), on).gradient);
    if (ready.length === WIDTHS.length) {
      text(box.right, end(true) - 0.6 * em, "÷ √d", "end", "al-name al-scaled-text");
      text(box.right, end(false) - 0.6 * em, "not scaled", "end", "al-name al-raw-text");
    }
    line(x(now.dims), box.top, x(now.dims), box.bottom, "al-probe");
    node.append(svg("circle", { cx: x(now.dims), cy: y(now.gradient), r: 0.38 * em, class: `al-point ${now.scaled ? "al-scaled" : "al-raw"}` }));
    return node;
  }

  function paint() {
    const now = state();
    dims.value = Math.log2(now.dims);
    scaled.value = now.scaled;
    zoom.value = model.get("zoom");
    em = parseFloat(getComputedStyle(figure.root).fontSize) || 15;
    const columns = width >= 56 * em ? 3 : width >= 34 * em ? 2 : 1;
    grid.dataset.columns = String(columns);
    const gap = 1.4 * em;
    const wide = Math.max(200, Math.floor((width - gap * (columns - 1)) / columns));
    const whole = columns === 2 ? Math.max(200, Math.floor(width)) : wide;
    const high = Math.round((columns === 3 ? 15 : 13.5) * em);

    bell.heading.textContent = `${now.keys * now.rows} random pairs`;
    bell.place.replaceChildren(drawBell(now, wide, high));
    fill(bell.words, [
      ["variance", `${short(now.variance)}`, `theory ${now.scaled ? "1" : `d = ${now.dims}`}`],
      ["standard deviation", `${short(now.std)}`, `theory ${now.scaled ? "1" : `√d = ${short(Math.sqrt(now.dims))}`}`],
    ]);
    bars.heading.textContent = `Softmax of query ${now.query + 1}`;
    bars.place.replaceChildren(drawBars(now, wide, high));
    fill(bars.words, [
      ["largest weight", nice(now.largest), `mean of ${now.rows} queries ${nice(now.meanLargest, 2)}`],
      ["entropy", `${nice(now.entropy, 2)} bits`, `uniform ${nice(Math.log2(now.keys), 2)}`],
    ]);
    slope.place.replaceChildren(drawSlope(now, whole, columns === 2 ? Math.round(11 * em) : high));
    fill(slope.words, [
      ["mean ‖diag(p) − ppᵀ‖", nice(now.gradient), `${now.rows} queries`],
      ["nearly no gradient", `${nice(100 * now.still, 0)} %`, "of queries, norm < 0.01"],
    ]);
  }

  function fill(node, lines) {
    node.replaceChildren(...lines.map(([name, value, note]) =>
      make("div", {}, `${name} `, make("strong", {}, value), make("span.al-note", {}, ` (${note})`))));
  }

  // The wide vectors take a moment: make them while nobody waits, a few coordinates at a time.
  let idle = 0;
  function ahead() {
    idle = 0;
    if (sample.width >= LARGEST) return figure.schedule(paint);
    sample.advance(Math.min(LARGEST, sample.width + 16));
    if ((sample.width & (sample.width - 1)) === 0) figure.schedule(paint);
    idle = setTimeout(ahead, 4);
  }
  figure.cleanup(() => clearTimeout(idle));

  function restart() {
    clearTimeout(idle);
    memory.clear();
    sample = new Sample(model.get("key_count"), model.get("seed"));
    paint();
    idle = setTimeout(ahead, 30);
  }
  restart();
  figure.on(["dims", "scaled", "query", "zoom"], () => figure.schedule(paint));
  figure.on(["key_count", "seed"], () => figure.schedule(restart));
  figure.onResize((now) => {
    if (now > 0 && Math.abs(now - width) > 0.5) { width = now; paint(); }
  });
  return figure.dispose;
}

/** Arrow keys and the space bar belong to the focused control, not to the slides or the notebook around it. */
function keepKeys(figure) {
  figure.root.dataset.lmSuppressShortcuts = "true";
  figure.listen(figure.root, "keydown", (event) => {
    if (/^(Arrow|Page|Home|End|Enter| )/.test(event.key)) event.stopPropagation();
  });
}

export default { render };
