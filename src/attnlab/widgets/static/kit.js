// What all live figures share: safe DOM building, controls, themes, scheduling, clean-up.
// No framework, no bundler: a figure imports names from here and Python joins the files.
import { palette } from "./palette.js";
import { decode, encode } from "./wire.js";

/** @typedef {{get(key: string): any, set(key: string, value: any): void, save_changes(): void,
 *   on(event: string, callback: Function): void, off(event: string, callback: Function): void}} Model */

/**
 * Make an element. Text is always set as text, never as HTML, so a token such as
 * `<script>` is shown and not run.
 * @param {string} tag e.g. "div.al-row"
 * @param {Record<string, any> | null} [attributes] `onclick`-like keys become listeners
 * @param {...(Node | string | number | null)} children
 */
export function make(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElement(name);
  if (classes.length) node.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null) node.append(child instanceof Node ? child : String(child));
  return node;
}

// In a hall no letter is smaller than this, in pixels of the figure; slides.js enlarges the figure at least 1.6 times,
// to 24 pixels of 720 lines. kit.css says the same to style sheets, as --al-least.
const LEAST = 15.4;

let hall; // asked once: a page does not become a deck

/** Whether the page is a lecture: figures then show less, and larger. */
export function lecture() {
  return (hall ??= document.querySelector(".reveal .slides") !== null);
}

/** The size of letters a figure draws: as wished, and in a lecture not too small for the last row. */
export function legible(size) {
  return lecture() ? Math.max(LEAST, size) : size;
}

/** The same for SVG. */
export function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== null && value !== undefined) node.setAttribute(key, String(value));
  for (const child of children) node.append(child instanceof Node ? child : String(child));
  return node;
}

/** An array trait from Python as {shape, data: typed array}, and the way back (a mask as a Uint8Array of 0 and 1). */
export const array = decode;
export const pack = encode;

const DARK = "dark";

function pageTheme() {
  const root = document.documentElement, body = document.body;
  const said = root.dataset.theme || root.getAttribute("theme") || body?.dataset.theme;
  if (said === "dark" || said === "light") return said;
  const lab = body?.dataset.jpThemeLight; // JupyterLab says "true" or "false"
  if (lab) return lab === "false" ? DARK : "light";
  if (root.classList.contains("reveal-full-page")) return "light"; // our slides are white
  return matchMedia("(prefers-color-scheme: dark)").matches && said !== undefined ? DARK : "light";
}

const LAW = "Colour: by the square root of the weight.";

/**
 * The frame of a figure: title, controls, body, caption, and a polite live region.
 * @param {{model: Model, el: HTMLElement}} context
 * @param {{name: string, numbers: () => any, law?: boolean}} options `numbers()` returns what is drawn, for tests and
 *   the curious; `law`: weights have colours here, and no legend with ticks says by which law
 */
export function frame({ model, el }, { name, numbers, law = false }) {
  const undo = [];
  const title = make("div.al-title");
  const controls = make("div.al-controls", { role: "group", "aria-label": "Controls" });
  const body = make("div.al-body");
  const caption = make("div.al-caption");
  const live = make("div.al-sr", { "aria-live": "polite" });
  // A div: reveal.js takes every section for a slide.
  const root = make(`div.al-figure.al-${name}`, {
    role: "figure", "data-lm-suppress-shortcuts": "true", // JupyterLab's own keys stay out of the figure
  }, title, controls, body, law && !lecture() ? make("div.al-law", {}, LAW) : null, caption, live);
  const sized = [];
  /** Take the available width now, not in a frame or two: nothing on the page has been painted yet. */
  const measure = () => {
    const { paddingLeft, paddingRight } = getComputedStyle(body);
    const width = body.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
    if (width > 0) for (const callback of sized) callback(width);
  };
  root.figure = { numbers, measure };
  el.replaceChildren(root);

  const scheduled = new Set();
  let request = 0;
  /** Run a paint function at most once a frame, however many changes ask for it. */
  const schedule = (paint) => {
    scheduled.add(paint);
    request ||= requestAnimationFrame(() => {
      request = 0;
      const paints = [...scheduled];
      scheduled.clear();
      for (const p of paints) p();
    });
  };
  undo.push(() => cancelAnimationFrame(request));

  const on = (keys, callback) => {
    for (const key of [keys].flat()) {
      model.on(`change:${key}`, callback);
      undo.push(() => model.off(`change:${key}`, callback));
    }
  };
  const words = () => {
    title.textContent = model.get("title") ?? "";
    caption.textContent = model.get("caption") ?? "";
    title.hidden = !title.textContent;
    caption.hidden = !caption.textContent;
    root.setAttribute("aria-label", model.get("alt") || model.get("title") || name);
  };
  words();
  on(["title", "caption", "alt"], words);

  const handle = {
    root, controls, body, schedule, on,
    theme: palette(pageTheme()),
    /** Add something to undo when the figure goes away. */
    cleanup: (callback) => undo.push(callback),
    listen: (target, event, callback, options) => {
      target.addEventListener(event, callback, options);
      undo.push(() => target.removeEventListener(event, callback, options));
    },
    /** Tell Python (if it is there) about a choice; several in one frame become one message. */
    push: (key, value) => {
      model.set(key, value);
      schedule(save);
    },
    /** Say something to a screen reader. */
    say: (text) => { spoke = performance.now(); live.textContent = text; },
    onTheme: (callback) => themed.push(callback),
    /**
     * How high something may be drawn: in a lecture what the slide leaves when all else of the figure has its place
     * (but it keeps three quarters, while there are controls that can go), elsewhere as wished. `part` is what holds
     * the drawing.
     */
    tall: (wish, part = body, keeps = 0.75) => {
      const place = root.closest("[data-widget]"), room = place?.closest(".course-fill, .course-columns");
      const zoom = Number(place?.style.zoom) || 1;
      if (!lecture() || !room || zoom > 1.65) return wish;
      const rest = root.offsetHeight - (part.offsetHeight ?? part.clientHeight) + 14; // its own edges
      const { lecture: mode } = place.dataset;
      const least = wish * keeps * (/least/.test(mode) ? 0.5 : /less/.test(mode) ? 0.75 : 1);
      return Math.max(least, Math.min(wish, room.clientHeight / zoom - rest));
    },
    /** Call `callback(width)` when the body's width changes. */
    onResize: (callback) => {
      sized.push(callback);
      const observer = new ResizeObserver((entries) => schedule(() => callback(entries[0].contentRect.width)));
      observer.observe(body);
      undo.push(() => observer.disconnect());
    },
    /** The same, but only for a width it has not had before; a figure that is hidden has none. */
    onWidth: (callback) => {
      let last = 0;
      handle.onResize((width) => { if (width > 0 && Math.abs(width - last) > 0.5) callback((last = width)); });
    },
    dispose: () => { for (const callback of undo.splice(0)) callback(); },
  };
  const save = () => model.save_changes();
  // A key that a control uses must not also turn the slide. Escape gives the keyboard back to the page.
  handle.listen(root, "keydown", (event) => {
    const uses = event.target.matches("input, select, textarea, [role=application]") ||
      (event.target.matches("button") && (event.key === " " || event.key === "Enter"));
    if (!uses && !event.defaultPrevented) return;
    event.stopPropagation();
    if (event.key === "Escape" && !event.defaultPrevented) event.target.blur();
  });
  // When the controls come to rest, a screen reader hears the readout (no hints), unless the figure has just spoken
  // itself.
  let resting = 0, spoke = -Infinity;
  const readAloud = () => {
    const readout = root.querySelector(":is(.al-readout, .al-aloud):not([role=status], .al-hint, :has(.al-hint))");
    if (!readout?.checkVisibility() || performance.now() - spoke < 1000) return;
    const text = readout.innerText.replace(/\s+/g, " ");
    if (text !== live.textContent) live.textContent = text;
  };
  for (const event of ["input", "change", "click"])
    handle.listen(root, event, () => {
      clearTimeout(resting);
      resting = setTimeout(readAloud, 700);
    });
  undo.push(() => clearTimeout(resting));
  const themed = [];
  const retheme = () => {
    const theme = pageTheme();
    root.dataset.theme = theme;
    handle.theme = palette(theme);
    for (const callback of themed) callback(handle.theme);
  };
  root.dataset.theme = pageTheme();
  const watcher = new MutationObserver(retheme);
  for (const node of [document.documentElement, document.body])
    watcher.observe(node, { attributes: true, attributeFilter: ["data-theme", "theme", "data-jp-theme-light",
      "class"] });
  undo.push(() => watcher.disconnect());
  return handle;
}

// Every figure carries its own copy of this file, so a bare counter would give ids that clash on the page.
const COPY = Math.random().toString(36).slice(2, 10);
let counter = 0;

/** An id that nothing else on the page has. */
export function uniqueId() {
  return `al-${COPY}-${++counter}`;
}

/**
 * A labelled slider. `log: true` moves evenly in ratios. Arrow keys, Home/End, Page keys work as in any slider.
 * Returns an element with `.value` (getter/setter that does not call `input`).
 */
export function slider({ label, min, max, value, step = null, log = false, format = String, input, detents = [] }) {
  const id = uniqueId();
  const forth = log ? Math.log : (x) => x, back = log ? Math.exp : (x) => x;
  const range = make("input", {
    type: "range", id, "aria-label": label, min: forth(min), max: forth(max),
      step: step ?? (log ? (Math.log(max) - Math.log(min)) / 200 : "any"),
  });
  const output = make("output.al-value", { for: id, "aria-live": "off" }); // the slider itself says its value
  let current = value;
  const show = () => {
    output.textContent = format(current);
    range.setAttribute("aria-valuetext", format(current));
  };
  range.addEventListener("input", () => {
    current = back(Number(range.value));
    // A log slider cannot hit round values such as T = 1 exactly: snap when within one step.
    for (const d of detents) if (Math.abs(forth(current) - forth(d)) <= Number(range.step) / 2) current = d;
    show();
    input(current);
  });
  const node = make("label.al-control.al-slider", { for: id }, make("span.al-label", {}, label), range, output);
  Object.defineProperty(node, "value", {
    get: () => current,
    set: (v) => { current = v; range.value = String(forth(v)); show(); },
  });
  node.value = value;
  return node;
}

/** A drop-down. `options` are [value, text] pairs. */
export function choice({ label, options, value, input }) {
  const select = make("select");
  const fill = (pairs) => select.replaceChildren(...pairs.map(([v, text]) => make("option", { value: v }, text)));
  fill(options);
  select.value = String(value);
  select.addEventListener("change", () => input(select.value));
  const node = make("label.al-control", {}, make("span.al-label", {}, label), select);
  node.fill = fill;
  Object.defineProperty(node, "value", { get: () => select.value, set: (v) => { select.value = String(v); } });
  return node;
}

/** An on/off switch. */
export function toggle({ label, value, input }) {
  const box = make("input", { type: "checkbox" });
  box.checked = value;
  box.addEventListener("change", () => input(box.checked));
  const node = make("label.al-control.al-toggle", {}, box, make("span.al-label", {}, label));
  Object.defineProperty(node, "value", { get: () => box.checked, set: (v) => { box.checked = v; } });
  return node;
}

/** A push button. */
export function button(label, onclick, attributes = {}) {
  return make("button.al-button", { type: "button", onclick, ...attributes }, label);
}

/** Size a canvas for the screen's pixel ratio and return its 2-D context in CSS pixels. */
export function context2d(canvas, width, height) {
  const ratio = (window.devicePixelRatio || 1) * (lecture() ? 2 : 1); // a slide enlarges its figures
  const w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** Shorten a token for an axis; the full text belongs in a tooltip. */
export function shorten(token, length = 12) {
  const letters = [...String(token)];
  return letters.length > length ? letters.slice(0, length - 1).join("") + "…" : String(token);
}

/** A token with its white space made visible; an empty one is shown as ∅. */
export function visible(token) {
  const text = String(token).replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/^ | $/g, "␣").replace(/\s+/g, " ");
  return text === "" ? "∅" : text;
}

/** A number as people read it: 3 decimals, true minus sign, no "-0.000". */
export function nice(x, digits = 3) {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? "NaN" : x > 0 ? "∞" : "−∞";
  const text = x.toFixed(digits);
  return (Number(text) === 0 ? (0).toFixed(digits) : text).replace("-", "−");
}

/** Bytes in binary units, as people read them. */
export function binary(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let place = 0;
  while (bytes >= 1024 && place < units.length - 1) {
    bytes /= 1024;
    place++;
  }
  return `${bytes >= 100 || Number.isInteger(bytes) ? Math.round(bytes) : bytes.toFixed(1)} ${units[place]}`;
}
