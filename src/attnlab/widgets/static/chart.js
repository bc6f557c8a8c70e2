// Small plots and maps for live figures.
import { context2d, svg } from "./kit.js";
import { paintWeights } from "./map.js";

/**
 * An empty plot. `x` and `y` are [from, to]; ticks are numbers or [number, text] pairs.
 * Returns {node, x, y, box, line, dot, text}: x(v) and y(v) give pixels.
 */
export function chart({
  wide, high, em, x, y, xTicks = [], yTicks = [], xName = "", label = "", right = 0.8, left = 2.9,
}) {
  const box = { left: left * em, right: wide - right * em, top: 0.8 * em, bottom: high - (xName ? 3 : 1.9) * em };
  const node = svg("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "img",
    "aria-label": label, class: "al-chart" });
  const px = (v) => box.left + ((v - x[0]) / (x[1] - x[0] || 1)) * (box.right - box.left);
  const py = (v) => box.bottom - ((v - y[0]) / (y[1] - y[0] || 1)) * (box.bottom - box.top);
  const text = (at, up, words, anchor = "middle", kind = "al-c-tick") =>
    node.append(svg("text", { x: at, y: up, "text-anchor": anchor, class: kind }, words));
  const rule = (x1, y1, x2, y2, kind) => node.append(svg("line", { x1, y1, x2, y2, class: kind }));
  for (const tick of yTicks) {
    const [v, words] = [tick].flat();
    rule(box.left, py(v), box.right, py(v), "al-c-grid");
    text(box.left - 0.4 * em, py(v) + 0.35 * em, words ?? String(v).replace("-", "−"), "end");
  }
  rule(box.left, box.bottom, box.right, box.bottom, "al-c-axis");
  for (const tick of xTicks) {
    const [v, words] = [tick].flat();
    rule(px(v), box.bottom, px(v), box.bottom + 0.25 * em, "al-c-axis");
    text(px(v), box.bottom + 1.4 * em, words ?? String(v).replace("-", "−"));
  }
  if (xName) text((box.left + box.right) / 2, high - 0.35 * em, xName, "middle", "al-c-name");
  return {
    node, box, x: px, y: py, text, rule,
    line: (points, attributes = {}) => node.append(svg("path", {
      d: points.map(([u, v], i) => `${i ? "L" : "M"}${px(u).toFixed(2)} ${py(v).toFixed(2)}`).join(""),
        fill: "none", ...attributes,
    })),
    dot: (u, v, attributes = {}) => node.append(svg("circle", { cx: px(u), cy: py(v), r: 0.38 * em, ...attributes })),
  };
}

/** Round numbers from 0 to about `last`, at most `most` of them. */
export function roundTicks(last, most = 6) {
  const step = [1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 40, 50, 64, 100, 128, 200, 256, 500,
    512].find((s) => last / s < most) ?? 1024;
  return Array.from({ length: Math.floor(last / step) + 1 }, (_, i) => i * step);
}

/**
 * Paint flat values (rows, columns) on a canvas of the given size. `place(value)` is one of palette.js's laws: where on
 * the ramp, from 0 to 1, a value has its colour. Returns the canvas's 2-D context.
 */
export function paintMap(canvas, values, rows, columns, wide, high, theme, place) {
  const small = document.createElement("canvas");
  small.width = columns;
  small.height = rows;
  const image = new ImageData(columns, rows);
  paintWeights(image, values, theme, { place });
  small.getContext("2d").putImageData(image, 0, 0);
  const context = context2d(canvas, wide, high);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, wide, high);
  return context;
}

/** A frame around a cell, which shows on any colour. */
export function outline(ink, row, column, wide, high = wide) {
  for (const [colour, thick] of [["#ffffff", 5], ["#000000", 2.5]]) {
    ink.strokeStyle = colour;
    ink.lineWidth = thick;
    ink.strokeRect(column * wide + 1, row * high + 1, wide - 2, high - 2);
  }
}

/** Bytes r, g, b, r, g, b … as a canvas, to draw from. */
export function photograph(pixels, wide, high = wide) {
  const canvas = document.createElement("canvas"), image = new ImageData(wide, high);
  [canvas.width, canvas.height] = [wide, high];
  for (let i = 0; i < wide * high; i++) {
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = pixels[3 * i + c];
    image.data[4 * i + 3] = 255;
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/** Call `chosen(row, column)` while the reader presses on a map of rows × columns (which may change: a function). */
export function onPress(figure, canvas, size, chosen) {
  let pressed = false;
  const tell = (event) => {
    const place = canvas.getBoundingClientRect(), [rows, columns] = size();
    const at = (share, count) => Math.max(0, Math.min(count - 1, Math.floor(share * count)));
    chosen(at((event.clientY - place.top) / place.height, rows),
      at((event.clientX - place.left) / place.width, columns));
  };
  figure.listen(canvas, "pointerdown", (event) => {
    pressed = true;
    canvas.setPointerCapture?.(event.pointerId);
    tell(event);
  });
  figure.listen(canvas, "pointermove", (event) => { if (pressed) tell(event); });
  for (const end of ["pointerup", "pointercancel"]) figure.listen(canvas, end, () => { pressed = false; });
}

/** The size of a letter in the figure, in pixels. */
export function letter(figure) {
  return parseFloat(getComputedStyle(figure.root).fontSize) || 15;
}
