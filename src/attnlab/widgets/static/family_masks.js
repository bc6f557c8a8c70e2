// Who may see whom in GPT, BERT and T5, and what each position must say.
import { button, choice, frame, make, shorten, visible } from "./kit.js";

const SENTINELS = ["<X>", "<Y>", "<Z>", "<W>", "<V>", "<U>"];
const ABOUT = {
  GPT: "decoder-only: each token sees those before it and says the next one",
  BERT: "encoder-only: each token sees all, and the hidden ones are asked for",
  T5: "encoder–decoder: the source is seen whole, the target is written from left to right",
};

/** As `attnlab.training.corruption.views`: what a family reads, may see and must say. */
export function view(words, hidden, family) {
  if (family === "GPT") {
    const reads = ["<s>", ...words];
    const mask = reads.map((_, i) => reads.map((_, j) => j <= i));
    return { reads, says: [...words, "</s>"], asks: reads.map(() => true), mask, encoder: 0 };
  }
  if (family === "BERT") {
    const reads = ["[CLS]", ...words.map((word, i) => (hidden[i] ? "[MASK]" : word)), "[SEP]"];
    const says = ["", ...words.map((word, i) => (hidden[i] ? word : "")), ""];
    const mask = reads.map(() => reads.map(() => true));
    return { reads, says, asks: [false, ...hidden, false], mask, encoder: reads.length };
  }
  const source = [], target = [];
  let used = 0;
  words.forEach((word, i) => {
    if (!hidden[i]) return source.push(word);
    if (i === 0 || !hidden[i - 1]) {
      source.push(SENTINELS[used]);
      target.push(SENTINELS[used++]);
    }
    target.push(word);
  });
  target.push(SENTINELS[used]);
  const reads = [...source, "<s>", ...target.slice(0, -1)], S = source.length;
  const mask = reads.map((_, i) => reads.map((_, j) => j < S || (i >= S && j <= i)));
  return { reads, says: [...source.map(() => ""), ...target], asks: reads.map((_, i) => i >= S), mask, encoder: S };
}

/** What is drawn: the view, the lit row, how many it sees, how many positions are asked. */
export function compute(words, hidden, family, row) {
  const now = view(words, hidden, family), at = Math.min(row, now.reads.length - 1);
  return {
    reads: now.reads, says: now.says, mask: now.mask.map((line) => line.map(Number)), encoder: now.encoder, row: at,
    seen: now.mask[at].filter(Boolean).length, asks: now.asks.map(Number), asked: now.asks.filter(Boolean).length,
  };
}

function render(context) {
  const { model } = context;
  const state = () => compute(model.get("words"), model.get("hidden"), model.get("family"), model.get("row"));
  const figure = frame(context, { name: "family-masks", numbers: state });
  const family = choice({
    label: "Family", options: Object.keys(ABOUT).map((name) => [name, name]), value: model.get("family"),
    input: (name) => { figure.push("family", name); },
  });
  const hide = make("div.al-fm-hide", { role: "group", "aria-label": "Words to hide" });
  figure.controls.append(family, hide);
  const grid = make("div.al-fm-grid");
  const readout = make("div.al-readout");
  figure.body.append(make("div.al-fm-scroll", {}, grid), readout);

  function buildHide() {
    hide.replaceChildren(make("span.al-label", {}, "Hide"), ...model.get("words").map((word, i) =>
      button(shorten(visible(word), 10), () => {
        const hidden = [...model.get("hidden")];
        hidden[i] = !hidden[i];
        figure.push("hidden", hidden);
      }, { title: shorten(word, 80) })));
  }
  let shape = "";
  function build(now) {
    const cell = (text) => make("span.al-fm-word", { title: shorten(text, 80) }, shorten(visible(text), 8));
    const head = now.reads.map(
      (text, j) => make(`div.al-fm-top${j < now.encoder ? ".al-fm-enc" : ""}`, {}, cell(text)));
    const rows = now.reads.flatMap((text, i) => [
      make(`button.al-fm-left${i < now.encoder ? ".al-fm-enc" : ""}`, {
        type: "button", title: shorten(text, 80), onclick: () => figure.push("row", i),
      }, shorten(visible(text), 8)),
      ...now.reads.map(() => make("div.al-fm-cell", { onpointerenter: () => figure.push("row", i) })),
      make("div.al-fm-says"),
    ]);
    grid.style.gridTemplateColumns = `max-content repeat(${now.reads.length}, minmax(1.15em, 1fr)) max-content`;
    const [sees, says] = ["sees →", "says"].map((text) => make("div.al-fm-corner", {}, text));
    grid.replaceChildren(sees, ...head, says, ...rows);
    shape = JSON.stringify([now.reads, now.encoder]);
  }
  function paint() {
    const now = state(), n = now.reads.length, name = model.get("family");
    family.value = name;
    if (hide.childElementCount !== model.get("words").length + 1) buildHide();
    [...hide.querySelectorAll("button")].forEach((node, i) => {
      node.setAttribute("aria-pressed", String(model.get("hidden")[i]));
      node.disabled = name === "GPT";
    });
    if (shape !== JSON.stringify([now.reads, now.encoder])) build(now);
    const nodes = [...grid.children].slice(n + 2);
    for (let i = 0; i < n; i++) {
      const line = nodes.slice(i * (n + 2), (i + 1) * (n + 2));
      line[0].setAttribute("aria-pressed", String(i === now.row));
      for (let j = 0; j < n; j++) {
        line[j + 1].className = `al-fm-cell${now.mask[i][j] ? " al-fm-may" : ""}${i === now.row ? " al-fm-lit" : ""}` +
          `${j < now.encoder ? " al-fm-enc" : ""}`;
      }
      line[n + 1].textContent = now.asks[i] ? shorten(visible(now.says[i]), 8) : "·";
      line[n + 1].className = `al-fm-says${i === now.row ? " al-fm-lit" : ""}`;
    }
    const said = now.asks[now.row]
      ? `must say “${shorten(visible(now.says[now.row]), 20)}”` : "is asked for nothing";
    readout.replaceChildren(
      make("div", {}, `${name}, ${ABOUT[name]}.`),
      make("div", {}, `“${shorten(visible(now.reads[now.row]), 20)}” sees ${now.seen} of ${n} tokens and ${said}. ` +
        `${now.asked} of ${n} positions teach something.`),
    );
  }
  paint();
  figure.on(["words", "hidden", "family", "row"], () => figure.schedule(paint));
  figure.on(["words"], () => figure.schedule(() => { buildHide(); paint(); }));
  return figure.dispose;
}

export default { render };
