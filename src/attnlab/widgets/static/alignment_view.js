// What the figures of sequence-to-sequence models share: what was read, what was said, word by word, and a map
// of each word's weights. A word here is any unit: a French word, a sound.
import { button, context2d, lecture, legible, make, nice, shorten, slider } from "./kit.js";
import { player, still } from "./player.js";

/** @typedef {{text: string, hint?: string, end: boolean, probability: number, weights: ArrayLike<number> | null,
 *   others: {text: string, probability: number}[]}} Said */

/**
 * The longest common subsequence: which of `said` are in `gold` in the same order, and the other way round.
 * @returns {{right: boolean[], found: boolean[]}}
 */
export function inOrder(said, gold) {
  const n = said.length, m = gold.length, length = Array.from({ length: n + 1 }, () => new Int32Array(m + 1));
  for (let i = n - 1; i >= 0; i--)
    for (let j = m - 1; j >= 0; j--)
      length[i][j] = said[i] === gold[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
  const right = Array(n).fill(false), found = Array(m).fill(false);
  for (let i = 0, j = 0; i < n && j < m; ) {
    if (said[i] === gold[j]) right[i++] = found[j++] = true;
    else if (length[i + 1][j] >= length[i][j + 1]) i++;
    else j++;
  }
  return { right, found };
}

/** A share as people say it; a certainty is never claimed by rounding. */
export function percent(share) {
  const text = share < 0.005 ? "<1" : share > 0.995 ? ">99" : nice(100 * share, 0);
  return `${text}\u202f%`;
}

/**
 * Back, step, play, all: moves the trait `shown` from 0 to `total()`; −1 is all of it. `unit` is what a second counts.
 * A reader who asked for reduced motion sees everything at once, and can still step.
 */
export function oneByOne(figure, model, { total, unit, moved }) {
  const place = () => { const shown = model.get("shown"); return shown < 0 ? total() : Math.min(shown, total()); };
  const go = (shown) => { moved(); figure.push("shown", shown >= total() ? -1 : shown); };
  const speed = slider({
    label: "Speed", min: 1, max: 12, step: 1, value: model.get("speed"),
    format: (x) => `${nice(x, 0)} ${unit}/s`, input: (x) => figure.push("speed", x),
  });
  const walk = player(figure, {
    at: place, last: total, go, round: 1, rate: { node: speed, value: () => model.get("speed") },
    names: { next: "Step", label: "One after the other" }, tag: "div.al-player.al-av-player",
  });
  const all = button("Show all", () => { walk.stop(); go(total()); });
  speed.before(all);
  function paint() {
    walk.paint();
    if (!total()) for (const node of [walk.back, walk.next, walk.play]) node.disabled = true;
    else walk.play.disabled = false;
    all.disabled = total() === 0;
    if (speed.value !== model.get("speed")) speed.value = model.get("speed");
  }
  function restart() {
    walk.stop();
    go(still() ? total() : 0);
    if (!still()) walk.start({ soon: true });
  }
  return { node: walk.node, place, paint, stop: walk.stop, restart };
}

/** Notes in the box `node`, remade by `notes()` when `key()` differs from last time, or after `forget()`. */
export function noteBox(node, key, notes) {
  let last = null;
  const paint = () => {
    const now = key();
    if (now === last) return;
    last = now;
    const parts = notes();
    node.replaceChildren(...parts);
    node.hidden = parts.length === 0;
    node.classList.toggle("al-error", parts.length > 0);
  };
  return { paint, forget: () => { last = null; } };
}

/** Words that are written together: l'homme, and no space before a comma. */
export const touching = (text) => (text.endsWith("'") ? ["al-av-joins"] : text === "," ? ["al-av-joined"] : []);

const LABELS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const SLANT = Math.PI / 3.2;

/**
 * The whole view: `read` and `spoken` name the two sides, `name` a unit that is said, `one` the same in full, and
 * `quote` writes a unit that was read. `show(result, shown)` takes
 *   columns   what was read, one text each; `odd` marks those the model does not know
 *   said      Said[], all of it; `shown` of them are visible
 *   summary   the fixed context, when nothing was attended to
 *   right     for each of `said`, is it right? null when nobody knows
 */
/** Two lines of words, a map, and what is said of it. */
function parts(it) {
  const { read, spoken, one } = it;
  const source = make("div.al-av-words");
  const target = make("div.al-av-words",
    { role: "group", "aria-label": `${spoken}: choose a ${one} to see where it looked` });
  const readLine = make("div.al-av-line", {}, make("span.al-av-side", {}, read), source);
  const saidLine = make("div.al-av-line", {}, make("span.al-av-side", {}, spoken), target);
  const canvas = make("canvas.al-av-map", { role: "img" });
  const scroll = make("div.al-av-scroll", {}, canvas);
  const fixed = make("p.al-av-fixed"), key = make("p.al-av-key");
  const readout = make("div.al-readout.al-av-readout");
  Object.assign(it, { result: { columns: [], said: [], summary: null, right: null }, shown: 0 });
  Object.assign(it, { picked: -1, hovered: -1, width: 0, layout: null });
  Object.assign(it, { heads: [], buttons: [] });
  Object.assign(it, { source, target, readLine, saidLine, canvas, scroll, fixed, key, readout });
}

/** Which word is in the spotlight. */
function choosing(it) {
  const { figure, source, target } = it;
  /** The word in the spotlight: under the pointer, chosen, or, on the way, the newest; −1 when all is said. */
  function selected() {
    for (const i of [it.hovered, it.picked]) if (i >= 0 && i < it.shown) return i;
    return it.shown < it.result.said.length ? it.shown - 1 : -1;
  }
  function pick(i) { it.picked = i; repaint(); figure.say(it.describe()); }
  function hover(i) { if (i !== it.hovered) { it.hovered = i; repaint(); } }
  const repaint = () => figure.schedule(it.paint);

  function build() {
    it.heads = it.result.columns.map((text, j) => {
      const share = make("span.al-av-share"), odd = it.result.odd?.[j];
      const label = make(`span.al-av-text${odd ? ".al-av-odd" : ""}`, { title: odd ? "a word it never met" : null },
        shorten(text, 30) + (odd ? " ?" : ""));
      const node = make("span.al-av-read", {}, label, share);
      node.classList.add(...touching(text));
      return { share, node };
    });
    source.replaceChildren(...it.heads.map(({ node }) => node));
    it.buttons = it.result.said.map((word, i) => {
      const node = button("", () => pick(i), { class: "al-button al-av-said", "aria-pressed": "false" });
      node.append(make("span.al-av-text", {}, word.end ? "end" : shorten(word.text, 30)));
      if (word.hint) node.append(make("span.al-av-hint", {}, word.hint));
      const wrong = it.result.right && it.result.right[i] === false;
      node.classList.toggle("al-av-wrong", Boolean(wrong));
      node.classList.toggle("al-av-end", word.end);
      if (wrong) node.append(make("span.al-av-cross", { "aria-hidden": "true" }, "✗"),
        make("span.al-sr", {}, " (not in the reference)"));
      node.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") hover(i); });
      node.addEventListener("pointerleave", () => hover(-1));
      node.addEventListener("focus", () => { if (node.matches(":focus-visible")) pick(i); });
      node.classList.add(...touching(word.text));
      return node;
    });
    target.replaceChildren(...it.buttons);
    it.layout = null;
  }
  target.addEventListener("keydown", (event) => {
    const at = it.buttons.indexOf(event.target);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: it.shown - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    if (to >= 0 && to < it.shown) { pick(to); it.buttons[to].tabIndex = 0; it.buttons[to].focus(); }
  });
  Object.assign(it, { selected, pick, hover, repaint, build });
}

/** The map and the words, as they are now. */
function painting(it) {
  const {
    figure, read, spoken, name, one, quote, source, readLine, saidLine, canvas, scroll, fixed, key,
    readout, selected,
  } = it;
  function measure(ctx) {
    const rows = it.result.said.map((word) => (word.end ? "end" : shorten(word.text, 16)));
    const columns = it.result.columns.map((text) => shorten(text, 14));
    const widest = (list) => Math.max(0, ...list.map((text) => ctx.measureText(text).width));
    ctx.font = `600 ${legible(13)}px ${LABELS}`;
    const left = Math.ceil(widest(rows)) + 12, long = widest(columns);
    const high = figure.tall(440, canvas) - 60;
    const fit = (room) => Math.max(legible(13),
      Math.min(38, Math.floor(room / columns.length), Math.floor(high / rows.length)));
    const flat = long < fit(it.width - left - 4) - 2;
    const over = flat ? 0 : long * Math.cos(SLANT);
    const cell = fit(it.width - left - over - 4), top = flat ? 22 : Math.ceil(long * Math.sin(SLANT)) + 14;
    return {
      rows, columns, left, top, cell, flat,
      width: Math.ceil(left + cell * columns.length + Math.max(4, over - cell / 2 + 4)),
        height: top + cell * rows.length + 4,
    };
  }

  function paintMap() {
    it.layout ??= measure(canvas.getContext("2d"));
    const { rows, columns, left, top, cell, flat } = it.layout, { theme } = figure, now = selected();
    const ctx = context2d(canvas, it.layout.width, it.layout.height);
    ctx.clearRect(0, 0, it.layout.width, it.layout.height);
    const size = Math.min(13, cell - 1);
    for (let i = 0; i < it.shown; i++)
      for (let j = 0; j < columns.length; j++) {
        const weight = it.result.said[i].weights[j];
        ctx.fillStyle = theme.weight(weight);
        ctx.fillRect(left + j * cell, top + i * cell, cell - 1, cell - 1);
        if (cell >= 26 && weight >= 0.05) {
          ctx.fillStyle = theme.inkOnWeight(weight);
          ctx.font = `${legible(10)}px ${LABELS}`;
          ctx.textAlign = "center";
          ctx.textBaseline = "middle";
          ctx.fillText(nice(100 * weight, 0), left + (j + 0.5) * cell - 0.5, top + (i + 0.5) * cell);
        }
      }
    ctx.strokeStyle = theme.line;
    ctx.strokeRect(left - 0.5, top - 0.5, columns.length * cell, rows.length * cell);
    ctx.textBaseline = "middle";
    rows.forEach((text, i) => {
      if (i >= it.shown) return;
      ctx.textAlign = "right";
      ctx.fillStyle = i === now ? theme.text : theme.muted;
      ctx.font = `${i === now ? 600 : 400} ${legible(size)}px ${LABELS}`;
      ctx.fillText(text, left - 7, top + (i + 0.5) * cell);
    });
    columns.forEach((text, j) => {
      const bright = now >= 0 && it.result.said[now].weights[j] >= 0.2;
      ctx.fillStyle = bright ? theme.text : theme.muted;
      ctx.font = `${bright ? 600 : 400} ${legible(size)}px ${LABELS}`;
      ctx.save();
      ctx.translate(left + (j + 0.5) * cell, top - 6);
      if (!flat) ctx.rotate(-SLANT);
      ctx.textAlign = flat ? "center" : "left";
      ctx.fillText(text, 0, flat ? -4 : 0);
      ctx.restore();
    });
    if (now >= 0) {
      ctx.strokeStyle = theme.text;
      ctx.lineWidth = 2;
      ctx.strokeRect(left - 1, top + now * cell - 1, columns.length * cell + 1, cell + 1);
      ctx.lineWidth = 1;
    }
    canvas.setAttribute("aria-label",
      `Map of ${it.shown} rows (${spoken}) and ${columns.length} columns (${read}): the darker a cell, the more ` +
        `the ${name} looked there.`);
  }

  /** Without attention there is one row of numbers for all words: draw it as it is. */
  function paintSummary() {
    const { summary } = it.result, { theme } = figure;
    const across = it.width < 520 ? 32 : 64, cell = Math.max(5, Math.min(12, Math.floor((it.width - 8) / across)));
    const ctx = context2d(canvas, across * cell + 1, Math.ceil(summary.length / across) * cell + 1);
    ctx.clearRect(0, 0, across * cell + 1, canvas.height);
    summary.forEach((value, i) => {
      ctx.fillStyle = theme.signed(value);
      ctx.fillRect((i % across) * cell, Math.floor(i / across) * cell, cell - 1, cell - 1);
    });
    canvas.setAttribute("aria-label",
      `The ${summary.length} numbers that stand for the whole ${name === "sound" ? "word" : "sentence"}.`);
  }

  function where(weights) {
    const order = [...weights.keys()].sort((a, b) => weights[b] - weights[a]);
    return order.filter((j, rank) => rank === 0 || weights[j] >= 0.03).slice(0, 4)
      .map((j) => `${quote(it.result.columns[j])} ${percent(weights[j])}`).join(", ");
  }
  function describe() {
    const now = selected();
    if (now < 0) return it.shown
      ? `Point at a ${one}, or choose one and use ← →, to see ${it.result.summary ? "how sure the model " +
        "was" : "where it looked"}.` : "";
    const word = it.result.said[now];
    const others = word.others.map(
      ({ text, probability }) => `${text === "<eos>" ? "end" : text} ${percent(probability)}`);
    const said = `${word.end ? "The end mark" : quote(word.text)} was said with ${percent(word.probability)}; next ` +
      `best: ${others.join(", ")}.`;
    return word.weights ? `${said} It looked at ${where([...word.weights])}.` : said;
  }

  function paint() {
    if (!it.width) return;
    const now = selected(), weights = now >= 0 ? it.result.said[now].weights : null;
    it.heads.forEach(({ node, share }, j) => {
      const weight = weights ? weights[j] : 0;
      node.style.background = weights ? figure.theme.weight(weight) : "";
      node.style.color = weights ? figure.theme.inkOnWeight(weight) : "";
      share.textContent = weights && weight >= 0.03 ? nice(100 * weight, 0) : "";
    });
    it.buttons.forEach((node, i) => {
      node.classList.toggle("al-av-unsaid", i >= it.shown);
      node.disabled = i >= it.shown;
      node.setAttribute("aria-pressed", String(i === now));
      node.tabIndex = i === Math.max(0, now) ? 0 : -1; // one stop for the Tab key, arrows within
    });
    const any = it.result.said.length > 0;
    readLine.hidden = saidLine.hidden = scroll.hidden = !any;
    fixed.hidden = !any || !it.result.summary;
    key.hidden = !any || Boolean(it.result.summary);
    key.textContent = `A row for each ${one}, in the order they were said; its colours say how much it looked at ` +
      `each column, and add up to 100\u202f%.`;
    source.classList.toggle("al-av-flat", Boolean(it.result.summary));
    if (any && it.result.summary) {
      fixed.textContent = `Without attention the ${read} ${name === "sound" ? "word" : "sentence"} becomes ` +
        `these ${it.result.summary.length} numbers, whatever its length, ` +
        `and every ${name} must be made from them: there is nowhere to look.`;
      paintSummary();
    } else if (any) paintMap();
    readout.hidden = !any;
    readout.textContent = describe();
    readout.classList.toggle("al-hint", selected() < 0);
  }
  Object.assign(it, { describe, paint });
}

/** Pointer, theme, size. */
function life(it) {
  const { figure, canvas, pick, hover, repaint, paint } = it;
  const rowAt = (event) => {
    if (!it.layout || it.result.summary) return -1;
    const box = canvas.getBoundingClientRect(); // slides are zoomed
    const row = Math.floor((((event.clientY - box.top) / box.height) * it.layout.height -
      it.layout.top) / it.layout.cell);
    return row >= 0 && row < it.shown ? row : -1;
  };
  canvas.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse") hover(rowAt(event)); });
  canvas.addEventListener("pointerleave", () => hover(-1));
  canvas.addEventListener("click", (event) => { const row = rowAt(event); if (row >= 0) pick(row); });
  figure.onTheme(repaint);
  figure.onResize((wide) => {
    // On a wide screen words and map are side by side.
    const beside = wide >= (lecture() ? 560 : 940);
    figure.body.classList.toggle("al-av-wide", beside);
    it.width = beside ? wide * 0.52 : wide;
    it.layout = null;
    paint();
  });
}

export function alignmentView(figure, { read, spoken, name, one, quote }) {
  const it = { figure, read, spoken, name, one, quote };
  for (const piece of [parts, choosing, painting, life]) piece(it);
  const { readLine, saidLine, scroll, fixed, key, readout, selected, repaint, build } = it;
  return {
    words: [readLine, saidLine], map: make("div.al-av-where", {}, fixed, scroll, key), readout, selected,
    /** Forget what was chosen: the newest word is in the spotlight again. */
    release: () => { it.picked = -1; },
    show(next, visible) {
      if (next !== it.result) { it.result = next; it.picked = it.hovered = -1; build(); }
      it.shown = visible;
      repaint();
    },
  };
}
