// A plotly figure: a picture first, plotly.js when the reader comes near. What the hand does with the mouse, the
// slider (point by point) and the buttons do from the keyboard. The Python side is widgets/plotly_figure.py.
import { button, frame, lecture, legible, make, slider } from "./kit.js";
import { toBytes } from "./wire.js";
import PALETTE from "./palette.json";

const NEAR = "600px"; // how far below the screen a figure may be when plotly.js is asked for
const TURN = Math.PI / 9;
const EYE = { x: 1.4, y: 1.4, z: 1.1 };
const CENTRE = { x: 0, y: 0, z: -0.2 }; // a cube's lowest corner and its numbers are far below its middle
const LOWEST = 256; // pixels
const NAMED = 340; // with a legend, which takes several lines on a phone
const NARROW = 520; // pixels: a phone
const CROWD = 12; // words in space: on a phone more would overlap
const PATIENCE = 60_000; // milliseconds that a kernel may take

/** The colour of a light page in the other theme: inks, surfaces and the stops of ramps know their twin. */
export function inTheme(value, theme) {
  if (theme !== "dark") return value;
  if (Array.isArray(value)) return value.map((item) => inTheme(item, theme));
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inTheme(item, theme)]));
  if (typeof value !== "string" || !/^#[0-9a-f]{6}$/i.test(value)) return value;
  const { light, dark } = PALETTE, hex = value.toLowerCase();
  for (const group of ["inks", "surfaces"])
    for (const [name, colour] of Object.entries(light[group])) if (colour === hex) return dark[group][name];
  for (const group of ["weights", "signed"]) {
    const at = light[group].indexOf(hex);
    if (at >= 0) return dark[group][at];
  }
  return value;
}

/** A camera turned round the upright axis, or nearer (`closer` > 1). */
export function turned({ x, y, z }, angle, closer = 1) {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  return { x: (c * x - s * y) / closer, y: (s * x + c * y) / closer, z: z / closer };
}

/** plotly.js from beside the page. */
function fromScript() {
  return new Promise((resolve, reject) => {
    const node = make("script", { src: new URL("plotly.js", globalThis.attnlabPlace ?? document.baseURI).href });
    node.onload = () => resolve(globalThis.Plotly);
    node.onerror = () => reject(new Error("plotly.js is not beside this page: copy the whole folder of the site."));
    document.head.append(node);
  });
}

/** plotly.js from the kernel, compressed. It runs as a module of its own, whatever loader the notebook has. */
function fromKernel(model) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      model.off("msg:custom", hear);
      reject(new Error("The kernel does not answer: run this cell again."));
    }, PATIENCE);
    async function hear(message, buffers) {
      if (message?.kind !== "plotly.js") return;
      clearTimeout(timer);
      model.off("msg:custom", hear);
      const stream = new Blob([toBytes(buffers[0])]).stream().pipeThrough(new DecompressionStream("gzip"));
      const module = { exports: {} };
      const text = await new Response(stream).text();
      new Function("module", "exports", "define", text)(module, module.exports, undefined);
      resolve(module.exports);
    }
    model.on("msg:custom", hear);
    model.send({ kind: "plotly.js" });
  });
}

/** Once per page, whichever figure asks first. */
function load(model) {
  const forget = (error) => { globalThis.attnlabPlotly = undefined; throw error; };
  const begin = () => (typeof model.send === "function" ? fromKernel(model) : fromScript());
  return (globalThis.attnlabPlotly ??= begin().catch(forget));
}

/** Call `then` once, when the reader is near: the slide is shown, or the place is almost on the screen. */
function whenNear(figure, node, then) {
  const seen = (all) => { if (all.some((one) => one.isIntersecting)) go(); };
  const watch = new IntersectionObserver(seen, { rootMargin: NEAR });
  const go = () => {
    if (!node.checkVisibility({ visibilityProperty: true })) return; // hidden slides are at the same place
    watch.disconnect();
    document.removeEventListener("slidechanged", go);
    then();
  };
  watch.observe(node);
  if (document.querySelector(".reveal")) figure.listen(document, "slidechanged", go);
  figure.cleanup(() => watch.disconnect());
}

/** What every figure of the course has in common, in plotly's words. */
function look(figure, layout, size) {
  const { theme } = figure, grid = theme.line, small = size < NARROW;
  const axis = { gridcolor: grid, zerolinecolor: grid, linecolor: theme.muted, automargin: true };
  const flat = (name) => ({ ...axis, ...inTheme(layout[name] ?? {}, theme.dark ? "dark" : "light") });
  const deep = { ...axis, backgroundcolor: theme.bg, showbackground: false };
  const made = inTheme(layout, theme.dark ? "dark" : "light");
  const solid = (name) => ({ ...deep, ...made.scene?.[name] });
  const letters = Math.max(legible(12), parseFloat(getComputedStyle(figure.root).fontSize) * (small ? 0.85 : 0.95));
  return {
    ...made,
    paper_bgcolor: theme.bg, plot_bgcolor: theme.bg, colorway: theme.series,
    font: { family: "system-ui, sans-serif", color: theme.text, ...made.font, size: letters },
    hoverlabel: { bgcolor: theme.soft, bordercolor: theme.edge, font: { color: theme.text, size: letters } },
    margin: { l: 10, r: 10, t: made.title ? 40 : 10, b: 10, ...made.margin },
    // Above, where it covers no words of the axis, however many lines it takes; its signs are as large as the points.
    legend: { orientation: "h", itemsizing: "constant", y: 1.02, yanchor: "bottom", ...made.legend },
    xaxis: flat("xaxis"), yaxis: flat("yaxis"),
    scene: { ...made.scene, xaxis: solid("xaxis"), yaxis: solid("yaxis"), zaxis: solid("zaxis") },
    dragmode: matchMedia("(pointer: coarse)").matches ? false : made.dragmode, // a finger scrolls the page
  };
}

function render(context) {
  const { model } = context;
  let chart, points, solid; // from Python, until it changes them
  function read() {
    chart = model.get("chart");
    points = model.get("points");
    solid = chart.data.some((trace) => ["scatter3d", "surface", "mesh3d"].includes(trace.type));
  }
  read();
  const words = () => points[model.get("point")]?.[2] ?? "";
  const figure = frame(context, { name: "plotly", numbers: () => ({ point: model.get("point"), words: words() }) });
  const poster = context.fallback?.querySelector("img") ??
    make("img.al-poster", { alt: model.get("alt"), src: `data:image/png;base64,${model.get("poster")}` });
  const place = make("div.al-pl-chart", {}, poster), readout = make("div.al-readout");
  const legend = () => chart.layout.showlegend ?? chart.data.filter((trace) => trace.name).length > 1;
  const lowest = () => (legend() ? NAMED : LOWEST);
  if (!lecture()) {
    place.style.aspectRatio = String(1 / model.get("shape"));
    place.style.minHeight = `${lowest()}px`;
  }
  let plotly = null, gone = false, wide = 0;

  const walk = slider({
    label: "Point", min: -1, max: points.length - 1, step: 1, value: model.get("point"),
    format: (i) => (i < 0 ? "none" : `${i + 1} of ${points.length}`), input: (i) => figure.push("point", i),
  });
  const first = chart.layout.scene?.camera?.eye ?? EYE;
  const eye = () => place.layout?.scene?.camera?.eye ?? first;
  const move = (angle, closer) => plotly?.relayout(place, { "scene.camera.eye": turned(eye(), angle, closer) });
  const zoom = (closer) => {
    const { xaxis, yaxis } = place._fullLayout ?? {};
    if (!xaxis) return;
    const changed = {};
    for (const [name, { range: [a, b] }] of Object.entries({ xaxis, yaxis })) {
      const [middle, half] = [(a + b) / 2, (b - a) / 2 / closer];
      if (Number.isFinite(half)) changed[`${name}.range`] = [middle - half, middle + half];
    }
    plotly.relayout(place, changed);
  };
  const whole = () => plotly?.relayout(place, solid
    ? { "scene.camera.eye": first }
    : { "xaxis.autorange": true, "yaxis.autorange": true });
  const named = (sign, name, does) => button(sign, does, { "aria-label": name });
  const nearer = (times) => (solid ? move(0, times) : zoom(times));
  const turns = [named("⟲", "Turn left", () => move(-TURN)), named("⟳", "Turn right", () => move(TURN))];
  const zooms = [named("+", "Zoom in", () => nearer(1.5)), named("−", "Zoom out", () => nearer(1 / 1.5))];
  const walks = points.length ? [walk] : [];
  figure.controls.append(...walks, ...(solid ? turns : []), ...zooms, button("Whole view", whole));
  figure.body.append(place, readout);
  readout.hidden = !points.length;

  /** Whether words would overlap: then the slider and a tap say them. */
  const crowded = () => solid && place.clientWidth < NARROW && points.length > CROWD;

  /** All traces, and a ring round the chosen point. */
  function traces() {
    const [t, i] = points[model.get("point")] ?? [], from = chart.data[t];
    const made = inTheme(chart.data, figure.theme.dark ? "dark" : "light").map((trace) =>
      (crowded() && /markers.*text/.test(trace.mode) ? { ...trace, mode: "markers" } : trace));
    if (!from) return made;
    const { peak } = figure.theme, type = from.type === "scatter3d" ? "scatter3d" : "scatter";
    const at = Object.fromEntries(["x", "y", "z"].filter((axis) => from[axis]).map((axis) => [axis, [from[axis][i]]]));
    const marker = { size: 16, color: peak, symbol: "circle-open", line: { width: 4, color: peak } };
    return [...made, { ...at, type, mode: "markers", marker, showlegend: false, hoverinfo: "skip" }];
  }
  function draw() {
    if (lecture()) place.style.height = `${figure.tall(place.clientWidth * model.get("shape"), place, 0)}px`;
    walk.querySelector("input").max = String(points.length - 1);
    walk.value = model.get("point");
    readout.textContent = words() || "Hover over a point, or choose one with the slider.";
    if (!plotly || gone || !(place.clientWidth > 0)) return;
    const layout = look(figure, chart.layout, place.clientWidth);
    if (solid) layout.scene = { ...layout.scene, camera: { center: CENTRE, ...layout.scene.camera, eye: eye() } };
    if (solid) layout.margin = { ...layout.margin, l: 0, r: 0, ...chart.layout.margin }; // a phone cut the axis' name
    const width = place.clientWidth, wish = figure.tall(width * model.get("shape"), place, 0);
    const height = lecture() ? Math.round(wish) : Math.max(lowest(), Math.round(wish)); // a slide has no more room
    Object.assign(layout, { width, height, uirevision: 1 });
    layout.showlegend = legend();
    plotly.react(place, traces(), layout, { displayModeBar: false, scrollZoom: false, responsive: false });
  }
  draw();
  figure.on("point", () => figure.schedule(draw));
  figure.on(["chart", "points", "shape"], () => { read(); figure.schedule(draw); });
  figure.onTheme(() => figure.schedule(draw));
  figure.onResize((width) => { if (Math.abs(width - wide) > 1) { wide = width; draw(); } });
  whenNear(figure, place, async () => {
    try {
      const found = await load(model);
      if (gone) return;
      if (solid && !document.createElement("canvas").getContext("webgl"))
        throw new Error("This browser draws nothing in 3-D, so the picture stays.");
      plotly = found;
      poster.remove();
      draw();
      place.on?.("plotly_click", ({ points: [hit] }) => {
        const at = points.findIndex(([t, i]) => t === hit.curveNumber && i === hit.pointNumber);
        if (at >= 0) figure.push("point", at);
      });
      figure.root.dataset.plotly = "yes";
    } catch (error) {
      figure.root.dataset.plotly = "no";
      readout.hidden = false;
      readout.textContent = error.message;
    }
  });
  figure.cleanup(() => { gone = true; plotly?.purge(place); });
  return figure.dispose;
}

export default { render };
