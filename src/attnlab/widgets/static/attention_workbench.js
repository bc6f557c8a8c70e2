// Self-attention of a few tokens with every number shown: X → Q, K, V → scores → scaled → masked → weights → output.
// X and the projections are edited in place; point at any other cell to see the sum that made it.
import { array, button, frame, lecture, make, shorten, slider, toggle, visible } from "./kit.js";
import { nested, presetMask } from "./math.js";
import { drawing } from "./workbench_drawing.js";
import { edits, retyping } from "./workbench_edits.js";
import { compute } from "./workbench_numbers.js";

/** The sentence and the switches. */
function inputs(it) {
  const { context } = it;
  const { model } = context;
  const INPUTS = ["tokens", "x", "w_q", "w_k", "w_v"], CHOICES = ["temperature", "scaled", "causal", "edited"];
  const start = Object.fromEntries([...INPUTS, ...CHOICES].map((key) => [key, model.get(key)]));
  const figure = frame(context, {
    name: "attention-workbench", law: true, numbers: (...given) => it.numbers(...given),
  });

  // what is on the screen: all matrices, words, {x, w_q, …} as typed arrays
  Object.assign(it, { now: null, tokens: null, given: null, mask: null });
  const remembered = new Map(); // "word#occurrence" → its vector, so that a word typed again comes back

  // ---- controls
  const field = make("input.al-sentence", { type: "text", spellcheck: "false", autocomplete: "off", maxlength: 400 });
  const sentence = make("label.al-control.al-sentence-control", {}, make("span.al-label", {}, "Sentence"), field);
  const heat = slider({
    label: "Temperature", min: 0.05, max: 20, log: true, detents: [1], value: model.get("temperature"),
    format: (t) => t.toFixed(2), input: (t) => figure.push("temperature", t),
  });
  const scaled = toggle({ label: "scale by 1/√d", value: true, input: (v) => figure.push("scaled", v) });
  const causal = toggle({ label: "causal mask", value: false, input: (v) => {
    figure.push("edited", null);
    figure.push("causal", v);
  } });
  const reset = button("Reset", () => {
    for (const [key, value] of Object.entries(start)) figure.push(key, value);
    remembered.clear();
    it.tell("All numbers are back.");
  });
  figure.controls.append(sentence, heat, scaled, causal, reset);
  Object.assign(it, { model, INPUTS, CHOICES, figure, remembered, field, heat, scaled, causal });
}

/** The three steps, and the line that explains. */
function threeSteps(it) {
  const { figure } = it;
  const project = make("div.al-project");
  const chain = make("div.al-chain");
  const mix = make("div.al-mix");
  const step = (number, name, words, ...content) => make("div.al-step", { role: "group", "aria-label": name },
    make("div.al-step-head", {}, make("span.al-step-number", { "aria-hidden": "true" }, number), make("b", {}, name),
      make("span.al-step-words", {}, words)), ...content);
  const bench = make("div.al-bench", {},
    step("1", "Project", "boxed numbers are yours to edit", project),
    step("2", "Compare", "every query with every key", chain),
    step("3", "Mix", "the values", mix));
  const readout = make("div.al-readout.al-sum");
  // On a phone the result stays visible while numbers further down are edited; the matrices are read aloud, not this.
  const glance = make("div.al-glance", { "aria-hidden": "true", hidden: "" });
  figure.body.append(bench);
  figure.body.before(glance);
  figure.body.after(readout); // outside the part that scrolls sideways, so that it can stick to the screen's edge
  const hint = lecture() ? "Point at a number to see the sum behind it."
    : "Edit any number of X or W. Point at a cell of the others to see the sum behind it. Click the masked " +
    "scores to mask.";
  function tell(text, bad = false) {
    readout.replaceChildren(text);
    readout.dataset.idle = String(text === hint);
    readout.classList.toggle("al-error", bad);
  }
  Object.assign(it, { project, chain, mix, bench, readout, glance, hint, tell });
}

/** The matrices, in the order they arise. */
function matrices(it) {
  const { model } = it;
  const sub = (name, small) => make("span", {}, name, make("sub", {}, small));
  // Not the letter ᵀ: some fonts draw it like a raised s.
  const transposed = (name) => make("span", {}, name, make("sup", {}, "T"));
  const KINDS = {
    x: { name: "X", title: () => ["X"], trait: "x", rows: "tokens" },
    w_q: { name: "W_q", title: () => [sub("W", "q")], trait: "w_q" },
    w_k: { name: "W_k", title: () => [sub("W", "k")], trait: "w_k" },
    w_v: { name: "W_v", title: () => [sub("W", "v")], trait: "w_v" },
    q: { name: "Q", title: () => ["Q = X ", sub("W", "q")], rows: "tokens" },
    k: { name: "K", title: () => ["K = X ", sub("W", "k")], rows: "tokens" },
    v: { name: "V", title: () => ["V = X ", sub("W", "v")], rows: "tokens" },
    scores: { name: "scores", title: () => ["scores = Q ", transposed("K")], rows: "tokens", columns: "tokens" },
    scaled: { name: "scaled", title: () => [model.get("scaled") ? `÷ √${it.given.D}` : "not scaled"],
      rows: "tokens", columns: "tokens" },
    masked: { name: "masked", title: () => ["masked"], rows: "tokens", columns: "tokens" },
    weights: { name: "weights", title: () => [model.get("temperature") === 1 ? "α = softmax"
      : `α = softmax(· / ${model.get("temperature").toFixed(2)})`], rows: "tokens", columns: "tokens" },
    output: { name: "output", title: () => ["output = α V"], rows: "tokens" },
  };
  const views = {}; // name → {node, title, shape, cells: flat list of elements}

  function view(key, rows, columns) {
    const kind = KINDS[key], cells = [];
    const body = make("tbody");
    if (kind.columns) body.append(make("tr", {}, make("td.al-corner"),
      ...it.tokens.map((t) => make("th", { scope: "col", title: shorten(t, 200) }, shorten(visible(t), 7)))));
    for (let i = 0; i < rows; i++) {
      const row = make("tr");
      if (kind.rows) row.append(make("th", { scope: "row", title: shorten(it.tokens[i], 200) },
        shorten(visible(it.tokens[i]), 8)));
      for (let j = 0; j < columns; j++) {
        const at = { "data-matrix": key, "data-row": i, "data-column": j };
        const cell = make("td", kind.trait || key === "masked" ? {} : { ...at, tabindex: i + j ? -1 : 0 });
        let inner = cell;
        if (kind.trait) {
          inner = make("input.al-number", { type: "text", inputmode: "decimal", autocomplete: "off",
            "aria-label": place(key, i, j), ...at });
          cell.append(inner);
        } else if (key === "masked") {
          inner = make("button.al-mask-cell", { type: "button", tabindex: i + j ? -1 : 0, ...at });
          cell.append(inner);
        }
        cells.push(inner);
        row.append(cell);
      }
      body.append(row);
    }
    const title = make("span.al-formula");
    const node = make(`div.al-matrix.al-m-${key}`, { "data-editable": kind.trait ? "yes" : null },
      make("div.al-matrix-head", {}, title, make("span.al-shape", {}, `${rows} × ${columns}`)),
      make("table", { "aria-label": `${kind.name}, ${rows} rows, ${columns} columns` }, body));
    views[key] = { node, title, rows, columns, cells };
    return node;
  }

  const word = (i) => shorten(visible(it.tokens[i]), 12);
  function place(key, i, j) {
    const kind = KINDS[key];
    return `${kind.name}[${kind.rows ? word(i) : i + 1}, ${kind.columns ? word(j) : j + 1}]`;
  }
  Object.assign(it, { KINDS, views, view, place });
}

/** From the traits to matrices on the bench. */
function dataOf(it) {
  const { model, project, chain, mix, bench, view } = it;
  function read() {
    it.tokens = model.get("tokens");
    const arrays = Object.fromEntries(["x", "w_q", "w_k", "w_v"].map((key) => [key, array(model.get(key))]));
    const [L, E] = arrays.x.shape, D = arrays.w_q.shape[1], V = arrays.w_v.shape[1];
    it.given = { L, E, D, V, ...Object.fromEntries(Object.entries(arrays).map(([key, a]) => [key, a.data])) };
    const edited = array(model.get("edited"));
    it.mask = edited?.data.length === L * L ? edited.data : presetMask(model.get("causal") ? "causal" : "none", L, L);
    it.now = compute({
      x: it.given.x, wq: it.given.w_q, wk: it.given.w_k, wv: it.given.w_v, L, E, D, V,
      scaled: model.get("scaled"), temperature: model.get("temperature"), mask: it.mask,
    });
  }

  function build() {
    read();
    const { L, E, D, V } = it.given;
    const focused = document.activeElement?.dataset ?? {};
    const again = bench.contains(document.activeElement) ? [focused.matrix, focused.row, focused.column] : null;
    project.replaceChildren(view("x", L, E), view("w_q", E, D), view("w_k", E, D), view("w_v", E, V),
      view("q", L, D), view("k", L, D), view("v", L, V));
    chain.replaceChildren(view("scores", L, L), view("scaled", L, L), view("masked", L, L), view("weights", L, L));
    mix.replaceChildren(view("output", L, V));
    it.layout();
    it.paint();
    if (again) bench.querySelector(
      `[data-matrix="${again[0]}"][data-row="${again[1]}"][data-column="${again[2]}"]`)?.focus();
  }

  const values = (key) => (key in it.now ? it.now[key] : it.given[key]);
  const shapeKey = () => JSON.stringify([it.given.L, it.given.E, it.given.D, it.given.V, it.tokens]);
  let built = "";

  function update() {
    read();
    if (built !== shapeKey()) {
      built = shapeKey();
      build();
    } else it.paint();
  }
  Object.assign(it, { read, values, update });
}

/** What happens when something changes. */
function life(it) {
  const { model, INPUTS, CHOICES, figure, bench, hint, tell, views, read, update, paint } = it;
  let width = 0;
  /** W above Q and X left of Q, as one multiplies on paper, where there is room for it. */
  function layout() {
    if (!width) return;
    const probe = views.x.cells[0].closest("td"), cell = probe.offsetWidth + 2;
    const label = Math.max(...[...views.x.node.querySelectorAll("th")].map((th) => th.offsetWidth)) + 4;
    const { L, E, D, V } = it.given, gap = 22;
    const first = label + (E + 2 * D + V) * cell + 3 * 16, last = label + V * cell;
    const second = (columns) => label + columns * L * cell + (columns - 1) * gap + (columns === 1 ? 0 : 4);
    bench.dataset.pairs = width >= label + (D + Math.max(D, V)) * cell + 24 ? "2" : "1";
    const abreast = width >= first + second(2) + last + 2 * 26;
    bench.dataset.layout = width >= first ? "paper" : "stacked";
    bench.dataset.chain = !abreast && width >= second(4) ? "4" : width >= second(2) ? "2" : "1";
    if (lecture()) Object.assign(bench.dataset, { layout: "paper", chain: "2" });
    const narrow = bench.dataset.layout === "stacked";
    if (it.glance.hidden === narrow) {
      it.glance.hidden = !narrow;
      paint();
    }
  }
  Object.assign(it, { layout, numbers });
  update();
  tell(hint);
  figure.onTheme(() => figure.schedule(paint));
  figure.onResize((w) => {
    if (Math.abs(w - width) < 1) return;
    width = w;
    layout();
  });
  figure.on([...INPUTS, ...CHOICES], () => figure.schedule(update));

  function numbers() {
    read();
    const { L, E, D, V } = it.given, square = (m) => nested(m, L, L);
    return {
      tokens: [...it.tokens], x: nested(it.given.x, L, E), w_q: nested(it.given.w_q, E, D),
        w_k: nested(it.given.w_k, E, D), w_v: nested(it.given.w_v, E, V),
      q: nested(it.now.q, L, D), k: nested(it.now.k, L, D), v: nested(it.now.v, L, V),
      scores: square(it.now.scores), scaledScores: square(it.now.scaled), masked: square(it.now.masked),
        weights: square(it.now.weights),
      output: nested(it.now.output, L, V), mask: square(it.mask).map((row) => row.map(Boolean)),
      temperature: model.get("temperature"), scaled: model.get("scaled"), causal: model.get("causal"),
        entropy: [...it.now.bits], rowSums: [...it.now.sums],
    };
  }
}

function render(context) {
  const it = { context };
  for (const piece of [inputs, threeSteps, matrices, dataOf, drawing, edits, retyping, life]) piece(it);
  const { figure } = it;
  return figure.dispose;
}

export default { render };
