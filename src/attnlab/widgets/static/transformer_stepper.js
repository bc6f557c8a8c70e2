// The whole Transformer at work: type a sentence, and watch it translated word by word. Every head of every layer is
// computed here, from the weights of a trained model; heads can be knocked out, words can be chosen by hand.
import { button, choice, frame, lecture, make, nice, shorten, slider, svg, toggle, visible } from "./kit.js";
import { nextToken } from "./layers.js";
import { entropy, nested } from "./math.js";
import { player, still } from "./player.js";
import { chooseWord, draws, finish, headName, isFinished, mapsOf, momentsOf, openTransformer,
  readSource } from "./transformer_model.js";
import { paintMap, paintThumb, ribbons, strongestOf } from "./transformer_view.js";
import { readEnglish, suggestions, writeFrench } from "./sentence.js";

const LONGEST = 24, BARS = 8, PACE = 750; // words, candidates, milliseconds a word
const BLOCKS = {
  encoder: { name: "Encoder self-attention", short: "self-attention", stack: "encoder" },
  decoder: { name: "Masked self-attention", short: "masked self-attn.", stack: "decoder" },
  cross: { name: "Cross-attention", short: "cross-attention", stack: "decoder" },
};
const MARKS = { "<bos>": "⟨start⟩", "<eos>": "⟨end⟩", "<unk>": "⟨unknown⟩", "<pad>": "⟨pad⟩" };
const label = (word) => MARKS[word] ?? visible(word);
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

/** The sentence, and the way through time. */
function sentenceBox(it) {
  const { context } = it;
  const { model } = context;
  const KEYS = ["sentence", "said", "off", "temperature", "top_k", "top_p", "sampling", "seed", "block",
    "layer", "head", "row"];
  const figure = frame(context, {
    name: "transformer-stepper", law: true, numbers: (...given) => it.numbers(...given),
  });
  const state = () => Object.fromEntries(KEYS.map((key) => [key, model.get(key)]));
  Object.assign(it, { transformer: null, runs: null, now: null, read: null, hovered: null, typed: "", problem: "",
    unknown: [], width: 0, place: null });

  // ---- the sentence
  const box = make("input.al-tf-text", { type: "text", "aria-label": "English sentence", maxlength: 20000,
    spellcheck: "false", autocomplete: "off", placeholder: "an English sentence" });
  const examples = choice({ label: "Example", options: [], value: "", input: (text) => text && it.submit(text) });
  const form = make("form.al-tf-form", { onsubmit: (event) => { event.preventDefault(); it.submit(box.value); } },
    box, make("button.al-button", { type: "submit" }, "Translate"));
  const note = make("div.al-tf-note.al-error", { role: "status", hidden: true });

  // ---- going through time
  const first = button("Start", () => it.say([]), { "aria-label": "Back to the start" });
  const spoken = () => model.get("said").length;
  const walk = player(figure, {
    at: spoken, last: () => (it.now.finished && it.read === model.get("said") ? spoken() : Infinity), pace: PACE,
    go: (n) => (n > spoken() ? it.advance({ keep: true }) : it.say(model.get("said").slice(0, n), { keep: true })),
    end: () => last.click(), names: { next: "Step ›", label: "Word by word" },
    tag: "div.al-player.al-main.al-tf-transport",
  });
  walk.next.classList.add("al-tf-primary");
  const last = button("End", () => it.say(it.names(finish(it.now.run, it.now.said, it.now.options))),
    { "aria-label": "To the end" });
  walk.node.prepend(first);
  walk.node.append(last);
  figure.controls.append(form, examples, walk.node);
  Object.assign(it, { model, KEYS, figure, state, box, examples, note, first, walk, last });
}

/** The two sentences, all heads, one head, the next word. */
function panes(it) {
  const { model, figure, note } = it;
  const english = make("div.al-tf-words", { lang: "en" }), french = make("div.al-tf-words", { lang: "fr" });
  const links = svg("svg", { class: "al-tf-links", "aria-hidden": "true" });
  const hero = make("div.al-tf-hero.al-scrolls", {}, make("div.al-tf-lines", {}, english, french, links));
  const answers = make("div.al-tf-answers", { hidden: true });

  // ---- all heads, as in the paper's figure 1, from top to bottom
  const stack = make("div.al-tf-stack.al-tf-pane",
    { "data-pane": "stack", role: "group", "aria-label": "All heads of all layers" });
  const wires = svg("svg", { class: "al-tf-wires", "aria-hidden": "true" });
  const exit = button("", () => figure.push("view", "next"),
    { class: "al-button al-tf-exit", "aria-label": "The next word" });
  Object.assign(it, { thumbs: [], pipes: {} });

  // ---- one head
  const heading = make("div.al-tf-heading", {});
  const canvas = make("canvas", { "aria-hidden": "true" });
  const map = make("div.al-tf-map", { tabindex: 0, role: "application", "aria-roledescription": "attention map" },
    canvas);
  const silence = toggle({ label: "this head", value: false, input: (v) => it.knock([it.chosenName()], v) });
  const all = button("", () => {
    const block = it.blockNames();
    it.knock(block, !block.every((name) => model.get("off").includes(name)));
  });
  const restore = button("restore all", () => it.knock([...model.get("off")], false));
  const readout = make("div.al-readout.al-tf-readout");
  const one = make("div.al-tf-one.al-tf-pane", { "data-pane": "head" }, heading, map, readout,
    make("div.al-tf-knock", { role: "group", "aria-label": "Knock out" }, make("span.al-label", {}, "Knock out"),
    silence, all, restore));

  // ---- the next word
  const question = make("div.al-tf-heading");
  const bars = make("div.al-tf-bars", { role: "list" });
  const strip = make("div.al-tf-strip", { "aria-hidden": "true" });
  const rule = make("div.al-tf-rule", { role: "group", "aria-label": "How to choose" });
  const greedy = button("likeliest", () => it.choose(false)), sample = button("draw", () => it.choose(true));
  const again = button("redraw", () => { it.pause(); figure.push("seed", model.get("seed") + 1); });
  rule.append(make("span.al-label", {}, "Choose"), greedy, sample, again);
  const heat = slider({ label: "Temperature", min: 0.1, max: 10, log: true, detents: [1], value: 1,
    format: (t) => t.toFixed(2), input: (t) => it.set("temperature", t) });
  const topK = slider({ label: "Top-k", min: 0, max: 20, step: 1, value: 0, format: (k) => (k ? String(k) : "all"),
    input: (k) => it.set("top_k", Math.round(k)) });
  const topP = slider({ label: "Top-p", min: 0.05, max: 1, step: 0.01, value: 1,
    format: (p) => (p >= 1 ? "all" : p.toFixed(2)), input: (p) => it.set("top_p", Math.min(1, p)) });
  const summary = make("div.al-tf-summary");
  const nextPane = make("div.al-tf-next.al-tf-pane", { "data-pane": "next" }, question, bars, strip,
    summary, make("div.al-tf-knobs", {}, rule, heat, topK, topP));

  const tabs = [["stack", "All heads"], ["head", "One head"], ["next", "Next word"]].map(([name, text]) =>
    button(text, () => figure.push("view", name), { role: "tab", "data-tab": name }));
  const bar = make("div.al-tf-tabs", { role: "tablist", "aria-label": "What to look at" }, ...tabs);
  const vocabulary = make("details.al-tf-vocabulary", {}, make("summary", {}, "Words it knows"), make("p"));
  figure.body.append(note, hero, answers, make("div.al-tf-main", {}, bar, stack, one, nextPane), vocabulary);
  Object.assign(it, {
    english, french, links, hero, answers, stack, wires, exit, heading, canvas, map,
    silence, all, restore, readout, one, question, bars, strip, greedy, sample, again, heat, topK, topP,
    summary, nextPane, tabs, bar, vocabulary,
  });
}

/** What the reader does. */
function acting(it) {
  const { model, figure, box, note, walk } = it;
  const names = (numbers) => numbers.map((n) => it.transformer.target[n]);
  const set = (key, value) => { pause(); figure.push(key, value); };
  const chosenName = () => headName(model.get("block"), model.get("layer"), model.get("head"));
  const blockNames = () => Array.from({ length: it.transformer.config.heads },
    (_, h) => headName(model.get("block"), model.get("layer"), h));

  /** Say these words instead; the look is at the newest. */
  function say(words, { keep = false } = {}) {
    if (!keep) pause();
    figure.push("row", -1);
    figure.push("said", words);
  }
  function advance(options) {
    if (!it.now.finished) say([...model.get("said"), it.transformer.target[it.now.choice]], options);
  }
  const pause = () => walk.stop();
  /** Heads off or on again. What was said is said anew, as far as it had come. */
  function knock(which, silent) {
    pause();
    const off = new Set(model.get("off"));
    for (const name of which) silent ? off.add(name) : off.delete(name);
    const list = [...off].sort();
    const run = readSource(it.transformer, it.now.words, list);
    figure.push("off", list);
    say(names(finish(run, [], it.now.options, it.now.finished ? Infinity : it.now.said.length)));
  }
  function choose(sampling) {
    pause();
    figure.push("sampling", sampling);
  }
  function focusHead(block, layer, head) {
    if (block !== model.get("block")) figure.push("row", -1);
    figure.push("block", block);
    figure.push("layer", layer);
    figure.push("head", head);
    if (it.width < 620) figure.push("view", "head");
  }
  /** A new sentence, if it can be read; otherwise say kindly why not, and keep what is there. */
  function submit(text) {
    pause();
    it.typed = text;
    const read = readSentence(text, it.transformer.source.slice(4));
    it.problem = read.problem;
    it.unknown = read.unknown;
    if (!it.problem) {
      const clean = read.words.join(" ");
      figure.push("sentence", clean);
      say([]);
      box.value = clean;
      figure.schedule(() => {
        if (still()) say(names(finish(it.now.run, [], it.now.options)));
        else walk.start({ soon: true });
      });
    }
    paintNote();
  }

  function paintNote() {
    note.hidden = !it.problem;
    note.replaceChildren(it.problem);
    let lost = false;
    for (const word of it.unknown.slice(0, 4)) {
      const near = suggestions(word, it.transformer.source.slice(4));
      lost ||= !near.length;
      for (const other of near) note.append(" ", button(`${shorten(word, 16)} → ${other}`,
        () => submit(swapWord(it.typed, word, other)), { class: "al-button al-tf-fix" }));
    }
    if (lost) note.append(" The words it knows are listed at the end of the figure.");
  }
  const swapWord = (text, word, other) => readEnglish(text).words.map((w) => (w === word ? other : w)).join(" ");

  /** New children in place of old ones; the keyboard stays where it was. */
  function swap(parent, nodes) {
    const at = [...parent.children].findIndex((node) => node.contains(document.activeElement));
    parent.replaceChildren(...nodes);
    if (at >= 0) {
      const node = parent.children[Math.min(at, nodes.length - 1)];
      (node.matches("button") ? node : node.querySelector("button"))?.focus({ preventScroll: true });
    }
  }
  Object.assign(it, {
    names, set, chosenName, blockNames, say, advance, pause, knock, choose,
    focusHead, submit, paintNote, swap,
  });
}

/** From the traits to a model and its thumbnails. */
function building(it) {
  const { model, box, examples, stack, wires, exit, vocabulary, focusHead, paintNote } = it;
  function reload() {
    it.transformer = openTransformer(model.get("model"));
    it.runs = new Map();
    it.typed = model.get("sentence");
    box.value = it.typed;
    it.problem = "";
    it.unknown = [];
    const given = model.get("examples") ?? [];
    examples.fill([["", "choose…"], ...given.map((text) => [text, shorten(text, 44)])]);
    examples.hidden = !given.length;
    const words = it.transformer.source.slice(4).filter((word) => word !== ",");
    vocabulary.querySelector("p").textContent = words.map((word) => shorten(visible(word), 30)).join(" · ");
    vocabulary.querySelector("summary").textContent = `The ${words.length} English words it knows`;
    build();
    paintNote();
    it.update();
  }

  function build() {
    const { layers, heads } = it.transformer.config;
    it.thumbs = [];
    it.pipes = { encoder: [], decoder: [] };
    const pipe = (stackName) => {
      const fill = make("div.al-tf-fill"), value = make("span.al-tf-norm");
      it.pipes[stackName].push({ fill, value });
      return make("div.al-tf-pipe", { title: "length of the residual stream after this part" }, fill, value);
    };
    const plain = (stackName, text) => make("div.al-tf-part", {}, pipe(stackName), make("div.al-tf-plain", {}, text));
    const attentionPart = (block, layer) => {
      const group = make("div.al-tf-thumbs",
        { role: "radiogroup", "aria-label": `${BLOCKS[block].name}, layer ${layer + 1}` });
      for (let head = 0; head < heads; head++) {
        const small = make("canvas", { "aria-hidden": "true" });
        const node = make("button.al-tf-thumb",
          { type: "button", role: "radio", onclick: () => focusHead(block, layer, head) }, small,
          make("span.al-tf-off", { "aria-hidden": "true" }, "✕"));
        it.thumbs.push({ block, layer, head, node, small });
        group.append(node);
      }
      return make(`div.al-tf-part.al-tf-${block}`, { "data-layer": layer }, pipe(BLOCKS[block].stack),
        make("div.al-tf-box", {}, make("div.al-tf-name", {}, BLOCKS[block].short), group));
    };
    const column = (title, about, ...parts) => make("div.al-tf-column", {},
      make("div.al-tf-stack-title", {}, make("strong", {}, title), ` ${about}`), ...parts);
    const layer = (i, ...parts) => make("div.al-tf-layer", { "data-name": `layer ${i + 1}` }, ...parts);
    const each = (f) => Array.from({ length: layers }, (_, i) => f(i));
    stack.replaceChildren(
      column("Encoder", "reads English", plain("encoder", "words + positions"),
        ...each((i) => layer(i, attentionPart("encoder", i), plain("encoder", "feed-forward"))),
        make("div.al-tf-memory", {}, "its last output: every decoder layer reads it"),
        make("div.al-tf-legend", {}, make("span.al-tf-swatch", { "aria-hidden": "true" }),
          "the residual stream: as wide as its vector is long")),
      column("Decoder", "writes French", plain("decoder", "words + positions"),
        ...each((i) => layer(i, attentionPart("decoder", i), attentionPart("cross", i),
          plain("decoder", "feed-forward"))),
        exit),
      wires,
    );
  }
  Object.assign(it, { reload });
}

/** What is shown now, and the words with their links. */
function paintingWords(it) {
  const {
    model, figure, state, examples, first, walk, last, english, french, links, hero, answers,
    stack, one, nextPane, tabs, bar, chosenName, pause, focusHead, swap,
  } = it;
  function update() {
    const before = it.now?.said.length ?? 0;
    it.now = look(it.transformer, it.runs, state());
    it.read = model.get("said");
    if (it.now.said.length === before + 1) figure.say(label(it.transformer.target[it.now.said.at(-1)]));
    it.hovered = null;
    paint();
  }
  const blockNow = () => model.get("block");
  const mapNow = () => it.now.maps[blockNow()][Math.min(model.get("layer"), it.transformer.config.layers - 1)][
    Math.min(model.get("head"), it.transformer.config.heads - 1)];
  function rowNow() {
    const rows = mapNow().rows, wanted = it.hovered ?? model.get("row");
    return wanted >= 0 && wanted < rows ? wanted : blockNow() === "encoder" ? 0 : rows - 1;
  }
  const sourceWords = () => [...it.now.words, "<eos>"];
  const targetWords = () => ["<bos>", ...model.get("said")];
  /** The word a decoder row is about to say. */
  const spoken = (row) => (row < it.now.said.length ? label(it.transformer.target[it.now.said[row]]) : "?");
  const axis = () => {
    const source = sourceWords().map(label), read = targetWords().slice(0, it.now.moments.length).map(label);
    if (blockNow() === "encoder") return { rows: source, columns: source };
    return { rows: it.now.moments.map((_, i) => (blockNow() === "cross" ? `→ ${spoken(i)}` : read[i])),
      columns: blockNow() === "cross" ? source : read };
  };

  function paint() {
    const size = lecture() ? "wide" : it.width < 620 ? "narrow" : it.width < 1000 ? "medium" : "wide";
    figure.root.dataset.size = size;
    const view = model.get("view");
    for (const pane of [stack, one, nextPane]) {
      const own = pane.dataset.pane;
      pane.hidden = size === "narrow" ? own !== view : size === "medium"
        ? own !== "stack" && own !== (view === "next" ? "next" : "head") : false;
    }
    for (const tab of tabs) {
      const shown = size === "medium" && view === "stack" ? "head" : view;
      tab.hidden = size === "medium" && tab.dataset.tab === "stack";
      tab.setAttribute("aria-selected", String(tab.dataset.tab === shown));
    }
    bar.hidden = size === "wide";
    const given = model.get("examples") ?? [];
    examples.value = given.includes(model.get("sentence")) ? model.get("sentence") : "";
    first.disabled = !it.now.said.length;
    last.disabled = it.now.finished;
    walk.paint();
    paintWords();
    it.paintStack();
    it.paintHead();
    it.paintNext();
    answers.hidden = !model.get("off").length;
    answers.replaceChildren(
      make("div", {}, make("span.al-tf-tag", {}, "all heads"), it.now.answers.intact || "…"),
      make("div", {}, make("span.al-tf-tag", {},
        `${model.get("off").length} ${model.get("off").length === 1 ? "head" : "heads"} off`),
        it.now.answers.now || "(nothing)",
        make("span.al-tf-verdict", {}, it.now.answers.now === it.now.answers.intact ? " · the same" : " · changed")),
    );
  }

  function paintWords() {
    const block = blockNow(), row = rowNow();
    const chip = (word, i, side, extra = "") => make(`button.al-tf-word${extra}`, {
      type: "button", "aria-pressed": String(side === (block === "encoder" ? "en" : "fr")
        && i === (side === "en" ? row : row + 1)),
      onclick: () => pick(side, i), title: label(word),
    }, shorten(label(word), 16));
    swap(english, sourceWords().map((word, i) => chip(word, i, "en", word in MARKS ? ".al-tf-mark" : "")));
    const words = targetWords();
    swap(french, [
      ...words.map((word, i) => chip(word, i, "fr",
        `${word in MARKS ? ".al-tf-mark" : ""}${i && i === words.length - 1 ? ".al-tf-new" : ""}`)),
      ...(it.now.finished ? []
        : [make("button.al-tf-word.al-tf-slot", { type: "button", "aria-label": "the next word",
        "aria-pressed": String(block !== "encoder" && row === it.now.said.length),
        onclick: () => pick("fr", words.length) }, "?")]),
    ]);
    for (const line of [english, french]) { // one stop for the Tab key in each line; arrows go on from there
      const stop = line.querySelector("[aria-pressed=true]") ?? line.lastElementChild;
      for (const node of line.children) node.tabIndex = node === stop ? 0 : -1;
    }
    paintLinks();
    const current = french.lastElementChild;
    hero.scrollLeft = Math.max(0, current.offsetLeft + current.offsetWidth - hero.clientWidth + 24);
  }
  function pick(side, i) {
    pause();
    if (side === "en") {
      if (blockNow() !== "encoder") focusHead("encoder", model.get("layer"), model.get("head"));
      figure.push("row", i);
    } else {
      if (blockNow() === "encoder") focusHead("cross", model.get("layer"), model.get("head"));
      figure.push("row", Math.max(0, Math.min(i - 1, it.now.moments.length - 1)));
    }
  }

  function paintLinks() {
    const block = blockNow(), row = rowNow(), data = mapNow();
    const box = links.parentNode;
    links.setAttribute("width", box.scrollWidth);
    links.setAttribute("height", box.offsetHeight);
    const middle = (node) => node.offsetLeft + node.offsetWidth / 2;
    const under = english.offsetTop + english.offsetHeight + 1, over = french.offsetTop - 1;
    const weight = (j) => data.data[row * data.columns + j];
    const en = [...english.children], fr = [...french.children];
    const colour = `var(--al-tf-${block})`;
    if (block === "encoder") {
      links.replaceChildren(...ribbons([middle(en[row]), under], en.map((node, j) => [middle(node), under, weight(j)]),
        colour, { arc: 1 }));
    } else if (block === "cross") {
      // the strongest look of the other words, pale
      const past = it.now.moments.flatMap((_, i) => (i === row || !fr[i + 1] ? []
        : ribbons([middle(fr[i + 1]), over], [[middle(en[strongestOf(data, i)]), under, 0.12]], "var(--al-muted)")));
      links.replaceChildren(...past,
        ...ribbons([middle(fr[row + 1]), over], en.map((node, j) => [middle(node), under, weight(j)]), colour));
    } else {
      links.replaceChildren(...ribbons([middle(fr[row + 1]), over],
        fr.slice(0, row + 1).map((node, j) => [middle(node), over, weight(j)]), colour, { arc: -1 }));
    }
    links.classList.toggle("al-tf-muted", model.get("off").includes(chosenName()));
  }
  Object.assign(it, { update, blockNow, mapNow, rowNow, spoken, axis, paint, paintWords });
}

/** All heads, one head, and the next word. */
function paintingHeads(it) {
  const {
    model, figure, stack, wires, exit, heading, canvas, map, silence, all, restore, readout, one,
    question, bars, strip, greedy, sample, again, heat, topK, topP, summary, chosenName, blockNames, say,
    swap, blockNow, mapNow, rowNow, spoken, axis,
  } = it;
  function paintStack() {
    const off = model.get("off"), grid = it.now.words.length + 1;
    for (const { block, layer, head, node, small } of it.thumbs) {
      const data = it.now.maps[block][layer][head], silent = off.includes(headName(block, layer, head));
      paintThumb(small, data, Math.max(grid, data.rows), figure.theme, block === "decoder");
      const chosen = block === blockNow() && layer === model.get("layer") && head === model.get("head");
      node.setAttribute("aria-checked", String(chosen));
      node.tabIndex = chosen ? 0 : -1;
      node.classList.toggle("al-tf-silent", silent);
      node.setAttribute("aria-label",
        `${BLOCKS[block].name}, layer ${layer + 1}, head ${head + 1}${silent ? ", knocked out" : ""}`);
      node.title = `layer ${layer + 1} · head ${head + 1}${silent ? " · knocked out" : ""}`;
    }
    const most = Math.max(...it.now.stream.encoder, ...it.now.stream.decoder);
    for (const name of ["encoder", "decoder"])
      it.pipes[name].forEach(({ fill, value }, i) => {
        fill.style.width = `${(100 * it.now.stream[name][i]) / most}%`;
        value.textContent = nice(it.now.stream[name][i], 1);
      });
    exit.replaceChildren(it.now.finished ? "the end" : "→ ", it.now.finished
      ? "" : make("strong", {}, shorten(label(it.transformer.target[it.now.choice]), 14)));
    paintWires();
  }
  /** The encoder's last output goes to the cross-attention of every decoder layer. */
  function paintWires() {
    const from = stack.querySelector(".al-tf-memory");
    if (!from || stack.hidden || !stack.offsetWidth) return;
    const home = stack.getBoundingClientRect(), scale = home.width / stack.offsetWidth || 1; // a slide may be scaled
    const at = (node) => {
      const r = node.getBoundingClientRect();
      return { left: (r.left - home.left) / scale, right: (r.right - home.left) / scale,
        top: (r.top - home.top) / scale, bottom: (r.bottom - home.top) / scale };
    };
    const memory = at(from), boxes = [...stack.querySelectorAll(".al-tf-part.al-tf-cross")].map((node) => at(node));
    wires.setAttribute("width", stack.offsetWidth);
    wires.setAttribute("height", stack.offsetHeight);
    const y0 = memory.top + 12;
    wires.replaceChildren(...boxes.flatMap((to) => {
      const x = (memory.right + to.left) / 2, y = (to.top + to.bottom) / 2;
      return [
        svg("path", { d: `M${memory.right} ${y0}H${x}V${y}H${to.left - 5}`, fill: "none", stroke: "var(--al-tf-cross)",
          "stroke-width": 1.6 }),
        svg("path", { d: `M${to.left - 1} ${y}l-7 -4v8z`, fill: "var(--al-tf-cross)" }),
      ];
    }));
  }

  function paintHead() {
    const block = blockNow(), layer = model.get("layer"), head = model.get("head"), data = mapNow(), row = rowNow();
    const silent = model.get("off").includes(chosenName()), words = axis(), group = blockNames();
    one.dataset.block = block;
    heading.replaceChildren(make("strong", {}, BLOCKS[block].name), ` · layer ${layer + 1} · head ${head + 1}`);
    if (!one.hidden) {
      const room = one.clientWidth - 2 || 320;
      it.place = paintMap(canvas, figure.theme, {
        map: data, rowWords: words.rows, columnWords: words.columns, grid: it.now.words.length + 1, room,
        height: figure.tall(figure.root.dataset.size === "wide" ? 290 : 400, canvas, 0.45), row,
        causal: block === "decoder", silent,
      });
    }
    const ranked = Array.from({ length: data.columns }, (_, j) => j).sort((a, b) => data.data[row * data.columns + b] -
      data.data[row * data.columns + a]);
    const top = ranked.slice(0, 3).filter((j) => data.data[row * data.columns + j] >= 0.01 || j === ranked[0])
      .map((j) => `${shorten(words.columns[j], 18)} ${nice(data.data[row * data.columns + j], 2)}`).join(" · ");
    const subject = block === "encoder" ? `“${words.rows[row]}” looks at` : block === "cross" ? spoken(row) === "?"
      ? "For the next word it looks at" : `To say “${spoken(row)}” it looked at`
      : `After “${words.rows[row]}” it looks back at`;
    readout.textContent = `${shorten(subject, 60)}: ${top}`;
    map.setAttribute("aria-label",
      `${heading.textContent}. ${readout.textContent}. Up and down: other words. Left and right: other heads. X: ` +
        `knock out.`);
    silence.value = silent;
    const every = group.every((name) => model.get("off").includes(name));
    all.textContent = `all ${group.length} of this block`;
    all.setAttribute("aria-pressed", String(every));
    restore.hidden = !model.get("off").length;
  }

  function paintNext() {
    const after = it.now.moments.length > 1
      ? `after “${shorten(label(it.transformer.target[it.now.moments.at(-1).read]), 18)}”` : "first";
    question.replaceChildren(make("strong", {}, "Next word"), ` ${after}${it.now.finished ? " (the end)" : ""}`);
    const sampling = model.get("sampling");
    swap(bars, it.now.top.map((word, rank) => {
      const share = rank < it.now.next.kept ? it.now.next.shares[rank] : 0;
      const picked = word === it.now.choice, cut = rank >= it.now.next.kept;
      return make("div", { role: "listitem" },
        make(`button.al-tf-bar${picked ? ".al-tf-picked" : ""}${cut ? ".al-tf-cut" : ""}`, {
        type: "button", disabled: it.now.finished, title: `say “${shorten(label(it.transformer.target[word]), 40)}”`,
          onclick: () => say([...model.get("said"), it.transformer.target[word]]),
      }, make("span.al-tf-candidate", {}, shorten(label(it.transformer.target[word]), 14)),
        make("span.al-tf-track", { "aria-hidden": "true" },
          make("span.al-tf-ghost", { style: `width:${100 * it.now.plain[word]}%` }),
          make("span.al-tf-share", { style: `width:${100 * share}%` })),
        make("span.al-value", {}, cut ? "cut" : percent(share)),
          make("span.al-tf-arrow", { "aria-hidden": "true" }, picked ? "◂" : "")));
    }));
    strip.hidden = !sampling;
    again.hidden = !sampling;
    if (sampling) {
      strip.replaceChildren(
        ...it.now.next.shares.filter((share) => share > 0.002).map((share, rank) => make("span",
          { style: `flex:${share} 0 0` }, share > 0.14
          ? shorten(label(it.transformer.target[it.now.next.order[rank]]), 10) : "")),
        make("i", { style: `left:${100 * it.now.u}%` }));
    }
    greedy.setAttribute("aria-pressed", String(!sampling));
    sample.setAttribute("aria-pressed", String(sampling));
    const kept = it.now.next.kept, total = it.transformer.target.length;
    summary.textContent = `${kept === total ? `all ${total}` : kept} ${kept === 1 ? "word" : "words"} may be said ` +
      `· ${nice(it.now.bits, 2)} bits${sampling ? ` · draw ${nice(it.now.u, 2)}` : ""}` +
      `${kept < total || model.get("temperature") !== 1 ? " · tick: τ = 1" : ""}`;
    heat.value = model.get("temperature");
    topK.value = model.get("top_k");
    topP.value = model.get("top_p");
  }
  const percent = (p) => (p >= 0.9995 ? "100 %" : p >= 0.1 ? `${(100 * p).toFixed(1)} %` : p >= 0.0005
    ? `${(100 * p).toFixed(2)} %` : p > 0 ? "≈ 0 %" : "0 %");
  Object.assign(it, { paintStack, paintHead, paintNext });
}

/** Pointer and keyboard. */
function hands(it) {
  const {
    model, figure, hero, stack, canvas, map, readout, set, chosenName, pause, knock, focusHead, mapNow,
    rowNow, paintWords, paintHead,
  } = it;
  const rowAt = (event) => {
    const box = canvas.getBoundingClientRect();
    const y = ((event.clientY - box.top) / box.height) * parseFloat(canvas.style.height);
    const row = Math.floor((y - it.place.top) / it.place.cell);
    return row >= 0 && row < it.place.rows ? row : null;
  };
  figure.listen(map, "pointermove", (event) => {
    const row = event.pointerType === "mouse" && it.place ? rowAt(event) : null;
    if (row === it.hovered) return;
    it.hovered = row;
    figure.schedule(hover);
  });
  figure.listen(map, "pointerleave", () => { if (it.hovered !== null) { it.hovered = null; figure.schedule(hover); } });
  figure.listen(map, "click", (event) => {
    const row = it.place && rowAt(event);
    if (row !== null) { pause(); figure.push("row", row); }
  });
  const hover = () => { paintWords(); paintHead(); };
  figure.listen(map, "keydown", (event) => {
    const { heads } = it.transformer.config;
    const vertical = { ArrowUp: -1, ArrowDown: 1 }[event.key], sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (vertical) set("row", Math.max(0, Math.min(mapNow().rows - 1, rowNow() + vertical)));
    else if (sideways) set("head", (model.get("head") + sideways + heads) % heads);
    else if (event.key === "x" || event.key === "X") knock([chosenName()], !model.get("off").includes(chosenName()));
    else return;
    event.preventDefault();
    figure.schedule(() => figure.say(readout.textContent));
  });
  figure.listen(hero, "keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key], line = event.target.parentNode;
    if (!move || !line.classList.contains("al-tf-words")) return;
    event.preventDefault();
    const next = line.children[[...line.children].indexOf(event.target) + move];
    next?.focus();
    next?.click();
  });
  figure.listen(stack, "keydown", (event) => {
    const at = it.thumbs.findIndex(({ node }) => node === event.target);
    if (at < 0) return;
    const { heads } = it.transformer.config;
    const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -heads, ArrowDown: heads }[event.key];
    if (event.key === "x" || event.key === "X") knock(
      [headName(it.thumbs[at].block, it.thumbs[at].layer, it.thumbs[at].head)],
      !it.thumbs[at].node.classList.contains("al-tf-silent"));
    else if (move) {
      const to = it.thumbs[(at + move + it.thumbs.length) % it.thumbs.length];
      focusHead(to.block, to.layer, to.head);
      to.node.focus();
    } else return;
    event.preventDefault();
  });
}

/** Numbers for tests and the curious, and what happens when something changes. */
function life(it) {
  const { model, KEYS, figure, box, walk, names, reload, update, mapNow, rowNow, paint } = it;
  function numbers() {
    return {
      words: it.now.words, said: names(it.now.said), finished: it.now.finished, playing: walk.playing(), row: rowNow(),
      typed: it.typed, unknown: it.unknown,
      maps: Object.fromEntries(Object.entries(it.now.maps).map(([block, layers]) => [block,
        layers.map((heads) => heads.map(({ data, rows, columns }) => nested(data, rows, columns)))])),
      stream: it.now.stream,
      strongest: strongestOf(mapNow(), rowNow()),
      next: {
        words: names(it.now.top), plain: it.now.top.map((word) => it.now.plain[word]),
          shares: it.now.top.map((_, rank) => it.now.next.shares[rank] ?? 0),
        kept: it.now.next.kept, bits: it.now.bits, draw: it.now.u, choice: it.transformer.target[it.now.choice],
      },
      answers: it.now.answers,
    };
  }

  reload();
  figure.on("model", () => figure.schedule(reload));
  figure.on("examples", () => figure.schedule(reload));
  figure.on("sentence", () => figure.schedule(() => {
    if (document.activeElement !== box) box.value = model.get("sentence");
  }));
  figure.on([...KEYS], () => figure.schedule(update));
  figure.on("view", () => figure.schedule(paint));
  figure.onTheme(() => figure.schedule(paint));
  figure.onResize((w) => { it.width = w; paint(); });
  Object.assign(it, { numbers });
}

function render(context) {
  const it = { context };
  for (const piece of [sentenceBox, panes, acting, building, paintingWords, paintingHeads, hands, life]) piece(it);
  const { figure } = it;
  return figure.dispose;
}

export default { render };
