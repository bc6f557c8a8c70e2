// Back-propagation through time by hand: how much of the gradient is left d steps back.
import { array, choice, frame, make, nice, slider, svg } from "./kit.js";
import { sigmoid } from "./layers.js";

const FLOOR = -12, CEILING = 6; // powers of ten that the chart shows

/** y += s · W x, with W the block of `rows` rows from `start` on. */
function addTimes(y, weight, x, s = 1, start = 0) {
  const width = weight.shape[1];
  for (let i = 0; i < y.length; i++) {
    let sum = 0;
    for (let j = 0; j < width; j++) sum += weight.data[(start + i) * width + j] * x[j];
    y[i] += s * sum;
  }
  return y;
}

/** y += s · Wᵀ g, with W the rows from `start` on. */
function addTransposed(y, weight, g, s = 1, start = 0) {
  const width = weight.shape[1];
  for (let i = 0; i < g.length; i++) for (let j = 0; j < width; j++) y[j] += s * weight.data[
    (start + i) * width + j] * g[i];
  return y;
}

const rowsOf = (x) => Array.from({ length: x.shape[0] },
  (_, t) => x.data.subarray(t * x.shape[1], (t + 1) * x.shape[1]));
const norm = (v) => Math.hypot(...v);

/** ‖∂(v·h_T)/∂x_t‖ for every t, of h_t = φ(W x_t + s·Q h_{t−1}), φ = tanh or nothing. */
export function vanillaGradients({ x, direction, rnn_ih, rnn_hh }, scale, linear) {
  const H = direction.data.length, inputs = rowsOf(x);
  const states = [];
  let h = new Float64Array(H);
  for (const now of inputs) {
    const a = addTimes(addTimes(new Float64Array(H), rnn_ih, now), rnn_hh, h, scale);
    h = linear ? a : a.map(Math.tanh);
    states.push(h);
  }
  const out = [];
  let back = Float64Array.from(direction.data); // ∂/∂h_t
  for (let t = inputs.length - 1; t >= 0; t--) {
    const delta = back.map((g, i) => (linear ? g : g * (1 - states[t][i] ** 2))); // ∂/∂a_t
    out[t] = norm(addTransposed(new Float64Array(x.shape[1]), rnn_ih, delta));
    back = addTransposed(new Float64Array(H), rnn_hh, delta, scale);
  }
  return out;
}

/** The same for an LSTM whose forget gates get an extra bias. Rows of the weights: i, f, g, o. */
export function lstmGradients({ x, direction, lstm_ih, lstm_hh }, forget) {
  const H = direction.data.length, inputs = rowsOf(x), steps = [];
  let h = new Float64Array(H), c = new Float64Array(H);
  for (const now of inputs) {
    const a = addTimes(addTimes(new Float64Array(4 * H), lstm_ih, now), lstm_hh, h);
    const part = (block, f) => Float64Array.from({ length: H }, (_, k) => f(a[block * H + k]));
    const i = part(0, sigmoid), f = part(1, (v) => sigmoid(v + forget)), g = part(2, Math.tanh), o = part(3, sigmoid);
    const old = c;
    c = old.map((m, k) => f[k] * m + i[k] * g[k]);
    const shown = c.map(Math.tanh);
    h = shown.map((m, k) => o[k] * m);
    steps.push({ i, f, g, o, old, shown });
  }
  const out = [];
  let dh = Float64Array.from(direction.data), dc = new Float64Array(H);
  for (let t = inputs.length - 1; t >= 0; t--) {
    const { i, f, g, o, old, shown } = steps[t];
    const da = new Float64Array(4 * H), next = new Float64Array(H);
    for (let k = 0; k < H; k++) {
      const m = dc[k] + dh[k] * o[k] * (1 - shown[k] ** 2); // ∂/∂c_t
      da[k] = m * g[k] * i[k] * (1 - i[k]);
      da[H + k] = m * old[k] * f[k] * (1 - f[k]);
      da[2 * H + k] = m * i[k] * (1 - g[k] ** 2);
      da[3 * H + k] = dh[k] * shown[k] * o[k] * (1 - o[k]);
      next[k] = m * f[k];
    }
    out[t] = norm(addTransposed(new Float64Array(x.shape[1]), lstm_ih, da));
    dh = addTransposed(new Float64Array(H), lstm_hh, da);
    dc = next;
  }
  return out;
}

/** log₁₀ of the share that is left at distance 0, 1, 2 … */
export function shares(gradients) {
  const last = gradients.at(-1);
  return gradients.map((g) => Math.log10(g / last)).reverse();
}

/** Everything the figure shows. */
export function compute(given, { scale, forget, distance, linear }) {
  const rnn = shares(vanillaGradients(given, scale, linear)), lstm = shares(lstmGradients(given, forget));
  const below = (curve) => curve.findIndex((share) => share < -2);
  return { rnn, lstm, distance, left: { rnn: rnn[distance], lstm: lstm[distance] },
    hundredth: { rnn: below(rnn), lstm: below(lstm) } };
}

const raised = (n) => [...String(n)].map((c) => ({ "-": "⁻", ..."⁰¹²³⁴⁵⁶⁷⁸⁹" })[c] ?? c).join("");
/** 10^e as people read it: "0.35", "1 in 4,000", "2 × 10⁻⁹", "×35". */
export function amount(e) {
  if (e > 0.005) return e < 4 ? `×${nice(10 ** e, e < 1 ? 1 : 0)}` : `× 10${raised(Math.round(e))}`;
  if (e > -2) return nice(10 ** e, 3);
  return `${nice(10 ** (e - Math.floor(e)), 1)} × 10${raised(Math.floor(e))}`;
}

function render(context) {
  const { model } = context;
  const ARRAYS = ["x", "direction", "rnn_ih", "rnn_hh", "lstm_ih", "lstm_hh"];
  const KNOBS = ["scale", "forget", "distance", "linear"];
  let given = {};
  const load = () => { given = Object.fromEntries(ARRAYS.map((key) => [key, array(model.get(key))])); };
  load();
  const state = () => compute(given, Object.fromEntries(KNOBS.map((key) => [key, model.get(key)])));
  const figure = frame(context, { name: "gradient-through-time", numbers: state });

  const knobs = {
    scale: slider({ label: "RNN: recurrent weights s", min: 0.3, max: 1.6, step: 0.05, value: model.get("scale"),
      format: (s) => nice(s, 2), input: (s) => figure.push("scale", s) }),
    forget: slider({ label: "LSTM: forget bias", min: -2, max: 6, step: 0.25, value: model.get("forget"),
      format: (b) => nice(b, 2), input: (b) => figure.push("forget", b) }),
    distance: slider({ label: "Steps back d", min: 0, max: given.x.shape[0] - 1, step: 1, value: model.get("distance"),
      input: (d) => figure.push("distance", d) }),
  };
  const kind = choice({ label: "RNN", options: [["tanh", "with tanh"], ["linear", "linear"]],
    value: model.get("linear") ? "linear" : "tanh", input: (v) => figure.push("linear", v === "linear") });
  figure.controls.append(knobs.scale, kind, knobs.forget, knobs.distance);
  const chart = svg("svg",
    { class: "al-g-chart", role: "img", "aria-label": "Share of the gradient that is left, against the distance" });
  const first = make("div"), second = make("div"), third = make("div.al-g-gates");
  figure.body.append(chart, make("div.al-readout", {}, first, second, third));
  let size = 680;

  function paint() {
    const now = state(), em = parseFloat(getComputedStyle(figure.root).fontSize) || 15;
    for (const key of Object.keys(knobs)) if (knobs[key].value !== model.get(key)) knobs[key].value = model.get(key);
    kind.value = model.get("linear") ? "linear" : "tanh";
    const T = now.rnn.length, wide = Math.max(280, size), high = figure.tall(19 * em, chart);
    const left = 3.6 * em, right = wide - 4.6 * em, top = 1.4 * em, bottom = high - 3 * em;
    const x = (d) => left + (d / (T - 1)) * (right - left);
    const clip = (e) => Math.max(FLOOR, Math.min(CEILING, e));
    const y = (e) => bottom - ((clip(e) - FLOOR) / (CEILING - FLOOR)) * (bottom - top);
    for (const [key, value] of Object.entries({ viewBox: `0 0 ${wide} ${high}`, width: wide,
      height: high })) chart.setAttribute(key, value);
    const parts = [];
    for (let e = FLOOR; e <= CEILING; e += 3) {
      parts.push(svg("path", { d: `M${left} ${y(e)}H${right}`, class: e === 0 ? "al-g-grid al-g-one" : "al-g-grid" }));
      parts.push(svg("text", { x: left - 0.5 * em, y: y(e) + 0.32 * em, class: "al-g-tick al-g-end" }, e === 0
        ? "1" : `10${raised(e)}`));
    }
    for (let d = 0; d < T; d += 10) parts.push(svg("text", { x: x(d), y: bottom + 1.3 * em, class: "al-g-tick" },
      String(d)));
    parts.push(svg("text", { x: (left + right) / 2, y: bottom + 2.6 * em, class: "al-g-axis" }, "steps back d"));
    parts.push(svg("text", { x: left, y: top - 0.5 * em, class: "al-g-axis al-g-start" },
      "share of the gradient that is left"));
    const at = x(now.distance);
    parts.push(svg("path", { d: `M${at} ${top}V${bottom}`, class: "al-g-probe" }));
    for (const [name, label] of [["rnn", "RNN"], ["lstm", "LSTM"]]) {
      const curve = now[name];
      parts.push(svg("path", { d: `M${curve.map((e, d) => `${x(d).toFixed(1)} ${y(e).toFixed(1)}`).join("L")}`,
        class: `al-g-line al-g-${name}` }));
      const shape = name === "rnn"
        ? svg("circle", { cx: at, cy: y(curve[now.distance]), r: 0.38 * em, class: "al-g-dot al-g-rnn" })
        : svg("rect", { x: at - 0.36 * em, y: y(curve[now.distance]) - 0.36 * em, width: 0.72 * em, height: 0.72 * em,
          class: "al-g-dot al-g-lstm" });
      const far = curve.at(-1), other = now[name === "rnn" ? "lstm" : "rnn"].at(-1);
      const near = Math.abs(y(far) - y(other)) < 1.2 * em
        ? (far >= other && (far > other || name === "lstm") ? -0.6 : 0.6) * em : 0;
      parts.push(shape, svg("text", { x: right + 0.5 * em, y: y(far) + 0.32 * em + near,
        class: `al-g-name al-g-${name}` }, `${label}${far < FLOOR ? " ↓" : far > CEILING ? " ↑" : ""}`));
    }
    chart.replaceChildren(...parts);
    const say = (name) => `${name === "rnn" ? "● RNN" : "■ LSTM"}: ${amount(now.left[name])} of the gradient is ` +
      `left after ${now.distance} steps` +
      `${now.hundredth[name] > 0 ? `; below 1/100 from step ${now.hundredth[name]} on` : ""}.`;
    first.textContent = say("rnn");
    second.textContent = say("lstm");
    third.textContent = `Forget gates around σ(${nice(model.get("forget"), 2)}) ` +
      `= ${nice(sigmoid(model.get("forget")), 3)}: kept alone, a memory would ` +
      `have ${amount(now.distance * Math.log10(sigmoid(model.get("forget"))))} left.`;
  }
  paint();
  figure.on(KNOBS, () => figure.schedule(paint));
  figure.on(ARRAYS, () => { load(); figure.schedule(paint); });
  figure.onWidth((width) => { size = width; paint(); });
  return figure.dispose;
}

export default { render };
