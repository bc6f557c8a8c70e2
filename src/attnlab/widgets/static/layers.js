// The layers of the course's models, once, for every model that runs on a page. Pure functions, no DOM.
// The twins are torch's and attnlab.layers': same names, same shapes, compared in tests/browser/test_layers.py.
//
// Activations are flat row-major Float32Arrays: L rows (tokens) of E numbers, H heads of D numbers side by side.
// Linear layers are in products.js, softmax in math.js, weights as they are sent in wire.js.
import { softmax, softmaxInto } from "./math.js";
import { dotRows, matVec, transposed } from "./products.js";

// ---- attention

/**
 * Multi-head attention on flat arrays: q (L, H·D), k and v (S, G·D) -> { out (L, H·D), maps }.
 *
 * `heads` is H, `D` the width of one head; `kvHeads` is G, where groups of H / G query heads share keys and values.
 * `S` may be less than k holds: the filled part of a cache. `causal` is aligned at the lower right: the last query
 * is at the last key, so it is right with a cache. `mask` is flat (L, S), 1 = may attend; `bias` flat (H, L, S) is
 * added to the scores, which are multiplied by `scale`. With `keep`, maps[h] is the weights (L, S) of head h, else maps
 * is empty. `silent(h)` says which heads gather nothing: their part of `out` stays 0, their maps are still there.
 */
export function attention(q, k, v, {
  heads, D, kvHeads = heads, S = k.length / (kvHeads * D), causal = false, mask = null, bias = null,
  scale = 1 / Math.sqrt(D), keep = false, silent = () => false,
}) {
  const E = heads * D, wide = kvHeads * D, L = q.length / E, out = new Float32Array(q.length), maps = [];
  const scores = new Float32Array(L * S), allowed = maskOf(mask, causal, L, S);
  for (let h = 0; h < heads; h++) {
    const from = Math.floor((h * kvHeads) / heads) * D;
    dotRows(q, h * D, E, k, from, wide, scores, 0, S, L, S, D);
    for (let c = 0; c < scores.length; c++) scores[c] = scores[c] * scale + (bias ? bias[h * L * S + c] : 0);
    const weights = new Float32Array(L * S);
    for (let i = 0; i < L; i++) softmaxInto(weights, scores, i * S, S, 1, allowed);
    if (keep) maps.push(weights);
    if (!silent(h)) dotRows(weights, 0, S, transposed(v, S, D, from, wide), 0, S, out, h * D, E, L, D, S);
  }
  return { out, maps };
}

/** Both masks as one, flat (L, S), or null when everything may be seen. */
function maskOf(mask, causal, L, S) {
  if (!causal || L === 1) return mask;
  const out = new Uint8Array(L * S);
  for (let i = 0; i < L; i++)
    for (let j = 0; j <= i + S - L; j++) out[i * S + j] = mask ? mask[i * S + j] : 1;
  return out;
}

/**
 * Room for the keys and values of tokens already read: `add(k, v)` appends rows of G·D numbers, and `keys`, `values`
 * and `length` go into `attention(q, cache.keys, cache.values, { S: cache.length, causal: true, … })`.
 */
export function makeCache(width, capacity) {
  const cache = {
    keys: new Float32Array(width * capacity), values: new Float32Array(width * capacity), length: 0, capacity,
    add(k, v) {
      const rows = k.length / width;
      if (cache.length + rows > capacity)
        throw new Error(`The cache has room for ${capacity} tokens, not for ${cache.length + rows}.`);
      cache.keys.set(k, cache.length * width);
      cache.values.set(v, cache.length * width);
      cache.length += rows;
    },
  };
  return cache;
}

/**
 * Rotary positions (Su et al. 2021): x (L, heads·D), whose first row is at position `first`. Which two numbers of a
 * head turn together: "pairs", 2i and 2i + 1, as in the paper and attnlab; "halves", i and i + D/2, as in LLaMA.
 */
export function rope(x, { D, heads, first = 0, base = 10_000, layout = "pairs" }) {
  if (layout !== "pairs" && layout !== "halves") throw new Error(`RoPE's layout is pairs or halves, not ${layout}.`);
  const E = heads * D, half = D / 2, out = new Float32Array(x.length);
  const [near, far] = layout === "pairs" ? [2, 1] : [1, half];
  const turns = Float64Array.from({ length: half }, (_, i) => base ** ((-2 * i) / D));
  for (let row = 0; row * E < x.length; row++)
    for (let i = 0; i < half; i++) {
      const angle = (first + row) * turns[i], cos = Math.cos(angle), sin = Math.sin(angle);
      for (let h = 0; h < heads; h++) {
        const a = row * E + h * D + near * i, b = a + far;
        out[a] = x[a] * cos - x[b] * sin;
        out[b] = x[a] * sin + x[b] * cos;
      }
    }
  return out;
}

// ---- norms and networks

/** Layer norm of every row: mean 0, variance 1 (divided by E, epsilon inside the root), then scaled and shifted. */
export function layerNorm(x, weight, bias = null, epsilon = 1e-5) {
  const E = weight.data.length, out = new Float32Array(x.length);
  for (let start = 0; start < x.length; start += E) {
    let mean = 0, spread = 0;
    for (let j = 0; j < E; j++) mean += x[start + j];
    mean /= E;
    for (let j = 0; j < E; j++) spread += (x[start + j] - mean) ** 2;
    const shrink = 1 / Math.sqrt(spread / E + epsilon);
    for (let j = 0; j < E; j++) {
      out[start + j] = (x[start + j] - mean) * shrink * weight.data[j] + (bias ? bias.data[j] : 0);
    }
  }
  return out;
}

/** RMS norm of every row (Zhang & Sennrich 2019): no mean, no shift. */
export function rmsNorm(x, weight, epsilon = 1e-5) {
  const E = weight.data.length, out = new Float32Array(x.length);
  for (let start = 0; start < x.length; start += E) {
    let square = 0;
    for (let j = 0; j < E; j++) square += x[start + j] ** 2;
    const shrink = 1 / Math.sqrt(square / E + epsilon);
    for (let j = 0; j < E; j++) out[start + j] = x[start + j] * shrink * weight.data[j];
  }
  return out;
}

/** 1 / (1 + e^−x), a gate between 0 and 1. */
export const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** x · σ(x), of every number. */
export function silu(x) {
  const out = new Float32Array(x.length);
  for (let i = 0; i < x.length; i++) out[i] = x[i] / (1 + Math.exp(-x[i]));
  return out;
}

export const relu = (x) => x.map((value) => Math.max(0, value));

/** x · Φ(x), of every number. Φ by Abramowitz & Stegun 7.1.26, within 2e-7; `tanh` is GPT-2's approximation of it. */
export function gelu(x, approximate = "none") {
  const out = new Float32Array(x.length), root = Math.sqrt(2 / Math.PI);
  for (let i = 0; i < x.length; i++) {
    const v = x[i];
    out[i] = approximate === "tanh"
      ? 0.5 * v * (1 + Math.tanh(root * (v + 0.044715 * v ** 3)))
      : 0.5 * v * (1 + erf(v * Math.SQRT1_2));
  }
  return out;
}

function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const sum = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  const y = 1 - sum * Math.exp(-x * x);
  return x < 0 ? -y : y;
}

/** x + y, number by number. */
export function add(x, y) {
  const out = new Float32Array(x.length);
  for (let i = 0; i < x.length; i++) out[i] = x[i] + y[i];
  return out;
}

/** x · y, number by number. */
export function times(x, y) {
  const out = new Float32Array(x.length);
  for (let i = 0; i < x.length; i++) out[i] = x[i] * y[i];
  return out;
}

// ---- recurrent cells, as torch's: weight_ih (gates·H, E), weight_hh (gates·H, H), gates stacked along the rows

/** A step of "rnn", "gru" or "lstm": the state { h, c } after x. Only the LSTM has a c. */
export function cellStep(kind, { weight_ih, weight_hh, bias_ih = null, bias_hh = null }, x, { h, c = null }) {
  const H = h.length, next = new Float32Array(H);
  const a = matVec(weight_ih, x, bias_ih), b = matVec(weight_hh, h, bias_hh); // (gates · H)
  if (kind === "rnn") {
    for (let i = 0; i < H; i++) next[i] = Math.tanh(a[i] + b[i]);
    return { h: next, c };
  }
  if (kind === "gru") {
    for (let i = 0; i < H; i++) {
      const reset = sigmoid(a[i] + b[i]), update = sigmoid(a[H + i] + b[H + i]);
      next[i] = (1 - update) * Math.tanh(a[2 * H + i] + reset * b[2 * H + i]) + update * h[i];
    }
    return { h: next, c };
  }
  const memory = new Float32Array(H), gate = (block, i) => a[block * H + i] + b[block * H + i]; // in, forget, new, out
  for (let i = 0; i < H; i++) {
    memory[i] = sigmoid(gate(1, i)) * c[i] + sigmoid(gate(0, i)) * Math.tanh(gate(2, i));
    next[i] = sigmoid(gate(3, i)) * Math.tanh(memory[i]);
  }
  return { h: next, c: memory };
}

// ---- choosing a token

/** Where the largest number is; the first such index if there are several, as torch. */
export function argmax(values) {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}

/**
 * The next token's distribution, as `decoding.next_word_probabilities`: `p` at this temperature by token, `order` from
 * the likeliest on, the first `kept` of which may be drawn, with `shares` that sum to 1. topK 0 and topP 1 keep all.
 */
export function nextToken(logits, { temperature = 1, topK = 0, topP = 1 } = {}) {
  const p = softmax(logits, { temperature });
  const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a] || a - b);
  const enough = (kept, sum) => kept > 0 && ((topK > 0 && kept >= topK) || (topP < 1 && sum >= topP));
  let kept = 0, sum = 0;
  while (kept < order.length && !enough(kept, sum)) sum += p[order[kept++]];
  return { p, order, kept, shares: order.slice(0, kept).map((token) => p[token] / sum) };
}

/** The rank on which u, from 0 to 1, falls when the shares are put in a row. */
export function drawRank(shares, u) {
  let end = 0;
  for (let rank = 0; rank < shares.length; rank++) if (u < (end += shares[rank])) return rank;
  return shares.length - 1;
}
