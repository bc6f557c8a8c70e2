// A Llama on a page: RoPE, RMSNorm, SwiGLU and tied embeddings, on the layers of the course. No DOM.
// The twin is attnlab/models/modern.py; tests/browser/test_story_teller.py compares what it tells.
import { add, attention, makeCache, rmsNorm, rope, silu, times } from "./layers.js";
import { matVec, rowOf } from "./products.js";

/**
 * The model from its arrays (see safetensors.js) and its config. `step(token)` reads one token after those before it:
 * { logits (V), row }: its weights, (layers, H, S) flat, S tokens including itself. `reset()` forgets them all.
 */
export function storyModel(arrays, config, longest) {
  const { width: E, heads, layers, group = 1, rope_base: base } = config, D = E / heads, kvHeads = heads / group;
  let caches = [];
  const reset = () => { caches = Array.from({ length: layers }, () => makeCache(kvHeads * D, longest)); };

  function block(x, n, row) {
    const part = (name) => arrays[`blocks.${n}.${name}.weight`], cache = caches[n], first = cache.length;
    const near = rmsNorm(x, part("add_self.norm"));
    const [q, k, v] = ["query", "key", "value"].map((name) => matVec(part(`self_attention.${name}`), near));
    cache.add(rope(k, { D, heads: kvHeads, first, base }), v);
    const S = cache.length, turned = rope(q, { D, heads, first, base });
    const { out, maps } = attention(turned, cache.keys, cache.values, { heads, kvHeads, D, S, keep: true });
    maps.forEach((map, h) => row.set(map, (n * heads + h) * S));
    const seen = add(x, matVec(part("self_attention.out"), out)), norm = rmsNorm(seen, part("add_feed.norm"));
    const gate = silu(matVec(part("feed_forward.gate"), norm)), wide = matVec(part("feed_forward.wide"), norm);
    return add(seen, matVec(part("feed_forward.narrow"), times(gate, wide)));
  }
  reset();
  return {
    config, reset,
    step(token) {
      const row = new Float32Array(layers * heads * (caches[0].length + 1)), words = arrays["words.weight"];
      let x = rowOf(words, token);
      for (let n = 0; n < layers; n++) x = block(x, n, row);
      return { logits: matVec(words, rmsNorm(x, arrays["norm.weight"])), row };
    },
  };
}
