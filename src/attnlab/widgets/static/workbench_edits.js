// What a reader types into the workbench: numbers and words.
import { pack, shorten } from "./kit.js";
import { presetMask } from "./math.js";
import { brief, parseNumber, typed, wordVector } from "./workbench_numbers.js";

const MOST_TOKENS = 6;
const LARGEST = 1000; // numbers a reader may type

/** A number, changed by hand. */
export function edits(it) {
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
export function retyping(it) {
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
