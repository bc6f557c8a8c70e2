// A Vision Transformer on a page: DINOv2's ViT on the layers of the course. No DOM: it runs in a worker.
// The twin is attnlab/models/vit.py; tests/browser/test_dino_explorer.py compares every attention map.
//
// Activations are flat: L = 1 + N tokens of E numbers, [CLS] first, then N = side² patches, row after row.
import { add, attention, gelu, layerNorm } from "./layers.js";
import { linear } from "./products.js";
import { tensor } from "./wire.js";

const MEAN = [0.485, 0.456, 0.406], DEVIATION = [0.229, 0.224, 0.225]; // ImageNet's, for red, green and blue

/** Pixels (S, S, 3) of 0 … 255 as patches (N, 3·P·P), normalised as ImageNet's models read them. */
export function patchify(pixels, size, patch) {
  const side = size / patch, width = 3 * patch * patch, out = new Float32Array(side * side * width);
  for (let n = 0, c = 0; n < side * side; n++) {
    const top = Math.floor(n / side) * patch, left = (n % side) * patch;
    for (let colour = 0; colour < 3; colour++)
      for (let y = top; y < top + patch; y++)
        for (let x = left; x < left + patch; x++)
          out[c++] = (pixels[3 * (y * size + x) + colour] / 255 - MEAN[colour]) / DEVIATION[colour];
  }
  return out;
}

/** How much each of four neighbours counts at t between the middle two: the cubic of torch's "bicubic". */
function cubic(t) {
  const a = -0.75, near = (x) => ((a + 2) * x - (a + 3)) * x * x + 1;
  const far = (x) => ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return [far(t + 1), near(t), near(1 - t), far(2 - t)];
}

/** For each new position along one axis: four old positions (the ends repeat) and how much each counts. */
function taps(old, now) {
  return Array.from({ length: now }, (_, i) => {
    const at = ((i + 0.5) * old) / now - 0.5, first = Math.floor(at);
    const places = [-1, 0, 1, 2].map((k) => Math.max(0, Math.min(old - 1, first + k)));
    return { places, shares: cubic(at - first) };
  });
}

/** Trained positions (old², E) for another grid, between the old ones: (now², E), as torch's bicubic interpolate. */
export function resizePlaces(table, old, now, E) {
  if (old === now) return table.slice();
  const out = new Float32Array(now * now * E), axis = taps(old, now);
  axis.forEach((row, r) => axis.forEach((column, c) => {
    const to = (r * now + c) * E;
    row.places.forEach((y, i) => column.places.forEach((x, j) => {
      const share = row.shares[i] * column.shares[j], from = (y * old + x) * E;
      for (let e = 0; e < E; e++) out[to + e] += share * table[from + e];
    }));
  }));
  return out;
}

/**
 * The model from its arrays (see safetensors.js) and its config. `look(pixels, size, report)` reads a square picture
 * and gives { side, tokens (N, E) after the last norm, maps (layers, H, L, L) flat }; `report(layer)` is awaited.
 */
export function vitModel(arrays, config) {
  const { width: E, heads, layers, patch, eps } = config, D = E / heads;
  const places = tensorOf(arrays["positions.table"]), old = Math.round(Math.sqrt(places.length / E - 1));

  function embed(pixels, size) {
    const side = size / patch, own = resizePlaces(places.subarray(E), old, side, E);
    const patches = linear(patchify(pixels, size, patch), arrays["embed.project.weight"], arrays["embed.project.bias"]);
    const x = new Float32Array((1 + side * side) * E);
    x.set(add(arrays.cls.data, places.subarray(0, E)));
    x.set(add(patches, own), E);
    return x;
  }
  function block(x, n) {
    const part = (name) => arrays[`blocks.${n}.${name}`];
    const dense = (input, name) => linear(input, part(`${name}.weight`), part(`${name}.bias`));
    const norm = (input, name) => layerNorm(input, part(`${name}.weight`), part(`${name}.bias`), eps);
    const scaled = (input, { data }) => input.map((value, i) => value * data[i % E]);
    const seen = norm(x, "norm_1");
    const [q, k, v] = ["query", "key", "value"].map((name) => dense(seen, `attention.${name}`));
    const { out, maps } = attention(q, k, v, { heads, D, keep: true });
    const looked = add(x, scaled(dense(out, "attention.out"), part("scale_1.scale")));
    const wide = gelu(dense(norm(looked, "norm_2"), "feed_forward.wide"));
    return { x: add(looked, scaled(dense(wide, "feed_forward.narrow"), part("scale_2.scale"))), maps };
  }
  return {
    config,
    async look(pixels, size, report = () => {}) {
      const side = size / patch, L = 1 + side * side, all = new Float32Array(layers * heads * L * L);
      let x = embed(pixels, size);
      for (let n = 0; n < layers; n++) {
        const next = block(x, n);
        next.maps.forEach((map, h) => all.set(map, (n * heads + h) * L * L));
        x = next.x;
        await report(n + 1);
      }
      const tokens = layerNorm(x, arrays["norm.weight"], arrays["norm.bias"], eps);
      return { side, maps: all, tokens: tokens.slice(E) };
    },
  };
}

const tensorOf = ({ shape, data, scale }) => {
  const dtype = scale ? "int8" : "float32";
  return tensor({ shape, dtype, data, scale: scale ?? null }).data;
};
