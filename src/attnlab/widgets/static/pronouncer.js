// Spelling to sound in the browser: type any word, hear it in phonemes, see which letters each one attended to.
import { button, choice, frame, make, shorten } from "./kit.js";
import { alignmentView, inOrder, noteBox, oneByOne } from "./alignment_view.js";
import { seq2seqModel } from "./seq2seq_model.js";

const LONGEST_WORD = 40; // letters
const HARDLY = 0.2; // a letter whose largest weight is below this hardly counted

/**
 * What was typed, as words of the letters a–z and the apostrophe. Accents are taken off (é is read as e);
 * `left` lists the signs that cannot be read, each once. As `spelling` in pronouncer.py.
 */
export function readSpelling(text) {
  const plain = text.replace(/[’‘]/g, "'").normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  const words = (plain.match(/[^\s\-]+/gu) ?? []).map((part) => part.replace(/[^a-z']/g, "").replace(/^'+/,
    "")).filter(Boolean);
  const left = [...new Set(plain.match(/[^a-z'\s\-\p{C}\p{Z}]/gu) ?? [])];
  return { words, left };
}

/** The pronunciation nearest to what was said: the most sounds in common, then the shortest. */
export function nearest(said, ways) {
  const shared = (way) => inOrder(said, way).right.filter(Boolean).length;
  return ways.reduce((best, way) => {
    const more = shared(way) - shared(best);
    return more > 0 || (more === 0 && way.length < best.length) ? way : best;
  });
}

/** What is said of a word, computed once. */
function speaking(it) {
  const { context } = it;
  const { model } = context;
  const figure = frame(context, { name: "pronouncer", law: true, numbers });
  let kept = null;
  function speaker() {
    const sent = model.get("speaker");
    if (kept?.sent !== sent) kept = { sent, model: seq2seqModel(sent) };
    return kept.model;
  }

  Object.assign(it, { memo: { word: null, examples: null, net: null, result: null } });
  const silent = { columns: [], said: [], summary: null, right: null, finished: true };
  /** The word that is read: the one the reader chose among several, or the first. */
  const word = () => {
    const { words } = readSpelling(model.get("text"));
    return words[Math.min(model.get("which"), words.length - 1)] ?? "";
  };
  function pronunciation() {
    const letters = word(), net = speaker(), examples = model.get("examples");
    if (it.memo.word === letters && it.memo.net === net && it.memo.examples === examples) return it.memo.result;
    let result = silent;
    if (letters && letters.length <= LONGEST_WORD) {
      const { steps, summary, finished } = net.greedy([...letters]), hints = model.get("hints");
      const sounds = steps.filter(({ end }) => !end).map(({ text }) => text);
      const ways = examples.find((example) => example.word === letters)?.ways ?? [];
      const gold = ways.length ? nearest(sounds, ways) : null;
      const order = gold ? inOrder(sounds, gold) : null;
      const said = steps.map((step) => ({ ...step, hint: step.end ? "" : hints[step.text] ?? "" }));
      result = {
        columns: [...letters, "end"], said, summary: net.config.kind === "none" ? summary : null,
        gold, right: order?.right ?? null, found: order?.found ?? null, finished,
      };
    }
    it.memo = { word: letters, net, examples, result };
    return result;
  }
  /** For each letter the largest weight that a sound gave it. */
  function attended({ said, columns, summary }) {
    if (summary) return [];
    const sounds = said.filter(({ end }) => !end);
    return columns.slice(0, -1).map((_, j) => Math.max(0, ...sounds.map(({ weights }) => weights[j])));
  }
  function numbers() {
    const result = pronunciation();
    const shown = it.control.place(), said = result.said.slice(0, shown), now = it.view.selected();
    const most = attended(result), { words, left } = readSpelling(model.get("text"));
    return {
      word: word(), words: words.length, left, speed: model.get("speed"), shown, total: result.said.length,
        finished: result.finished,
      sounds: said.filter(({ end }) => !end).map(({ text }) => text),
        hints: said.filter(({ end }) => !end).map(({ hint }) => hint),
      probability: said.map(({ probability }) => probability), weights: result.summary
        ? [] : said.map(({ weights }) => [...weights]),
      selected: now, looked: now >= 0 && said[now]?.weights ? [...said[now].weights] : [],
      most, overlooked: most.flatMap((weight, j) => (weight < HARDLY ? [j] : [])),
      gold: (result.gold ?? []).join(" "), right: result.right ? result.right.slice(0, shown) : [],
    };
  }
  Object.assign(it, { model, figure, word, pronunciation, attended });
}

/** What the reader can type, and how it is played. */
function controls(it) {
  const { model, figure, pronunciation } = it;
  const menu = choice({ label: "Example", options: [], value: "", input: (text) => { if (text) it.begin(text); } });
  menu.classList.add("al-av-menu");
  const entry = make("input", { type: "text", "aria-label": "A word, or your name", autocomplete: "off",
    autocapitalize: "none", spellcheck: "false", placeholder: "Type a word, or your name" });
  const form = make("form.al-av-entry", { onsubmit: (event) => { event.preventDefault(); it.begin(entry.value); } },
    entry, make("button.al-button", { type: "submit" }, "Pronounce"));
  entry.addEventListener("change", () => { if (entry.value !== model.get("text")) it.begin(entry.value); });
  const control = oneByOne(figure, model, { total: () => pronunciation().said.length, unit: "sounds",
    moved: () => it.view.release() });
  control.node.classList.add("al-main");
  figure.controls.append(menu, form, control.node);
  Object.assign(it, { menu, entry, control });
}

/** Words, map, and what is said of them. */
function body(it) {
  const { model, figure, word, pronunciation, control } = it;
  const view = alignmentView(figure, { read: "Letters", spoken: "Sounds", name: "sound", one: "sound",
    quote: (text) => (text === "end" ? "the end" : text) });
  const note = make("div.al-av-note", { role: "status" });
  const gold = make("div.al-av-words");
  const goldLine = make("div.al-av-line", {}, make("span.al-av-side", {}, "Dictionary"), gold);
  const verdict = make("div.al-av-verdict"), unheard = make("div.al-pr-unheard");
  figure.body.append(note, make("div.al-av-told", {}, ...view.words, goldLine, verdict, view.readout, unheard),
    view.map);

  function begin(text, which = 0) {
    figure.push("text", text);
    figure.push("which", which);
    control.restart();
  }

  /** Sentences about the text, each a list of parts. */
  function notes() {
    const text = model.get("text");
    const { words, left } = readSpelling(text), now = word(), trained = model.get("trained"), out = [];
    if (!now) out.push([`${text.trim() ? "There is no letter from a to z in this." : "Nothing to pronounce " +
      "yet."} Type a word, or choose an example.`]);
    if (left.length) out.push(
      [`The model reads the letters a to z and the apostrophe. Left ` +
        `out: ${left.slice(0, 8).join(" ")}${left.length > 8 ? " …" : ""}`]);
    if (now.length > LONGEST_WORD) out.push(
      [`This word has ${now.length} letters. Up to ${LONGEST_WORD}, please; your text is still in the box.`]);
    else if (trained && now.length > trained) out.push(
      [`This word has ${now.length} letters, but the longest one in training had ${trained}: expect mistakes.`]);
    if (words.length > 1) {
      const choices = words.slice(0, 6).map((other, i) =>
        button(shorten(other, 20), () => begin(text, i),
          { "aria-pressed": String(i === Math.min(model.get("which"), words.length - 1)) }));
      out.push(["One word at a time: ", ...choices, words.length > 6 ? ` and ${words.length - 6} more.` : ""]);
    }
    if (!pronunciation().finished) out.push(["The model never said that the word ends, so it was stopped."]);
    return out.map((parts) => make("p", {}, ...parts));
  }
  Object.assign(it, { view, note, gold, goldLine, verdict, unheard, begin, notes });
}

/** Notes, gold, silent letters, and the rest. */
function painting(it) {
  const {
    model, figure, word, pronunciation, attended, menu, entry, control, view, note, gold, goldLine,
    verdict, unheard, notes,
  } = it;
  it.noted = noteBox(note, () => `${model.get("text")}\n${model.get("which")}\n${model.get("trained")}`, notes);
  function paintGold(result, done) {
    goldLine.hidden = !result.gold;
    verdict.hidden = !result.gold || !done;
    if (!result.gold) return;
    gold.replaceChildren(...result.gold.map(
      (sound, j) => make(`span.al-av-gold${!result.found[j] && done ? ".al-av-missed" : ""}`, {}, sound)));
    const wrong = result.right.filter((ok) => !ok).length, missed = result.found.filter((ok) => !ok).length;
    const parts = [
      ...(wrong ? [`✗ marks what the dictionary does not have here (${wrong}).`] : []),
      ...(missed ? [`Dashed: missing (${missed}).`] : []),
    ];
    verdict.textContent = parts.join(" ") || "✓ As the dictionary has it.";
  }
  function paintUnheard(result, done) {
    const letters = word(), hardly = attended(result).flatMap((weight, j) => (weight < HARDLY ? [letters[j]] : []));
    unheard.hidden = !done || result.summary !== null;
    unheard.textContent = hardly.length
      ? `Hardly looked at by any sound (never above ${100 * HARDLY} %): ${hardly.join(", ")}.`
      : "Every letter was looked at by some sound.";
  }

  let spoken = "";
  function paint() {
    const result = pronunciation();
    const shown = control.place(), done = result.said.length > 0 && shown === result.said.length;
    if (entry.value !== model.get("text") && document.activeElement !== entry) entry.value = model.get("text");
    menu.value = model.get("examples").some((example) => example.word === model.get("text")) ? model.get("text") : "";
    control.paint();
    it.noted.paint();
    paintGold(result, done);
    paintUnheard(result, done);
    view.show(result, shown);
    const sounds = done ? result.said.filter(({ end }) => !end).map(
      ({ text, hint }) => (hint ? `${text} ${hint}` : text)).join(", ") : "";
    if (sounds && sounds !== spoken) figure.say(`${word()}: ${sounds}.`);
    spoken = sounds;
  }
  function fillMenu() {
    const examples = model.get("examples");
    menu.fill([["", "your own word"], ...examples.map((example) => [example.word, shorten(example.word, 40)])]);
    menu.hidden = examples.length === 0;
  }
  Object.assign(it, { paint, fillMenu });
}

/** What happens when something changes. */
function life(it) {
  const { model, figure, entry, paint, fillMenu } = it;
  entry.value = model.get("text");
  fillMenu();
  paint();
  const repaint = () => figure.schedule(paint);
  figure.on("text", () => { entry.value = model.get("text"); repaint(); });
  figure.on(["which", "shown", "speed", "trained"], repaint);
  figure.on("examples", () => { fillMenu(); repaint(); });
  figure.on(["speaker", "hints"], () => { it.memo = { ...it.memo, net: null }; it.noted.forget(); repaint(); });
}

function render(context) {
  const it = { context };
  for (const piece of [speaking, controls, body, painting, life]) piece(it);
  const { figure } = it;
  return figure.dispose;
}

export default { render };
