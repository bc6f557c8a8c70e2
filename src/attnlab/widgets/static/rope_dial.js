// Rotary positions: each pair of numbers of a query and of a key is a hand of a clock, turned by its position.
// Su et al. 2021, section 3.2. The dot product depends only on the distance between the two positions.
import { array, button, frame, make, nice, slider, svg, toggle } from "./kit.js";
import { chart, letter } from "./chart.js";
import { frequencies, pairProducts, turned } from "./places.js";

/** Everything the figure shows: hands after turning, what each pair adds, their sum, and the sum for every distance. */
export function compute({ q, k, base, query, key, longest }) {
  const speeds = frequencies(q.length, base);
  const at = (vector, place) => turned(vector, speeds.map((w) => w * place));
  const score = (distance) => pairProducts(q, at(k, distance)).reduce((a, b) => a + b, 0);
  const turnedQ = at(q, query), turnedK = at(k, key), parts = pairProducts(turnedQ, turnedK);
  return {
    base, query, key, distance: key - query, speeds, q: turnedQ, k: turnedK, parts,
    score: parts.reduce((a, b) => a + b, 0),
    curve: Array.from({ length: 2 * longest + 1 }, (_, i) => score(i - longest)),
  };
}

function render(context) {
  const { model } = context;
  const state = () => compute({
    q: [...array(model.get("q")).data], k: [...array(model.get("k")).data], base: model.get("base"),
    query: model.get("query"), key: model.get("key"), longest: model.get("longest"),
  });
  const figure = frame(context, { name: "rope-dial", numbers: state });

  /** Move one of the two, and the other with it when they are tied together. */
  function move(name, place) {
    const other = name === "query" ? "key" : "query", longest = model.get("longest");
    if (model.get("tied")) {
      const gap = model.get(other) - model.get(name);
      place = Math.max(0, -gap, Math.min(longest, longest - gap, place));
      figure.push(other, place + gap);
    }
    figure.push(name, place);
  }
  const last = model.get("longest");
  const query = slider({ label: "Position of the query", min: 0, max: last, step: 1, value: model.get("query"),
    input: (p) => move("query", p) });
  const key = slider({ label: "Position of the key", min: 0, max: last, step: 1, value: model.get("key"),
    input: (p) => move("key", p) });
  const tied = toggle({ label: "move both together", value: model.get("tied"),
    input: (on) => figure.push("tied", on) });
  const base = slider({
    label: "Base", min: 10, max: 1e6, log: true, detents: [10, 100, 1000, 1e4, 1e5, 1e6], value: model.get("base"),
    format: (b) => String(Math.round(b)), input: (b) => figure.push("base", b),
  });
  const swap = button("Swap the positions", () => {
    const [q, k] = [model.get("query"), model.get("key")];
    figure.push("query", k);
    figure.push("key", q);
  });
  figure.controls.append(query, key, tied, base, swap);

  const dials = make("div.al-rd-dials");
  const curve = make("div.al-aside");
  const readout = make("div.al-readout");
  figure.body.append(dials, make("div.al-rd-title.al-aside", {}, "The score for every distance"), curve, readout);

  function dial(now, pair, side, em, scale) {
    const middle = side / 2, reach = middle - 1.3 * em;
    const hand = (vector) => {
      const [a, b] = [vector[2 * pair], vector[2 * pair + 1]].map((v) => (v / scale) * reach);
      const far = 1 + (0.75 * em) / (Math.hypot(a, b) || 1);
      return { tip: [middle + a, middle - b], letter: [middle + a * far, middle - b * far] };
    };
    const hands = { q: hand(now.q), k: hand(now.k) }, [q, k] = [hands.q.letter, hands.k.letter];
    const gap = Math.hypot(k[0] - q[0], k[1] - q[1]), push = (1.1 * em - gap) / 2;
    if (push > 0) { // hands side by side: their letters step apart
      const away = gap > 1e-6 ? [(k[0] - q[0]) / gap, (k[1] - q[1]) / gap] : [-1, 0];
      for (const i of [0, 1]) {
        q[i] -= push * away[i];
        k[i] += push * away[i];
      }
    }
    const drawn = ([name, { tip, letter: at }]) => [
      svg("line", { x1: middle, y1: middle, x2: tip[0], y2: tip[1], class: `al-rd-hand al-rd-${name}` }),
      svg("circle", { cx: tip[0], cy: tip[1], r: 0.26 * em, class: `al-rd-tip al-rd-${name}` }),
      svg("text", { x: at[0], y: at[1] + 0.32 * em, class: `al-rd-letter al-rd-${name}` }, name),
    ];
    const turn = now.speeds[pair];
    const picture = svg("svg", { viewBox: `0 0 ${side} ${side}`, width: side, height: side, role: "img",
      "aria-label": `Pair ${pair}: the query and the key add ${nice(now.parts[pair], 2)} to the score` },
      svg("circle", { cx: middle, cy: middle, r: reach, class: "al-rd-face" }),
      ...Object.entries(hands).flatMap(drawn));
    return make("div.al-rd-dial", {}, make("div.al-rd-pair", {}, `pair ${pair}`), picture,
      make("div.al-rd-words", {},
        make("span", {}, `${turn >= 0.1 ? nice(turn, 2) : turn.toPrecision(1).replace(/e-(\d+)/, "·10^−$1")} rad per ` +
          `position`), make("strong", {}, nice(now.parts[pair], 2))));
  }

  let size = 720;
  function paint() {
    const now = state(), em = letter(figure), longest = model.get("longest"), pairs = now.parts.length;
    for (const [knob, value] of [[query, now.query], [key, now.key]]) {
      knob.querySelector("input").max = longest;
      knob.value = value;
    }
    tied.value = model.get("tied");
    base.value = now.base;
    const lengths = [...now.q, ...now.k].reduce((all, v, i, list) => (i % 2 ? [...all, Math.hypot(list[i - 1], v)]
      : all), []);
    const scale = Math.max(...lengths) || 1;
    const columns = size > 34 * em ? Math.min(pairs, 6) : 2;
    const side = Math.floor(Math.min(11 * em, (size - (columns - 1) * 0.8 * em) / columns));
    dials.style.gridTemplateColumns = `repeat(${columns}, max-content)`;
    dials.replaceChildren(...Array.from({ length: pairs }, (_, pair) => dial(now, pair, side, em, scale)));
    const low = Math.min(...now.curve), high = Math.max(...now.curve), room = 0.12 * (high - low || 1);
    const plot = chart({
      wide: Math.max(200, size), high: 9 * em, em, x: [-longest, longest], y: [low - room, high + room],
      xTicks: [-longest, -longest / 2, 0, longest / 2, longest].map(Math.round),
        yTicks: [[low, nice(low, 1)], [high, nice(high, 1)]],
      xName: "position of the key − of the query",
        label: `Score against distance; at distance ${now.distance} it is ${nice(now.score, 2)}`,
    });
    plot.rule(plot.x(now.distance), plot.box.top, plot.x(now.distance), plot.box.bottom, "al-rd-probe");
    plot.line(now.curve.map((v, i) => [i - longest, v]), { class: "al-rd-curve" });
    plot.dot(now.distance, now.score, { class: "al-rd-dot" });
    curve.replaceChildren(plot.node);
    const sum = now.parts.map((part, i) => (i ? (part < 0 ? " − " : " + ") + nice(Math.abs(part), 2)
      : nice(part, 2))).join("");
    readout.textContent = `Distance ${now.key} − ${now.query} = ${nice(now.distance, 0)}.  Score q·k ` +
      `= ${sum} = ${nice(now.score, 2)}`;
  }
  paint();
  figure.on(["q", "k", "base", "query", "key", "longest", "tied"], () => figure.schedule(paint));
  figure.onTheme(() => figure.schedule(paint));
  figure.onWidth((now) => { size = now; paint(); });
  return figure.dispose;
}

export default { render };
