// What the worker of the DINO explorer runs: DINOv2 on a picture, and the main directions of its patches.
import { readSafetensors } from "./safetensors.js";
import { vitModel } from "./vit_model.js";

const ROUNDS = 60, SPARE = 5; // directions more than asked for: the last ones then converge, too

let net = null;

/** The model from the bytes of its file. */
export function open({ bytes }) {
  const { arrays, about } = readSafetensors(bytes);
  net = vitModel(arrays, about.config);
  return { layers: about.config.layers, heads: about.config.heads };
}

/** A square picture (size², 3) of bytes: { side, maps, colours, milliseconds }. */
export async function look({ pixels, size }, report) {
  const start = performance.now(), { layers, width } = net.config;
  const found = await net.look(pixels, size, (n) => report(n / layers, { layer: n }));
  const colours = principalColours(found.tokens, found.side ** 2, width);
  return { side: found.side, maps: found.maps, colours, milliseconds: performance.now() - start };
}

/** The three main directions of N tokens of E numbers as red, green and blue, each from 0 to 1: flat (N, 3). */
export function principalColours(tokens, N, E) {
  const scores = principal(tokens, N, E, 3), out = new Float32Array(3 * N);
  scores.forEach((score, c) => {
    const low = Math.min(...score), high = Math.max(...score);
    score.forEach((value, i) => { out[3 * i + c] = (value - low) / (high - low || 1); });
  });
  return out;
}

/**
 * Scores of N tokens along their `count` main directions (PCA), by orthogonal iteration. A direction's sign is chosen
 * so that its largest number is positive.
 */
export function principal(tokens, N, E, count) {
  const x = Float64Array.from(tokens), many = Math.min(count + SPARE, E);
  for (let e = 0; e < E; e++) {
    let mean = 0;
    for (let i = 0; i < N; i++) mean += x[i * E + e] / N;
    for (let i = 0; i < N; i++) x[i * E + e] -= mean;
  }
  const score = (v) => Array.from({ length: N }, (_, i) => {
    let sum = 0;
    for (let e = 0; e < E; e++) sum += x[i * E + e] * v[e];
    return sum;
  });
  const start = (k) => Float64Array.from({ length: E }, (_, e) => Math.sin((k + 1) * (e + 1)));
  let found = Array.from({ length: many }, (_, k) => start(k));
  for (let round = 0; round < ROUNDS; round++) {
    found = orthogonal(found.map((v) => {
      const s = score(v), next = new Float64Array(E);
      for (let i = 0; i < N; i++) for (let e = 0; e < E; e++) next[e] += s[i] * x[i * E + e];
      return next;
    }));
  }
  return found.slice(0, count).map((v) => {
    const top = v.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
    return score(v.map((value) => value * Math.sign(top || 1)));
  });
}

/** Gram and Schmidt: each vector without its part along those before it, of length 1. */
function orthogonal(vectors) {
  const done = [];
  for (const v of vectors) {
    const next = Float64Array.from(v);
    for (const u of done) {
      const along = next.reduce((sum, value, e) => sum + value * u[e], 0);
      for (let e = 0; e < next.length; e++) next[e] -= along * u[e];
    }
    const length = Math.sqrt(next.reduce((sum, value) => sum + value * value, 0));
    done.push(length > 1e-30 ? next.map((value) => value / length) : next.fill(0));
  }
  return done;
}
