// Superposition: x' = ReLU(WᵀWx + b). Arrows are the columns of W, the matrix is WᵀW, the loss is computed here.
import { array, button, frame, lecture, make, nice, shorten, slider, svg, toggle, visible } from "./kit.js";

/** Everything the figure shows. W is (2, n) flat, b (n). */
export function squeeze(W, b, n, importance, sizes, luck, sparsity, active) {
  const gram = Array.from({ length: n },
    (_, i) => Array.from({ length: n }, (_, j) => W[i] * W[j] + W[n + i] * W[n + j]));
  const read = (x) => gram.map((row, i) => Math.max(0, row.reduce((sum, g, j) => sum + g * x[j], b[i])));
  let loss = 0;
  const count = sizes.length / n, x = new Float64Array(n);
  for (let s = 0; s < count; s++) {
    for (let i = 0; i < n; i++) x[i] = luck[s * n + i] >= sparsity ? sizes[s * n + i] : 0;
    const back = read(x);
    for (let i = 0; i < n; i++) loss += (importance[i] * (x[i] - back[i]) ** 2) / count;
  }
  const input = active.map(Number);
  return {
    gram, loss, input,
    arrows: Array.from({ length: n }, (_, i) => [W[i], W[n + i]]),
    hidden: [0, 1].map((d) => input.reduce((sum, on, i) => sum + on * W[d * n + i], 0)),
    output: read(input),
    kept: gram.filter((row, i) => row[i] > 0.5).length,
  };
}

function render(context) {
  const { model } = context;
  function state() {
    const W = array(model.get("weights")), b = array(model.get("bias")), [, , n] = W.shape, k = model.get("model");
    const trained = model.get("sparsity")[k], test = model.get("follow") ? trained : model.get("test");
    return {
      model: k, trained, test,
      ...squeeze(W.data.subarray(k * 2 * n, (k + 1) * 2 * n), b.data.subarray(k * n, (k + 1) * n), n,
        model.get("importance"), array(model.get("sizes")).data, array(model.get("luck")).data, test,
          model.get("active")),
    };
  }
  const figure = frame(context, { name: "superposition", numbers: state });
  const percent = (s) => `${nice(100 * s, s > 0.985 ? 1 : 0)} %`;
  const name = (i) => visible(model.get("names")[i] ?? `feature ${i + 1}`);

  const pick = slider({
    label: "Zeros in training", min: 0, max: model.get("sparsity").length - 1, step: 1, value: model.get("model"),
    format: (k) => percent(model.get("sparsity")[Math.round(k)] ?? 0),
      input: (k) => figure.push("model", Math.round(k)),
  });
  const follow = toggle({ label: "same in the test", value: model.get("follow"),
    input: (on) => figure.push("follow", on) });
  const test = slider({
    label: "Zeros in the test", min: 0, max: 0.99, step: 0.01, value: model.get("test"), format: percent,
    input: (s) => figure.push("test", s),
  });
  figure.controls.append(pick, follow, test);

  const plane = svg("svg", { viewBox: "-1.6 -1.6 3.2 3.2", class: "al-s-plane", role: "img" });
  const table = make("table.al-s-gram");
  const bars = make("div.al-s-bars", { role: "group", "aria-label": "Features: switch on and off" });
  const loss = make("div.al-s-loss");
  const words = make("div");
  figure.body.append(
    make("div.al-s-row", {},
      make("div.al-s-pane", {}, make("div.al-s-title", {}, "Each feature is an arrow"), plane),
      make("div.al-s-pane", {}, make("div.al-s-title", {}, "Interference WᵀW"), make("div.al-s-scroll", {}, table)),
      make("div.al-s-pane.al-aside", {}, make("div.al-s-title", {}, "Switch features on: what comes back?"), bars)),
    make("div.al-readout", {}, loss, words));

  let switches = [];
  function build() {
    const n = array(model.get("weights")).shape[2];
    pick.querySelector("input").max = String(model.get("sparsity").length - 1);
    switches = Array.from({ length: n }, (_, i) => {
      const press = button(shorten(name(i), 14), () => {
        const next = [...model.get("active")];
        next[i] = !next[i];
        figure.push("active", next);
      }, { title: shorten(name(i), 200) });
      const bar = make("div.al-s-bar"), value = make("span.al-value");
      const row = make("div.al-s-switch", {}, press, make("div.al-s-track", { "aria-hidden": "true" }, bar), value);
      return { press, bar, value, row };
    });
    bars.replaceChildren(...switches.map((s) => s.row));
  }
  const colour = (i) => figure.theme.series[i % figure.theme.series.length];

  function draw(now) {
    const { theme } = figure;
    const parts = [
      svg("circle", { r: 1, cx: 0, cy: 0, fill: "none", stroke: theme.line, "stroke-width": 0.015 }),
      svg("line", { x1: -1.5, x2: 1.5, y1: 0, y2: 0, stroke: theme.line, "stroke-width": 0.01 }),
      svg("line", { y1: -1.5, y2: 1.5, x1: 0, x2: 0, stroke: theme.line, "stroke-width": 0.01 }),
    ];
    now.arrows.forEach(([x, y], i) => {
      const size = Math.hypot(x, y), on = model.get("active")[i];
      parts.push(svg("line", { x1: 0, y1: 0, x2: x, y2: -y, stroke: colour(i), "stroke-width": on
        ? 0.06 : 0.03, "stroke-linecap": "round" }));
      parts.push(svg("circle", { cx: x, cy: -y, r: on ? 0.075 : 0.045, fill: colour(i) }));
      if (size > 0.15) {
        const far = (size + 0.2) / size;
        parts.push(svg("text", { x: x * far, y: -y * far, "font-size": lecture() ? 0.24 : 0.19, "text-anchor": "middle",
          "dominant-baseline": "central", fill: theme.text, "font-weight": on ? 700 : 400 }, String(i + 1)));
      }
    });
    const [hx, hy] = now.hidden;
    if (now.input.filter(Boolean).length > 1) // where the sum of several features lands
      parts.push(svg("path", { d: `M ${hx - 0.08} ${-hy} h 0.16 M ${hx} ${-hy - 0.08} v 0.16`, stroke: theme.text,
        "stroke-width": 0.04 }));
    plane.replaceChildren(...parts);
    plane.setAttribute("aria-label",
      `${now.kept} of ${now.arrows.length} features have an arrow of about length 1 or more.`);
  }
  function paint() {
    const now = state(), { theme } = figure, n = now.arrows.length;
    if (switches.length !== n) build();
    if (Math.round(pick.value) !== now.model) pick.value = now.model;
    follow.value = model.get("follow");
    test.value = now.test;
    test.querySelector("input").disabled = model.get("follow");
    draw(now);
    const header = make("tr", {}, make("th"), ...now.gram.map((_, j) => make("th", { scope: "col" }, String(j + 1))));
    table.replaceChildren(header,
      ...now.gram.map((row, i) => make("tr", {}, make("th", { scope: "row" }, String(i + 1)),
      // Blue adds, orange takes away.
      ...row.map((g) => make("td",
        { style: `background: ${theme.signed(g, 1.4)}; color: ${theme.inkOnSigned(g, 1.4)}` }, nice(g, 2))))));
    switches.forEach(({ press, bar, value }, i) => {
      press.setAttribute("aria-pressed", String(model.get("active")[i]));
      bar.style.transform = `scaleX(${Math.min(1, now.output[i] / 1.5)})`;
      bar.style.background = colour(i);
      value.textContent = nice(now.output[i], 2);
    });
    loss.textContent = `${now.kept} of ${n} features kept in 2 numbers · ` +
      `loss ${nice(now.loss, 4)} with ${percent(now.test)} zeros`;
    const ghosts = now.output.filter((y, i) => !now.input[i] && y > 0.05).length;
    const lost = now.output.filter((y, i) => now.input[i] && y < 0.5).length;
    const on = now.input.filter(Boolean).length;
    words.textContent = on === 0 ? "Nothing is switched on." :
      `${on} on: ${lost} of them lost (below 0.5), ${ghosts} ${ghosts === 1 ? "ghost" : "ghosts"} among those that ` +
        `are off.`;
  }
  build();
  paint();
  figure.on(["model", "test", "follow", "active"], () => figure.schedule(paint));
  figure.on(["weights", "bias", "sparsity", "importance", "sizes", "luck", "names"], () => figure.schedule(rebuild));
  figure.onTheme(paint);
  function rebuild() {
    build();
    paint();
  }
  return figure.dispose;
}

export default { render };
