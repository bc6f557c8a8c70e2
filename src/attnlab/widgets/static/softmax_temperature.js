// Softmax bars with a temperature: α_i = exp(s_i / τ) / Σ_j exp(s_j / τ), and sliders for the scores.
import { button, frame, make, nice, shorten, slider } from "./kit.js";
import { entropy, softmax } from "./math.js";

const PRESETS = [0.1, 1, 10];

/** Everything the figure shows, from what it was given. `largest` lists every index that holds the maximum. */
export function compute(scores, temperature) {
  const weights = [...softmax(scores, { temperature })];
  const top = Math.max(...scores);
  return {
    weights, temperature,
    entropy: entropy(weights),
    largest: scores.flatMap((s, i) => (s === top ? [i] : [])),
  };
}

/** What the temperature does, in words that are true for any scores. */
export function words(temperature) {
  if (temperature < 0.995) return `Cold: every difference between scores counts ${nice(1 / temperature, 1)} times ` +
    `as much`;
  if (temperature > 1.005) return `Hot: every difference between scores shrinks to ${nice(100 / temperature, 0)} %`;
  return "τ = 1: the plain softmax";
}

const plain = (t) => (t >= 10 ? t.toFixed(1) : t.toFixed(2));

function render(context) {
  const { model } = context;
  const state = () => compute(model.get("scores"), model.get("temperature"));
  const figure = frame(context, { name: "softmax-temperature", numbers: state });

  const heat = slider({
    label: "Temperature τ", min: 0.05, max: 20, log: true, detents: PRESETS, value: model.get("temperature"),
    format: plain, input: (t) => figure.push("temperature", t),
  });
  heat.classList.add("al-t-heat");
  // The ends of the scale, in words, under the slider.
  heat.querySelector("input").after(
    make("span.al-t-ends", { "aria-hidden": "true" }, make("span", {}, "cold"), make("span", {}, "hot")),
  );
  const presets = PRESETS.map((t) => {
    const node = button(`τ = ${t}`, () => figure.push("temperature", t));
    return { t, node };
  });
  figure.controls.append(
    heat, make("div.al-t-presets", { role: "group", "aria-label": "Temperature presets" },
      ...presets.map(({ node }) => node)),
  );

  const head = make("div.al-t-bar-row.al-t-bar-head", { "aria-hidden": "true" },
    make("span", {}, "score s"), make("span", {}, "weight α = softmax(s\u00a0/\u00a0τ)"));
  const list = make("div.al-t-bars", { role: "list" });
  const meaning = make("div");
  const sums = make("div.al-t-sums");
  figure.body.append(head, list, make("div.al-readout", {}, meaning, sums));

  let rows = [];
  let reach = 6;
  function build() {
    const labels = model.get("labels"), scores = model.get("scores");
    reach = Math.max(6, Math.ceil(Math.max(...scores.map(Math.abs))));
    rows = scores.map((score, i) => {
      const label = labels[i] ?? `score ${i + 1}`;
      const bar = make("div.al-t-bar");
      const value = make("span.al-value");
      const star = make("span.al-t-star", { title: "largest weight" });
      const knob = slider({
        label: shorten(label, 16), min: -reach, max: reach, step: 0.1, value: score, format: (s) => nice(s, 1),
        input: (s) => {
          const next = [...model.get("scores")];
          next[i] = s;
          figure.push("scores", next);
        },
      });
      knob.title = shorten(label, 300);
      knob.querySelector("input").setAttribute("aria-label", `Score of ${shorten(label, 60)}`);
      const track = make("div.al-t-bar-track", { "aria-hidden": "true" }, bar);
      const row = make("div.al-t-bar-row", { role: "listitem" }, knob, track, value, star);
      return { row, bar, value, knob, star };
    });
    list.replaceChildren(...rows.map(({ row }) => row));
  }
  function rebuild() {
    build();
    paint();
  }
  function paint() {
    const scores = model.get("scores");
    if (scores.length !== rows.length || scores.some((s) => Math.abs(s) > reach)) return rebuild();
    const now = state();
    if (heat.value !== now.temperature) heat.value = now.temperature;
    for (const { t, node } of presets) node.setAttribute("aria-pressed",
      String(Math.abs(now.temperature / t - 1) < 1e-6));
    rows.forEach(({ row, bar, value, knob, star }, i) => {
      const top = now.largest.includes(i);
      bar.style.transform = `scaleX(${now.weights[i]})`;
      value.textContent = nice(now.weights[i]);
      row.classList.toggle("al-t-top", top);
      star.textContent = top ? "★" : "";
      if (knob.value !== scores[i]) knob.value = scores[i];
    });
    meaning.textContent = `${words(now.temperature)}.`;
    const total = nice(now.weights.reduce((a, b) => a + b, 0));
    sums.textContent = `★ largest weight · sum ${total} · entropy ${nice(now.entropy, 2)} bits ` +
      `(uniform: ${nice(Math.log2(scores.length), 2)})`;
  }
  rebuild();
  figure.on(["temperature", "scores"], () => figure.schedule(paint));
  figure.on("labels", () => figure.schedule(rebuild));
  return figure.dispose;
}

export default { render };
