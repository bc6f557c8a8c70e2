// Self-attention of a few tokens with every number in sight: X → Q, K, V → scores → scaled → masked → weights → output.
// X and the projections are edited in place; point at any other cell to see the sum that made it.
import { array, button, frame, lecture, make, nice, pack, shorten, slider, toggle, visible } from "./kit.js";
import { attend, matmul, nested, presetMask, random, scores } from "./math.js";

const MOST_TOKENS = 6;
const LARGEST = 1000; // numbers a reader may type

/** Every matrix of one head. x (L, E), wq, wk (E, D), wv (E, V), mask (L, L) flat, 1 = may attend. */
export function compute({ x, wq, wk, wv, L, E, D, V, scaled = true, temperature = 1, mask = null }) {
  const q = matmul(x, wq, L, E, D), k = matmul(x, wk, L, E, D), v = matmul(x, wv, L, E, V);
  const raw = scores(q, k, L, L, D);
  const scaledScores = scaled ? raw.map((s) => s / Math.sqrt(D)) : raw;
  const masked = scaledScores.map((s, c) => (!mask || mask[c] ? s : -Infinity));
  const { weights, sums, bits } = attend(scaledScores, L, L, { temperature, mask });
  return { q, k, v, scores: raw, scaled: scaledScores, masked, weights, sums, bits,
    output: matmul(weights, v, L, L, V) };
}

/** A small vector for a new word, the same on every page: FNV-1a of the word seeds the generator. */
export function wordVector(word, width) {
  let seed = 0x811c9dc5;
  for (let c = 0; c < word.length; c++) seed = Math.imul(seed ^ word.charCodeAt(c), 0x01000193);
  const uniform = random(seed);
  return Array.from({ length: width }, () => (Math.round(uniform() * 20) - 10) / 10);
}

/** A number as typed, or NaN. Takes a decimal comma and the true minus sign. */
export function parseNumber(text) {
  const plain = text.trim().replace("−", "-").replace(",", ".");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
}

/** A number to edit, as it was typed; and the same where it only has to be read. */
const typed = (x) => String(Number(x.toFixed(4))).replace("-", "−");
const brief = (x) => String(Number(x.toFixed(Math.abs(x) >= 99.95 ? 0 : Math.abs(x) >= 9.995 ? 1 : 2))).replace("-",
  "−");
/** Two decimals while they fit the cell. */
const compact = (x) => nice(x, Math.abs(x) >= 99.95 ? 0 : Math.abs(x) >= 9.995 ? 1 : 2);
const factor = (x) => (x < 0 ? `(${nice(x, 2)})` : nice(x, 2));

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
  // On a phone the result stays in sight while numbers further down are edited; the matrices are read aloud, not this.
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

/** Numbers and colours, and where a cell comes from. */
function drawing(it) {
  const { model, figure, field, heat, scaled, causal, bench, readout, tell, KINDS, views, place, values } = it;
  function paint() {
    const colours = figure.theme;
    for (const [key, { title, cells }] of Object.entries(views)) {
      title.replaceChildren(...KINDS[key].title());
      const list = values(key), input = KINDS[key].trait;
      let top = 1;
      for (const x of list) if (Number.isFinite(x)) top = Math.max(top, Math.abs(x));
      cells.forEach((cell, c) => {
        const x = list[c];
        if (!input) cell.textContent = key === "weights" && !it.mask[c] ? "0" : compact(x);
        else if (cell !== document.activeElement) cell.value = brief(x);
        else if (cell.getAttribute("aria-invalid") !== "true"
          && parseNumber(typed(x)) !== parseNumber(cell.value)) cell.value = typed(x);
        if (key === "weights") {
          cell.style.background = it.mask[c] ? colours.weight(x) : "";
          cell.style.color = it.mask[c] ? colours.inkOnWeight(x) : "";
        } else if (Number.isFinite(x)) {
          cell.style.background = colours.signed(x, 1.5 * top); // pale: numbers are typed into these cells
          cell.style.color = colours.inkOnSigned(x, 1.5 * top);
        } else cell.style.background = cell.style.color = "";
        if (key === "masked" || key === "weights") cell.classList.toggle("al-masked", !it.mask[c]);
        if (key === "masked") {
          cell.setAttribute("aria-pressed", String(!it.mask[c]));
          cell.setAttribute("aria-label",
            `${place(key, Math.floor(c / it.given.L), c % it.given.L)}: ${it.mask[c] ? nice(x, 2) : "masked"}`);
        }
      });
    }
    if (!it.glance.hidden) it.glance.replaceChildren(summary(colours));
    heat.value = model.get("temperature");
    scaled.value = model.get("scaled");
    causal.value = model.get("causal");
    if (document.activeElement !== field && it.words(field.value).join(" ") !== it.tokens.join(" ")) field.value =
      it.tokens.join(" ");
    if (pointed) explain(...pointed);
  }

  /** Weights and output in one small table, row by row. */
  function summary(colours) {
    const { L, V } = it.given;
    const head = (text) => make("th", {}, shorten(visible(text), 6));
    const cell = (x, masked) => {
      const node = make("td", {}, masked ? "0" : compact(x));
      if (masked) node.classList.add("al-masked");
      return node;
    };
    const rows = Array.from({ length: L }, (_, i) => make("tr", {}, head(it.tokens[i]),
      ...Array.from({ length: L }, (_, j) => {
        const c = i * L + j, node = cell(it.now.weights[c], !it.mask[c]);
        if (it.mask[c]) Object.assign(node.style, { background: colours.weight(it.now.weights[c]),
          color: colours.inkOnWeight(it.now.weights[c]) });
        return node;
      }), make("td.al-into", {}, "→"),
      ...Array.from({ length: V }, (_, j) => cell(it.now.output[i * V + j], false))));
    return make("table", {}, make("tbody", {},
      make("tr", {}, make("th", {}, "α"), ...it.tokens.map(head), make("td.al-into"),
        make("th", { colspan: V }, "output")), ...rows));
  }

  // ---- where a number comes from
  /** Cells that made a cell, as [matrix, row or null, column or null], and the sum, or words where there is none. */
  function origin(key, i, j) {
    const { L, E, D, V } = it.given;
    const line = (m, columns, r) => Array.from({ length: columns }, (_, c) => values(m)[r * columns + c]);
    const column = (m, rows, columns, c) => Array.from({ length: rows }, (_, r) => values(m)[r * columns + c]);
    const sum = (a, b) => a.map((x, n) => `${factor(x)}·${factor(b[n])}`).join(" + ");
    const c = i * L + j;
    const t = model.get("temperature");
    switch (key) {
      case "q": case "k": case "v": {
        const w = `w_${key}`, width = key === "v" ? V : D;
        return { from: [["x", i, null], [w, null, j]], text: sum(line("x", E, i), column(w, E, width, j)),
          result: values(key)[i * width + j] };
      }
      case "scores": return { from: [["q", i, null], ["k", j, null]], text: sum(line("q", D, i), line("k", D, j)),
        result: it.now.scores[c] };
      case "scaled": return { from: [["scores", i, j]], text: model.get("scaled")
        ? `${nice(it.now.scores[c], 2)} / √${D}` : null, words: "not scaled, stays", result: it.now.scaled[c] };
      case "masked": return { from: [["scaled", i, j]], words: it.mask[c] ? "may attend, stays"
        : "may not attend, becomes", result: it.now.masked[c] };
      case "weights": {
        const power = (s) => (t === 1 ? `e^${factor(s)}` : `e^(${nice(s, 2)}/${t.toFixed(2)})`);
        const row = line("masked", L, i).filter(Number.isFinite);
        return {
          from: [["masked", i, null]],
          text: it.mask[c] ? `${power(it.now.masked[c])} / (${row.map(power).join(" + ")})` : null,
          words: row.length ? "masked, weighs" : "nothing to attend to, weighs", result: it.now.weights[c],
        };
      }
      case "output": return { from: [["weights", i, null], ["v", null, j]],
        text: sum(line("weights", L, i), column("v", L, V, j)), result: it.now.output[i * V + j] };
      default: return null;
    }
  }

  let pointed = null;
  function explain(key, i, j) {
    clear();
    pointed = [key, i, j];
    const { columns, cells } = views[key];
    if (!cells[i * columns + j]) return clear();
    const made = origin(key, i, j);
    if (!made) return;
    cells[i * columns + j].closest("td").classList.add("al-to");
    for (const [m, row, column] of made.from)
      views[m].cells.forEach((cell, c) => {
        if ((row === null || Math.floor(c / views[m].columns) === row)
          && (column === null || c % views[m].columns === column)) cell.closest("td").classList.add("al-from");
      });
    tell("");
    readout.append(make("b", {}, place(key, i, j)), made.text ? ` = ${made.text} = ` : `: ${made.words} `,
      make("b", {}, nice(made.result, key === "weights" ? 3 : 2)));
  }
  function clear() {
    pointed = null;
    for (const cell of bench.querySelectorAll(".al-from, .al-to")) cell.classList.remove("al-from", "al-to");
  }
  const cellOf = (event) => {
    const node = event.target.closest?.("[data-matrix]") ?? event.target.querySelector?.(":scope > [data-matrix]");
    return node ? [node.dataset.matrix, Number(node.dataset.row), Number(node.dataset.column)] : null;
  };
  const show = (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    if (!KINDS[cell[0]].trait) explain(...cell);
    else if (event.type === "focusin") {
      clear();
      event.target.value = typed(it.given[cell[0]][it.indexOf(event.target)]);
      event.target.select(); // the first digit takes the place of the old number
      tell(`${place(...cell)}: type a number, or press ↑ ↓ to change it by 0.1 (with Shift by 1).`);
    }
  };
  figure.listen(bench, "pointerover", show);
  figure.listen(bench, "focusin", show);
  Object.assign(it, { paint, clear });
}

/** A number, changed by hand. */
function edits(it) {
  const { model, figure, bench, tell, KINDS, views, place, clear } = it;
  function setNumber(key, c, value) {
    const next = it.given[key].slice();
    next[c] = value;
    it.given[key] = next;
    figure.push(key, pack([views[key].rows, views[key].columns], next));
  }
  const indexOf = (node) => Number(node.dataset.row) * views[node.dataset.matrix].columns + Number(node.dataset.column);
  const refuse = (node, why) => {
    const key = node.dataset.matrix, i = Number(node.dataset.row), j = Number(node.dataset.column);
    node.setAttribute("aria-invalid", "true");
    clear();
    tell(`“${shorten(node.value, 20)}” ${why}: ${place(key, i, j)} stays ${typed(it.given[key][indexOf(node)])}.`,
      true);
  };
  figure.listen(bench, "input", (event) => {
    const node = event.target;
    if (!node.matches("input.al-number")) return;
    const value = parseNumber(node.value);
    if (Number.isNaN(value)) return refuse(node, "is not a number");
    if (Math.abs(value) > LARGEST) return refuse(node, `is beyond ±${LARGEST}`);
    node.removeAttribute("aria-invalid");
    const key = node.dataset.matrix;
    tell(`${place(key, Number(node.dataset.row), Number(node.dataset.column))} = ${typed(value)}`);
    setNumber(key, indexOf(node), value);
  });
  figure.listen(bench, "focusout", (event) => {
    const node = event.target;
    if (!node.matches?.("input.al-number")) return;
    node.removeAttribute("aria-invalid");
    node.value = brief(it.given[node.dataset.matrix][indexOf(node)]);
  });
  figure.listen(bench, "keydown", (event) => {
    const node = event.target, key = node.dataset?.matrix;
    if (!key) return;
    const i = Number(node.dataset.row), j = Number(node.dataset.column), { rows, columns, cells } = views[key];
    if (KINDS[key].trait) {
      const by = { ArrowUp: 0.1, ArrowDown: -0.1 }[event.key];
      if (by) {
        const value = Math.max(-LARGEST,
          Math.min(LARGEST, it.given[key][indexOf(node)] + by * (event.shiftKey ? 10 : 1)));
        node.value = typed(value);
        node.dispatchEvent(new Event("input", { bubbles: true }));
      } else if (event.key === "Enter") cells[((i + 1) % rows) * columns + j].focus();
      else return;
    } else {
      const to = { ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1],
        Home: [i, 0], End: [i, columns - 1] }[event.key];
      if (!to) return;
      const next = cells[Math.max(0, Math.min(rows - 1, to[0])) * columns + Math.max(0, Math.min(columns - 1, to[1]))];
      node.tabIndex = -1; // one stop for the Tab key in each matrix
      next.tabIndex = 0;
      next.focus();
    }
    event.preventDefault();
  });
  figure.listen(bench, "click", (event) => {
    const node = event.target.closest(".al-mask-cell");
    if (!node) return;
    const next = it.mask.slice(), preset = presetMask(model.get("causal") ? "causal" : "none", it.given.L, it.given.L);
    next[indexOf(node)] ^= 1;
    figure.push("edited", next.every((m, c) => m === preset[c]) ? null : pack([it.given.L, it.given.L], next));
  });
  Object.assign(it, { indexOf });
}

/** A sentence, changed: known words keep their vectors. */
function retyping(it) {
  const { figure, remembered, field, hint, tell, clear } = it;
  const words = (text) => text.trim().split(/\s+/).filter(Boolean);
  function remember() {
    const seen = new Map();
    it.tokens.forEach((t, i) => {
      const n = seen.get(t) ?? 0;
      seen.set(t, n + 1);
      remembered.set(`${t}#${n}`, Array.from(it.given.x.subarray(i * it.given.E, (i + 1) * it.given.E)));
    });
  }
  figure.listen(field, "input", () => {
    const all = words(field.value), next = all.slice(0, MOST_TOKENS);
    if (!next.length) return tell(
      `The sentence is empty: type at least one word. The figure keeps “${shorten(it.tokens.join(" "), 60)}”.`, true);
    clear();
    remember();
    const seen = new Map(), x = new Float32Array(next.length * it.given.E);
    next.forEach((t, i) => {
      const n = seen.get(t) ?? 0;
      seen.set(t, n + 1);
      const old = remembered.get(`${t}#${n}`) ?? remembered.get(`${t}#0`);
      x.set(old?.length === it.given.E ? old : wordVector(t, it.given.E), i * it.given.E);
    });
    if (next.length !== it.tokens.length) figure.push("edited", null);
    figure.push("tokens", next);
    figure.push("x", pack([next.length, it.given.E], x));
    if (all.length > MOST_TOKENS) tell(`The first ${MOST_TOKENS} words are shown.`, true);
    else tell("A new word gets a small vector made from its letters. Edit it in X.");
  });
  figure.listen(field, "blur", () => {
    if (!words(field.value).length) { field.value = it.tokens.join(" "); tell(hint); }
  });
  Object.assign(it, { words });
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
