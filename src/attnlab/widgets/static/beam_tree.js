// Beam search as a tree that grows to the right, in the way of attnlab.decoding.beam.
import { button, frame, lecture, make, nice, shorten, slider, svg, visible } from "./kit.js";
import { player } from "./player.js";
import { sideways } from "./sideways.js";

const penalise = (length, alpha) => ((5 + length) / 6) ** alpha; // Wu et al. 2016

/** Sums of log p from the root to every node. */
export function totalsOf({ parents, log_probabilities: logs }) {
  const out = [0];
  for (let i = 1; i < parents.length; i++) out[i] = out[parents[i]] + logs[i];
  return out;
}

/** All steps of the search: which nodes are kept, which end, which are dropped; and the endings by score. */
export function beamSearch(tree, width, alpha) {
  const { parents, ended, longest } = tree, totals = totalsOf(tree);
  const below = new Map();
  for (let i = 1; i < parents.length; i++) below.set(parents[i], [...(below.get(parents[i]) ?? []), i]);
  const steps = [], endings = [];
  let beams = [0];
  for (let length = 1; length <= longest; length++) {
    const candidates = beams.flatMap((node) => below.get(node) ?? []).sort((a, b) => totals[b] - totals[a] || a - b);
    if (!candidates.length) break;
    const best = candidates.slice(0, 2 * width); // at most K of 2K end, so K open ones are left
    const finished = best.slice(0, width).filter((i) => ended[i]);
    const kept = best.filter((i) => !ended[i]).slice(0, width);
    steps.push({ kept, ended: finished, dropped: best.filter((i) => !kept.includes(i) && !finished.includes(i)) });
    for (const i of finished) endings.push({ node: i, total: totals[i], score: totals[i] / penalise(length, alpha) });
    beams = kept;
    if (endings.length >= width && kept.length) {
      const worst = endings.map((e) => e.score).sort((a, b) => b - a)[width - 1];
      if (totals[kept[0]] / penalise(longest, alpha) <= worst) break; // no open beam can still win a place
    }
  }
  if (!endings.length && steps.length)
    for (const i of steps.at(-1).kept) endings.push(
      { node: i, total: totals[i], score: totals[i] / penalise(steps.length, alpha) });
  endings.sort((a, b) => b.score - a.score);
  return { steps, endings: endings.slice(0, width), totals };
}

/** The words up to a node, without begin and end marks. */
export function spoken({ parents, ended, words }, node) {
  const out = [];
  for (; node; node = parents[node]) if (!ended[node]) out.unshift(words[node]);
  return out;
}

/** Everything the figure shows. */
export function compute(tree, width, alpha, shown) {
  const { steps, endings, totals } = beamSearch(tree, width, alpha);
  const visibleSteps = steps.slice(0, shown), complete = shown >= steps.length;
  const greedy = beamSearch(tree, 1, 0).endings[0];
  const seen = complete ? endings : endings.filter((e) => visibleSteps.some((s) => s.ended.includes(e.node)));
  return {
    width, length_penalty: alpha, steps: steps.length, shown: visibleSteps.length,
    kept: visibleSteps.map((s) => s.kept.join(" ")),
    ended: visibleSteps.map((s) => s.ended.join(" ")),
    dropped: visibleSteps.map((s) => s.dropped.join(" ")),
    totals: visibleSteps.flatMap((s) => [...s.kept, ...s.ended, ...s.dropped]).map((i) => totals[i]),
    endings: seen.map((e) => spoken(tree, e.node).join(" ")),
    logs: seen.map((e) => e.total), scores: seen.map((e) => e.score),
    greedy: spoken(tree, greedy.node).join(" "), greedy_log: greedy.total,
  };
}

function render(context) {
  const { model } = context;
  const KEYS = ["words", "parents", "log_probabilities", "ended", "longest"];
  const tree = () => Object.fromEntries(KEYS.map((key) => [key, model.get(key)]));
  const knobs = () => [model.get("width"), model.get("length_penalty"), model.get("shown")];
  const figure = frame(context, { name: "beam-tree", numbers: () => compute(tree(), ...knobs()) });

  const width = slider({ label: "Beams K", min: 1, max: model.get("widest"), step: 1, value: model.get("width"),
    input: (k) => figure.push("width", k) });
  const alpha = slider({ label: "Length penalty α", min: 0, max: 2, step: 0.1, value: model.get("length_penalty"),
    format: (a) => nice(a, 1), input: (a) => figure.push("length_penalty", a) });
  const count = () => beamSearch(tree(), model.get("width"), model.get("length_penalty")).steps.length;
  const go = (steps) => {
    figure.push("shown", Math.max(0, Math.min(count(), steps)));
    const now = compute(tree(), ...knobs());
    const best = now.endings.length ? `Best ending so far: ${shorten(now.endings[0], 120)}.` : "Nothing has ended yet.";
    figure.say(`Step ${now.shown} of ${now.steps}. ${best}`);
  };
  const at = () => Math.min(model.get("shown"), count());
  const walk = player(figure, {
    at, last: count, go, names: { next: "Next step ›", label: "Steps of the search" },
    tag: "div.al-player.al-main.al-b-steps",
  });
  const start = button("Start", () => { walk.stop(); go(0); });
  const all = button("To the end", () => { walk.stop(); go(count()); });
  walk.node.prepend(start);
  walk.node.append(all);
  figure.controls.append(width, alpha, walk.node);

  const picture = svg("svg", { class: "al-b-tree", role: "img", "aria-label": "The tree of kept and dropped words" });
  const scroll = make("div.al-b-scroll",
    { tabindex: 0, role: "region", "aria-label": "Search tree, scrolls sideways" }, picture);
  const status = make("div.al-b-status"), list = make("ol.al-b-endings"), greedy = make("div.al-b-greedy");
  const more = make("div.al-b-more", { hidden: true }, "The tree is wider than its frame: scroll it sideways ↔");
  const sides = sideways(figure, scroll, { words: more });
  const legend = make("div.al-b-legend", {},
    "Each box: a word, and log p of the whole beginning up to it. Thick: kept. Double: a finished sentence. Dashed " +
      "with ✕: dropped.");
  figure.body.append(more, scroll, legend, make("div.al-readout", {}, status, list, greedy));
  let size = 680, followed = null; // the step that was last brought into view

  function paint() {
    const data = tree(), [K, penalty, shown] = knobs();
    const { steps, endings, totals } = beamSearch(data, K, penalty);
    const now = compute(data, K, penalty, shown);
    const em = parseFloat(getComputedStyle(figure.root).fontSize) || 15;
    for (const [knob, value] of [[width, K], [alpha, penalty]]) if (knob.value !== value) knob.value = value;
    width.querySelector("input").max = String(model.get("widest"));
    width.value = K;
    start.disabled = now.shown === 0;
    all.disabled = now.shown === now.steps;
    walk.paint();

    const column = 7.2 * em, box = 5.4 * em, high = (lecture() ? 2.5 : 2.05) * em,
      rowGap = high + 0.45 * em, left = 0.4 * em, top = 1.7 * em;
    const rows = Math.max(2, ...steps.map((s) => s.kept.length + s.ended.length + s.dropped.length));
    const wide = Math.max(size - 2, left + (now.shown + 1) * column), tall = top + rows * rowGap + 0.4 * em;
    for (const [key, value] of Object.entries({ viewBox: `0 0 ${wide} ${tall}`, width: wide,
      height: tall })) picture.setAttribute(key, value);

    // Winners' nodes, from the best ending back to the begin mark: only when the search is over.
    const winning = new Set();
    if (now.shown === now.steps && endings.length) for (let i = endings[0].node; i; i = data.parents[i]) winning.add(i);
    const place = new Map([[0, { x: left, y: top + (rows * rowGap) / 2 - high / 2 }]]);
    const edges = [], boxes = [];
    const draw = (i, kind) => {
      const { x, y } = place.get(i);
      const win = winning.has(i) || (i === 0 && winning.size > 0);
      const word = i === 0 ? "begin" : data.ended[i] ? "■ end" : shorten(visible(data.words[i]), 9);
      const node = svg("g", { class: `al-b-node al-b-${kind}${win ? " al-b-win" : ""}` },
        svg("rect", { x, y, width: i ? box : 3.9 * em, height: high, rx: 0.35 * em }));
      if (kind === "ended") node.append(
        svg("rect", { x: x + 3, y: y + 3, width: box - 6, height: high - 6, rx: 0.25 * em, class: "al-b-inner" }));
      const up = !i ? 1.3 : lecture() ? 1.05 : 0.88;
      node.append(svg("text", { x: x + (i ? box : 3.9 * em) / 2, y: y + up * em, class: "al-b-word" },
        `${kind === "dropped" ? "✕ " : ""}${word}`));
      if (i) node.append(svg("text", { x: x + box / 2, y: y + high - 0.3 * em, class: "al-b-log" },
        nice(totals[i], 2)));
      node.append(svg("title", {}, i
        ? `${shorten(spoken(data, i).join(" "), 200)}: log p ${nice(totals[i])}, this word p ` +
          `= ${nice(Math.exp(data.log_probabilities[i]))}` : "begin mark"));
      boxes.push(node);
      if (i) {
        const from = place.get(data.parents[i]);
        const x1 = from.x + (data.parents[i] ? box : 3.9 * em), y1 = from.y + high / 2, y2 = y + high / 2;
        edges.push(svg("path", { d: `M${x1} ${y1}C${x1 + 0.9 * em} ${y1} ${x - 0.9 * em} ${y2} ${x} ${y2}`,
          class: `al-b-edge al-b-${kind}${win ? " al-b-win" : ""}` }));
      }
    };
    draw(0, "kept");
    steps.slice(0, now.shown).forEach((step, s) => {
      const x = left + (s + 1) * column - 1.5 * em;
      boxes.push(svg("text", { x: x + box / 2, y: 1.1 * em, class: "al-b-head" }, `word ${s + 1}`));
      const ranked = [...step.kept, ...step.ended, ...step.dropped].sort((a, b) => totals[b] - totals[a] || a - b);
      ranked.forEach((i, row) => place.set(i, { x, y: top + row * rowGap }));
      for (const kind of ["dropped", "kept", "ended"]) for (const i of step[kind]) draw(i, kind);
    });
    picture.replaceChildren(...edges, ...boxes);
    // It opens at its start, and follows the search when the reader goes on.
    const right = left + (now.shown + 1) * column - 1.5 * em;
    if (followed !== null && followed !== now.shown) sides.see(now.shown ? right - column - box : 0, right);
    else sides.paint();
    followed = now.shown;

    status.textContent = now.shown === 0 ? "Before the first word there is one beginning: nothing."
      : now.shown < now.steps
      ? `Step ${now.shown} of ${now.steps}: of all continuations the ${K === 1 ? "best one " +
        "is" : `${K} best open ones are`} kept. Finished sentences so far:${now.endings.length ? "" : " none yet"}`
      : `Done after ${now.steps} steps. Finished sentences, best score first:`;
    list.replaceChildren(...now.endings.map((text, i) => make("li", {},
      make("span.al-b-said", {},
        `${i === 0 && now.shown === now.steps ? "★ " : ""}${shorten(text || "(nothing)", 160)}`),
      make("span.al-b-score", {}, ` log p ${nice(now.logs[i], 2)} · score ${nice(now.scores[i], 2)}`))));
    greedy.textContent = `Greedy (K = 1) says: ${shorten(now.greedy || "(nothing)", 160)} · log ` +
      `p ${nice(now.greedy_log, 2)}`;
  }
  paint();
  figure.on(["width", "length_penalty", "shown", "widest", ...KEYS], () => figure.schedule(paint));
  figure.onWidth((now) => { size = now; paint(); });
  return figure.dispose;
}

export default { render };
