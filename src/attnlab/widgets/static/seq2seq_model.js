// The translators of `attnlab.models.seq2seq` in the browser: a GRU that reads in both directions, a GRU that writes,
// and between them one fixed context or attention (additive, dot, bilinear). Twin: src/attnlab/models/seq2seq.py, with
// order = "after": the decoder's state reads the last word first, then attends.
//
// S source length (the end mark included), H hidden width, E embedding width, V target words.
import { argmax, cellStep } from "./layers.js";
import { softmax } from "./math.js";
import { linear, matMul, matVec, rowOf } from "./products.js";
import { tensors } from "./wire.js";

export const PAD = 0, BOS = 1, EOS = 2, UNK = 3;

/**
 * A translator, from what `Translator.to_browser()` sends.
 * `start(numbers)` reads a sentence, `step(state, last)` says the next word, `greedy(words)` does all of it.
 */
export function seq2seqModel({ config, source, target, arrays }) {
  const w = tensors(arrays), H = config.hidden, number = new Map(source.map((word, i) => [word, i]));
  const cell = (name, end = "") => ({
    weight_ih: w[`${name}.weight_ih_l0${end}`], weight_hh: w[`${name}.weight_hh_l0${end}`],
    bias_ih: w[`${name}.bias_ih_l0${end}`], bias_hh: w[`${name}.bias_hh_l0${end}`],
  });
  const forwards = cell("encoder.gru"), backwards = cell("encoder.gru", "_reverse"), decoder = cell("gru");

  /** What a query is compared with; computed once per sentence. */
  function keysOf(annotations) {
    if (config.kind === "additive") return linear(annotations, w["context.score.key.weight"]); // (S, H)
    if (config.kind === "dot") return linear(annotations, w["context.key.weight"]); // (S, H)
    return annotations; // (S, 2H)
  }

  /** Read the source, end mark included: the annotations h_i know both sides of word i. */
  function start(numbers) {
    const S = numbers.length, annotations = new Float32Array(S * 2 * H);
    const vectors = numbers.map((n) => rowOf(w["encoder.embedding.weight"], n));
    const read = (gru, order, offset) => {
      let state = { h: new Float32Array(H) };
      for (const i of order) {
        state = cellStep("gru", gru, vectors[i], state);
        annotations.set(state.h, i * 2 * H + offset);
      }
      return state.h;
    };
    const places = [...numbers.keys()], summary = new Float32Array(2 * H);
    summary.set(read(forwards, places, 0), 0);
    summary.set(read(backwards, places.reverse(), H), H);
    const hidden = matVec(w["bridge.weight"], summary, w["bridge.bias"]).map(Math.tanh);
    return { hidden, annotations, keys: keysOf(annotations), summary, length: S };
  }

  /** How well the decoder's state s matches each annotation: (S). */
  function scoresOf(s, { keys, length: S }) {
    const against = (q) => matVec({ shape: [S, q.length], data: keys }, q);
    if (config.kind === "dot") return against(s).map((z) => z / Math.sqrt(H));
    if (config.kind === "bilinear") return against(matMul(s, w["context.score.weight"].data, 1, H, 2 * H));
    const query = matVec(w["context.score.query.weight"], s, w["context.score.query.bias"]); // (H)
    const v = w["context.score.out.weight"].data, out = new Float64Array(S);
    for (let i = 0; i < S; i++) for (let k = 0; k < H; k++) out[i] += v[k] * Math.tanh(query[k] + keys[i * H + k]);
    return out;
  }

  /** One word: the last one goes in; logits (V), the weights α (S, or null for a fixed context), the new state. */
  function step(state, last, temperature = 1) {
    const { h: s } = cellStep("gru", decoder, rowOf(w["embedding.weight"], last), { h: state.hidden });
    const weights = config.kind === "none" ? null : softmax(scoresOf(s, state), { temperature });
    const context = weights ? matMul(weights, state.annotations, 1, state.length, 2 * H) : state.summary;
    const both = new Float32Array(3 * H);
    both.set(s, 0);
    both.set(context, H);
    const read = matVec(w["readout.weight"], both, w["readout.bias"]).map(Math.tanh);
    return { logits: matVec(w["out.weight"], read, w["out.bias"]), weights, state: { ...state, hidden: s } };
  }

  const encode = (words) => [...words.map((word) => number.get(word) ?? UNK), EOS];

  /**
   * The likeliest word again and again, until the end mark or, as `Translator.translate`, 2 · words + 5 of them.
   * A step has the word's id and text, its probability, the runners-up, and its weights (S). The temperature
   * is that of the weights: a high one blurs the context, so it can change what is said.
   */
  function greedy(words, { temperature = 1, longest = 2 * words.length + 5 } = {}) {
    let state = start(encode(words)), last = BOS;
    const steps = [], { summary } = state;
    while (steps.length < longest && !(steps.length && last === EOS)) {
      const said = step(state, last, temperature), shares = softmax(said.logits);
      ({ state } = said);
      last = argmax(said.logits);
      const others = [...shares.keys()].filter((n) => n !== last).sort((a, b) => shares[b] - shares[a]).slice(0, 2);
      steps.push({
        number: last, text: target[last], end: last === EOS, probability: shares[last], weights: said.weights,
        others: others.map((n) => ({ text: target[n], probability: shares[n] })),
      });
    }
    return { steps, summary, finished: last === EOS };
  }

  return { config, target, encode, start, step, greedy, knows: (word) => number.has(word) && number.get(word) > UNK };
}
