// What the whole Transformer shows at one moment: from the traits to words, maps, and the next word's distribution.
import { shorten, visible } from "./kit.js";
import { nextToken } from "./layers.js";
import { entropy } from "./math.js";
import { readEnglish, writeFrench } from "./sentence.js";
import { chooseWord, draws, finish, isFinished, mapsOf, momentsOf, readSource } from "./transformer_model.js";

const LONGEST = 24; // words
const BARS = 8; // candidates for the next word
export const BLOCKS = {
  encoder: { name: "Encoder self-attention", short: "self-attention", stack: "encoder" },
  decoder: { name: "Masked self-attention", short: "masked self-attn.", stack: "decoder" },
  cross: { name: "Cross-attention", short: "cross-attention", stack: "decoder" },
};
export const MARKS = { "<bos>": "⟨start⟩", "<eos>": "⟨end⟩", "<unk>": "⟨unknown⟩", "<pad>": "⟨pad⟩" };
export const label = (word) => MARKS[word] ?? visible(word);
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

/**
 * What was typed, as { words, problem, unknown }: `problem` says what keeps it from being translated, "" if nothing
 * does.
 */
export function readSentence(text, known) {
  const { words } = readEnglish(text.slice(0, 20_000)), fine = { words, problem: "", unknown: [] };
  if (!text.trim()) return { ...fine, problem: "Type an English sentence, or pick an example." };
  if (!words.length) return { ...fine, problem: "There are no English words in that. Try: we love her." };
  if (words.length > LONGEST)
    return { ...fine, problem: `That is ${words.length.toLocaleString("en")} words, and the maps stay legible up ` +
      `to ${LONGEST}. Please shorten it.` };
  const have = new Set(known), unknown = [...new Set(words.filter((word) => !have.has(word)))];
  if (!unknown.length) return fine;
  const named = unknown.slice(0, 4).map((word) => `“${shorten(word, 24)}”`).join(", ");
  return { words, unknown,
    problem: `The model never learned ${named}${unknown.length > 4 ? ` and ${unknown.length - 4} more` : ""}.` };
}

/** Everything that is shown, from the traits. `runs` keeps what was computed, by sentence and silent heads. */
export function look(model, runs, given) {
  const { words } = readEnglish(given.sentence), key = JSON.stringify([words, [...given.off].sort()]);
  const runOf = (off, name) => {
    if (!runs.has(name)) {
      if (runs.size > 40) runs.clear();
      runs.set(name, readSource(model, words, off));
    }
    return runs.get(name);
  };
  const run = runOf(given.off, key);
  const said = given.said.map((word) => model.targets.get(word)).filter((n) => n !== undefined);
  const options = { temperature: given.temperature, topK: given.top_k, topP: given.top_p, sampling: given.sampling,
    seed: given.seed };
  const moments = momentsOf(run, said), finished = isFinished(run, said), place = moments.length - 1;
  const { logits } = moments.at(-1), next = nextToken(logits, options), plain = nextToken(logits).p;
  const choiceNow = finished ? said.at(-1) : chooseWord(logits, place, options);
  const text = (numbers) => writeFrench(numbers.map((n) => model.target[n]).filter((word) => !(word in MARKS)).map(
    (word) => visible(shorten(word, 30))));
  const compare = given.off.length > 0;
  return {
    run, words, said, moments, finished, options, next, plain, choice: choiceNow,
      u: draws(given.seed, place + 1)[place],
    maps: Object.fromEntries(Object.keys(BLOCKS).map((block) => [block, mapsOf(run, block, moments)])),
    stream: { encoder: run.source.norms.map(mean), decoder: moments.at(-1).norms },
    top: next.order.slice(0, BARS),
    bits: entropy(next.shares),
    answers: {
      intact: compare ? text(finish(runOf([], `free ${JSON.stringify(words)}`), [], options)) : "",
      now: compare ? text(finish(runOf(given.off, `free ${key}`), [], options)) : "",
    },
  };
}
