// Pictures for the whole Transformer: small and large attention maps, and the ribbons between words.
import { context2d, legible, shorten, svg, visible } from "./kit.js";
import { paintWeights } from "./map.js";

const FONT_STACK = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const SLANT = (50 * Math.PI) / 180; // of the words on the top axis

/** Paint a map, one pixel per cell, into a canvas that CSS enlarges. The grid may have rows that wait for words. */
export function paintThumb(canvas, map, grid, theme, causal) {
  const columns = causal ? grid : map.columns, rows = Math.max(grid, map.rows);
  if (canvas.width !== columns || canvas.height !== rows) { canvas.width = columns; canvas.height = rows; }
  const image = new ImageData(columns, rows);
  const past = (c) => c % map.columns <= Math.floor(c / map.columns); // the future has no colour
  const painted = map.data.subarray(0, map.rows * map.columns);
  paintWeights(image, painted, theme, { columns: map.columns, shown: causal ? past : null });
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** Shorten a word until it fits. */
function fitWord(ctx, word, room) {
  let letters = 18, text = shorten(visible(word), letters);
  while (letters > 1 && ctx.measureText(text).width > room) text = shorten(visible(word), --letters);
  return text;
}

/**
 * A large map with its words. Returns where things are: { left, top, cell, rows, columns }.
 * @param {{map: any, rowWords: string[], columnWords: string[], grid: number, room: number, height: number, row:
 * number, causal: boolean, silent: boolean}} given
 */
export function paintMap(canvas, theme, given) {
  const { map, rowWords, columnWords, room, row, causal, silent } = given;
  const rows = Math.max(given.grid, map.rows), columns = causal ? rows : map.columns;
  const ctx = canvas.getContext("2d");
  const size = legible(room < 380 || columns > 18 ? 12 : 13);
  ctx.font = `650 ${size}px ${FONT_STACK}`; // the widest they get
  const left = Math.ceil(Math.min(room < 380 ? 76 : 104,
    Math.max(34, ...rowWords.map((w) => ctx.measureText(visible(w)).width)))) + 8;
  const tilted = Math.ceil(Math.min(84, Math.max(30, ...columnWords.map((w) => ctx.measureText(visible(w)).width))));
  const top = Math.ceil(tilted * Math.sin(SLANT)) + 14, lean = Math.ceil(tilted * Math.cos(SLANT)) + 4;
  const cell = Math.max(legible(13), Math.min(38, Math.floor((room - left - Math.max(4, lean - 12)) / columns),
    Math.floor((given.height - top) / rows)));
  const width = left + cell * columns + Math.max(4, lean - cell / 2), height = top + cell * rows + 3;
  context2d(canvas, width, height);
  ctx.clearRect(0, 0, width, height);

  for (let i = 0; i < map.rows; i++)
    for (let j = 0; j < map.columns; j++) {
      if (causal && j > i) continue;
      const w = map.data[i * map.columns + j];
      ctx.fillStyle = theme.weight(w);
      ctx.fillRect(left + j * cell, top + i * cell, cell - 1, cell - 1);
      if (cell >= 26 && w >= 0.005) {
        ctx.fillStyle = theme.inkOnWeight(w);
        ctx.font = `${legible(cell >= 30 ? 11 : 10)}px ${FONT_STACK}`;
        ctx.textAlign = "center";
        ctx.textBaseline = "middle";
        ctx.fillText(w >= 0.995 ? "1" : w.toFixed(2).slice(1), left + (j + 0.5) * cell, top + (i + 0.5) * cell + 0.5);
      }
    }
  if (causal) paintFuture(ctx, theme, map.rows, left, top, cell);
  if (silent) { // a silent head: its map is seen, but crossed out
    ctx.strokeStyle = theme.bad;
    ctx.lineWidth = 2.5;
    ctx.beginPath();
    ctx.moveTo(left, top);
    ctx.lineTo(left + map.columns * cell, top + map.rows * cell);
    ctx.moveTo(left + map.columns * cell, top);
    ctx.lineTo(left, top + map.rows * cell);
    ctx.stroke();
  }
  ctx.strokeStyle = theme.line;
  ctx.lineWidth = 1;
  ctx.setLineDash([2, 3]);
  ctx.strokeRect(left - 1.5, top - 1.5, columns * cell + 2, rows * cell + 2); // room for words to come
  ctx.setLineDash([]);
  ctx.strokeRect(left - 1.5, top - 1.5, map.columns * cell + 2, map.rows * cell + 2);
  if (row >= 0 && row < map.rows) {
    ctx.strokeStyle = theme.text;
    ctx.lineWidth = 2;
    ctx.strokeRect(left - 1, top + row * cell - 1, map.columns * cell + 1, cell + 1);
  }
  ctx.textBaseline = "middle";
  rowWords.forEach((word, i) => {
    ctx.font = `${i === row ? "650 " : ""}${size}px ${FONT_STACK}`;
    ctx.fillStyle = i === row ? theme.text : theme.muted;
    ctx.textAlign = "right";
    ctx.fillText(fitWord(ctx, word, left - 8), left - 6, top + (i + 0.5) * cell);
  });
  ctx.textAlign = "left";
  const strongest = row >= 0 && row < map.rows ? strongestOf(map, row) : -1;
  columnWords.forEach((word, j) => {
    ctx.save();
    ctx.font = `${j === strongest ? "650 " : ""}${size}px ${FONT_STACK}`;
    ctx.fillStyle = j === strongest ? theme.text : theme.muted;
    ctx.translate(left + (j + 0.5) * cell - 3, top - 6);
    ctx.rotate(-SLANT);
    ctx.fillText(fitWord(ctx, word, 84), 0, 0);
    ctx.restore();
  });
  return { left, top, cell, rows: map.rows, columns: map.columns };
}

/** What a causal mask hides is hatched. */
function paintFuture(ctx, theme, rows, left, top, cell) {
  ctx.save();
  ctx.beginPath();
  for (let i = 0; i < rows; i++) if (i + 1 < rows) ctx.rect(left + (i + 1) * cell, top + i * cell,
    (rows - i - 1) * cell - 1, cell - 1);
  ctx.clip();
  ctx.strokeStyle = theme.hatch;
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let x = -rows * cell; x < rows * cell; x += 7) {
    ctx.moveTo(left + x, top + rows * cell);
    ctx.lineTo(left + x + rows * cell, top);
  }
  ctx.stroke();
  ctx.restore();
}

/** The column with the largest weight of a row. */
export function strongestOf(map, row) {
  let best = 0;
  for (let j = 1; j < map.columns;
    j++) if (map.data[row * map.columns + j] > map.data[row * map.columns + best]) best = j;
  return best;
}

/** Ribbons from one word to others: thick and dark where the weight is large. `ends` are [x, y, weight]. */
export function ribbons(from, ends, colour, { arc = 0 } = {}) {
  const [x, y] = from;
  return ends.filter(([, , w]) => w >= 0.01).sort((a, b) => a[2] - b[2]).map(([to, level, w]) => {
    const out = arc * reach(x, to);
    // a loop: it attends to itself
    const d = arc && x === to ? `M${x - 5} ${y}C${x - 20} ${y + 0.8 * out} ${x + 20} ${y + 0.8 * out} ${x + 5} ${y}`
      : arc
      ? `M${x} ${y}C${x} ${y + out} ${to} ${level + out} ${to} ${level}`
      : `M${x} ${y}C${x} ${(y + level) / 2} ${to} ${(y + level) / 2} ${to} ${level}`;
    return svg("path", { d, fill: "none", stroke: colour, "stroke-width": (1 + 9 * w).toFixed(2),
      "stroke-opacity": (0.18 + 0.72 * w).toFixed(3), "stroke-linecap": "round" });
  });
}

/** How far an arc swings out: further for words further apart; a word that attends to itself makes a loop. */
const reach = (x, to) => Math.min(58, 22 + Math.abs(to - x) / 6);
