// Shifted windows on a picture, step by step, and whom a chosen token may see.
import { array, choice, context2d, frame, make, slider, toggle } from "./kit.js";
import { letter, onPress, photograph } from "./chart.js";
import { player } from "./player.js";

const STEPS = ["1 · the picture", "2 · shift", "3 · partition", "4 · mask", "5 · attend", "6 · reverse"];
const SAYS = [
  "The picture as tokens, and the windows of the plain block before.",
  "Everything rolls up and left. Lines: how the tokens of its window travel.",
  "Cut into windows again: every window is full, none is ragged.",
  "At the lower and right edge strangers meet: each colour sees only itself.",
  "The token looks at the lit tokens of its window.",
  "Rolled back: every token is where it was. Lit: whom the token has seen.",
];

/** Which part of its window a cell of the rolled picture belongs to: 0 … 3, by the axes it came round on. */
export function part(r, c, side, by) {
  return 2 * Number(by > 0 && r >= side - by) + Number(by > 0 && c >= side - by);
}

/** The cells that a token sees in one block: flat places in the picture as it was. */
export function sees(cell, { side, window, by, masked }) {
  const r = (Math.floor(cell / side) - by + side) % side,
    c = ((cell % side) - by + side) % side;
  const top = r - (r % window),
    left = c - (c % window),
    own = part(r, c, side, by),
    found = [];
  for (let i = top; i < top + window; i++)
    for (let j = left; j < left + window; j++)
      if (!masked || part(i, j, side, by) === own) found.push(((i + by) % side) * side + ((j + by) % side));
  return found;
}

/** How a cell moves when the picture rolls: [row, column, row, column] of its path, and once more a picture's side
 * away if it leaves at an edge, where it comes in again. */
export function ways(cell, side, by) {
  const r = Math.floor(cell / side),
    c = cell % side,
    way = [r, c, r - by, c - by];
  if (r >= by && c >= by) return [way];
  const down = r < by ? side : 0,
    right = c < by ? side : 0;
  return [way, [r + down, c + right, r - by + down, c - by + right]];
}

/** Where the token is, and everything it has seen after so many blocks. */
export function compute({ side, window, shift, step, row, column, blocks, masked }) {
  let seen = new Set([row * side + column]);
  for (let k = 0; k < blocks; k++) {
    const next = new Set();
    for (const cell of seen)
      for (const one of sees(cell, { side, window, by: k % 2 ? 0 : shift, masked })) next.add(one);
    seen = next;
  }
  const at = [(row - shift + side) % side, (column - shift + side) % side],
    across = side / window;
  const number = Math.floor(at[0] / window) * across + Math.floor(at[1] / window);
  const meet = sees(row * side + column, { side, window, by: shift, masked: false });
  const lit = Array.from({ length: side * side }, (_, i) => Number(seen.has(i)));
  return {
    step,
    at,
    number,
    windows: across * across,
    seen: lit,
    count: seen.size,
    ways: shift ? meet.flatMap((cell) => ways(cell, side, shift)) : [],
    entries: window * window * side * side,
    all: side ** 4,
  };
}

/** The masks of all windows, side by side as they are in the picture: pixels 1 where a query may see a key. */
export function maskPixels({ side, window, shift, masked }) {
  const across = side / window,
    cells = window * window,
    edge = cells + 2,
    wide = across * edge;
  const out = new Uint8Array(wide * wide).fill(2); // 2: the gap between two masks
  for (let a = 0; a < across; a++)
    for (let b = 0; b < across; b++) {
      const own = Array.from({ length: cells }, (_, i) =>
        part(a * window + Math.floor(i / window), b * window + (i % window), side, shift),
      );
      for (let i = 0; i < cells; i++)
        for (let j = 0; j < cells; j++)
          out[(a * edge + i + 1) * wide + b * edge + j + 1] = Number(!masked || own[i] === own[j]);
    }
  return { out, wide, edge };
}

const KEYS = ["side", "window", "shift", "step", "row", "column", "blocks", "masked"];
const TINTS = ["query", "key", "value", "embedding"];

/** A line or frame that shows on any colour. */
function stroke(ink, draw, thick = 2.5) {
  for (const [colour, more] of [
    ["#ffffff", 2.5],
    ["#000000", 0],
  ]) {
    ink.strokeStyle = colour;
    ink.lineWidth = thick + more;
    ink.beginPath();
    draw();
    ink.stroke();
  }
}

/** The picture at one step: rolled or not, cut, tinted, lit. */
function drawPicture(ink, wide, small, state, now, theme) {
  const { side, window, shift, step, row, column } = state,
    cell = wide / side,
    by = step >= 1 && step <= 4 ? shift : 0;
  const px = small.width / side;
  for (let r = 0; r < side; r++)
    for (let c = 0; c < side; c++)
      ink.drawImage(
        small,
        ((c + by) % side) * px,
        ((r + by) % side) * px,
        px,
        px,
        c * cell,
        r * cell,
        cell + 0.5,
        cell + 0.5,
      );
  for (let r = 0; r < side; r++)
    for (let c = 0; c < side; c++) {
      const kind = part(r, c, side, shift),
        dark = step >= 4 && !now.seen[((r + by) % side) * side + ((c + by) % side)];
      const edge = step === 3 && (r >= side - window || c >= side - window);
      if (!dark && !edge) continue;
      ink.globalAlpha = dark ? 0.72 : 0.5;
      ink.fillStyle = dark ? "#000000" : theme.colour(TINTS[kind]);
      ink.fillRect(c * cell, r * cell, cell + 0.5, cell + 0.5);
    }
  ink.globalAlpha = 1;
  const offset = step === 5 ? shift % window : 0; // back in place the shifted grid is moved, and cut at the borders
  const lines = Array.from({ length: side / window + 1 }, (_, k) => k * window + offset).filter((k) => k <= side);
  if (step !== 1)
    stroke(
      ink,
      () => {
        for (const k of step === 5 ? [0, ...lines, side] : lines) {
          ink.moveTo(k * cell, 0);
          ink.lineTo(k * cell, wide);
          ink.moveTo(0, k * cell);
          ink.lineTo(wide, k * cell);
        }
      },
      step === 2 ? 3 : 1.2,
    );
  const [r, c] = by ? now.at : [row, column];
  const travel = (lines) => () => {
    for (const [fromRow, fromColumn, toRow, toColumn] of lines) {
      ink.moveTo((fromColumn + 0.5) * cell, (fromRow + 0.5) * cell);
      ink.lineTo((toColumn + 0.5) * cell, (toRow + 0.5) * cell);
    }
  };
  if (step === 1 || step === 5) {
    stroke(ink, travel(now.ways), 1);
    if (shift) stroke(ink, travel(ways(row * side + column, side, shift)), 3);
  }
  stroke(ink, () => ink.rect(c * cell + 1, r * cell + 1, cell - 2, cell - 2), 3);
}

/** All masks, and a frame around that of the token's window. */
function drawMasks(canvas, wide, state, now, theme) {
  const { out, wide: size, edge } = maskPixels(state),
    small = document.createElement("canvas");
  small.width = small.height = size;
  const pixels = new ImageData(size, size),
    yes = theme.table.slice(3 * 190, 3 * 190 + 3),
    no = theme.table.slice(0, 3);
  out.forEach((kind, i) => {
    if (kind < 2) pixels.data.set([...(kind ? yes : no), 255], 4 * i);
  });
  small.getContext("2d").putImageData(pixels, 0, 0);
  const ink = context2d(canvas, wide, wide),
    scale = wide / size,
    across = size / edge;
  ink.imageSmoothingEnabled = false;
  ink.fillStyle = theme.colour("line");
  ink.fillRect(0, 0, wide, wide);
  ink.drawImage(small, 0, 0, wide, wide);
  const a = Math.floor(now.number / across),
    b = now.number % across;
  stroke(ink, () => ink.rect(b * edge * scale + 1, a * edge * scale + 1, edge * scale - 2, edge * scale - 2), 3);
}

function render(context) {
  const { model } = context,
    image = array(model.get("image")),
    small = photograph(image.data, image.shape[1], image.shape[0]);
  const held = () => Object.fromEntries(KEYS.map((key) => [key, model.get(key)]));
  const state = () => compute(held());
  const figure = frame(context, { name: "window-explorer", numbers: state });
  const fits = [2, 3, 4, 6, 7, 8].filter((m) => model.get("side") % m === 0 && m < model.get("side"));
  const step = slider({
    label: "Step",
    min: 0,
    max: 5,
    step: 1,
    value: 0,
    format: (i) => STEPS[i],
    input: (v) => {
      walk.stop();
      figure.push("step", v);
    },
  });
  const walk = player(figure, {
    at: () => model.get("step"),
    last: () => STEPS.length - 1,
    go: (v) => figure.push("step", v),
    pace: 2200,
  });
  const window = choice({
    label: "Window",
    options: fits.map((m) => [m, `${m} × ${m}`]),
    value: model.get("window"),
    input: (v) => {
      figure.push("shift", Math.min(model.get("shift"), Number(v) - 1));
      figure.push("window", Number(v));
    },
  });
  const shift = slider({
    label: "Shift",
    min: 0,
    max: model.get("window") - 1,
    step: 1,
    value: 0,
    input: (v) => figure.push("shift", v),
  });
  const blocks = slider({
    label: "Seen after",
    min: 1,
    max: 6,
    step: 1,
    value: 1,
    format: (n) => `${n} block${n > 1 ? "s" : ""}`,
    input: (v) => figure.push("blocks", v),
  });
  const masked = toggle({ label: "Mask", value: true, input: (v) => figure.push("masked", v) });
  figure.controls.append(step, walk.node, window, shift, blocks, masked);
  const photo = make("canvas", { role: "application", tabindex: "0" }),
    masks = make("canvas", { role: "img" });
  const name = make("div.al-we-title"),
    other = make("div.al-we-title");
  const grid = make("div.al-we-grid", {}, make("div", {}, name, photo), make("div", {}, other, masks)),
    readout = make("div.al-readout");
  figure.body.append(grid, readout);
  const by = () => (model.get("step") >= 1 && model.get("step") <= 4 ? model.get("shift") : 0);
  const place = (r, c) => {
    const side = model.get("side"); // what is pressed may be rolled; the token is kept where it belongs
    figure.push("row", (r + by()) % side);
    figure.push("column", (c + by()) % side);
  };
  onPress(figure, photo, () => [model.get("side"), model.get("side")], place);
  figure.listen(photo, "keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    const side = model.get("side"),
      at = by() ? state().at : [model.get("row"), model.get("column")];
    place(...at.map((value, axis) => Math.max(0, Math.min(side - 1, value + move[axis]))));
  });

  let size = 720;
  function paint() {
    const all = held(),
      now = compute(all),
      em = letter(figure),
      two = size > 32 * em;
    grid.dataset.columns = two ? 2 : 1;
    const wide = Math.floor(Math.min(two ? (size - 1.5 * em) / 2 : size, figure.tall(26 * em, photo)));
    step.value = all.step;
    walk.paint();
    window.value = all.window;
    shift.querySelector("input").max = all.window - 1;
    shift.value = all.shift;
    blocks.value = all.blocks;
    masked.value = all.masked;
    drawPicture(context2d(photo, wide, wide), wide, small, all, now, figure.theme);
    drawMasks(masks, wide, all, now, figure.theme);
    name.textContent = SAYS[all.step];
    const cells = all.window ** 2;
    other.textContent = `The masks of all ${now.windows} windows: ${cells} queries × ${cells} keys each`;
    photo.setAttribute(
      "aria-label",
      `${STEPS[all.step]}; arrow keys move the token. It has seen ${now.count} of ${all.side ** 2} tokens.`,
    );
    masks.setAttribute("aria-label", `Masks of ${now.windows} windows; framed: window ${now.number + 1}, the token's`);
    readout.textContent =
      `Token (${all.row}, ${all.column}) is in window ${now.number + 1} of ${now.windows}. ` +
      `After ${all.blocks} block${all.blocks > 1 ? "s" : ""} it has seen ${now.count} of ${all.side ** 2} tokens. ` +
      `Scores per head: ${now.entries.toLocaleString("en")}, global ${now.all.toLocaleString("en")}.`;
  }
  paint();
  figure.on(KEYS, () => figure.schedule(paint));
  figure.onTheme(() => figure.schedule(paint));
  figure.onWidth((now) => { size = now; paint(); });
  return figure.dispose;
}

export default { render };
