// One query, its keys in blocks: the running maximum, sum and weighted sum, and what each block does to them.
import { frame, make, nice, slider } from "./kit.js";
import { chart, letter } from "./chart.js";
import { player } from "./player.js";

/** The three numbers after each block, from "nothing seen" on; `shrink` is what the block did to the old ones. */
export function compute({ scores, values, block, step }) {
  const blocks = Math.ceil(scores.length / block),
    tops = [],
    totals = [],
    mixed = [],
    shrinks = [];
  let top = -Infinity,
    total = 0,
    mix = 0;
  step = Math.min(step, blocks);
  for (let b = 0; b < step; b++) {
    const places = scores.map((_, j) => j).slice(b * block, (b + 1) * block);
    const higher = Math.max(top, ...places.map((j) => scores[j])),
      shrink = Math.exp(top - higher);
    total *= shrink;
    mix *= shrink;
    for (const j of places) {
      const p = Math.exp(scores[j] - higher);
      total += p;
      mix += p * (values[j] ?? 0);
    }
    top = higher;
    tops.push(top);
    totals.push(total);
    mixed.push(mix);
    shrinks.push(shrink);
  }
  const seen = Math.min(step * block, scores.length);
  const weights = scores.slice(0, seen).map((s) => Math.exp(s - top) / total);
  return { step, blocks, seen, tops, totals, mixed, shrinks, weights, result: seen ? mix / total : 0 };
}

function words(now, scores) {
  if (!now.step) return "Nothing has been read. The largest score so far is −∞, both sums are 0.";
  const last = now.step - 1;
  const shrink = now.shrinks[last];
  const read = now.seen === scores.length ? "All keys are read" : `So far (${now.seen} keys)`;
  const quotient = `${nice(now.mixed[last], 3)} / ${nice(now.totals[last], 3)} = ${nice(now.result, 3)}`;
  let what = "The maximum stays, so the old sums stay as they are; the new terms are added.";
  if (now.step === 1) what = "The first block sets the maximum.";
  else if (shrink !== 1) {
    const power = `exp(${nice(now.tops[last - 1], 1)} − ${nice(now.tops[last], 1)})`;
    what = `A larger score arrived: both old sums are multiplied by ${power} = ${nice(shrink, 4)}.`;
  }
  return `${what} ${read}: ${quotient}.`;
}

function render(context) {
  const { model } = context;
  const get = () => Object.fromEntries(["scores", "values", "block", "step"].map((key) => [key, model.get(key)]));
  const state = () => compute(get());
  const figure = frame(context, { name: "online-softmax", numbers: state });
  const step = slider({
    label: "Blocks read",
    min: 0,
    max: 1,
    step: 1,
    value: 0,
    input: (v) => {
      walk.stop();
      figure.push("step", v);
    },
  });
  const block = slider({
    label: "Keys per block",
    min: 1,
    max: model.get("scores").length,
    step: 1,
    value: 1,
    input: (v) => {
      figure.push("block", v);
      figure.push("step", Math.min(model.get("step"), Math.ceil(model.get("scores").length / v)));
    },
  });
  const last = slider({
    label: "Score of the last key",
    min: -4,
    max: 12,
    step: 0.5,
    value: 0,
    format: (v) => nice(v, 1),
    input: (v) => figure.push("scores", [...model.get("scores").slice(0, -1), v]),
  });
  const walk = player(figure, {
    at: () => state().step,
    last: () => state().blocks,
    go: (v) => figure.push("step", v),
    names: { next: "Next block ›" },
  });
  figure.controls.append(step, block, last, walk.node);
  const place = make("div"),
    kept = make("div.al-os-kept"),
    readout = make("div.al-readout");
  figure.body.append(place, kept, readout);

  let size = 720;
  function paint() {
    const now = state(),
      { scores } = get(),
      em = letter(figure),
      n = scores.length;
    step.querySelector("input").max = now.blocks;
    block.querySelector("input").max = n;
    step.value = now.step;
    block.value = model.get("block");
    last.value = scores[n - 1];
    walk.paint();
    const low = Math.min(0, ...scores),
      high = Math.max(1, ...scores),
      wide = Math.max(240, Math.floor(size));
    const plot = chart({
      wide,
      high: Math.round(figure.tall(10 * em, place)),
      em,
      x: [0, n],
      y: [low, high * 1.12],
      yTicks: [...new Set([Math.ceil(low), 0, Math.floor(high)])],
      xTicks: scores.map((_, j) => [j + 0.5, String(j + 1)]),
      xName: "key",
      label: `Scores of ${n} keys, ${now.seen} of them read`,
    });
    const from = (now.step - 1) * model.get("block");
    scores.forEach((score, j) => {
      const kind = j >= now.seen ? "al-os-ahead" : j >= from ? "al-os-now" : "al-os-past";
      plot.line(
        [
          [j + 0.15, 0],
          [j + 0.15, score],
          [j + 0.85, score],
          [j + 0.85, 0],
        ],
        { class: kind },
      );
      const up = plot.y(Math.max(score, 0)) - 0.35 * em;
      if (j < now.seen && wide > 30 * n)
        plot.text(plot.x(j + 0.5), up, nice(now.weights[j], 2), "middle", "al-os-weight");
    });
    for (let j = model.get("block"); j < n; j += model.get("block"))
      plot.rule(plot.x(j), plot.box.top, plot.x(j), plot.box.bottom, "al-os-cut");
    if (now.step)
      plot.rule(plot.box.left, plot.y(now.tops.at(-1)), plot.box.right, plot.y(now.tops.at(-1)), "al-os-top");
    place.replaceChildren(plot.node);
    const cell = (name, value) =>
      make("div.al-os-cell", {}, make("span.al-os-name", {}, name), make("span.al-os-value", {}, value));
    kept.replaceChildren(
      cell("largest score m", now.step ? nice(now.tops.at(-1), 1) : "−∞"),
      cell("sum ℓ", nice(now.totals.at(-1) ?? 0, 3)),
      cell("weighted sum a", nice(now.mixed.at(-1) ?? 0, 3)),
      cell("a / ℓ", now.step ? nice(now.result, 3) : "–"),
    );
    readout.textContent = words(now, scores);
  }
  paint();
  figure.on(["scores", "values", "block", "step"], () => figure.schedule(paint));
  figure.onTheme(() => figure.schedule(paint));
  figure.onWidth((now) => { size = now; paint(); });
  return figure.dispose;
}

export default { render };
