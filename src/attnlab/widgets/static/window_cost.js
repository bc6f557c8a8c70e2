// What attention costs as pictures grow: every token with every token, or inside windows.
import { choice, frame, make, slider } from "./kit.js";
import { chart, letter } from "./chart.js";

const SIZES = [112, 224, 448, 672, 896, 1344, 1792];

/** Tokens, entries of the weights of one head, and multiplications of one layer; a small picture is one window. */
export function compute({ size, patch, window, width }) {
  const side = Math.floor(size / patch),
    tokens = side * side,
    area = Math.min(window, side) ** 2,
    linear = 4 * tokens * width * width;
  return {
    tokens,
    everywhere: tokens * tokens,
    inside: area * tokens,
    globalCost: linear + 2 * tokens * tokens * width,
    windowCost: linear + 2 * area * tokens * width,
  };
}

/** A large number in words that fit into a sentence. */
export function short(x) {
  const units = [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ].find(([u]) => x >= u) ?? [1, ""];
  const v = x / units[0];
  return `${v >= 100 || units[0] === 1 ? Math.round(v) : v.toFixed(1)} ${units[1]}`.trim();
}

const KEYS = ["size", "patch", "window", "width"];

function render(context) {
  const { model } = context;
  const held = () => Object.fromEntries(KEYS.map((key) => [key, model.get(key)])),
    state = () => compute(held());
  const figure = frame(context, { name: "window-cost", numbers: state });
  const size = slider({
    label: "Picture",
    min: 0,
    max: SIZES.length - 1,
    step: 1,
    value: 0,
    format: (i) => `${SIZES[i]} × ${SIZES[i]} pixels`,
    input: (i) => figure.push("size", SIZES[i]),
  });
  const patch = choice({
    label: "Patch",
    options: [4, 8, 16].map((p) => [p, `${p} × ${p}`]),
    value: 4,
    input: (v) => figure.push("patch", Number(v)),
  });
  const window = slider({
    label: "Window",
    min: 2,
    max: 16,
    step: 1,
    value: 7,
    format: (m) => `${m} × ${m}`,
    input: (v) => figure.push("window", v),
  });
  figure.controls.append(size, patch, window);
  const plot = make("div.al-wc-plot"),
    readout = make("div.al-readout");
  figure.body.append(plot, readout);
  let wide = 720;
  function paint() {
    const all = held(),
      now = compute(all),
      em = letter(figure),
      log = Math.log10;
    size.value = SIZES.indexOf(all.size);
    patch.value = all.patch;
    window.value = all.window;
    const curve = (key) => SIZES.map((s) => [log(s), log(compute({ ...all, size: s })[key])]);
    const graph = chart({
      wide: Math.max(240, wide),
      high: 13 * em,
      em,
      right: 1.5,
      left: 3.8,
      x: [log(112), log(1792)],
      y: [6, 13],
      xTicks: SIZES.filter((s) => wide > 34 * em || [112, 448, 1792].includes(s)).map((s) => [log(s), s]),
      yTicks: [
        [6, "1 M"],
        [8, "100 M"],
        [10, "10 G"],
        [12, "1 T"],
      ],
      xName: "side of the picture in pixels",
      label: "Multiplications of one attention layer against the side of the picture",
    });
    for (const [key, colour, words, dash] of [
      ["globalCost", "key", "global", "6 4"],
      ["windowCost", "attention", "windows", ""],
    ]) {
      graph.line(curve(key), { stroke: figure.theme.colour(colour), "stroke-width": 2.5, "stroke-dasharray": dash });
      graph.dot(log(all.size), log(now[key]), { fill: figure.theme.colour(colour) });
      const [x, y] = curve(key).at(-2);
      graph.text(
        graph.x(x) - 0.8 * em,
        graph.y(y) + (key === "globalCost" ? -0.6 : 1.8) * em,
        words,
        "end",
        "al-c-name",
      );
    }
    plot.replaceChildren(graph.node);
    readout.textContent =
      `${now.tokens.toLocaleString("en")} tokens. Weights per head: ${short(now.everywhere)} global, ` +
      `${short(now.inside)} in windows. Multiplications of the layer: ${short(now.globalCost)} against ` +
      `${short(now.windowCost)}, a factor of ${(now.globalCost / now.windowCost).toFixed(1)}.`;
  }
  paint();
  figure.on(KEYS, () => figure.schedule(paint));
  figure.onTheme(() => figure.schedule(paint));
  figure.onWidth((now) => { wide = now; paint(); });
  return figure.dispose;
}

export default { render };
