// Heavy weights, on request: nothing is loaded before the reader asks. On a static page they are beside it as small
// scripts (which also work from file://); in JupyterLab the kernel sends them. The Python side is widgets/weights.py.
import { button, make } from "./kit.js";
import { fromBase64, toBytes } from "./wire.js";

const PATIENCE = 60_000; // milliseconds that a kernel may take; a busy one answers when its cell is done
const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

/** Part i of the weights from beside the page: a script that hands it over as base64. */
function fromScript(name, i, signal) {
  const chunks = (globalThis.attnlabChunks ??= {}), key = `${name}.${i}`;
  return new Promise((resolve, reject) => {
    const node = make("script",
      { src: new URL(`weights/${key}.js`, globalThis.attnlabPlace ?? document.baseURI).href });
    const stop = () => { node.remove(); reject(signal.reason); };
    signal?.addEventListener("abort", stop, { once: true });
    node.onload = () => {
      node.remove();
      signal?.removeEventListener("abort", stop);
      const text = chunks[key];
      delete chunks[key];
      if (text === undefined) reject(new Error(`Part ${i + 1} of the weights is empty.`));
      else resolve(fromBase64(text));
    };
    node.onerror = () => reject(
      new Error("The weights are not beside this page: build the site again, or copy its whole folder."));
    document.head.append(node);
  });
}

/** Part i from the kernel. */
function fromKernel(model, i, signal) {
  return new Promise((resolve, reject) => {
    const end = (how, what) => {
      clearTimeout(timer);
      model.off("msg:custom", hear);
      signal?.removeEventListener("abort", stop);
      how(what);
    };
    const hear = (message, buffers) => {
      if (message?.kind === "weights" && message.part === i) end(resolve, toBytes(buffers[0]));
    };
    const stop = () => end(reject, signal.reason);
    const timer = setTimeout(() => end(reject, new Error(
      "The kernel does not answer. If a cell is running, wait for it; if the kernel was restarted, run this cell " +
        "again.")), PATIENCE);
    model.on("msg:custom", hear);
    signal?.addEventListener("abort", stop, { once: true });
    model.send({ kind: "weights", part: i });
  });
}

/**
 * All bytes of the weights that a trait names, checked against their length and, where the browser can, their sha256.
 * They are kept for other figures of the page. `progress(done, of)` is called after each part; `signal` cancels.
 * @returns {Promise<Uint8Array>}
 */
export async function loadWeights(model, { $weights: name, bytes, sha256, parts },
  { progress = null, signal = null } = {}) {
  const kept = (globalThis.attnlabWeights ??= new Map());
  if (kept.has(sha256)) return kept.get(sha256);
  const all = new Uint8Array(bytes);
  let at = 0;
  for (let i = 0; i < parts; i++) {
    signal?.throwIfAborted();
    const part = await (typeof model.send === "function" ? fromKernel(model, i, signal) : fromScript(name, i, signal));
    if (at + part.length > bytes) throw new Error(`The weights are longer than the ${bytes} bytes they should have.`);
    all.set(part, at);
    at += part.length;
    progress?.(at, bytes);
  }
  if (at !== bytes) throw new Error(`The weights have ${at} bytes instead of ${bytes}: a part is missing.`);
  const found = await globalThis.crypto?.subtle?.digest("SHA-256", all); // not on plain http
  const hex = found && Array.from(new Uint8Array(found), (b) => b.toString(16).padStart(2, "0")).join("");
  if (hex && hex !== sha256) throw new Error("The weights are damaged: their sha256 is not the one the page expects.");
  kept.set(sha256, all);
  return all;
}

/**
 * A button that says how much it will load, then a bar with Cancel. `ready(bytes)` is called once, and may be async:
 * while it runs the bar says so, and what it throws is shown. Returns the node; put it where the model's part would be.
 */
export function weightsPanel(figure, model, { trait = "weights", what = "the model", ready }) {
  const size = () => `${megabytes(model.get(trait).bytes)} MB`;
  const words = make("span.al-weights-words", { role: "status" });
  const bar = make("progress", { max: 1, value: 0, "aria-label": `Loading ${what}` });
  const load = button("", () => start(), { class: "al-button al-weights-load" });
  const cancel = button("Cancel", () => control?.abort(new DOMException("cancelled", "AbortError")));
  const node = make("div.al-weights", {}, load, bar, words, cancel);
  let control = null;

  function show(state, text = "") {
    node.dataset.state = state;
    node.hidden = state === "ready";
    load.hidden = state === "loading";
    bar.hidden = cancel.hidden = state !== "loading";
    load.textContent = state === "failed" ? "Try again" : `Load ${what} (${size()})`;
    words.textContent = text;
  }
  async function start() {
    control = new AbortController();
    show("loading", `0 of ${size()}`);
    try {
      const bytes = await loadWeights(model, model.get(trait), {
        signal: control.signal,
        progress: (done, of) => {
          bar.value = done / of;
          words.textContent = `${megabytes(done)} of ${megabytes(of)} MB`;
        },
      });
      words.textContent = "opening …";
      await ready(bytes);
      show("ready");
    } catch (error) {
      if (error.name === "AbortError" || error.name === "Cancelled") show("waiting");
      else show("failed", error.message);
    } finally {
      control = null;
    }
  }
  figure.cleanup(() => control?.abort(new DOMException("cancelled", "AbortError")));
  show("waiting");
  return node;
}
