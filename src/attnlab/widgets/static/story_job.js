// What the worker of the story teller runs: stories15M, one token at a time.
import { readSafetensors } from "./safetensors.js";
import { storyModel } from "./story_model.js";

let net = null;

/** The model from the bytes of its file, with room for `longest` tokens. */
export function open({ bytes, longest }) {
  const { arrays, about } = readSafetensors(bytes);
  net = storyModel(arrays, about.config, longest);
  return about.config;
}

/** Forget what was read. */
export function reset() {
  net.reset();
  return true;
}

/** Read one token: { logits, row }. */
export function step({ token }) {
  return net.step(token);
}
