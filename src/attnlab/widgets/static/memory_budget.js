// What each GPU must hold in training, part by part: everything with DDP, a share of it with FSDP.
import { choice, frame, make, slider, toggle } from "./kit.js";
import { chart, letter } from "./chart.js";

const GIB = 2 ** 30;
const PARTS = [
  ["parameters", "parameters", "blue"], ["gradients", "gradients", "orange"], ["optimiser", "optimiser", "purple"],
  ["activations", "activations", "green"], ["gathered", "gathered for a moment", "sky"],
];
const KEYS = ["layers", "width", "vocabulary", "length", "batch", "gpus", "card", "optimiser", "mixed", "recompute"];
const SIZES = ["12,768", "24,2048", "32,4096", "40,5120", "80,8192"], CARDS = [16, 24, 40, 80, 141];
const LENGTHS = [512, 1024, 2048, 4096, 8192, 32768];

/** Bytes on one GPU, with DDP and with FSDP: the rules of attnlab.training.memory. */
export function compute({ layers, width, vocabulary, length, batch, gpus, optimiser, mixed, recompute }) {
  const count = 12 * layers * width ** 2 + vocabulary * width, [weight, gradient, item] = mixed ? [6, 2, 2] : [4, 4, 4];
  let states = optimiser === "sgd" ? 0 : 8 * count;
  if (optimiser === "soap") states += 4 * layers * width ** 2 * (16 + 6 * (1 + 64 / 9));
  const tokens = batch * length;
  let kept = item * tokens * width * (recompute ? 1 : 17) * layers;
  if (recompute) kept += 17 * item * tokens * width;
  kept += 8 * tokens * vocabulary;
  const whole = { parameters: weight * count, gradients: gradient * count, optimiser: states };
  const ddp = { ...whole, activations: kept, gathered: 0 };
  const fsdp = {
    ...Object.fromEntries(Object.entries(whole).map(([name, bytes]) => [name, bytes / gpus])),
    activations: kept, gathered: gpus > 1 ? 24 * width ** 2 * (item + gradient) : 0,
  };
  const total = (budget) => Object.values(budget).reduce((sum, bytes) => sum + bytes, 0);
  return { count, ddp: { ...ddp, total: total(ddp) }, fsdp: { ...fsdp, total: total(fsdp) } };
}

/** The fewest GPUs (a power of two) over which FSDP fits, or 0. */
export function fewest(sizes) {
  for (let gpus = 1; gpus <= 1024; gpus *= 2)
    if (compute({ ...sizes, gpus }).fsdp.total <= sizes.card * GIB) return gpus;
  return 0;
}

function gib(bytes) {
  const count = bytes / GIB;
  return `${count >= 10 ? Math.round(count).toLocaleString("en") : count.toFixed(1)} GiB`;
}

/** [value, words] of what can be chosen, with the present value among them. */
function options(values, present, words) {
  const all = values.includes(present) ? values : [...values, present];
  return all.toSorted((a, b) => parseFloat(a) - parseFloat(b)).map((value) => [value, words(value)]);
}
const asSize = (value) => value.replace(",", " × "), asCard = (value) => `${value} GiB`;

function render(context) {
  const { model } = context;
  const sizes = () => Object.fromEntries(KEYS.map((key) => [key, model.get(key)]));
  const numbers = () => ({ ...compute(sizes()), fewest: fewest(sizes()) });
  const figure = frame(context, { name: "memory-budget", numbers });
  const push = (key) => (value) => figure.push(key, value);
  const shape = () => `${model.get("layers")},${model.get("width")}`;
  const size = choice({
    label: "Layers × width", options: options(SIZES, shape(), asSize), value: shape(),
    input: (value) => {
      const [layers, width] = value.split(",").map(Number);
      figure.push("layers", layers);
      figure.push("width", width);
    },
  });
  const card = choice({
    label: "Memory of a GPU", options: options(CARDS, model.get("card"), asCard), value: model.get("card"),
    input: (value) => figure.push("card", Number(value)),
  });
  const optimiser = choice({
    label: "Optimiser", options: [["sgd", "SGD"], ["adamw", "AdamW"], ["soap", "SOAP"]], value: "adamw",
    input: push("optimiser"),
  });
  const gpus = slider({
    label: "GPUs", min: 0, max: 10, step: 1, value: 0, format: (i) => String(2 ** i),
    input: (i) => figure.push("gpus", 2 ** i),
  });
  const batch = slider({ label: "Sequences on each", min: 1, max: 64, step: 1, value: 1, input: push("batch") });
  const length = slider({
    label: "Tokens in a sequence", min: 0, max: LENGTHS.length - 1, step: 1, value: 0,
    format: (i) => LENGTHS[i].toLocaleString("en"), input: (i) => figure.push("length", LENGTHS[i]),
  });
  const mixed = toggle({ label: "mixed precision", value: true, input: push("mixed") });
  const recompute = toggle({ label: "recompute activations", value: false, input: push("recompute") });
  figure.controls.append(size, gpus, card, optimiser, batch, length, mixed, recompute);
  const bars = make("div.al-mb-bars"), curve = make("div.al-mb-curve"), readout = make("div.al-readout");
  figure.body.append(bars, curve, readout);

  /** One bar of stacked parts, as long as its share of `most`; a rule marks the card. */
  function bar(name, budget, most, limit) {
    const track = make("div.al-mb-track", { "aria-hidden": "true" });
    for (const [key, , colour] of PARTS) {
      const part = make("span.al-mb-part");
      part.style.cssText = `width:${(100 * budget[key]) / most}%;background:${figure.theme.colour(colour)}`;
      track.append(part);
    }
    const rule = make("span.al-mb-limit");
    rule.style.left = `${(100 * limit) / most}%`;
    track.append(rule);
    return make("div", {}, make("span.al-mb-name", {}, `${name}: ${gib(budget.total)}`), track);
  }

  function legend(at) {
    const row = (cells, tag) => make("tr", {}, ...cells.map(
      (words, i) => (i ? make(tag, {}, words) : make("th", { scope: tag === "th" ? "col" : "row" }, words)),
    ));
    const body = PARTS.map(([key, words, colour]) => {
      const swatch = make("span.al-mb-swatch", { "aria-hidden": "true" });
      swatch.style.background = figure.theme.colour(colour);
      const line = row([words, gib(at.ddp[key]), gib(at.fsdp[key])], "td");
      line.firstChild.prepend(swatch);
      return line;
    });
    const head = make("thead", {}, row(["on each GPU", "DDP", "FSDP"], "th"));
    return make("table.al-mb-table", {}, head, make("tbody", {}, ...body));
  }

  let wide = 720;
  function paintCurve(at, given) {
    const em = letter(figure), high = figure.tall(13 * em, curve), limit = given.card;
    const points = Array.from({ length: 11 }, (_, i) => [i, compute({ ...given, gpus: 2 ** i }).fsdp.total / GIB]);
    const most = 1.1 * Math.max(at.ddp.total / GIB, limit, ...points.map(([, y]) => y));
    const step = 10 ** Math.floor(Math.log10(most / 2));
    const each = step * (most / step > 12 ? 5 : most / step > 5 ? 2 : 1);
    const ticks = wide > 30 * em ? [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10] : [0, 2, 4, 6, 8, 10];
    const heights = Array.from({ length: Math.floor(most / each) + 1 }, (_, i) => i * each);
    const plot = chart({
      wide: Math.min(wide, 46 * em), high, em, right: 1.8, x: [0, 10], y: [0, most],
      xName: "GPUs", label: "Memory on each GPU against the number of GPUs",
      xTicks: ticks.map((i) => [i, String(2 ** i)]), yTicks: heights.map((v) => [v, v.toLocaleString("en")]),
    });
    const ink = (name) => figure.theme.colour(name);
    plot.line([[0, limit], [10, limit]], { stroke: ink("text"), "stroke-width": 2, "stroke-dasharray": "2 4" });
    const all = at.ddp.total / GIB;
    plot.line([[0, all], [10, all]], { stroke: ink("red"), "stroke-width": 2.5, "stroke-dasharray": "9 5" });
    plot.line(points, { stroke: ink("blue"), "stroke-width": 2.5 });
    plot.dot(Math.log2(given.gpus), at.fsdp.total / GIB, { fill: ink("blue") });
    const key = "GiB on each GPU: solid FSDP, dashed DDP, dotted what the GPU has.";
    curve.replaceChildren(plot.node, make("div.al-mb-key", {}, key));
  }

  function paint() {
    const given = sizes(), at = compute(given), limit = given.card * GIB, need = fewest(given);
    size.fill(options(SIZES, shape(), asSize));
    size.value = shape();
    card.fill(options(CARDS, given.card, asCard));
    card.value = given.card;
    optimiser.value = given.optimiser;
    gpus.value = Math.log2(given.gpus);
    batch.value = given.batch;
    length.value = Math.max(0, LENGTHS.findIndex((n) => n >= given.length));
    mixed.value = given.mixed;
    recompute.value = given.recompute;
    const most = 1.04 * Math.max(at.ddp.total, at.fsdp.total, limit);
    const few = `FSDP over ${given.gpus}`;
    bars.replaceChildren(bar("DDP", at.ddp, most, limit), bar(few, at.fsdp, most, limit), legend(at));
    paintCurve(at, given);
    const fits = (bytes) => (bytes <= limit ? "fits" : "does not fit");
    const enough = at.ddp.total <= limit;
    const advice = enough ? "DDP will do." : need ? `FSDP fits from ${need} GPU${need > 1 ? "s" : ""} on.`
      : "No number of GPUs helps: recompute the activations, or cut the batch.";
    readout.textContent = `${(at.count / 1e9).toFixed(at.count < 1e9 ? 2 : 1)} billion parameters. `
      + `DDP ${fits(at.ddp.total)} into ${given.card} GiB, ${few} ${fits(at.fsdp.total)}. ${advice}`;
  }
  paint();
  figure.on(KEYS, () => figure.schedule(paint));
  figure.onTheme(() => figure.schedule(paint));
  figure.onWidth((width) => { wide = width; paint(); });
  return figure.dispose;
}

export default { render };
