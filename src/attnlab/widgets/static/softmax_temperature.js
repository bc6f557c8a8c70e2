// Softmax bars with a temperature: p_i = exp(z_i / T) / Σ_j exp(z_j / T), and sliders for the scores.
import { frame, make, nice, shorten, slider } from "./kit.js";
import { entropy, softmax } from "./math.js";

/** Everything the figure shows, from what it was given. */
export function compute(scores, temperature) {
  const weights = softmax(scores, { temperature });
  return { weights: [...weights], entropy: entropy(weights), temperature };
}

function render(context) {
  const { model } = context;
  const state = () => compute(model.get("scores"), model.get("temperature"));
  const figure = frame(context, { name: "softmax-temperature", numbers: state });

  const heat = slider({
    label: "Temperature T", min: 0.05, max: 20, log: true, detents: [1], value: model.get("temperature"),
    format: (t) => t.toFixed(2), input: (t) => figure.push("temperature", t),
  });
  figure.controls.append(heat);
  const list = make("div.al-bars", { role: "list" });
  const readout = make("div.al-readout");
  figure.body.append(list, readout);

  let rows = [];
  function build() {
    const labels = model.get("labels"), scores = model.get("scores");
    rows = scores.map((score, i) => {
      const bar = make("div.al-bar");
      const value = make("span.al-value");
      const knob = slider({
        label: shorten(labels[i], 14), min: -6, max: 6, step: 0.1, value: score, format: (z) => nice(z, 1),
        input: (z) => {
          const next = [...model.get("scores")];
          next[i] = z;
          figure.push("scores", next);
        },
      });
      knob.title = labels[i];
      list.append(make("div.al-bar-row", { role: "listitem" }, knob, make("div.al-bar-track", { "aria-hidden": "true" }, bar), value));
      return { bar, value, knob };
    });
  }
  function rebuild() {
    list.replaceChildren();
    build();
    paint();
  }
  function paint() {
    const scores = model.get("scores");
    if (scores.length !== rows.length) return rebuild();
    const now = state();
    heat.value = now.temperature;
    rows.forEach(({ bar, value, knob }, i) => {
      bar.style.transform = `scaleX(${now.weights[i]})`;
      value.textContent = nice(now.weights[i]);
      if (knob.value !== scores[i]) knob.value = scores[i];
    });
    const uniform = Math.log2(scores.length);
    readout.textContent = `Σ = ${nice(now.weights.reduce((a, b) => a + b, 0))} · entropy ${nice(now.entropy, 2)} bits of ${nice(uniform, 2)} (uniform)`;
  }
  rebuild();
  figure.on(["temperature", "scores"], () => figure.schedule(paint));
  figure.on("labels", () => figure.schedule(rebuild));
  return figure.dispose;
}

export default { render };
