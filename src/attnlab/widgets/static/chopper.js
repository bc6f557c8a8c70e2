// Chop anything into chunks: text by byte-pair merges, a picture by patches, a sound by frames.
import { array, choice, context2d, frame, make, nice, slider, visible } from "./kit.js";

const WORD_START = "▁";
const LONGEST = 2000;

/** Letters first, then every merge in the order it was learned. */
export function cutText(text, merges) {
  const found = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    let parts = [...(WORD_START + word)];
    for (const [left, right] of merges) {
      const glued = [];
      for (const part of parts) {
        if (glued.length && glued[glued.length - 1] === left && part === right) glued[glued.length - 1] += part;
        else glued.push(part);
      }
      parts = glued;
    }
    found.push(...parts);
  }
  return found;
}

/** Sizes of squares that fit a picture of `size` pixels. */
export function fitting(size) {
  return [2, 4, 8, 16, 32].filter((p) => p < size && size % p === 0);
}

/** The mean colour of every patch, row by row. */
export function patchMeans(data, size, p) {
  const across = size / p, means = [];
  for (let r = 0; r < across; r++) for (let c = 0; c < across; c++) {
    const mean = [0, 0, 0];
    for (let y = r * p; y < (r + 1) * p; y++) for (let x = c * p; x < (c + 1) * p; x++)
      for (let k = 0; k < 3; k++) mean[k] += data[k * size * size + y * size + x];
    means.push(mean.map((m) => m / (p * p)));
  }
  return means;
}

/** How loud each frame is: the root of its mean square. */
export function loudness(data, length) {
  const found = [];
  for (let start = 0; start + length <= data.length; start += length) {
    let sum = 0;
    for (let i = start; i < start + length; i++) sum += data[i] * data[i];
    found.push(Math.sqrt(sum / length));
  }
  return found;
}

function render(context) {
  const { model } = context;
  const cache = new Map();
  const held = (key) => {
    const value = model.get(key);
    if (cache.get(key)?.[0] !== value) cache.set(key, [value, array(value)]);
    return cache.get(key)[1];
  };
  function state() {
    const what = model.get("what");
    if (what === "text") {
      const tokens = cutText(model.get("text"), model.get("merges").slice(0, model.get("used")));
      return { what, tokens, count: tokens.length, used: model.get("used") };
    }
    if (what === "picture") {
      const { shape, data } = held("picture"), p = model.get("patch");
      const means = patchMeans(data, shape[1], p);
      return { what, means, count: means.length, width: p * p * 3 };
    }
    const loud = loudness(held("sound").data, model.get("frame"));
    return { what, loud, count: loud.length, width: model.get("frame") };
  }
  const figure = frame(context, { name: "chopper", numbers: state });

  const what = choice({
    label: "Chop", options: [["text", "a text"], ["picture", "a picture"], ["sound", "a sound"]],
    value: model.get("what"), input: (value) => figure.push("what", value),
  });
  const merges = slider({
    label: "Merges", min: 0, max: Math.max(1, model.get("merges").length), step: 1, value: model.get("used"),
    format: (n) => String(Math.round(n)), input: (n) => figure.push("used", Math.round(n)),
  });
  const sizes = fitting(held("picture").shape[1]);
  const patch = slider({
    label: "Patch size", min: 0, max: sizes.length - 1, step: 1, value: Math.max(0, sizes.indexOf(model.get("patch"))),
    format: (i) => `${sizes[Math.round(i)]} px`, input: (i) => figure.push("patch", sizes[Math.round(i)]),
  });
  const length = slider({
    label: "Frame length", min: 50, max: 500, step: 10, value: model.get("frame"),
    format: (n) => `${Math.round(n)}`, input: (n) => figure.push("frame", Math.round(n)),
  });
  const box = make("input.al-ch-box", { type: "text", "aria-label": "The text to chop", maxlength: LONGEST });
  box.value = model.get("text");
  box.addEventListener("input", () => figure.push("text", box.value.slice(0, LONGEST)));
  figure.controls.append(what, merges, patch, length, box);

  const place = make("div.al-ch-place");
  const words = make("div.al-readout");
  figure.body.append(place, words);
  const canvas = make("canvas", { role: "img" });

  const several = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
  function paintText(now) {
    const nodes = now.tokens.slice(0, 400).map((token) => make("span.al-ch-token", {}, visible(token)));
    place.replaceChildren(make("div.al-ch-tokens", {}, ...nodes));
    const letters = [...model.get("text").replace(/\s+/g, "")].length;
    words.textContent = now.count
      ? `${several(now.count, "token")} for ${several(letters, "letter")}, ${nice(letters / now.count, 1)} per ` +
        `token. ${WORD_START} marks the beginning of a word.`
      : "There is nothing to chop: type a text above.";
  }
  function paintPicture(now) {
    const { shape, data } = held("picture"), size = shape[1], p = model.get("patch"), across = size / p;
    const room = Math.min(340, place.clientWidth || 340);
    const gap = across > 16 ? 1 : 3, cell = (room - gap * (across - 1)) / across;
    place.replaceChildren(canvas);
    canvas.setAttribute("aria-label", `The picture in ${now.count} patches`);
    const pen = context2d(canvas, room, room), dot = cell / p;
    pen.clearRect(0, 0, room, room);
    for (let y = 0; y < size; y++) for (let x = 0; x < size; x++) {
      const [r, c] = [Math.floor(y / p), Math.floor(x / p)];
      const rgb = [0, 1, 2].map((k) => Math.round(255 * data[k * size * size + y * size + x]));
      pen.fillStyle = `rgb(${rgb})`;
      pen.fillRect(c * (cell + gap) + (x % p) * dot, r * (cell + gap) + (y % p) * dot, dot + 0.5, dot + 0.5);
    }
    words.textContent = `${across} × ${across} = ${now.count} tokens, each ${p} × ${p} × 3 = ${now.width} numbers.`;
  }
  function paintSound(now) {
    const { data } = held("sound"), f = model.get("frame");
    const room = Math.min(720, place.clientWidth || 640), high = 150, top = Math.max(...data.map(Math.abs)) || 1;
    place.replaceChildren(canvas);
    canvas.setAttribute("aria-label", `The sound in ${now.count} frames`);
    const pen = context2d(canvas, room, high), colours = figure.theme;
    pen.clearRect(0, 0, room, high);
    const X = (i) => (i / data.length) * room, loudest = Math.max(...now.loud) || 1;
    now.loud.forEach((value, i) => {
      pen.fillStyle = colours.ramp(0.15 + 0.5 * (value / loudest));
      pen.fillRect(X(i * f) + 1, 0, X(f) - 2, high);
    });
    pen.strokeStyle = colours.text;
    pen.lineWidth = 1;
    pen.beginPath();
    data.forEach((value, i) => pen.lineTo(X(i), high / 2 - (value / top) * (high / 2 - 4)));
    pen.stroke();
    words.textContent = `${now.count} tokens, each ${now.width} samples. A darker frame is louder.`;
    if (colours.dark) words.textContent = words.textContent.replace("darker", "brighter");
  }
  function paint() {
    const now = state();
    what.value = now.what;
    merges.value = model.get("used");
    patch.value = Math.max(0, sizes.indexOf(model.get("patch")));
    length.value = model.get("frame");
    if (document.activeElement !== box) box.value = model.get("text");
    merges.hidden = box.hidden = now.what !== "text";
    patch.hidden = now.what !== "picture";
    length.hidden = now.what !== "sound";
    ({ text: paintText, picture: paintPicture, sound: paintSound })[now.what](now);
  }
  paint();
  figure.on(["what", "text", "merges", "used", "picture", "patch", "sound", "frame"], () => figure.schedule(paint));
  figure.onTheme(() => paint());
  figure.onResize(() => paint());
  return figure.dispose;
}

export default { render };
