// The arithmetic of the workbench, and how its numbers are read and written. Pure functions, no DOM.
import { nice } from "./kit.js";
import { attend, matmul, random, scores } from "./math.js";

/** Two decimals while they fit the cell. */
const decimals = (x) => (Math.abs(x) >= 99.95 ? 0 : Math.abs(x) >= 9.995 ? 1 : 2);
/** A number to edit, as it was typed; the same where it only has to be read; one that is never edited. */
export const typed = (x) => String(Number(x.toFixed(4))).replace("-", "−");
export const brief = (x) => String(Number(x.toFixed(decimals(x)))).replace("-", "−");
export const compact = (x) => nice(x, decimals(x));
export const factor = (x) => (x < 0 ? `(${nice(x, 2)})` : nice(x, 2));

/** Every matrix of one head. x (L, E), wq, wk (E, D), wv (E, V), mask (L, L) flat, 1 = may attend. */
export function compute({ x, wq, wk, wv, L, E, D, V, scaled = true, temperature = 1, mask = null }) {
  const q = matmul(x, wq, L, E, D), k = matmul(x, wk, L, E, D), v = matmul(x, wv, L, E, V);
  const raw = scores(q, k, L, L, D);
  const scaledScores = scaled ? raw.map((s) => s / Math.sqrt(D)) : raw;
  const masked = scaledScores.map((s, c) => (!mask || mask[c] ? s : -Infinity));
  const { weights, sums, bits } = attend(scaledScores, L, L, { temperature, mask });
  return { q, k, v, scores: raw, scaled: scaledScores, masked, weights, sums, bits,
    output: matmul(weights, v, L, L, V) };
}

/** A small vector for a new word, the same on every page: FNV-1a of the word seeds the generator. */
export function wordVector(word, width) {
  let seed = 0x811c9dc5;
  for (let c = 0; c < word.length; c++) seed = Math.imul(seed ^ word.charCodeAt(c), 0x01000193);
  const uniform = random(seed);
  return Array.from({ length: width }, () => (Math.round(uniform() * 20) - 10) / 10);
}

/** A number as typed, or NaN. Takes a decimal comma and the true minus sign. */
export function parseNumber(text) {
  const plain = text.trim().replace("−", "-").replace(",", ".");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
}
