// The whole Transformer at work: type a sentence, and watch it translated word by word. Every head of every layer is
// computed here, from the weights of a trained model; heads can be knocked out, words can be chosen by hand.
import { button, choice, frame, make, shorten, slider, svg, toggle, visible } from "./kit.js";
import { nested } from "./math.js";
import { player, still } from "./player.js";
import { readEnglish, suggestions } from "./sentence.js";
import { BLOCKS, readSentence } from "./transformer_look.js";
import { finish, headName, openTransformer, readSource } from "./transformer_model.js";
import { paintingHeads, paintingWords } from "./transformer_painting.js";
import { strongestOf } from "./transformer_view.js";

const PACE = 750; // milliseconds per word

/** The sentence, and moving through time. */
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

  /** Say these words instead; the newest is in focus. */
  function say(words, { keep = false } = {}) {
    if (!keep) pause();
    figure.push("row", -1);
    figure.push("said", words);
  }
  function advance(options) {
    if (!it.now.finished) say([...model.get("said"), it.transformer.target[it.now.choice]], options);
  }
  const pause = () => walk.stop();
  /** Heads off or on again. What was said is said afresh, as far as it had come. */
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
