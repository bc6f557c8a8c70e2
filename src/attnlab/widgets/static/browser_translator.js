// English to French in the browser: a trained translator, word by word, with and without attention.
import { button, choice, frame, make, shorten, slider, toggle } from "./kit.js";
import { alignmentView, inOrder, noteBox, oneByOne, touching } from "./alignment_view.js";
import { readEnglish, suggestions, writeFrench } from "./sentence.js";
import { seq2seqModel } from "./seq2seq_model.js";

const MOST = 60; // words; longer texts are refused with a sentence

const SILENT = new Set(["<pad>", "<bos>", "<eos>"]);
const count = (n, word) => `${String(n).replace(/\B(?=(\d{3})+$)/g, ",")} ${word}${n === 1 ? "" : "s"}`;

/** The models, made when first asked for, and what they say. */
function models(it) {
  const { context } = it;
  const { model } = context;
  const figure = frame(context, { name: "browser-translator", law: true, numbers });

  // --- the models, made when first asked for
  const made = new Map();
  function translator(key) {
    const sent = model.get(key);
    if (!sent?.arrays) return null;
    if (made.get(key)?.sent !== sent) made.set(key, { sent, model: seq2seqModel(sent) });
    return made.get(key).model;
  }
  const inUse = () => {
    const [first, second] = model.get("attention") ? ["attending", "fixed"] : ["fixed", "attending"];
    return translator(first) ?? translator(second);
  };
  const vocabulary = () => (model.get("attending")?.source ?? model.get("fixed").source).slice(4);

  // --- what is said, from the text and the switch; computed once
  let memo = { words: "", net: null, examples: null, temperature: 0, result: null };
  const nothing = { columns: [], said: [], summary: null, right: null, finished: true };
  function translation() {
    const net = inUse();
    const { words } = readEnglish(model.get("text"));
    const key = words.join(" "), examples = model.get("examples"), temperature = model.get("temperature");
    if (memo.net === net && memo.words === key && memo.examples === examples
      && memo.temperature === temperature) return memo.result;
    let result = nothing;
    if (words.length && words.length <= MOST) {
      const { steps, summary, finished } = net.greedy(words, { temperature });
      const example = examples.find((pair) => pair.source.join(" ") === key);
      const order = example ? inOrder(steps.filter((s) => !s.end).map((s) => s.text), example.target) : null;
      result = {
        columns: [...words, "end"], odd: words.map((word) => !net.knows(word)), said: steps,
          summary: net.config.kind === "none" ? summary : null,
        right: order?.right ?? null, found: order?.found ?? null, gold: example?.target ?? null, finished,
      };
    }
    memo = { net, words: key, examples, temperature, result };
    return result;
  }
  function unknown() {
    const net = inUse(), { words } = readEnglish(model.get("text"));
    return words.length > MOST ? [] : [...new Set(words.filter((word) => !net.knows(word)))];
  }

  function numbers() {
    const result = translation();
    const shown = it.control.place();
    const said = result.said.slice(0, shown), { words, left } = readEnglish(model.get("text"));
    const now = it.view.selected();
    return {
      words: words.slice(0, MOST), left, unknown: unknown(),
        suggestions: Object.fromEntries(unknown().map((word) => [word, suggestions(word, vocabulary())])),
      kind: inUse().config.kind, speed: model.get("speed"), temperature: model.get("temperature"), shown,
        total: result.said.length, finished: result.finished,
      french: said.filter(({ end }) => !end).map(({ text }) => text), translation: french(said),
      probability: said.map(({ probability }) => probability),
      weights: result.summary ? [] : said.map(({ weights }) => [...weights]),
      summary: result.summary ?? [], selected: now, looked: now >= 0 && said[now]?.weights
        ? [...said[now].weights] : [],
      gold: result.gold ? writeFrench(result.gold) : "", right: result.right ? result.right.slice(0, shown) : [],
    };
  }
  const french = (said) => writeFrench(said.filter(({ text }) => !SILENT.has(text)).map(({ text }) => text));
  Object.assign(it, { model, figure, inUse, vocabulary, translation, unknown, french });
}

/** What the reader can type, turn and switch. */
function controls(it) {
  const { model, figure, translation } = it;
  const menu = choice({ label: "Example", options: [], value: "", input: (text) => { if (text) it.begin(text); } });
  menu.classList.add("al-av-menu");
  const entry = make("input", { type: "text", "aria-label": "English sentence", autocomplete: "off",
    autocapitalize: "none", spellcheck: "false", placeholder: "Type an English sentence" });
  const form = make("form.al-av-entry", { onsubmit: (event) => { event.preventDefault(); it.begin(entry.value); } },
    entry, make("button.al-button", { type: "submit" }, "Translate"));
  entry.addEventListener("change", () => { if (entry.value !== model.get("text")) it.begin(entry.value); });
  const switched = toggle({ label: "Attention", value: model.get("attention"),
    input: (on) => figure.push("attention", on) });
  const control = oneByOne(figure, model, { total: () => translation().said.length, unit: "words",
    moved: () => it.view.release() });
  const heat = slider({
    label: "Temperature τ", min: 0.05, max: 20, log: true, detents: [0.1, 1, 10], value: model.get("temperature"),
    format: (t) => (t >= 10 ? t.toFixed(1) : t.toFixed(2)), input: (t) => figure.push("temperature", t),
  });
  heat.classList.add("al-bt-heat");
  control.node.classList.add("al-main");
  figure.controls.append(menu, switched, heat, form, control.node);
  Object.assign(it, { menu, entry, switched, control, heat });
}

/** The words, the map, and what is said of them. */
function body(it) {
  const { model, figure, vocabulary, translation, unknown, menu, control } = it;
  const view = alignmentView(figure, { read: "English", spoken: "French", name: "word", one: "French word",
    quote: (text) => (text === "end" ? "the end" : `“${shorten(text, 30)}”`) });
  const note = make("div.al-av-note", { role: "status" });
  const gold = make("div.al-av-words");
  const goldLine = make("div.al-av-line", {}, make("span.al-av-side", {}, "Reference"), gold);
  const verdict = make("div.al-av-verdict");
  const list = make("p"), known = make("details.al-av-known", {}, make("summary"), list);
  figure.body.append(note, make("div.al-av-told", {}, ...view.words, goldLine, verdict, view.readout), view.map, known);

  function begin(text) {
    figure.push("text", text);
    control.restart();
  }

  function fillMenu() {
    const pairs = model.get("examples").map(({ source }) => {
      const text = source.join(" ").replaceAll(" ,", ",");
      return [text, `${shorten(text, 52)} (${count(source.length, "word")})`];
    });
    menu.fill([["", "your own sentence"], ...pairs]);
    menu.hidden = pairs.length === 0;
  }
  function fillKnown() {
    const words = vocabulary().filter((word) => word !== ",");
    known.querySelector("summary").textContent = `The ${words.length} English words it knows`;
    list.textContent = words.join(" ");
  }

  /** Sentences about the text: what could not be read, what the model never learned. Each is a list of parts. */
  function notes() {
    const text = model.get("text");
    const { words, left } = readEnglish(text), lost = unknown(), trained = model.get("trained");
    const out = [];
    if (!words.length) out.push(
      [`${text.trim() ? "There is no English word in this." : "Nothing to translate yet."} Type a sentence, or ` +
        `choose an example.`]);
    if (words.length > MOST) out.push(
      [`This text has ${count(words.length, "word")}, too many to show: up to ${MOST}, please. Your text is still ` +
        `in the box.`]);
    if (words.length && left.length) out.push(
      [`Only letters and commas are read. Left out: ${left.slice(0, 8).join(" ")}${left.length > 8 ? " …" : ""}`]);
    for (const word of lost.slice(0, 3)) {
      const close = suggestions(word, vocabulary());
      out.push([
        `“${shorten(word, 24)}” is a word the translators never met: they will guess. `,
        ...(close.length ? ["Did you mean ", ...close.map((other) => button(other, () => replace(word, other))), "?"]
          : []),
      ]);
    }
    if (lost.length > 3) out.push([`And ${count(lost.length - 3, "more word")} that they never met.`]);
    if (lost.length) out.push(["The words they know are listed at the end of this figure."]);
    if (trained && words.length > trained && words.length <= MOST)
      out.push([`This sentence has ${count(words.length, "word")}, but the longest one in training had ${trained}. ` +
        `Expect mistakes: nobody taught the models to go on.`]);
    if (!translation().finished) out.push(["The model never said that its sentence ends, so it was stopped."]);
    return out.map((parts) => make("p", {}, ...parts));
  }
  function replace(word, other) {
    const apart = model.get("text").normalize("NFC").split(/(\p{L}+)/gu);
    begin(apart.map((part) => (part.toLowerCase() === word ? other : part)).join(""));
  }
  Object.assign(it, { view, note, gold, goldLine, verdict, begin, fillMenu, fillKnown, notes });
}

/** Notes, gold, and the rest. */
function painting(it) {
  const {
    model, figure, inUse, translation, french, menu, entry, switched, control, heat, view, note, gold,
    goldLine, verdict, notes,
  } = it;
  it.noted = noteBox(note,
    () => `${model.get("text")}\n${inUse().config.kind}\n${model.get("trained")}\n${translation().finished}`, notes);

  function paintGold(result, shown) {
    goldLine.hidden = !result.gold;
    verdict.hidden = !result.gold || shown < result.said.length;
    if (!result.gold) return;
    gold.replaceChildren(...result.gold.map((word, j) => {
      const node = make("span.al-av-gold", {}, word);
      node.classList.add(...touching(word), ...(result.found[j] || verdict.hidden ? [] : ["al-av-missed"]));
      return node;
    }));
    const wrong = result.right.filter((ok) => !ok).length, missed = result.found.filter((ok) => !ok).length;
    const parts = [
      ...(wrong ? [`✗ marks ${count(wrong, "word")} that the reference does not have here.`] : []),
      ...(missed ? [`Dashed: ${count(missed, "word")} of the reference ${missed === 1 ? "is" : "are"} missing.`] : []),
    ];
    verdict.textContent = parts.join(" ") || "✓ Every word is right.";
  }

  let spoken = "";
  function paint() {
    const result = translation(), shown = control.place(), text = model.get("text");
    if (entry.value !== text && document.activeElement !== entry) entry.value = text;
    const words = readEnglish(text).words.join(" ").replaceAll(" ,", ",");
    menu.value = model.get("examples").some(({ source }) => source.join(" ").replaceAll(" ,", ",") === words)
      ? words : "";
    switched.hidden = !model.get("attending")?.arrays || !model.get("fixed")?.arrays;
    if (switched.value !== model.get("attention")) switched.value = model.get("attention");
    heat.hidden = inUse().config.kind === "none"; // no weights, so no temperature
    if (heat.value !== model.get("temperature")) heat.value = model.get("temperature");
    control.paint();
    it.noted.paint();
    paintGold(result, shown);
    view.show(result, shown);
    const done = result.said.length > 0 && shown === result.said.length ? french(result.said) : "";
    if (done && done !== spoken) figure.say(
      `${inUse().config.kind === "none" ? "Without attention" : "With attention"}: ${done}.`);
    spoken = done;
  }
  Object.assign(it, { paint });
}

/** What happens when something changes. */
function life(it) {
  const { model, figure, entry, fillMenu, fillKnown, paint } = it;
  entry.value = model.get("text");
  fillMenu();
  fillKnown();
  paint();
  const repaint = () => figure.schedule(paint);
  figure.on("text", () => { entry.value = model.get("text"); repaint(); });
  figure.on(["attention", "shown", "speed", "temperature", "trained"], repaint);
  figure.on("examples", () => { fillMenu(); repaint(); });
  figure.on(["attending", "fixed"], () => { fillKnown(); it.noted.forget(); repaint(); });
}

function render(context) {
  const it = { context };
  for (const piece of [models, controls, body, painting, life]) piece(it);
  const { figure } = it;
  return figure.dispose;
}

export default { render };
