// Operations, days, memory and money of a training, from parameters and tokens.
import { choice, frame, make, nice, slider } from "./kit.js";

// peak operations a second, bytes
export const DEVICES = {
  P100: [9.5e12, 16e9],
  T4: [65e12, 16e9],
  V100: [125e12, 32e9],
  "TPU v3 chip": [123e12, 32e9],
  A100: [312e12, 80e9],
  H100: [989e12, 80e9],
};
// parameters, tokens
export const PRESETS = {
  ours: [56640, 276480],
  "GPT-3": [175e9, 300e9],
  Gopher: [280e9, 300e9],
  Chinchilla: [70e9, 1.4e12],
  "Llama 65B": [65e9, 1.4e12],
  "Llama 3 405B": [405e9, 15.6e12],
};
const DAY = 86400;

/** As `attnlab.training.cost`: C = 6ND and what follows from it. */
export function compute({ parameters, tokens, device, count, utilisation, price }) {
  const [peak, memory] = DEVICES[device];
  const flops = 6 * parameters * tokens;
  const seconds = flops / (peak * count * utilisation);
  const best = Math.sqrt(flops / 120);
  return {
    log_flops: Math.log10(flops), log_seconds: Math.log10(seconds), log_memory: Math.log10(16 * parameters),
    devices_for_memory: Math.ceil((16 * parameters) / memory),
    log_cost: Math.log10(1 + (seconds / 3600) * count * price),
    per_parameter: tokens / parameters, log_best: Math.log10(best),
    loss: 1.69 + 406.4 / parameters ** 0.34 + 410.7 / tokens ** 0.28,
    best_loss: 1.69 + 406.4 / best ** 0.34 + 410.7 / (20 * best) ** 0.28,
  };
}

const NAMES = [[1e12, "trillion"], [1e9, "billion"], [1e6, "million"], [1e3, "thousand"]];

/** A large number in words: 1.4 trillion. */
export function spoken(x) {
  const [unit, name] = NAMES.find(([size]) => x >= 0.9995 * size) ?? [1, ""];
  const value = x / unit;
  return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(3))} ${name}`.trim();
}

/** A power of ten: 5.0·10²³. */
export function power(x) {
  const at = Math.floor(Math.log10(x) + 1e-12);
  return `${nice(x / 10 ** at, 1)}·10${[...String(at)].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻").join("")}`;
}

/** Seconds as people say them. */
export function lasting(seconds) {
  if (seconds < 90) return `${nice(seconds, seconds < 1 ? 3 : 1)} seconds`;
  if (seconds < 5400) return `${nice(seconds / 60, 1)} minutes`;
  if (seconds < 2 * DAY) return `${nice(seconds / 3600, 1)} hours`;
  if (seconds < 730 * DAY) return `${nice(seconds / DAY, 1)} days`;
  return `${spoken(seconds / (365 * DAY))} years`;
}

function render(context) {
  const { model } = context;
  const keys = ["parameters", "tokens", "device", "count", "utilisation", "price"];
  const get = () => Object.fromEntries(keys.map((key) => [key, model.get(key)]));
  const state = () => compute(get());
  const figure = frame(context, { name: "scaling-calculator", numbers: state });
  const own = (key, value) => { figure.push(key, value); figure.push("preset", ""); };
  const preset = choice({
    label: "Model", options: [["", "sizes of your own"], ...Object.keys(PRESETS).map((name) => [name, name])],
    value: model.get("preset"),
    input: (name) => {
      figure.push("preset", name);
      if (PRESETS[name]) { figure.push("parameters", PRESETS[name][0]); figure.push("tokens", PRESETS[name][1]); }
    },
  });
  const wide = (label, key, min, max, format, log = true) => slider({
    label, min, max, log, format, value: model.get(key), input: (v) => own(key, v),
  });
  const size = wide("Parameters N", "parameters", 1e4, 1e12, spoken);
  const text = wide("Tokens D", "tokens", 1e5, 1e14, spoken);
  const device = choice({
    label: "Device", options: Object.keys(DEVICES).map((name) => [name, name]), value: model.get("device"),
    input: (name) => figure.push("device", name),
  });
  const count = slider({
    label: "How many", min: 0, max: 16, step: 1, value: 0, format: (v) => (2 ** v).toLocaleString("en"),
    input: (v) => figure.push("count", 2 ** v),
  });
  const share = slider({
    label: "Share of the peak", min: 0.05, max: 1, step: 0.01, value: model.get("utilisation"),
    format: (v) => `${Math.round(100 * v)} %`, input: (v) => figure.push("utilisation", v),
  });
  const price = slider({
    label: "Dollars an hour each", min: 0, max: 10, step: 0.1, value: model.get("price"),
    format: (v) => nice(v, 2), input: (v) => figure.push("price", v),
  });
  figure.controls.append(preset, size, text, device, count, share, price);
  const facts = make("dl.al-sc-facts"), readout = make("div.al-readout");
  figure.body.append(facts, readout);

  function paint() {
    const given = get(), now = state(), flops = 10 ** now.log_flops;
    preset.value = model.get("preset");
    size.value = given.parameters;
    text.value = given.tokens;
    device.value = given.device;
    count.value = Math.round(Math.log2(given.count));
    share.value = given.utilisation;
    price.value = given.price;
    const fact = (name, value, note) => make("div.al-sc-fact", {}, make("dt", {}, name), make("dd", {}, value),
      make("div.al-sc-note", {}, note));
    facts.replaceChildren(
      fact("Operations, 6ND", power(flops), `6 · ${spoken(given.parameters)} · ${spoken(given.tokens)}`),
      fact("Time", lasting(10 ** now.log_seconds), `${given.count.toLocaleString("en")} × ${given.device}`),
      fact("Money", `$${Math.round(10 ** now.log_cost - 1).toLocaleString("en")}`, "hours × devices × price"),
      fact("Memory to train", `${spoken(10 ** now.log_memory)} bytes`,
        `16 bytes each: ${now.devices_for_memory.toLocaleString("en")} × ${given.device} at least`),
    );
    const advice = now.per_parameter < 10 ? "few: a smaller model could read more"
      : now.per_parameter > 40 ? "many: cheaper to run afterwards" : "near the rule of 20";
    readout.replaceChildren(
      make("div", {}, `${spoken(now.per_parameter)} tokens per parameter: ${advice}.`),
      make("div", {}, `For the same operations the rule says ${spoken(10 ** now.log_best)} parameters. ` +
        `Hoffmann's law: loss ${nice(now.loss, 2)} as it is, ${nice(now.best_loss, 2)} by the rule.`),
    );
  }
  paint();
  figure.on([...keys, "preset"], () => figure.schedule(paint));
  return figure.dispose;
}

export default { render };
