// A recurrent network unrolled along a sentence. The cells are torch's: same weights, same order of gates.
import { array, button, frame, make, nice, shorten, slider, svg, uniqueId, visible } from "./kit.js";
import { cellStep } from "./layers.js";
import { softmax } from "./math.js";
import { player } from "./player.js";
import { matVec } from "./products.js";
import { sideways } from "./sideways.js";

const NAME = { rnn: "RNN", gru: "GRU", lstm: "LSTM" };
const LONGEST = 16;

/** All states along a sentence; x is a list of vectors. */
export function unrolled(kind, weights, x) {
  const zeros = new Float32Array(weights.weight_hh.shape[1]);
  let state = { h: zeros, c: zeros };
  return x.map((now) => Array.from((state = cellStep(kind, weights, now, state)).h));
}

/** The row of a word in the vocabulary; capital letters are forgiven; −1 for an unknown word. */
export function rowOf(word, vocabulary) {
  const exact = vocabulary.indexOf(word);
  return exact >= 0 ? exact : vocabulary.indexOf(String(word).toLowerCase());
}

/** Everything the figure shows. */
export function compute(given) {
  const { tokens, vocabulary, embedding, kind, weights, out, muted } = given;
  const width = embedding.shape[1];
  const rows = tokens.map((word) => rowOf(word, vocabulary));
  const vector = (row) => Array.from({ length: width }, (_, j) => (row < 0 ? 0 : embedding.data[row * width + j]));
  const silent = rows.map(() => vector(-1));
  const heard = rows.map(vector);
  const step = Math.min(given.step, tokens.length);
  const plain = unrolled(kind, weights, heard);
  const states = unrolled(kind, weights, heard.map((x, t) => (muted.includes(t) ? silent[t] : x)));
  return {
    step,
    states: states.slice(0, step),
    answers: out ? states.slice(0, step).map((h) => [...softmax(matVec(out.weight, h, out.bias))]) : [],
    moved: states.slice(0, step).map((h, t) => Math.hypot(...h.map((v, i) => v - plain[t][i]))),
    unknown: rows.flatMap((row, t) => (row < 0 ? [t] : [])),
    muted: muted.filter((t) => t < tokens.length),
  };
}

/** The cell, and the way through time. */
function controls(it) {
  const { context } = it;
  const { model } = context;
  const WEIGHTS = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"];
  Object.assign(it, { given: null });
  /** The arrays are unpacked once, not in every frame. */
  function load() {
    const out = array(model.get("weight_out"));
    it.given = {
      kind: model.get("cell"), vocabulary: model.get("vocabulary"), embedding: array(model.get("embedding")),
      weights: Object.fromEntries(WEIGHTS.map((key) => [key, array(model.get(key))])),
      out: out && { weight: out, bias: array(model.get("bias_out")) },
    };
  }
  load();
  const state = () => compute({ ...it.given, tokens: model.get("tokens"), step: model.get("step"),
    muted: model.get("muted") });
  const figure = frame(context, { name: "rnn-stepper", numbers: state });

  const length = () => model.get("tokens").length;
  const pick = (t) => { walk.stop(); go(t); };
  const time = slider({ label: "Step t", min: 0, max: LONGEST, step: 1, value: 0, input: pick });
  const range = time.querySelector("input");
  const walk = player(figure, {
    at: () => Math.min(model.get("step"), length()), last: length, go, names: { next: "Next word ›" },
  });
  const id = uniqueId();
  const box = make("input.al-r-text", { type: "text", id, spellcheck: "false", autocomplete: "off", size: 26 });
  const read = () => {
    const words = box.value.trim().split(/\s+/).filter(Boolean).slice(0, LONGEST);
    if (!words.length) return;
    walk.stop();
    figure.push("tokens", words);
    figure.push("muted", []);
    go(words.length);
  };
  box.addEventListener("keydown", (event) => { if (event.key === "Enter") read(); });
  figure.controls.append(
    make("label.al-control.al-r-sentence", { for: id }, make("span.al-label", {}, "Sentence"), box),
    button("Read it", read), time, walk.node,
  );
  function go(t) {
    figure.push("step", Math.max(0, Math.min(length(), t)));
    const now = state();
    figure.say(now.step ? `After “${shorten(model.get("tokens")[now.step - 1], 40)}”. ${it.answerWords(now)}`
      : "Before the first word.");
  }
  Object.assign(it, { model, WEIGHTS, load, state, figure, time, range, walk, box });
}

/** The network as a picture, and the words below it. */
function body(it) {
  const { figure } = it;
  const picture = svg("svg", { class: "al-r-net", role: "img", "aria-label": "States after each word" });
  const words = make("div.al-r-words", { role: "group", "aria-label": "Words: press one to silence it" });
  const inner = make("div.al-r-inner", {}, picture, words);
  const line = make("div"), strangers = make("div.al-r-strangers"), hint = make("div.al-r-hint", {},
    "Each cell is one entry of the state, between −1 and 1; the colour follows the number. Press a word to silence " +
      "it: it is then read as zeros.");
  const scroll = make("div.al-r-scroll", {}, inner);
  figure.body.append(scroll, make("div.al-readout", {}, line, strangers), hint);
  Object.assign(it, { size: 680 });
  Object.assign(it, { picture, words, inner, line, strangers, sides: sideways(figure, scroll) });
}

/** The network up to now. */
function painting(it) {
  const { model, state, figure, time, range, walk, box, picture, words, inner, line, strangers, sides } = it;
  const answerWords = (now) => {
    const row = now.answers.at(-1);
    if (!row) return "";
    const best = row.indexOf(Math.max(...row));
    return `Stopped here it would answer “${shorten(model.get("labels")[best] ?? best, 24)}” (${nice(row[best], 2)}).`;
  };

  function paint() {
    const now = state(), tokens = model.get("tokens"), labels = model.get("labels");
    const H = it.given.weights.weight_hh.shape[1], T = tokens.length;
    const em = parseFloat(getComputedStyle(figure.root).fontSize) || 15;
    const gutter = 3.1 * em, pitch = Math.max(3.6 * em, Math.min(7 * em, (it.size - gutter) / T)), gap = 1.1 * em;
    const cell = H <= 8 ? 1.55 * em : Math.max(0.7 * em, (12.5 * em) / H);
    const head = it.given.out ? 2.7 * em : 0.5 * em, wide = gutter + T * pitch, high = head + H * cell + 1.6 * em;
    range.max = String(T);
    time.value = now.step;
    walk.paint();
    inner.style.width = `${wide}px`;
    for (const [key, value] of Object.entries({ viewBox: `0 0 ${wide} ${high}`, width: wide,
      height: high })) picture.setAttribute(key, value);

    const parts = [];
    for (let i = 0; i < H; i++)
      if (H <= 12) parts.push(svg("text", { x: gutter - 0.5 * em, y: head + (i + 0.68) * cell, class: "al-r-unit" },
        `h[${i}]`));
    for (let t = 0; t < T; t++) {
      const left = gutter + t * pitch + gap / 2, right = left + pitch - gap, middle = (left + right) / 2;
      const done = t < now.step;
      const foot = head + H * cell;
      const kind = done ? "al-r-arrow" : "al-r-arrow al-r-later", wing = 0.3 * em, tip = 0.4 * em;
      const up = `M${middle} ${foot + 1.35 * em}V${foot + 0.35 * em}m${-wing} ${tip}l${wing} ${-tip}l${wing} ${tip}`;
      parts.push(svg("path", { d: up, class: kind }));
      if (t) {
        const y = head + (H * cell) / 2;
        const on = `M${left - gap + 2} ${y}H${left - 2}m${-wing} ${-wing}l${wing} ${wing}l${-wing} ${wing}`;
        parts.push(svg("path", { d: on, class: kind }));
      }
      for (let i = 0; i < H; i++) {
        const y = head + i * cell;
        if (!done) {
          parts.push(svg("rect", { x: left, y, width: right - left, height: cell, class: "al-r-empty" }));
          continue;
        }
        const value = now.states[t][i];
        parts.push(svg("rect", { x: left, y, width: right - left, height: cell, fill: figure.theme.signed(value) },
          svg("title", {}, `h[${i}] after word ${t + 1}: ${nice(value)}`)));
        if (cell > 1.1 * em) parts.push(svg("text", { x: middle, y: y + cell / 2 + 0.3 * em, class: "al-r-number",
          style: `fill: ${figure.theme.inkOnSigned(value)}` }, nice(value, 2)));
      }
      parts.push(svg("rect", { x: left, y: head, width: right - left, height: H * cell, class: t === now.step - 1
        ? "al-r-frame al-r-now" : "al-r-frame" }));
      if (it.given.out && done) {
        const row = now.answers[t], best = row.indexOf(Math.max(...row));
        const room = Math.max(3, Math.floor(pitch / (0.5 * em)));
        parts.push(svg("text", { x: middle, y: 1.0 * em, class: "al-r-answer" },
          shorten(visible(labels[best] ?? String(best)), room)));
        parts.push(svg("text", { x: middle, y: 2.1 * em, class: "al-r-share" }, nice(row[best], 2)));
      }
    }
    picture.replaceChildren(...parts);

    words.style.gridTemplateColumns = `repeat(${T}, ${pitch}px)`;
    words.style.marginLeft = `${gutter}px`;
    if (words.childElementCount !== T || [...words.children].some((node, t) => node.word !== tokens[t])) build(tokens);
    [...words.children].forEach((node, t) => {
      const silent = now.muted.includes(t);
      node.firstChild.setAttribute("aria-pressed", String(silent));
      node.classList.toggle("al-r-stranger", now.unknown.includes(t));
      node.lastChild.textContent = now.muted.length && t < now.step ? `Δ ${nice(now.moved[t], 2)}` : "";
    });
    line.textContent = now.step
      ? `h${sub(now.step)} = ${NAME[it.given.kind]}(h${sub(now.step - 1)}, ` +
        `“${shorten(visible(tokens[now.step - 1]), 24)}”). ${answerWords(now)}` + (now.muted.length
          ? ` Δ: how far the silenced word moves this state (${nice(now.moved.at(-1), 2)} here).` : "")
      : "h₀ is all zeros. Press “Next word”.";
    const names = [...new Set(now.unknown.map((t) => tokens[t]))].slice(0,
      5).map((word) => `“${shorten(visible(word), 20)}”`);
    strangers.textContent = names.length
      ? `Not in the vocabulary, read as zeros: ${names.join(", ")}. It ` +
        `knows ${it.given.vocabulary.slice(0, 14).map((word) => shorten(visible(word), 12)).join(", ")}` +
        `${it.given.vocabulary.length > 14 ? " …" : ""}.`
      : "";
    sides.see(now.step ? gutter + (now.step - 1) * pitch : 0, gutter + now.step * pitch);
  }
  function build(tokens) {
    words.replaceChildren(...tokens.map((word, t) => {
      const flip = () => {
        const muted = model.get("muted");
        figure.push("muted", muted.includes(t) ? muted.filter((other) => other !== t)
          : [...muted, t].sort((a, b) => a - b));
      };
      const node = make("div.al-r-word", {},
        button(shorten(visible(word), 9), flip, { title: shorten(word, 200),
        "aria-label": `silence ${shorten(visible(word), 40)}` }), make("span.al-r-moved"));
      node.word = word;
      return node;
    }));
  }
  const sub = (n) => [...String(n)].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]).join("");
  const sentence = () => { box.value = shorten(model.get("tokens").map((word) => shorten(word, 60)).join(" "), 600); };
  Object.assign(it, { answerWords, paint, sentence });
}

/** What happens when something changes. */
function life(it) {
  const { WEIGHTS, load, figure, paint, sentence } = it;
  sentence();
  paint();
  figure.on(["step", "muted"], () => figure.schedule(paint));
  figure.on("tokens", () => { sentence(); figure.schedule(paint); });
  figure.on(["cell", "vocabulary", "labels", "embedding", "weight_out", "bias_out", ...WEIGHTS],
    () => { load(); figure.schedule(paint); });
  figure.onTheme(() => figure.schedule(paint));
  figure.onWidth((width) => { it.size = width; paint(); });
}

function render(context) {
  const it = { context };
  for (const piece of [controls, body, painting, life]) piece(it);
  const { figure } = it;
  return figure.dispose;
}

export default { render };
