// Why attention divides by √d: for standard normal q and k, Var(q·k) = d, so the scores spread
// with √d, the softmax saturates, and its gradient vanishes. Vaswani et al. 2017, section 3.2.1.
import { button, frame, lecture, make, nice, slider, svg, toggle } from "./kit.js";
import { entropy, normals, softmax } from "./math.js";

const PAIRS = 4096, LARGEST = 1024, BINS = 32, SPAN = 4; // bins cover ±4 standard deviations
const STILL = 0.01; // a Jacobian smaller than this hardly moves
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

/** Frobenius norm of the softmax's Jacobian, diag(α) − α αᵀ: how much a nudge of the scores moves the weights. */
export function jacobianNorm(p) {
  let square = 0;
  for (let i = 0; i < p.length; i++) square += p[i] * p[i];
  let sum = 0;
  for (let i = 0; i < p.length; i++) sum += p[i] * p[i] * ((1 - p[i]) ** 2 + square - p[i] * p[i]);
  return Math.sqrt(Math.max(0, sum));
}

/** What all queries show together, from raw scores (rows × keys, flat). */
export function spread(raw, { dims, scaled, keys }) {
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

  let gradient = 0, saturated = 0, meanLargest = 0;
  for (let i = 0; i < rows; i++) {
    const p = weightsOf(raw, { dims, scaled, keys, query: i });
    const norm = jacobianNorm(p);
    gradient += norm / rows;
    if (norm < STILL) saturated += 1 / rows;
    meanLargest += Math.max(...p) / rows;
  }
  return {
    dims, scaled, keys, rows, mean, variance, theory, std: Math.sqrt(variance),
    gradient, saturated, meanLargest, counts, outside, edge,
  };
}

/** Softmax of one query over its keys. */
export function weightsOf(raw, { dims, scaled, keys, query }) {
  return softmax(raw.subarray(query * keys, (query + 1) * keys), { temperature: scaled ? Math.sqrt(dims) : 1 });
}

/** Everything the figure shows. */
export function compute(raw, options, all = spread(raw, options)) {
  const query = (options.query ?? 0) % all.rows;
  const weights = [...weightsOf(raw, { ...options, query })];
  return { ...all, query, weights, largest: Math.max(...weights), entropy: entropy(weights) };
}

const WIDTHS = Array.from({ length: Math.log2(LARGEST) + 1 }, (_, e) => 2 ** e);
const short = (x) => (x >= 100 ? nice(x, 0) : x >= 10 ? nice(x, 1) : nice(x, 2));

/** The sample, the controls, the three panels. */
function controls(it) {
  const { context } = it;
  const { model } = context;
  Object.assign(it, { sample: new Sample(model.get("key_count"), model.get("seed")) });
  const memory = new Map(); // what all queries show, for one width and one switch
  const spreadAt = (dims, scaled) => {
    const id = `${dims} ${scaled}`;
    if (!memory.has(id)) memory.set(id, spread(it.sample.at(dims), { dims, scaled, keys: it.sample.keys }));
    return memory.get(id);
  };
  const state = () => {
    const dims = model.get("dims"), scaled = model.get("scaled");
    return compute(it.sample.at(dims), { dims, scaled, keys: it.sample.keys, query: model.get("query") },
      spreadAt(dims, scaled));
  };
  const figure = frame(context, { name: "scale-histogram", numbers: state });

  const dims = slider({
    label: "Width d", min: 0, max: Math.log2(LARGEST), step: 1, value: Math.log2(model.get("dims")),
    format: (e) => String(2 ** e), input: (e) => figure.push("dims", 2 ** e),
  });
  const scaled = toggle({ label: "scaled: divide by √d", value: model.get("scaled"),
    input: (on) => figure.push("scaled", on) });
  const zoom = toggle({ label: "zoom to the bell", value: model.get("zoom"), input: (on) => figure.push("zoom", on) });
  const other = button("Another query", () => figure.push("query", (state().query + 1) % it.sample.rows));
  figure.controls.append(dims, scaled, zoom);

  const panel = (kind, title) => {
    const name = make("span", {}, title);
    const heading = make("div.al-s-panel-title", {}, name);
    const place = make("div.al-s-plot");
    const words = make("div.al-s-panel-words.al-aloud");
    return { node: make(`div.al-s-panel.al-s-${kind}`, {}, heading, place, words), heading, name, place, words };
  };
  const bell = panel("bell", "");
  const bars = panel("bars", "");
  const slope = panel("slope", "Gradient through the softmax");
  bars.heading.append(other);
  const grid = make("div.al-s-panels", {}, bell.node, bars.node, slope.node);
  figure.body.append(grid);

  Object.assign(it, { width: 720, em: 15 });
  Object.assign(it, { model, memory, spreadAt, state, figure, dims, scaled, zoom, bell, bars, slope, grid });
}

/** The bell, the bars, the slope. */
function drawing(it) {
  const { model, spreadAt } = it;
  /** An empty plot with room for axes. */
  function plot(wide, high, label) {
    const box = { left: 2.6 * it.em, right: wide - 0.8 * it.em, top: 1.3 * it.em, bottom: high - 3.1 * it.em };
    const node = svg("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img",
      "aria-label": label });
    const text = (x, y, words, anchor = "middle", kind = "al-s-tick") =>
      node.append(svg("text", { x, y, "text-anchor": anchor, class: kind }, words));
    const line = (x1, y1, x2, y2, kind) => node.append(svg("line", { x1, y1, x2, y2, class: kind }));
    const path = (d, kind) => node.append(svg("path", { d, class: kind }));
    line(box.left, box.bottom, box.right, box.bottom, "al-s-axis");
    return { node, box, text, line, path };
  }

  function drawBell(now, wide, high) {
    const sigma = Math.sqrt(now.theory);
    const reach = model.get("zoom") ? SPAN * sigma : 3.5 * Math.sqrt(LARGEST);
    const { node, box, text, line, path } = plot(wide, high,
      `Histogram of ${now.keys * now.rows} scores: variance ${short(now.variance)}, theory ${now.theory}`);
    box.left = 0.8 * it.em;
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
    const narrow = x(bin) - x(0) < 3; // no room for lines between the bars
    path(shape, `al-s-hist ${now.scaled ? "al-s-scaled" : "al-s-raw"}${narrow ? " al-s-narrow" : ""}`);
    // The points of a curve lie within its bell, however narrow it is.
    const outline = (deviation, height) => {
      const points = Array.from({ length: 161 }, (_, i) => (i / 80 - 1) * Math.min(reach, 5 * deviation));
      const line = points.map(
        (v) => `${x(v).toFixed(2)} ${y(height * Math.exp((-v * v) / (2 * deviation ** 2))).toFixed(2)}`);
      return `M${box.left} ${line[0].split(" ")[1]}L${line.join("L")}L${box.right} ${line.at(-1).split(" ")[1]}`;
    };
    path(outline(sigma, curve(0)), "al-s-curve");
    // What the division undoes: the bell of the raw scores, drawn as high.
    const before = now.scaled && now.dims > 1 && !model.get("zoom");
    if (before) path(outline(Math.sqrt(now.dims), curve(0)), "al-s-before");
    // One standard deviation each way, where the bell is that wide.
    const level = y(curve(sigma));
    path(`M${x(-sigma)} ${level}H${x(sigma)}`, "al-s-sigma");
    text(x(sigma) + 0.5 * it.em, level + 0.2 * it.em, `±σ = ±${short(sigma)}`, "start", "al-s-name al-s-plain");

    const step = [0.5, 1, 2, 5, 10, 20, 50].find((s) => reach / s <= 3) ?? 50;
    for (let v = -Math.floor(reach / step) * step; v <= reach; v += step) {
      line(x(v), box.bottom, x(v), box.bottom + 0.25 * it.em, "al-s-axis");
      text(x(v), box.bottom + 1.5 * it.em, nice(v, step < 1 ? 1 : 0));
    }
    text((box.left + box.right) / 2, high - 0.2 * it.em, now.scaled ? "score q·k / √d" : "score q·k",
      "middle", "al-s-name");
    text(box.right, box.top, now.scaled ? "curve: N(0, 1)" : `curve: N(0, ${now.dims})`, "end", "al-s-name");
    if (before) text(box.left, box.top, `before: N(0, ${now.dims})`, "start", "al-s-name al-s-raw-text");
    return node;
  }

  function drawBars(now, wide, high) {
    const { node, box, text, line } = plot(wide, high,
      `Softmax weights of query ${now.query + 1}: largest ${nice(now.largest)}`);
    const y = (p) => box.bottom - p * (box.bottom - box.top);
    for (const p of [0, 0.5, 1]) {
      line(box.left, y(p), box.right, y(p), p ? "al-s-grid" : "al-s-axis");
      text(box.left - 0.4 * it.em, y(p) + 0.35 * it.em, String(p), "end");
    }
    const slot = (box.right - box.left) / now.keys;
    const best = now.weights.indexOf(now.largest);
    now.weights.forEach((p, j) => {
      node.append(svg("rect", {
        x: box.left + j * slot + slot * 0.12, width: slot * 0.76, y: y(p), height: Math.max(0.75, box.bottom - y(p)),
        class: `al-s-column ${now.scaled ? "al-s-scaled" : "al-s-raw"}${j === best ? " al-s-best" : ""}`,
      }));
    });
    const middle = Math.max(box.left + 1.4 * it.em, Math.min(box.right - 1.4 * it.em, box.left + (best + 0.5) * slot));
    text(middle, y(now.largest) - 0.35 * it.em, nice(now.largest, 2), "middle", "al-s-strong");
    line(box.left, y(1 / now.keys), box.right, y(1 / now.keys), "al-s-uniform");
    const last = now.keys > 20 ? [1, Math.round(now.keys / 2), now.keys] : [1, Math.ceil(now.keys / 2), now.keys];
    for (const j of new Set(last)) text(box.left + (j - 0.5) * slot, box.bottom + 1.5 * it.em, String(j));
    text((box.left + box.right) / 2, high - 0.2 * it.em, `key (dashed: uniform, 1/${now.keys})`, "middle", "al-s-name");
    return node;
  }

  function drawSlope(now, wide, high) {
    const { node, box, text, line, path } = plot(wide, high,
      `Mean gradient against d: ${nice(now.gradient)} at d = ${now.dims}`);
    const ceiling = 0.35;
    const x = (d) => box.left + (Math.log2(d) / Math.log2(LARGEST)) * (box.right - box.left);
    const y = (g) => box.bottom - (Math.min(g, ceiling) / ceiling) * (box.bottom - box.top);
    for (const g of [0, 0.1, 0.2, 0.3]) {
      line(box.left, y(g), box.right, y(g), g ? "al-s-grid" : "al-s-axis");
      text(box.left - 0.4 * it.em, y(g) + 0.35 * it.em, String(g), "end");
    }
    const few = box.right - box.left < 17 * it.em;
    for (const d of WIDTHS) if (Math.log2(d) % (few ? 5 : 2) === 0) text(x(d), box.bottom + 1.5 * it.em,
      String(d), d === LARGEST ? "end" : "middle");
    text((box.left + box.right) / 2, high - 0.2 * it.em, "width d", "middle", "al-s-name");
    const ready = WIDTHS.filter((d) => d <= it.sample.width);
    for (const on of [false, true]) {
      const points = ready.map((d) => [x(d), y(spreadAt(d, on).gradient)]);
      const active = on === now.scaled ? " al-s-active" : "";
      path(`M${points.map(([a, b]) => `${a.toFixed(1)} ${b.toFixed(1)}`).join("L")}`,
        `al-s-trend ${on ? "al-s-scaled" : "al-s-raw"}${active}`);
    }
    if (ready.length === WIDTHS.length) {
      text(box.right, y(0.3) + 1.3 * it.em, "scaled", "end", "al-s-name al-s-scaled-text");
      text(box.right, y(0.16), "unscaled", "end", "al-s-name al-s-raw-text");
    }
    line(x(now.dims), box.top, x(now.dims), box.bottom, "al-s-probe");
    node.append(svg("circle", { cx: x(now.dims), cy: y(now.gradient), r: 0.38 * it.em,
      class: `al-s-point ${now.scaled ? "al-s-scaled" : "al-s-raw"}` }));
    return node;
  }
  Object.assign(it, { drawBell, drawBars, drawSlope });
}

/** All panels. */
function painting(it) {
  const { model, state, figure, dims, scaled, zoom, bell, bars, slope, grid, drawBell, drawBars, drawSlope } = it;
  function paint() {
    const now = state();
    dims.value = Math.log2(now.dims);
    scaled.value = now.scaled;
    zoom.value = model.get("zoom");
    it.em = parseFloat(getComputedStyle(figure.root).fontSize) || 15;
    const columns = lecture() ? 2 : it.width >= 56 * it.em ? 3 : it.width >= 34 * it.em ? 2 : 1;
    grid.dataset.columns = String(columns);
    const gap = 1.4 * it.em;
    const wide = Math.max(200, Math.floor((it.width - gap * (columns - 1)) / columns));
    const whole = columns === 2 ? Math.max(200, Math.floor(it.width)) : wide;
    const high = Math.round(figure.tall((columns === 3 ? 15 : 13.5) * it.em, bell.place));

    bell.name.textContent = `q·k of ${now.keys * now.rows} random pairs`;
    bell.place.replaceChildren(drawBell(now, wide, high));
    fill(bell.words, [
      ["variance", `${short(now.variance)}`, `theory ${now.scaled ? "1" : `d = ${now.dims}`}`],
      ["std. dev.", `${short(now.std)}`, `theory ${now.scaled ? "1" : `√d = ${short(Math.sqrt(now.dims))}`}`],
    ]);
    bars.name.textContent = `Softmax of query ${now.query + 1}`;
    bars.place.replaceChildren(drawBars(now, wide, high));
    fill(bars.words, [
      ["largest weight", nice(now.largest), `mean ${nice(now.meanLargest, 2)}`],
      ["entropy", `${nice(now.entropy, 2)} bits`, `uniform ${nice(Math.log2(now.keys), 2)}`],
    ]);
    slope.place.replaceChildren(drawSlope(now, whole, columns === 2 ? Math.round(11 * it.em) : high));
    fill(slope.words, [
      [make("span", {}, "‖diag(α) − αα", make("sup", {}, "T"), "‖"), nice(now.gradient), `mean of ${now.rows}`],
      ["saturated queries", `${nice(100 * now.saturated, 0)} %`, `norm < ${STILL}`],
    ]);
  }

  function fill(node, lines) {
    node.replaceChildren(...lines.map(([name, value, note]) =>
      make("div", {}, name, " ", make("strong", {}, value), make("span.al-s-note", {}, ` (${note})`))));
  }
  Object.assign(it, { paint });
}

/** What happens when something changes. */
function life(it) {
  const { model, memory, figure, paint } = it;
  // The wide vectors take a moment: make them while nobody waits, a few coordinates at a time.
  let idle = 0;
  function ahead() {
    idle = 0;
    if (it.sample.width >= LARGEST) return figure.schedule(paint);
    it.sample.advance(Math.min(LARGEST, it.sample.width + 16));
    if ((it.sample.width & (it.sample.width - 1)) === 0) figure.schedule(paint);
    idle = setTimeout(ahead, 4);
  }
  figure.cleanup(() => clearTimeout(idle));

  function restart() {
    clearTimeout(idle);
    memory.clear();
    it.sample = new Sample(model.get("key_count"), model.get("seed"));
    paint();
    idle = setTimeout(ahead, 30);
  }
  restart();
  figure.on(["dims", "scaled", "query", "zoom"], () => figure.schedule(paint));
  figure.on(["key_count", "seed"], () => figure.schedule(restart));
  figure.onWidth((now) => { it.width = now; paint(); });
}

function render(context) {
  const it = { context };
  for (const piece of [controls, drawing, painting, life]) piece(it);
  const { figure } = it;
  return figure.dispose;
}

export default { render };
