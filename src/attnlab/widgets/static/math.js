// The arithmetic of the live figures: pure functions on plain and typed arrays, no DOM.
// Every one has a twin in torch, and the browser tests compare the two.

/**
 * Softmax of one row, as `attnlab.attention.softmax`: masked entries get 0, and a row with nothing to attend to
 * gives all zeros instead of NaN.
 * @param {ArrayLike<number>} scores
 * @param {{temperature?: number, mask?: ArrayLike<number|boolean> | null}} [options]
 * @returns {Float64Array}
 */
export function softmax(scores, { temperature = 1, mask = null } = {}) {
  const out = new Float64Array(scores.length);
  softmaxInto(out, scores, 0, scores.length, temperature, mask);
  return out;
}

/**
 * Softmax of the n scores from `start` on, written to the same indices of `out`. Masked entries are left as they are.
 * Returns the entropy in bits: with z = (score − top) / T and Z = Σ exp z it is (ln Z − Σ w·z) / ln 2, which needs
 * one logarithm per row instead of one per cell.
 */
export function softmaxInto(out, scores, start, n, temperature = 1, mask = null) {
  const end = start + n;
  let top = -Infinity;
  for (let c = start; c < end; c++) if ((!mask || mask[c]) && scores[c] > top) top = scores[c];
  if (top === -Infinity) return 0; // nothing to attend to
  let sum = 0, dot = 0;
  for (let c = start; c < end; c++) {
    if (mask && !mask[c]) continue;
    const z = (scores[c] - top) / temperature, e = Math.exp(z);
    out[c] = e;
    sum += e;
    if (e > 0) dot += e * z;
  }
  for (let c = start; c < end; c++) out[c] /= sum;
  return Math.max(0, (Math.log(sum) - dot / sum) / Math.LN2);
}

/** Entropy in bits of one row of weights: 0 = one token gets everything, log2(n) = uniform. */
export function entropy(weights) {
  let bits = 0;
  for (let j = 0; j < weights.length; j++) if (weights[j] > 0) bits -= weights[j] * Math.log2(weights[j]);
  return bits;
}

// Products for figures whose every number a reader may see or type, in double precision; models use products.js.

/** (L, D) times (D, M), both row-major flat arrays. */
export function matmul(a, b, L, D, M) {
  const out = new Float64Array(L * M);
  for (let i = 0; i < L; i++)
    for (let d = 0; d < D; d++) {
      const left = a[i * D + d];
      for (let j = 0; j < M; j++) out[i * M + j] += left * b[d * M + j];
    }
  return out;
}

/** q (L, D) times the transpose of k (S, D): the scores (L, S). */
export function scores(q, k, L, S, D) {
  const out = new Float64Array(L * S);
  for (let i = 0; i < L; i++)
    for (let j = 0; j < S; j++) {
      let sum = 0;
      for (let d = 0; d < D; d++) sum += q[i * D + d] * k[j * D + d];
      out[i * S + j] = sum;
    }
  return out;
}

/**
 * Masks as in `attnlab.masks`, flat (L, S), 1 = may attend. Aligned at the lower right: the last query
 * is at the last key. "padding" blocks the last `padding` keys. null for a name that is not a preset.
 * @returns {Uint8Array | null}
 */
export function presetMask(name, L, S, { radius = 1, padding = 1 } = {}) {
  const rule = {
    none: () => true,
    causal: (i, j) => j <= i + S - L,
    window: (i, j) => Math.abs(i + S - L - j) <= radius,
    padding: (_, j) => j < S - padding,
  }[name];
  if (!rule) return null;
  const out = new Uint8Array(L * S);
  for (let i = 0; i < L; i++) for (let j = 0; j < S; j++) out[i * S + j] = rule(i, j) ? 1 : 0;
  return out;
}

/** Softmax, sum and entropy (bits) of every row of flat scores (L, S). */
export function attend(values, L, S, { temperature = 1, mask = null } = {}) {
  const weights = new Float64Array(L * S), sums = new Float64Array(L), bits = new Float64Array(L);
  for (let i = 0; i < L; i++) {
    bits[i] = softmaxInto(weights, values, i * S, S, temperature, mask);
    for (let c = i * S; c < (i + 1) * S; c++) sums[i] += weights[c];
  }
  return { weights, sums, bits };
}

/** A flat array (L, S) as nested lists, as Python's `tolist()`. */
export function nested(flat, L, S) {
  return Array.from({ length: L }, (_, i) => Array.from(flat.subarray(i * S, (i + 1) * S)));
}

/** A small seeded generator (mulberry32), so that a figure draws the same sample on every page. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Standard normal numbers from a seed (Box–Muller). */
export function normals(count, seed) {
  const uniform = random(seed);
  const out = new Float64Array(count);
  for (let i = 0; i < count; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
    const angle = 2 * Math.PI * uniform();
    out[i] = radius * Math.cos(angle);
    if (i + 1 < count) out[i + 1] = radius * Math.sin(angle);
  }
  return out;
}
