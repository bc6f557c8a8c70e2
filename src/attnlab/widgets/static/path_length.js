// How far a signal travels between two tokens in three kinds of layer, and what a layer costs:
// Table 1 of Vaswani et al. 2017, with the numbers filled in and the paths drawn.
import { choice, frame, make, shorten, slider, svg, toggle } from "./kit.js";
import { player } from "./player.js";

const NAMES = { rnn: "RNN", convolution: "1-D convolution", attention: "Self-attention" };
const SHORT = { rnn: "RNN", convolution: "1-D conv.", attention: "Self-att." };

/**
 * The fewest layers of a convolution that carry a signal from token `from` to token `to`, and
 * the tokens it passes, found by walking through the layers (breadth first).
 * Layer l reads `kernel` tokens, `dilation(l)` apart, around the one it writes.
 */
export function convolutionPath(n, kernel, from, to, dilated) {
  const radius = (kernel - 1) / 2;
  let reached = new Map([[from, [from]]]);
  for (let layer = 0; layer <= n; layer++) {
    const gap = dilation(kernel, layer, dilated);
    const next = new Map();
    for (const [place, path] of reached)
      for (let tap = -radius; tap <= radius; tap++) {
        const there = place + tap * gap;
        if (there < 0 || there >= n) continue;
        // Of several ways the one that has come closest to the target wins, so the path looks direct.
        const old = next.get(there);
        if (!old || Math.abs(to - old.at(-2)) > Math.abs(to - place)) next.set(there, [...path, there]);
      }
    if (next.has(to)) return next.get(to);
    reached = next;
  }
  return null;
}

/**
 * How far apart the taps of layer l are. With radius r the gaps 1, (r+1), (r+1)² … leave no token out
 * (for kernel 3: 1, 2, 4 …, as in WaveNet).
 */
export function dilation(kernel, layer, dilated) {
  return dilated ? ((kernel + 1) / 2) ** layer : 1;
}

/** Everything the figure shows. Steps of a path are counted from an input to an output. */
export function compute({ n, kernel, dilated, source, target, width }) {
  source = Math.min(source, n - 1);
  target = Math.min(target, n - 1);
  const way = Math.sign(target - source) || 1;
  const chain = Array.from({ length: Math.abs(target - source) + 1 }, (_, i) => source + way * i);
  const stack = convolutionPath(n, kernel, source, target, dilated);
  const deepest = convolutionPath(n, kernel, 0, n - 1, dilated).length - 1;
  return {
    n, kernel, dilated, source, target, width,
    paths: { rnn: chain, convolution: stack, attention: [source, target] },
    path: { rnn: chain.length, convolution: stack.length - 1, attention: 1 },
    longest: { rnn: n, convolution: deepest, attention: 1 },
    sequential: { rnn: n, convolution: 1, attention: 1 },
    operations: { rnn: n * width ** 2, convolution: kernel * n * width ** 2, attention: n ** 2 * width },
  };
}

const ORDER = {
  rnn: { longest: () => "O(n)", sequential: "O(n)", operations: "O(n·d²)" },
  convolution: { longest: (dilated) => (dilated ? "O(logₖ n)" : "O(n/k)"), sequential: "O(1)",
    operations: "O(k·n·d²)" },
  attention: { longest: () => "O(1)", sequential: "O(1)", operations: "O(n²·d)" },
};
const grouped = (x) => String(x).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const compact = (x) => (x < 1e5 ? grouped(x) : x < 1e9 ? `${(x / 1e6).toPrecision(3)} M`
  : `${(x / 1e9).toPrecision(3)} G`);
const steps = (x) => (x === 1 ? "1 step" : `${x} steps`);

/** What the reader can turn and switch. */
function controls(it) {
  const { context } = it;
  const { model } = context;
  const state = () => compute(
    Object.fromEntries(["n", "kernel", "dilated", "source", "target", "width"].map((key) => [key, model.get(key)])));
  const figure = frame(context, { name: "path-length", numbers: state });

  const length = slider({ label: "Tokens n", min: 2, max: 16, step: 1, value: model.get("n"),
    input: (...given) => it.setLength(...given) });
  const kernel = choice({
    label: "Kernel k", options: [3, 5, 7].map((k) => [k, String(k)]), value: model.get("kernel"),
    input: (k) => figure.push("kernel", Number(k)),
  });
  const dilated = toggle({ label: "dilated", value: model.get("dilated"), input: (on) => figure.push("dilated", on) });
  const width = slider({
    label: "Width d", min: 2, max: 12, step: 1, value: Math.log2(model.get("width")),
    format: (e) => String(2 ** e), input: (e) => figure.push("width", 2 ** e),
  });
  const longest = () => Math.max(...model.get("layers").map((kind) => state().path[kind]));
  // The clock runs from 0 to the longest path; beyond it everything is lit, as at rest.
  const signal = player(figure, {
    at: () => Math.min(it.clock, longest() + 1), last: () => longest() + 1, pace: 550,
    go: (step) => { it.clock = step > longest() ? Infinity : step; figure.schedule(it.paint); },
    rest: () => { it.clock = Infinity; figure.schedule(it.paint); },
    end: () => it.pick("source", state().source), names: { play: "Send a signal", pause: "Stop" },
  });
  figure.controls.append(length, kernel, dilated, width, signal.play);

  const grid = make("div.al-p-diagrams");
  const pair = make("strong");
  const hint = make("p.al-p-hint", {}, pair,
    " Choose the start in a bottom row and the goal in a top row: click, drag, or focus a row and use ← →.");
  const table = make("table.al-p-costs");
  const scroll = make("div.al-p-table", {}, table);
  figure.body.append(grid, hint, scroll);

  Object.assign(it, { size: 720, em: 15 });
  // how many steps of the path are lit; all of them unless a signal is on its way
  Object.assign(it, { clock: Infinity });
  Object.assign(it, { model, state, figure, length, kernel, dilated, width, signal, grid, pair, table });
}

/** The two ends, and the signal on its way. */
function choosing(it) {
  const { model, state, figure } = it;
  function setLength(n) {
    // A token at the end stays at the end.
    const was = state();
    const keep = (place) => (place === was.n - 1 ? n - 1 : Math.min(place, n - 1));
    figure.push("n", n);
    figure.push("source", keep(was.source));
    figure.push("target", keep(was.target));
  }
  function pick(end, place) {
    const n = model.get("n");
    figure.push(end, Math.max(0, Math.min(n - 1, place)));
    const now = state();
    const counts = kinds().map((kind) => `${NAMES[kind]} ${steps(now.path[kind])}`).join(", ");
    figure.say(`From ${label(now.source)} to ${label(now.target)}: ${counts}.`);
  }
  const kinds = () => model.get("layers");
  const label = (i) => {
    const word = model.get("tokens")[i];
    return word ? `“${shorten(word, 40)}”` : `token ${i + 1}`;
  };
  Object.assign(it, { setLength, pick, kinds, label });
}

/** One diagram is rows of nodes, tokens at the bottom, outputs at the top. */
function diagramsOf(it) {
  const { model, state, grid, pick, kinds, label } = it;
  const diagrams = new Map();
  function diagram(kind) {
    const heading = make("div.al-p-kind", {}, make("span.al-p-kind-name", {}, NAMES[kind]));
    const badge = make("span.al-p-badge");
    heading.append(badge);
    const canvas = svg("svg", { class: "al-p-diagram", role: "group", "aria-label": NAMES[kind] });
    const below = make("div.al-p-below");
    const picture = svg("g", { "aria-hidden": "true" });
    const rows = {};
    for (const end of ["source", "target"]) {
      const handle = svg("rect", {
        class: "al-p-handle", role: "slider", tabindex: 0, "aria-valuemin": 1, rx: 6,
        "aria-label": end === "source" ? `${NAMES[kind]}: token to start from` : `${NAMES[kind]}: token to reach`,
      });
      const place = (event) => {
        const box = canvas.getBoundingClientRect();
        const share = (event.clientX - box.left) / box.width;
        const { left, pitch, wide } = rows;
        pick(end, Math.round((share * wide - left) / pitch));
      };
      handle.addEventListener("pointerdown", (event) => { handle.setPointerCapture(event.pointerId); place(event); });
      handle.addEventListener("pointermove", (event) => {
        if (handle.hasPointerCapture(event.pointerId)) place(event);
      });
      handle.addEventListener("keydown", (event) => {
        const now = state()[end], n = model.get("n");
        const to = { ArrowRight: now + 1, ArrowUp: now + 1, ArrowLeft: now - 1, ArrowDown: now - 1, Home: 0,
          End: n - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        pick(end, to);
      });
      rows[end] = handle;
    }
    canvas.append(picture, rows.source, rows.target);
    return { node: make("div.al-p-layer", {}, heading, canvas, below), canvas, picture, badge, below, rows };
  }

  function rebuild() {
    diagrams.clear();
    for (const kind of kinds()) diagrams.set(kind, diagram(kind));
    grid.replaceChildren(...[...diagrams.values()].map(({ node }) => node));
    it.paint();
  }

  function draw(kind, parts, now, wide, high) {
    const { picture, canvas, rows } = parts;
    const { n } = now;
    canvas.setAttribute("viewBox", `0 0 ${wide} ${high}`);
    canvas.setAttribute("width", wide);
    canvas.setAttribute("height", high);
    const side = 0.9 * it.em, pitch = (wide - 2 * side) / (n - 1 || 1);
    const depth = kind === "convolution" ? now.path.convolution : 1; // as many layers as this pair needs
    const tokens = model.get("tokens");
    const words = Array.from({ length: n }, (_, i) => tokens[i] ?? String(i + 1));
    // Every token has its name below it; where names are wider than tokens, every second one is a line lower.
    const room = Math.max(1, Math.floor(pitch / (0.58 * it.em)));
    const lower = words.some((word) => word.length > room) ? 1.1 * it.em : 0;
    const top = 2.2 * it.em, bottom = high - 3.3 * it.em - lower;
    const x = (i) => side + i * pitch;
    const y = (row) => bottom - (row / depth) * (bottom - top);
    const radius = Math.max(2.2, Math.min(0.62 * it.em, pitch * 0.36, ((bottom - top) / depth) * 0.3));
    Object.assign(rows, { left: side, pitch, wide });

    const dim = [], lit = [], heads = [];
    const link = (list, x1, y1, x2, y2) => {
      const far = Math.hypot(x2 - x1, y2 - y1) || 1;
      const a = radius / far, b = 1 - radius / far;
      if (list === lit && far - 2 * radius > 0.6 * it.em) {
        const [ux, uy] = [(x2 - x1) / far, (y2 - y1) / far], size = 0.5 * it.em;
        const tip = [x2 - ux * radius, y2 - uy * radius];
        const wing = (side) => [tip[0] - ux * size - side * uy * size * 0.55,
          tip[1] - uy * size + side * ux * size * 0.55];
        heads.push(`M${tip}L${wing(1)}L${wing(-1)}Z`);
      }
      const between = (share) => `${(x1 + (x2 - x1) * share).toFixed(1)} ${(y1 + (y2 - y1) * share).toFixed(1)}`;
      list.push(`M${between(a)}L${between(b)}`);
    };
    // All connections, faintly.
    if (kind === "rnn") {
      const way = now.target < now.source ? -1 : 1;
      for (let i = 0; i < n; i++) {
        link(dim, x(i), y(0), x(i), y(1));
        if (i + 1 < n) way > 0 ? link(dim, x(i), y(1), x(i + 1), y(1)) : link(dim, x(i + 1), y(1), x(i), y(1));
      }
    } else {
      const half = (now.kernel - 1) / 2;
      for (let layer = 0; layer < depth; layer++) {
        const gap = kind === "convolution" ? dilation(now.kernel, layer, now.dilated) : 1;
        for (let to = 0; to < n; to++)
          for (let from = 0; from < n; from++) {
            const near = kind === "attention" || ((to - from) % gap === 0 && Math.abs(to - from) / gap <= half);
            if (near) link(dim, x(from), y(layer), x(to), y(layer + 1));
          }
      }
    }
    // The path: (token, row) pairs.
    const path = now.paths[kind];
    const stops = kind === "rnn" ? [[path[0], 0], ...path.map((i) => [i, 1])] : path.map((i, row) => [i, row]);
    const arrived = Math.min(it.clock, stops.length - 1);
    for (let s = 1; s <= arrived; s++) link(lit, x(stops[s - 1][0]), y(stops[s - 1][1]), x(stops[s][0]),
      y(stops[s][1]));
    const hops = new Map(stops.slice(0, arrived + 1).map(([i, row], s) => [`${i} ${row}`, s]));

    const nodes = [];
    for (let row = 0; row <= depth; row++)
      for (let i = 0; i < n; i++) {
        const hop = hops.get(`${i} ${row}`);
        nodes.push(svg("circle", { cx: x(i), cy: y(row), r: radius, class: hop === undefined
          ? "al-p-node" : "al-p-node al-p-lit" }));
        if (hop > 0 && radius > (hop > 9 ? 0.55 : 0.42) * it.em)
          nodes.push(svg("text", { x: x(i), y: y(row) + 0.28 * it.em, class: hop > 9
            ? "al-p-hop al-p-two" : "al-p-hop" }, String(hop)));
      }
    const end = stops.at(-1);
    const ring = (i, row) => svg("circle", { cx: x(i), cy: y(row), r: radius + 0.22 * it.em, class: "al-p-ring" });
    nodes.push(ring(now.source, 0), ring(end[0], end[1]));
    // Words: the tokens below, the two ends named.
    for (const [i, word] of words.entries()) {
      const line = bottom + radius + 1.15 * it.em + (i % 2) * lower;
      nodes.push(svg("text", { x: x(i), y: line, class: i === now.source
        ? "al-p-token al-p-chosen" : "al-p-token" }, shorten(word, lower ? 2 * room : room),
      svg("title", {}, shorten(word, 200))));
    }
    const tag = (i, at, words) => nodes.push(svg("text", {
      x: Math.max(1.2 * it.em, Math.min(wide - 1.2 * it.em, x(i))), y: at, class: "al-p-end",
    }, words));
    tag(now.target, top - radius - 0.6 * it.em, "to");
    tag(now.source, bottom + radius + 2.2 * it.em + lower, "from");
    picture.replaceChildren(
      svg("path", { d: dim.join(""), class: "al-p-link" }), svg("path", { d: lit.join(""), class: "al-p-path" }),
      svg("path", { d: heads.join(""), class: "al-p-arrow" }), ...nodes,
    );

    const last = y(0), first = y(depth);
    const band = Math.min(1.5 * it.em, Math.max(0.9 * it.em, ((bottom - top) / depth) * 0.5));
    const spread = (handle, middle, up, down, value) => {
      for (const [key, v] of Object.entries({ x: 1, width: wide - 2, y: middle - up,
        height: up + down })) handle.setAttribute(key, v);
      handle.setAttribute("aria-valuemax", n);
      handle.setAttribute("aria-valuenow", value + 1);
      handle.setAttribute("aria-valuetext", label(value));
    };
    spread(rows.source, last, band, 3.2 * it.em + lower, now.source);
    spread(rows.target, first, 2 * it.em, band, now.target);
  }
  Object.assign(it, { diagrams, rebuild, draw });
}

/** All diagrams, and Table 1 of the paper. */
function painting(it) {
  const {
    state, figure, length, kernel, dilated, width, grid, pair, table, kinds, label, diagrams, rebuild,
    draw,
  } = it;
  function paint() {
    it.signal.paint();
    const now = state();
    length.value = now.n;
    kernel.value = now.kernel;
    dilated.value = now.dilated;
    width.value = Math.log2(now.width);
    const shown = kinds();
    if (shown.length !== diagrams.size || shown.some((kind) => !diagrams.has(kind))) return rebuild();
    const conv = shown.includes("convolution");
    kernel.hidden = dilated.hidden = !conv;
    it.em = parseFloat(getComputedStyle(figure.root).fontSize) || 15;
    const columns = it.size >= 40 * it.em ? shown.length : 1;
    grid.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    const wide = Math.max(160, Math.floor((it.size - 1.6 * it.em * (columns - 1)) / columns));
    // A stack of layers needs height; diagrams side by side are equally high, and fit a slide.
    const stack = Math.max(10.5, 5 + 1.3 * now.longest.convolution);
    for (const [kind, parts] of diagrams) {
      const high = columns > 1 ? (conv ? Math.min(12, stack) : 10.5) : kind === "convolution"
        ? Math.min(18, stack) : 10.5;
      draw(kind, parts, now, wide, Math.round(high * it.em));
      parts.badge.textContent = it.clock < now.path[kind] ? `step ${it.clock} of ${now.path[kind]}`
        : `${steps(now.path[kind])}${it.signal.playing() ? " ✓" : ""}`;
      parts.below.textContent = note(kind, now);
    }
    pair.textContent = `From ${label(now.source)} to ${label(now.target)}.`;
    fillTable(now, columns === 1 && shown.length > 1);
  }

  function note(kind, now) {
    if (kind === "rnn") return now.target < now.source ? "Right to left: only a second, backward RNN can do this."
      : "One token after the other.";
    if (kind === "attention") return "Every token reads every token.";
    const gaps = Array.from({ length: now.longest.convolution }, (_, l) => dilation(now.kernel, l, now.dilated));
    const layers = now.path.convolution;
    return `${layers === 1 ? "1 " +
      "layer" : `${layers} layers, stacked`}${now.dilated ? `; taps ${gaps.slice(0, layers).join(", ")} apart` : ""}.`;
  }

  /** Table 1 of the paper, with numbers. On a phone the layers become columns. */
  function fillTable(now, narrow) {
    const shown = kinds();
    const measures = [
      ["path", "This path", () => ""],
      ["longest", "Longest path", (kind) => ORDER[kind].longest(now.dilated)],
      ["sequential", "Sequential steps", (kind) => ORDER[kind].sequential],
      ["operations", "Operations per layer", (kind) => ORDER[kind].operations],
    ];
    const cell = (kind, [key, , order]) => {
      const best = shown.length > 1 && now[key][kind] === Math.min(...shown.map((other) => now[key][other]));
      return make(`td${best ? ".al-p-least" : ""}`, {}, make("span.al-p-order", {}, order(kind)),
        make("strong", { title: grouped(now[key][kind]) }, (narrow ? compact : grouped)(now[key][kind])), best
          ? make("span.al-sr", {}, " (least)") : null,
        kind === "attention" && key === "operations" ? make("span.al-p-without", {}, "without projections") : null);
    };
    const head = (scope, text) => make("th", { scope }, text);
    const line = (...cells) => make("tr", {}, ...cells);
    const top = narrow ? shown.map((kind) => SHORT[kind]) : measures.map(([, name]) => name);
    const rows = narrow
      ? measures.map((measure) => line(head("row", measure[1]), ...shown.map((kind) => cell(kind, measure))))
      : shown.map((kind) => line(head("row", NAMES[kind]), ...measures.map((measure) => cell(kind, measure))));
    table.classList.toggle("al-p-narrow", narrow);
    table.replaceChildren(
      make("caption", {}, `n = ${now.n} tokens, width d = ${now.width}, kernel k = ${now.kernel}. Orders: Vaswani ` +
        `et al. 2017, Table 1. ◂ marks the least.`),
      make("thead", {}, line(make("td"), ...top.map((text) => head("col", text)))), make("tbody", {}, ...rows),
    );
  }
  Object.assign(it, { paint });
}

/** What happens when something changes. */
function life(it) {
  const { figure, rebuild, paint } = it;
  rebuild();
  figure.on(["n", "kernel", "dilated", "source", "target", "width", "tokens"], () => figure.schedule(paint));
  figure.on("layers", () => figure.schedule(rebuild));
  figure.onWidth((now) => { it.size = now; paint(); });
}

function render(context) {
  const it = { context };
  for (const piece of [controls, choosing, diagramsOf, painting, life]) piece(it);
  const { figure } = it;
  return figure.dispose;
}

export default { render };
