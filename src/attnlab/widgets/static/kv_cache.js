// The bytes of a KV cache, from a model's sizes; presets are published models.
import { binary, choice, frame, make, slider } from "./kit.js";

// layers, heads, kv heads, head width, context
export const PRESETS = {
  stories15M: [6, 6, 6, 48, 256],
  "GPT-2 XL": [48, 25, 25, 64, 1024],
  "GPT-3 175B": [96, 96, 96, 128, 2048],
  "PaLM 540B": [118, 48, 1, 256, 2048],
  "Llama 2 7B": [32, 32, 32, 128, 4096],
  "Llama 2 70B": [80, 64, 8, 128, 4096],
  "Mistral 7B": [32, 32, 8, 128, 8192],
  "Llama 3 8B": [32, 32, 8, 128, 8192],
  "Llama 3.1 405B": [126, 128, 8, 128, 131072],
};
const FIELDS = ["layers", "heads", "kv_heads", "head_width", "context"];
const ITEMS = { float32: 4, float16: 2, int8: 1, int4: 0.5 };

/** Keys and values of every layer: bytes per token, of the whole batch, and with as many or as few heads as can be. */
export function compute({ layers, heads, kv_heads, head_width, context, batch, dtype }) {
  const with_ = (count) => 2 * layers * count * head_width * ITEMS[dtype];
  const all = context * batch;
  return {
    token: with_(kv_heads),
    bytes: with_(kv_heads) * all,
    multi_head: with_(heads) * all,
    multi_query: with_(1) * all,
    saved: heads / kv_heads,
  };
}

const divisors = (n) => Array.from({ length: n }, (_, i) => i + 1).filter((i) => n % i === 0);

function render(context) {
  const { model } = context;
  const keys = [...FIELDS, "batch", "dtype"];
  const get = () => Object.fromEntries(keys.map((key) => [key, model.get(key)]));
  const state = () => compute(get());
  const figure = frame(context, { name: "kv-cache", numbers: state });
  const own = (key, value) => {
    figure.push(key, value);
    if (key !== "context") figure.push("model", "");
  };
  const preset = choice({
    label: "Model",
    options: [["", "sizes of your own"], ...Object.keys(PRESETS).map((name) => [name, name])],
    value: model.get("model"),
    input: (name) => {
      figure.push("model", name);
      (PRESETS[name] ?? []).forEach((v, i) => figure.push(FIELDS[i], v));
    },
  });
  const shared = choice({
    label: "Key/value heads",
    options: [],
    value: "1",
    input: (v) => own("kv_heads", Number(v)),
  });
  const length = slider({
    label: "Context",
    min: 8,
    max: 21,
    step: 1,
    value: 8,
    format: (v) => `${(2 ** v).toLocaleString("en")} tokens`,
    input: (v) => own("context", 2 ** v),
  });
  const batch = slider({
    label: "Batch",
    min: 0,
    max: 8,
    step: 1,
    value: 0,
    format: (v) => String(2 ** v),
    input: (v) => figure.push("batch", 2 ** v),
  });
  const layers = slider({ label: "Layers", min: 1, max: 160, step: 1, value: 1, input: (v) => own("layers", v) });
  const kind = choice({
    label: "Numbers",
    options: Object.keys(ITEMS).map((v) => [v, v]),
    value: model.get("dtype"),
    input: (v) => figure.push("dtype", v),
  });
  figure.controls.append(preset, length, shared, kind, batch, layers);
  const bars = make("div.al-kv-bars"),
    readout = make("div.al-readout");
  figure.body.append(bars, readout);

  function paint() {
    const now = state(),
      given = get(),
      { heads, kv_heads } = given;
    preset.value = model.get("model");
    shared.fill(divisors(heads).map((n) => [n, `${n} of ${heads}`]));
    shared.value = String(kv_heads);
    length.value = Math.log2(given.context);
    batch.value = Math.log2(given.batch);
    layers.value = given.layers;
    kind.value = given.dtype;
    const row = (name, bytes, chosen) =>
      make(
        `div.al-kv-row${chosen ? ".al-kv-chosen" : ""}`,
        {},
        make("span.al-kv-name", {}, name),
        make(
          "span.al-kv-track",
          {},
          make("span.al-kv-bar", { style: `width: ${Math.max(0.4, (100 * bytes) / now.multi_head)}%` }),
        ),
        make("span.al-kv-value", {}, binary(bytes)),
      );
    bars.replaceChildren(
      row(`multi-head: ${heads}`, now.multi_head),
      row(`this model: ${kv_heads}`, now.bytes, true),
      row("multi-query: 1", now.multi_query),
    );
    const sizes = `2 · ${given.layers} layers · ${kv_heads} heads · ${given.head_width} numbers`;
    const tokens = `${given.context.toLocaleString("en")} tokens`;
    const texts = `${given.batch} ${given.batch === 1 ? "text" : "texts"}`;
    readout.textContent =
      `${sizes} · ${ITEMS[given.dtype]} byte${ITEMS[given.dtype] === 1 ? "" : "s"} = ${binary(now.token)} per token. ` +
      `Times ${tokens} and ${texts}: ${binary(now.bytes)}.`;
  }
  paint();
  figure.on([...keys, "model"], () => figure.schedule(paint));
  figure.onTheme(() => figure.schedule(paint));
  return figure.dispose;
}

export default { render };
