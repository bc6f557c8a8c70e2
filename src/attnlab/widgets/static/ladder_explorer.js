// Learning curves of many runs: two chosen ones with the bands of their seeds, the others behind them.
import { array, choice, frame, make, nice, shorten } from "./kit.js";
import { chart, letter } from "./chart.js";

/** Mean and range over the seeds, and where the second run passes the last loss of the first. */
export function compute({ curves, shape, steps, seconds, first, second }) {
  const [runs, seeds, points] = shape,
    mean = [],
    low = [],
    high = [];
  for (let r = 0; r < runs; r++) {
    const at = (p) => Array.from({ length: seeds }, (_, s) => curves[(r * seeds + s) * points + p]);
    const over = (fold) => Array.from({ length: points }, (_, p) => fold(at(p)));
    mean.push(over((all) => all.reduce((a, b) => a + b, 0) / seeds));
    low.push(over((all) => Math.min(...all)));
    high.push(over((all) => Math.max(...all)));
  }
  const goal = mean[first][points - 1],
    place = mean[second].findIndex((v) => v <= goal);
  const passed = place < 0 ? 0 : steps[place],
    last = steps[points - 1];
  return {
    mean,
    low,
    high,
    goal,
    end: mean[second][points - 1],
    passed,
    share: passed / last,
    time: passed * seconds[second],
    budget: last * seconds[first],
  };
}

/** Round decimal numbers from 0 up, at most seven. */
function ticks(last) {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((s) => last / s <= 6) ?? 5000;
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, i) => i * step);
}

function words(now, first, second) {
  if (!now.passed) return `${second} never gets down to ${nice(now.goal, 2)}, the last loss of ${first}.`;
  const steps = `${now.passed} steps (${Math.round(100 * now.share)} %)`;
  const time = `${nice(now.time, 1)} s against ${nice(now.budget, 1)} s`;
  return `${second} passes the last loss of ${first}, ${nice(now.goal, 2)}, after ${steps}, ${time}.`;
}

function render(context) {
  const { model } = context;
  const given = () => {
    const curves = array(model.get("curves"));
    return {
      curves: curves.data,
      shape: curves.shape,
      ...Object.fromEntries(["steps", "seconds", "first", "second"].map((key) => [key, model.get(key)])),
    };
  };
  const state = () => compute(given());
  const figure = frame(context, { name: "ladder-explorer", numbers: state });
  const options = () => model.get("names").map((name, i) => [i, shorten(name, 32)]);
  const pick = (key, label) =>
    choice({ label, options: options(), value: model.get(key), input: (v) => figure.push(key, Number(v)) });
  const first = pick("first", "Run"),
    second = pick("second", "against");
  const axis = choice({
    label: "Along",
    options: [
      ["steps", "steps"],
      ["seconds", "CPU seconds"],
    ],
    value: model.get("axis"),
    input: (v) => figure.push("axis", v),
  });
  figure.controls.append(first, second, axis);
  const place = make("div"),
    key = make("div.al-le-key"),
    readout = make("div.al-readout");
  figure.body.append(place, key, readout);

  let size = 720;
  function paint() {
    const now = state(),
      { steps, seconds } = given(),
      em = letter(figure),
      names = model.get("names");
    const [a, b] = [model.get("first"), model.get("second")],
      timed = model.get("axis") === "seconds";
    first.value = a;
    second.value = b;
    axis.value = model.get("axis");
    const along = (run, p) => steps[p] * (timed ? seconds[run] : 1);
    const points = (run, values) => values.map((v, p) => [along(run, p), v]);
    const last = Math.max(...names.map((_, run) => along(run, steps.length - 1)));
    const all = now.mean.flat(),
      low = Math.min(...all) - 0.05,
      high = Math.min(Math.max(...all), low + 1.3);
    const yTicks = Array.from({ length: 12 }, (_, i) => 1.4 + 0.2 * i)
      .filter((v) => v > low && v < high)
      .map((v) => [v, v.toFixed(1)]);
    const clip = (pairs) => pairs.map(([u, v]) => [u, Math.min(v, high)]);
    const plot = chart({
      wide: Math.max(240, Math.floor(size)),
      high: Math.round(figure.tall((size < 30 * em ? 16 : 13) * em)),
      em,
      x: [0, last * 1.02],
      y: [low, high],
      yTicks,
      xTicks: ticks(last),
      xName: timed ? "CPU seconds of training" : "steps",
      label: `Held-out loss of ${names[a]} and ${names[b]}`,
    });
    names.forEach((_, run) => plot.line(clip(points(run, now.mean[run])), { class: "al-le-other" }));
    for (const [run, kind] of [
      [a, "one"],
      [b, "two"],
    ]) {
      plot.line(clip([...points(run, now.high[run]), ...points(run, now.low[run]).reverse()]), {
        class: `al-le-band al-le-${kind}`,
      });
      plot.line(clip(points(run, now.mean[run])), { class: `al-le-line al-le-${kind}` });
    }
    plot.rule(plot.box.left, plot.y(now.goal), plot.box.right, plot.y(now.goal), "al-le-goal");
    if (now.passed) plot.dot(timed ? now.time : now.passed, now.goal, { class: "al-le-dot" });
    place.replaceChildren(plot.node);
    key.replaceChildren(
      ...[
        [a, "one", "–––"],
        [b, "two", "– –"],
      ].map(([run, kind, dash]) =>
        make(`span.al-le-name.al-le-${kind}`, {}, `${dash} ${names[run]}: ${nice(now.mean[run].at(-1), 2)}`),
      ),
    );
    readout.textContent = a === b ? "Choose two different runs." : words(now, names[a], names[b]);
  }
  paint();
  figure.on(["first", "second", "axis"], () => figure.schedule(paint));
  figure.onTheme(() => figure.schedule(paint));
  figure.onWidth((now) => { size = now; paint(); });
  return figure.dispose;
}

export default { render };
