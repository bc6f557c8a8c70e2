// The Transformer of `attnlab.models.transformer`, run on a page: same names, same arithmetic, with a KV cache.
// Pure functions, no DOM. Flat row-major arrays: S source words, T words read by the decoder, E model width.
import { add, argmax, attention, drawRank, layerNorm, nextToken, relu, rope } from "./layers.js";
import { random } from "./math.js";
import { sinusoid } from "./places.js";
import { linear, rowOf } from "./products.js";
import { tensors } from "./wire.js";

export const BOS = 1, EOS = 2;

/** A model from `Translator.to_browser()`, ready to run. */
export function openTransformer({ config, source, target, arrays }) {
  return {
    config, source, target, arrays: tensors(arrays),
    numbers: new Map(source.map((word, i) => [word, i])), targets: new Map(target.map((word, i) => [word, i])),
  };
}

/** The name of one head, as the figure and Python know it: "cross.1.3" is decoder layer 1, head 3, from 0. */
export const headName = (block, layer, head) => `${block}.${layer}.${head}`;

/** One word as a vector, with its position: √E · row + waves (Vaswani et al. 2017, §3.5), or a learned vector. */
function embed({ config, arrays }, side, word, place) {
  const E = config.width, out = new Float32Array(E), row = rowOf(arrays[`${side}.words.weight`], word);
  const learned = arrays[`${side}.places.table`];
  const wave = config.positions === "sinusoidal" ? sinusoid(place, E, 10_000) : learned ? rowOf(learned, place) : null;
  for (let j = 0; j < E; j++) out[j] = row[j] * Math.sqrt(E) + (wave ? wave[j] : 0);
  return out;
}

/** Rotary positions, where the model has them. */
const turn = ({ config }, x, first) =>
  (config.positions === "rope" ? rope(x, { D: config.width / config.heads, heads: config.heads, first }) : x);

/**
 * All heads of one attention: q (L, E) against keys and values (S, E) gives `out` (L, E) and the maps, one (L, S) per
 * head. A silent head gathers nothing: its part of the result stays 0, its map can still be seen.
 */
const attendHeads = (q, keys, values, E, heads, silent) =>
  attention(q, keys, values, { heads, D: E / heads, keep: true, silent });

/** x W + b with the weights under `name`. */
const project = ({ arrays }, x, name) => linear(x, arrays[`${name}.weight`], arrays[`${name}.bias`] ?? null);
const normalise = ({ arrays }, x, name) => layerNorm(x, arrays[`${name}.weight`], arrays[`${name}.bias`]);

/** The residual connection around a sublayer, with its LayerNorm before (pre) or after (post). */
function addNorm(model, x, name, sublayer) {
  if (model.config.norm === "pre") return add(x, sublayer(normalise(model, x, `${name}.norm`)));
  return normalise(model, add(x, sublayer(x)), `${name}.norm`);
}

function feedForward(model, x, layer) {
  return addNorm(model, x, `${layer}.add_feed`, (y) =>
    project(model, relu(project(model, y, `${layer}.feed_forward.wide`)), `${layer}.feed_forward.narrow`));
}

/** ‖row‖ of every row of x (L, E): how long the residual stream is at each token. */
function lengths(x, E) {
  return Array.from({ length: x.length / E }, (_, i) => Math.hypot(...x.subarray(i * E, (i + 1) * E)));
}

const layersOf = (config) => Array.from({ length: config.layers }, (_, i) => i);

/**
 * The encoder reads all words at once. Returns its maps [layer][head] (S, S), the length of the residual stream
 * at each stage [stage][word], and the keys and values that each decoder layer makes of its last output.
 */
export function encode(model, words, off = new Set()) {
  const { config } = model, E = config.width, S = words.length;
  let x = new Float32Array(S * E);
  words.forEach((word, i) => x.set(embed(model, "source", word, i), i * E));
  const norms = [lengths(x, E)], maps = [];
  for (const i of layersOf(config)) {
    const layer = `encoder.layers.${i}`, own = `${layer}.self_attention`;
    x = addNorm(model, x, `${layer}.add_self`, (y) => {
      const seen = attendHeads(
        turn(model, project(model, y, `${own}.query`), 0), turn(model, project(model, y, `${own}.key`), 0),
          project(model, y, `${own}.value`),
        E, config.heads, (h) => off.has(headName("encoder", i, h)));
      maps.push(seen.maps);
      return project(model, seen.out, `${own}.out`);
    });
    norms.push(lengths(x, E));
    x = feedForward(model, x, layer);
    norms.push(lengths(x, E));
  }
  if (config.final_norm) x = normalise(model, x, "encoder.norm");
  const memory = layersOf(config).map((i) => ({
    keys: project(model, x, `decoder.layers.${i}.cross_attention.key`),
    values: project(model, x, `decoder.layers.${i}.cross_attention.value`),
  }));
  return { maps, norms, memory };
}

const behind = (old, row) => {
  const out = new Float32Array(old.length + row.length);
  out.set(old);
  out.set(row, old.length);
  return out;
};

/**
 * One token through the decoder. `past` holds the keys and values of the tokens before it, one pair per layer; the
 * new `past` is made beside it, so any earlier moment can be revisited. `looks` are rows of the maps, [layer][head].
 */
export function decodeToken(model, memory, past, token, off = new Set()) {
  const { config } = model, E = config.width, place = past.length ? past[0].keys.length / E : 0;
  let x = embed(model, "target", token, place);
  const norms = [...lengths(x, E)], looks = { decoder: [], cross: [] }, next = [];
  for (const i of layersOf(config)) {
    const layer = `decoder.layers.${i}`, own = `${layer}.self_attention`, cross = `${layer}.cross_attention`;
    x = addNorm(model, x, `${layer}.add_self`, (y) => {
      const none = new Float32Array(0), before = past[i] ?? { keys: none, values: none };
      const keys = behind(before.keys, turn(model, project(model, y, `${own}.key`), place));
      const values = behind(before.values, project(model, y, `${own}.value`));
      next.push({ keys, values });
      const seen = attendHeads(turn(model, project(model, y, `${own}.query`), place), keys, values, E,
        config.heads, (h) => off.has(headName("decoder", i, h)));
      looks.decoder.push(seen.maps);
      return project(model, seen.out, `${own}.out`);
    });
    norms.push(...lengths(x, E));
    x = addNorm(model, x, `${layer}.add_cross`, (y) => {
      const { keys, values } = memory[i];
      const seen = attendHeads(project(model, y, `${cross}.query`), keys, values, E, config.heads,
        (h) => off.has(headName("cross", i, h)));
      looks.cross.push(seen.maps);
      return project(model, seen.out, `${cross}.out`);
    });
    norms.push(...lengths(x, E));
    x = feedForward(model, x, layer);
    norms.push(...lengths(x, E));
  }
  if (config.final_norm) x = normalise(model, x, "decoder.norm");
  const logits = linear(x, model.arrays["out.weight"] ?? model.arrays["target.words.weight"]);
  return { logits, looks, norms, past: next };
}

/** The first `count` draws of a seed, each from 0 to 1: draw i decides on word i. */
export function draws(seed, count) {
  return Array.from({ length: count }, random(seed));
}

/** A source sentence that was read, and no word said yet. `off` lists heads that are silent. */
export function readSource(model, words, off = []) {
  const silent = new Set(off);
  return {
    model, off: silent, moments: [], longest: 2 * words.length + 5, // the same limit as `Translator.translate`
    source: encode(model, [...words.map((word) => model.numbers.get(word)), EOS], silent),
  };
}

/**
 * What the decoder sees after the words `said` (ids): one moment for each token it has read, the first being
 * the start mark. Moments are kept, so a new word costs one token; after other words the common beginning stays.
 */
export function momentsOf(run, said) {
  const { model, moments, source } = run;
  const reads = [BOS, ...(isFinished(run, said) ? said.slice(0, -1) : said)];
  let same = 0;
  while (same < reads.length && moments[same]?.read === reads[same]) same++;
  if (same < reads.length) moments.length = same;
  for (const read of reads.slice(same))
    moments.push({ read, ...decodeToken(model, source.memory, moments.at(-1)?.past ?? [], read, run.off) });
  return moments.slice(0, reads.length);
}

export const isFinished = (run, said) => said.at(-1) === EOS || said.length >= run.longest;

/** The word that comes next: the likeliest, or the one that draw number `said.length` falls on. */
export function chooseWord(logits, place, { sampling = false, seed = 0, ...cuts }) {
  if (!sampling) return argmax(logits);
  const { order, shares } = nextToken(logits, cuts);
  return order[drawRank(shares, draws(seed, place + 1)[place])];
}

/** Go on after `said` until the end mark, or until there are `count` words. */
export function finish(run, said, options, count = Infinity) {
  const out = [...said];
  while (!isFinished(run, out) && out.length < count)
    out.push(chooseWord(momentsOf(run, out).at(-1).logits, out.length, options));
  return out;
}

/** The maps of all heads of a kind of attention: [layer][head] → { data (rows, columns), rows, columns }. */
export function mapsOf(run, block, moments) {
  const { source, model } = run, { layers, heads } = model.config;
  const words = source.norms[0].length, count = moments.length;
  return Array.from({ length: layers }, (_, layer) => Array.from({ length: heads }, (_, head) => {
    if (block === "encoder") return { data: source.maps[layer][head], rows: words, columns: words };
    const columns = block === "cross" ? words : count, data = new Float64Array(count * columns);
    for (let i = 0; i < count; i++) data.set(moments[i].looks[block][layer][head], i * columns); // the future stays 0
    return { data, rows: count, columns };
  }));
}
