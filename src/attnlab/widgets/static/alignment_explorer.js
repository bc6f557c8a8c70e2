// α of a translation as a heatmap, target words by source words, with the gold links as rings and a temperature.
import {
  array, button, choice, frame, lecture, legible, make, nice, shorten, slider, svg, toggle, visible,
} from "./kit.js";
import { attend, nested } from "./math.js";

const PRESETS = [0.1, 1, 10];

/** Where the logarithms of one map are in the long list: all sentences of the first name, then of the second … */
export function slice(sentences, names, logs, name, sentence) {
  const size = ({ target, source }) => target.length * source.length;
  const round = sentences.reduce((sum, one) => sum + size(one), 0);
  const before = sentences.slice(0, sentence).reduce((sum, one) => sum + size(one), 0);
  const start = Math.max(0, names.indexOf(name)) * round + before;
  return logs.subarray(start, start + size(sentences[sentence]));
}

/** Weights at a temperature, the position of each word's largest weight, and how well that fits the gold links. */
export function align(one, logs, temperature) {
  const T = one.target.length, S = one.source.length;
  const { weights, bits } = attend(logs, T, S, { temperature });
  const looks = Array.from({ length: T }, (_, t) => {
    let best = t * S;
    for (let c = t * S; c < (t + 1) * S; c++) if (logs[c] > logs[best]) best = c;
    return best - t * S;
  });
  const has = (links, t, s) => links.some(([a, b]) => a === t && b === s);
  const words = T - 1; // the end mark has no gold link
  let right = 0, onGold = 0, linked = 0;
  for (let t = 0; t < words; t++) {
    right += has(one.sure, t, looks[t]) + has(one.possible, t, looks[t]);
    const places = one.possible.filter(([a]) => a === t);
    if (places.length) linked++;
    for (const [, s] of places) onGold += weights[t * S + s];
  }
  const total = words + one.sure.length;
  return { T, S, weights, bits, looks, aer: total ? 1 - right / total : 0, onGold: linked ? onGold / linked : 0 };
}

/** What is aligned, and the controls. */
function controls(it) {
  const { context } = it;
  const { model } = context;
  Object.assign(it, { logs: array(model.get("logs")).data });
  const chosen = () => model.get("sentences")[model.get("sentence")];
  const compute = () => align(
    chosen(), slice(model.get("sentences"), model.get("names"), it.logs, model.get("kind"), model.get("sentence")),
    model.get("temperature"),
  );
  const figure = frame(context, {
    name: "alignment-explorer", law: true,
    numbers: () => {
      const now = compute(), word = model.get("word");
      return {
        weights: nested(now.weights, now.T, now.S), looks: now.looks, bits: [...now.bits], sentenceError: now.aer,
        onGold: now.onGold, temperature: model.get("temperature"), kind: model.get("kind"), gold: model.get("gold"),
          word,
        corpusError: model.get("aer")[model.get("kind")] ?? -1,
      };
    },
  });

  // ---- controls
  const text = (one) => shorten(one.source.slice(0, -1).map(visible).join(" "), 60);
  const menu = choice({
    label: "Sentence", options: model.get("sentences").map((one, i) => [i, text(one)]), value: model.get("sentence"),
    input: (i) => { model.set("word", -1); figure.push("sentence", Number(i)); },
  });
  menu.classList.add("al-ae-menu");
  const switches = make("div.al-ae-switch", { role: "group", "aria-label": "Score function" });
  const heat = slider({
    label: "Temperature τ", min: 0.05, max: 20, log: true, detents: PRESETS, value: model.get("temperature"),
    format: (t) => (t >= 10 ? t.toFixed(1) : t.toFixed(2)), input: (t) => figure.push("temperature", t),
  });
  const rings = toggle({ label: "gold links", value: model.get("gold"), input: (on) => figure.push("gold", on) });
  figure.controls.append(menu, switches, heat, rings);
  Object.assign(it, { buttons: [] });
  function fillSwitch() {
    it.buttons = model.get("names").map((name) => {
      const rate = model.get("aer")[name];
      return { name, node: button(shorten(name, 24) + (rate === undefined ? "" : ` · AER ${nice(rate)}`),
        () => figure.push("kind", name)) };
    });
    switches.replaceChildren(...it.buttons.map(({ node }) => node));
    switches.hidden = it.buttons.length < 2 && model.get("aer")[it.buttons[0]?.name] === undefined;
  }
  Object.assign(it, { model, chosen, compute, figure, text, menu, heat, rings, fillSwitch });
}

/** The map and its cells. */
function mapOf(it) {
  const { chosen, compute, figure } = it;
  const map = make("div.al-ae-map", {
    tabindex: 0, role: "application", "aria-label": "Alignment map. Arrow keys choose a target word.",
  });
  const readout = make("div.al-readout.al-ae-words");
  const error = make("div.al-ae-error.al-aloud");
  const side = make("div.al-ae-side", {}, readout, error, legend());
  const layout = make("div.al-ae-layout", {}, map, side);
  figure.body.append(layout);
  Object.assign(it, { width: 700, cells: [], rows: [], columns: [], outline: null, marks: null, now: compute() });

  function legend() {
    const key = (node, words) => make("span.al-ae-key", {}, node, words);
    const mark = (dashed) => svg("svg", { width: 18, height: 18, "aria-hidden": "true" },
      svg("circle", { cx: 9, cy: 9, r: 6, class: dashed ? "al-ae-possible" : "al-ae-sure" }));
    const look = svg("svg", { width: 18, height: 18, "aria-hidden": "true" },
      svg("rect", { x: 2.5, y: 2.5, width: 13, height: 13, class: "al-ae-look" }));
    return make("div.al-ae-legend", {}, key(mark(false), "gold link"), key(mark(true), "also right"),
      key(look, "looked at most"));
  }

  /** Build the picture for the sentence and the width; `paint` then only recolours it. */
  function build() {
    const one = chosen(), T = one.target.length, S = one.source.length;
    const source = one.source.map((w) => shorten(visible(w), 12));
    const target = one.target.map((w) => shorten(visible(w), 12));
    const wide = (words) => Math.max(...words.map((w) => [...w].length));
    const letter = legible(11) / 11; // how much larger letters are in a hall
    const left = 16 + 8.7 * letter * wide(target);
    const head = 10 + 5.6 * letter * wide(source) + 6;
    const tail = 5.6 * letter * Math.max(0, [...source.at(-1)].length - 1) + 6;
    const room = layout.dataset.narrow === "true" ? it.width : it.width - (lecture() ? 215 : 250);
    const high = figure.tall(head + 36 * T, map) - head;
    const cell = Math.max(15, Math.min(36, Math.floor((room - left - tail - 4) / S), Math.floor(high / T)));
    const height = head + T * cell + 4;
    const picture = svg("svg", { width: left + S * cell + tail + 4, height, "aria-hidden": "true" });
    const size = legible(Math.min(14, Math.max(11, cell * 0.62)));
    it.columns = source.map((w, s) => svg("text", {
      transform: `translate(${left + (s + 0.5) * cell},${head - 7}) rotate(-45)`, "font-size": size,
        class: "al-ae-word",
    }, w));
    it.rows = target.map((w, t) => svg("text", {
      x: left - 6, y: head + (t + 0.5) * cell, "text-anchor": "end", "dominant-baseline": "central",
        "font-size": size, class: "al-ae-word",
    }, w));
    it.cells = Array.from({ length: T * S }, (_, c) => svg("rect", {
      x: left + (c % S) * cell, y: head + Math.floor(c / S) * cell, width: cell - 1, height: cell - 1,
    }));
    const dot = ([t, s], kind) => svg("circle", {
      cx: left + s * cell + (cell - 1) / 2, cy: head + t * cell + (cell - 1) / 2, r: cell * 0.33, class: kind,
    });
    const sure = (t, s) => one.sure.some(([a, b]) => a === t && b === s);
    // A light ring under a dark one: it is seen on every colour of the map.
    const both = (link, kind) => [dot(link, "al-ae-halo"), dot(link, kind)];
    it.marks = svg("g", {}, ...one.sure.flatMap((link) => both(link, "al-ae-sure")),
      ...one.possible.filter(([t, s]) => !sure(t, s)).flatMap((link) => both(link, "al-ae-possible")));
    const looks = svg("g", {}, ...it.now.looks.map((s, t) => svg("rect", {
      x: left + s * cell + 1, y: head + t * cell + 1, width: cell - 3, height: cell - 3, class: "al-ae-look",
    })));
    it.outline = svg("rect", { x: 1, y: 0, width: left + S * cell, height: cell + 1, class: "al-ae-row" });
    it.outline.dataset.head = head;
    it.outline.dataset.cell = cell;
    picture.append(...it.cells, looks, it.marks, it.outline, ...it.columns, ...it.rows);
    map.replaceChildren(picture);
  }
  Object.assign(it, { map, readout, error, layout, build });
}

/** Colours, bars and words. */
function telling(it) {
  const { model, chosen, figure, menu, heat, rings, readout, error } = it;
  function paint() {
    const one = chosen(), theme = figure.theme, kind = model.get("kind"), word = model.get("word");
    it.cells.forEach((node, c) => node.setAttribute("fill", theme.weight(it.now.weights[c])));
    it.marks.setAttribute("visibility", model.get("gold") ? "visible" : "hidden");
    it.outline.setAttribute("visibility", word < 0 ? "hidden" : "visible");
    it.outline.setAttribute("y", Number(it.outline.dataset.head) +
      Math.max(0, word) * Number(it.outline.dataset.cell) - 1);
    it.rows.forEach((node, t) => node.classList.toggle("al-ae-on", t === word));
    it.columns.forEach((node, s) => node.classList.toggle("al-ae-on",
      word >= 0 && it.now.weights[word * it.now.S + s] >= 0.2));
    for (const { name, node } of it.buttons) node.setAttribute("aria-pressed", String(name === kind));
    if (heat.value !== model.get("temperature")) heat.value = model.get("temperature");
    menu.value = model.get("sentence");
    rings.value = model.get("gold");
    error.textContent = `This sentence: error rate ${nice(it.now.aer)}, weight on gold ` +
      `links ${nice(it.now.onGold, 2)}.`;
    if (word < 0) readout.replaceChildren(
      make("p.al-hint", {}, "Point at a French word, or press an arrow key, to see where it looks."));
    else readout.replaceChildren(make("p.al-ae-asks", {}, make("bdi", {}, shorten(visible(one.target[word]), 24)),
      " looks at"), ...bars(one, word), gold(one, word));
  }

  const ranked = (word) => Array.from({ length: it.now.S }, (_, s) => s)
    .sort((a, b) => it.now.weights[word * it.now.S + b] - it.now.weights[word * it.now.S + a] || a - b).slice(0, 3);

  function bars(one, word) {
    return ranked(word).map((s) => {
      const bar = make("span.al-ae-bar"), share = it.now.weights[word * it.now.S + s];
      bar.style.transform = `scaleX(${share})`;
      return make("div.al-ae-line", {}, make("bdi", {}, shorten(visible(one.source[s]), 14)),
        make("span.al-ae-track", { "aria-hidden": "true" }, bar), make("span.al-value", {}, nice(share, 2)));
    });
  }

  function gold(one, word) {
    const places = one.possible.filter(([t]) => t === word).map(([, s]) => visible(one.source[s]));
    return make("p", {}, places.length ? `gold: ${places.join(", ")}` : word === one.target.length - 1
      ? "the end mark: the sentence is over" : "gold: nothing");
  }

  function speak() {
    const word = model.get("word"), one = chosen();
    if (word < 0) return;
    figure.say(`${visible(one.target[word])} looks at ` +
      ranked(word).map((s) => `${visible(one.source[s])} ${nice(it.now.weights[word * it.now.S + s], 2)}`).join(", "));
  }
  Object.assign(it, { paint, speak });
}

/** Choosing a word. */
function choosing(it) {
  const { model, figure, map, speak } = it;
  const point = (word) => { if (word !== model.get("word")) figure.push("word", word); };
  const rowAt = (event) => {
    const box = map.firstChild.getBoundingClientRect();
    const zoom = map.firstChild.height.baseVal.value / box.height; // slides are scaled
    const t = Math.floor(((event.clientY - box.top) * zoom - Number(it.outline.dataset.head)) / Number(
      it.outline.dataset.cell));
    return t >= 0 && t < it.now.T ? t : -1;
  };
  for (const event of ["pointermove", "pointerdown"])
    figure.listen(map, event, (e) => { const t = rowAt(e); if (t >= 0) point(t); });
  figure.listen(map, "keydown", (event) => {
    const word = model.get("word"), last = it.now.T - 1;
    const to = { ArrowDown: word + 1, ArrowRight: word + 1, ArrowUp: word - 1, ArrowLeft: word - 1, Home: 0,
      End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    point(Math.max(0, Math.min(last, to)));
    figure.schedule(speak);
  });
}

/** What happens when something changes. */
function life(it) {
  const { model, compute, figure, text, menu, fillSwitch, layout, build, paint } = it;
  function rebuild() {
    it.now = compute();
    build();
    paint();
  }
  function recompute() {
    const looked = it.now.looks.join();
    it.now = compute();
    if (it.now.looks.join() !== looked) build();
    paint();
  }
  fillSwitch();
  rebuild();
  figure.onTheme(() => figure.schedule(paint));
  figure.onResize((w) => {
    if (Math.abs(w - it.width) < 1) return;
    it.width = w;
    layout.dataset.narrow = String(w < 620 && !lecture());
    rebuild();
  });
  figure.on(["temperature", "gold", "word"], () => figure.schedule(recompute));
  figure.on(["sentence", "kind"], () => figure.schedule(rebuild));
  figure.on(["sentences", "names", "aer", "logs"], () => figure.schedule(() => {
    it.logs = array(model.get("logs")).data;
    menu.fill(model.get("sentences").map((one, i) => [i, text(one)]));
    fillSwitch();
    rebuild();
  }));
}

function render(context) {
  const it = { context };
  for (const piece of [controls, mapOf, telling, choosing, life]) piece(it);
  const { figure } = it;
  return figure.dispose;
}

export default { render };
