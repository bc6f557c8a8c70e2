// The collapse of DINO, trained here: dots in a plane, seven prototypes, two switches and the entropies that tell.
import { array, choice, context2d, frame, lecture, make, nice, slider, svg, toggle } from "./kit.js";
import { chart, letter, onPress } from "./chart.js";
import { SHARP, STEPS, STUDENT, says, train } from "./tiny_dino.js";

const REACH = 1.9, CELLS = 44;

/** The likeliest prototype; of equal ones the first. */
const best = (answer) => answer.reduce((top, p, k) => (p > answer[top] + 1e-9 ? k : top), 0);

const ARRAYS = ["points", "noise", "first", "prototypes"];

/** The weights of one start in a row, as tiny_dino.js takes them: two of each hidden unit, their biases, prototypes. */
function startOf(first, prototypes, start, H, K) {
  const weights = new Float64Array(3 * H + K * H);
  for (let i = 0; i < H; i++) {
    weights[2 * i] = first[(start * H + i) * 3];
    weights[2 * i + 1] = first[(start * H + i) * 3 + 1];
    weights[2 * H + i] = first[(start * H + i) * 3 + 2];
  }
  weights.set(prototypes.subarray(start * K * H, (start + 1) * K * H), 3 * H);
  return weights;
}

const startNames = (count) => Array.from({ length: count }, (_, i) => [i, `random weights ${i + 1}`]);

function render(context) {
  const { model } = context;
  let points, noise, first, prototypes, N, starts, K, H, runs; // trained once for every choice, in some 50 milliseconds
  function load() {
    [points, noise, first, prototypes] = ARRAYS.map((name) => array(model.get(name)));
    [[N], [starts, K, H], runs] = [points.shape, prototypes.shape, new Map()];
  }
  load();
  function course() {
    const [start, centring, sharpening] = ["start", "centring", "sharpening"].map((key) => model.get(key));
    const key = `${start} ${centring} ${sharpening}`, weights = () => startOf(first.data, prototypes.data, start, H, K);
    if (!runs.has(key)) runs.set(key,
      train({ points: points.data, noise: noise.data, weights: weights(), H, K, centring, sharpening }));
    return runs.get(key);
  }
  const temperature = () => (model.get("sharpening") ? SHARP : STUDENT);
  const about = (known, n, tau) => says(known, H, K, points.data[2 * n], points.data[2 * n + 1], tau);
  function state() {
    const all = course(), now = all[model.get("step")], n = model.get("picture");
    const winners = Array.from({ length: N }, (_, i) => best(about(now, i, temperature())));
    return {
      ofMean: all.map((one) => one.ofMean), meanOf: all.map((one) => one.meanOf), mean: [...now.mean],
      teacher: [...about(now, n, temperature())],
      student: [...about({ weights: now.student, centre: new Float64Array(K) }, n, STUDENT)],
      winners, used: new Set(winners).size,
    };
  }
  const figure = frame(context, { name: "collapse", numbers: state });
  const step = slider({ label: "Steps", min: 0, max: STEPS, step: 1, value: 0, input: (v) => figure.push("step", v) });
  const centring = toggle({ label: "centring", value: true, input: (on) => figure.push("centring", on) });
  const sharpening = toggle({ label: "sharpening", value: true, input: (on) => figure.push("sharpening", on) });
  const start = choice({ label: "Start", value: 0, options: startNames(starts),
    input: (v) => figure.push("start", Number(v)) });
  const picture = slider({ label: "Picture", min: 0, max: N - 1, step: 1, value: 0, format: (i) => String(i + 1),
    input: (i) => figure.push("picture", i) });
  for (const less of [start, picture]) less.classList.add("al-aside");
  figure.controls.append(step, centring, sharpening, start, picture);
  const canvas = make("canvas", { role: "img" }), bars = make("div.al-co-bars"), curves = make("div");
  const pane = (title, inside, kind = "") => make(`div.al-co-pane${kind}`, {}, make("div.al-co-title", {}, title),
    inside);
  const grid = make("div.al-co-grid", {}, pane("Who wins where", make("div.al-map", {}, canvas)),
    pane("What they say", bars, ".al-aside"), pane("Two entropies", curves));
  const readout = make("div.al-readout");
  figure.body.append(grid, readout);
  onPress(figure, canvas, () => [CELLS, CELLS], (row, column) => {
    const x = ((column + 0.5) / CELLS * 2 - 1) * REACH, y = (1 - (row + 0.5) / CELLS * 2) * REACH;
    const far = (n) => Math.hypot(points.data[2 * n] - x, points.data[2 * n + 1] - y);
    figure.push("picture", Array.from({ length: N }, (_, n) => n).reduce((a, b) => (far(b) < far(a) ? b : a)));
  });
  const colour = (k) => figure.theme.series[k % figure.theme.series.length];

  function plane(now, known, wide, em) {
    const ink = context2d(canvas, wide, wide), { theme } = figure;
    const small = document.createElement("canvas"), dot = small.getContext("2d");
    small.width = small.height = CELLS;
    for (let r = 0; r < CELLS; r++) for (let c = 0; c < CELLS; c++) {
      const x = ((c + 0.5) / CELLS * 2 - 1) * REACH, y = (1 - (r + 0.5) / CELLS * 2) * REACH;
      const answer = says(known, H, K, x, y, temperature()), k = best(answer);
      dot.globalAlpha = 0.75 * Math.max(0, (answer[k] - 1 / K) / (1 - 1 / K)); // "all equally" has no colour
      dot.fillStyle = colour(k);
      dot.fillRect(c, r, 1, 1);
    }
    ink.fillStyle = theme.background;
    ink.fillRect(0, 0, wide, wide);
    ink.drawImage(small, 0, 0, wide, wide);
    const at = (v) => (v / REACH + 1) / 2 * wide;
    const last = model.get("picture"), order = [...Array(N).keys()].filter((n) => n !== last);
    for (const n of [...order, last]) { // the chosen one on top
      const chosen = n === last;
      ink.beginPath();
      ink.arc(at(points.data[2 * n]), at(-points.data[2 * n + 1]), (chosen ? 0.5 : 0.26) * em, 0, 7);
      ink.fillStyle = theme.text;
      ink.fill();
      ink.lineWidth = chosen ? 0.16 * em : 0.08 * em;
      ink.strokeStyle = theme.background;
      ink.stroke();
    }
    canvas.setAttribute("aria-label", `${N} pictures; winning prototypes: ${now.used} of ${K}`);
  }

  /** Three rows of K bars: the mean answer, the teacher's and the student's about the chosen picture. */
  function answers(now, wide, em) {
    const high = 4.1 * em, each = wide / K;
    const row = (title, values) => {
      const node = svg("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img",
        "aria-label": `${title}: ${values.map((p) => nice(p, 2)).join(", ")}` });
      values.forEach((p, k) => {
        const tall = Math.max(1, p * (high - 1.3 * em));
        node.append(svg("rect", { x: k * each + 2, y: high - 1.2 * em - tall, width: each - 4, height: tall,
          fill: colour(k) }));
        node.append(svg("text", { x: (k + 0.5) * each, y: high - 0.2 * em, "text-anchor": "middle" }, String(k + 1)));
      });
      return make("div", {}, make("div.al-co-name", {}, title), node);
    };
    bars.replaceChildren(row("teacher, mean of all pictures", now.mean),
      row(`teacher, picture ${model.get("picture") + 1}`, now.teacher),
      row(`student, picture ${model.get("picture") + 1}`, now.student));
  }

  function entropyCurves(now, wide, em) {
    const most = Math.log(K), at = model.get("step");
    const plot = chart({ wide, high: Math.round(figure.tall(15 * em, curves)), em, x: [0, STEPS], y: [0, most * 1.08],
      xTicks: [0, 100, 200], yTicks: [0, 1, [most, `log ${K}`]], xName: "steps", right: 1.5,
      label: "Entropy of the mean answer and mean entropy of an answer, against steps" });
    const line = (values, k, dash) => plot.line(values.map((v, i) => [i, v]),
      { style: `stroke: ${colour(k)}`, "stroke-width": 2.6, "stroke-dasharray": dash });
    line(now.ofMean, 0, "");
    line(now.meanOf, 1, "7 4");
    plot.rule(plot.x(at), plot.box.top, plot.x(at), plot.box.bottom, "al-co-probe");
    plot.dot(at, now.ofMean[at], { style: `fill: ${colour(0)}` });
    plot.dot(at, now.meanOf[at], { style: `fill: ${colour(1)}` });
    const key = (k, mark, words) => make("div.al-co-key", {},
      make("span", { style: `color: ${colour(k)}`, "aria-hidden": "true" }, mark), ` ${words}`);
    curves.replaceChildren(plot.node, key(0, "━", `of the mean answer: ${nice(now.ofMean[at], 2)}`),
      key(1, "╍", `mean of an answer: ${nice(now.meanOf[at], 2)}`));
  }

  let width = 720;
  function paint() {
    const at = model.get("step"), now = state(), em = letter(figure), columns = lecture() ? 2
      : width > 44 * em ? 3 : width > 30 * em ? 2 : 1;
    grid.dataset.columns = columns;
    step.value = at;
    centring.value = model.get("centring");
    sharpening.value = model.get("sharpening");
    start.value = model.get("start");
    picture.value = model.get("picture");
    const wide = Math.floor(Math.min((width - (columns - 1) * 1.2 * em) / columns, 24 * em));
    plane(now, course()[at], Math.min(wide, figure.tall(19 * em, canvas)), em);
    answers(now, wide, em);
    entropyCurves(now, wide, em);
    const [ofMean, meanOf] = [now.ofMean[at], now.meanOf[at]], equal = meanOf > 0.9 * Math.log(K);
    const used = `${now.used} of ${K} prototypes ${now.used === 1 ? "wins" : "win"} for some picture`;
    readout.textContent = `Step ${at}: ` + (equal
      ? "every answer is nearly “all equally”. It says nothing about the picture."
      : ofMean < 0.3 ? "every picture gets the same answer. It says nothing about the picture."
      : `${used}. Entropy of the mean answer ${nice(ofMean, 2)}, of a single one ${nice(meanOf, 2)}.`);
  }
  paint();
  figure.on(["step", "centring", "sharpening", "start", "picture"], () => figure.schedule(paint));
  figure.on(ARRAYS, () => {
    load();
    picture.querySelector("input").max = String(N - 1);
    start.fill(startNames(starts));
    figure.schedule(paint);
  });
  figure.onTheme(() => figure.schedule(paint));
  figure.onWidth((now) => { width = now; paint(); });
  return figure.dispose;
}

export default { render };
