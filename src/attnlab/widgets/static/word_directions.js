// Word arithmetic on real vectors: start + amount · (towards − away), and the nearest words by cosine.
import { array, choice, frame, lecture, legible, make, nice, shorten, slider, svg, toggle } from "./kit.js";

const TOP = 6;

const product = (a, b) => { let sum = 0; for (let i = 0; i < a.length; i++) sum += a[i] * b[i]; return sum; };
const unit = (a) => { const size = Math.sqrt(product(a, a)) || 1; return a.map((x) => x / size); };

/** Whether two boxes (left, top, right, bottom) share a place. */
const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

/** The point, its nearest words, and a plane to draw them in: along the direction, and across it. */
export function solve(vectors, width, { start, away, towards, amount, leaveOut }) {
  const rows = vectors.length / width;
  const row = (i) => Array.from(vectors.subarray(i * width, (i + 1) * width));
  const a = row(start), b = row(away), c = row(towards);
  const step = c.map((x, i) => x - b[i]);
  const point = a.map((x, i) => x + amount * step[i]);
  const goal = unit(point);
  const cosines = [];
  for (let i = 0; i < rows; i++) cosines.push(product(goal, unit(row(i))));
  const out = new Set(leaveOut ? [start, away, towards] : []);
  const order = cosines.map((_, i) => i).filter((i) => !out.has(i)).sort((i, j) => cosines[j] - cosines[i] || i - j);
  const nearest = order.slice(0, TOP);
  const along = unit(step);
  const across = unit(a.map((x, i) => x - product(a, along) * along[i]));
  const flat = (v) => [product(v, along), product(v, across)];
  return {
    nearest, cosines: nearest.map((i) => cosines[i]), amount,
    plane: { start: flat(a), away: flat(b), towards: flat(c), point: flat(point),
      nearest: nearest.map((i) => flat(row(i))) },
  };
}

function render(context) {
  const { model } = context;
  const table = () => array(model.get("vectors"));
  let cached = null, of = null;
  const vectors = () => {
    if (of !== model.get("vectors")) { of = model.get("vectors"); cached = table(); }
    return cached;
  };
  const state = () => solve(vectors().data, vectors().shape[1], {
    start: model.get("start"), away: model.get("away"), towards: model.get("towards"),
    amount: model.get("amount"), leaveOut: model.get("leave_out"),
  });
  const figure = frame(context, { name: "word-directions", numbers: state });

  const options = () => model.get("words").map((word, i) => [i, shorten(word, 20)]);
  const menu = (label, key) => choice({
    label, options: options(), value: model.get(key), input: (value) => figure.push(key, Number(value)),
  });
  const menus = { start: menu("Start", "start"), away: menu("minus", "away"), towards: menu("plus", "towards") };
  const amount = slider({
    label: "Amount", min: 0, max: 2, step: 0.05, value: model.get("amount"), format: (x) => nice(x, 2),
    input: (value) => figure.push("amount", value),
  });
  const leave = toggle({
    label: "leave out the three words", value: model.get("leave_out"),
      input: (value) => figure.push("leave_out", value),
  });
  const three = [menus.start, menus.away, menus.towards], walk = [amount, leave];
  figure.controls.append(...(lecture() ? [...walk, ...three] : [...three, ...walk])); // a slide shows two of them

  const list = make("div.al-wd-list", { role: "list", "aria-label": "Nearest words" });
  const plane = svg("svg", { class: "al-wd-plane", viewBox: "0 0 320 240", role: "img",
    "aria-label": "The words in a plane" });
  const formula = make("div.al-wd-formula.al-aloud");
  figure.body.append(formula, make("div.al-wd-both", {}, list, plane));

  function draw(now) {
    const colours = figure.theme, words = model.get("words");
    const { plane: at } = now;
    const points = [at.start, at.away, at.towards, at.point, ...at.nearest.slice(0, 4)];
    const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
    const [left, right] = [Math.min(...xs), Math.max(...xs)], [low, high] = [Math.min(...ys), Math.max(...ys)];
    const X = (x) => 45 + (230 * (x - left)) / (right - left || 1);
    const Y = (y) => 212 - (180 * (y - low)) / (high - low || 1);
    const size = lecture() ? (legible(12) * 320) / (plane.clientWidth || 320) : 12; // it is drawn 320 wide
    const parts = [];
    const taken = points.map(([x, y]) => [X(x) - 5, Y(y) - 5, X(x) + 5, Y(y) + 5]); // dots; then words, which keep off
    const arrow = (from, to, dash) => {
      const [x1, y1, x2, y2] = [X(from[0]), Y(from[1]), X(to[0]), Y(to[1])];
      const size = Math.hypot(x2 - x1, y2 - y1) || 1, [ux, uy] = [(x2 - x1) / size, (y2 - y1) / size];
      parts.push(svg("path", {
        d: `M${x1} ${y1}L${x2} ${y2}M${x2 - 8 * ux + 4 * uy} ${y2 - 8 * uy - 4 * ux}` +
          `L${x2} ${y2}L${x2 - 8 * ux - 4 * uy} ${y2 - 8 * uy + 4 * ux}`,
        fill: "none", stroke: colours.series[dash ? 1 : 0], "stroke-width": 2, "stroke-dasharray": dash ? "5 4" : null,
      }));
    };
    if (now.amount > 0) arrow(at.start, at.point, true);
    arrow(at.away, at.towards, false);
    const dot = ([x, y], word, kind) => {
      const [cx, cy] = [X(x), Y(y)];
      parts.push(kind === "point"
        ? svg("path", { d: `M${cx - 5} ${cy - 5}L${cx + 5} ${cy + 5}M${cx - 5} ${cy + 5}L${cx + 5} ${cy - 5}`,
          stroke: colours.series[1], "stroke-width": 2.5 })
        : svg("circle", { cx, cy, r: 4, fill: kind === "given" ? colours.series[0] : colours.background,
          stroke: colours.series[0], "stroke-width": 2 }));
      if (word === null) return;
      const letters = shorten(word, 12), half = 0.29 * size * letters.length, at = Math.max(24, Math.min(296, cx));
      const above = cy - 8, below = cy + 6 + size, ways = cy < 24 ? [below, above] : [above, below];
      const box = (foot) => [at - half, foot - 0.8 * size, at + half, foot + 1];
      const foot = ways.find((way) => !taken.some((other) => meet(box(way), other))) ?? ways[0];
      taken.push(box(foot));
      const look = { "text-anchor": "middle", fill: colours.text, "font-size": size };
      parts.push(svg("text", { x: at, y: foot, ...look }, letters));
    };
    at.nearest.slice(0, 4).forEach((place, i) => {
      if (![model.get("start"), model.get("away"), model.get("towards")].includes(now.nearest[i])) dot(place,
        words[now.nearest[i]], "near");
    });
    for (const key of ["start", "away", "towards"]) dot(at[key], words[model.get(key)], "given");
    dot(at.point, null, "point");
    plane.replaceChildren(...parts);
  }
  function paint() {
    const now = state(), words = model.get("words");
    for (const [key, node] of Object.entries(menus)) node.value = model.get(key);
    amount.value = now.amount;
    leave.value = model.get("leave_out");
    const [a, b, c] = ["start", "away", "towards"].map((key) => shorten(words[model.get(key)], 20));
    formula.textContent = `${a} + ${nice(now.amount, 2)} · (${c} − ${b}) ≈ ${shorten(words[now.nearest[0]], 20)}`;
    list.replaceChildren(...now.nearest.map((place, i) => {
      const bar = make("div.al-wd-bar");
      bar.style.transform = `scaleX(${Math.max(0, Math.min(1, now.cosines[i]))})`;
      return make("div.al-wd-row", { role: "listitem" },
        make("span.al-wd-word", {}, `${i + 1}. ${shorten(words[place], 16)}`),
        make("span.al-wd-track", { "aria-hidden": "true" }, bar), make("span.al-value", {}, nice(now.cosines[i], 2)));
    }));
    draw(now);
  }
  paint();
  figure.on(["start", "away", "towards", "amount", "leave_out", "vectors"], () => figure.schedule(paint));
  figure.on("words", () => figure.schedule(() => {
    for (const node of Object.values(menus)) node.fill(options());
    paint();
  }));
  figure.onTheme(() => paint());
  if (lecture()) figure.onResize(() => paint());
  return figure.dispose;
}

export default { render };
