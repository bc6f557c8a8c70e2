// How the whole Transformer is drawn: words with their links, all heads, one head, and the next word.
import { lecture, make, nice, shorten, svg } from "./kit.js";
import { BLOCKS, MARKS, label, look } from "./transformer_look.js";
import { headName } from "./transformer_model.js";
import { paintMap, paintThumb, ribbons, strongestOf } from "./transformer_view.js";

/** What is shown now, and the words with their links. */
export function paintingWords(it) {
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
    for (const line of [english, french]) { // one stop for the Tab key in each line; arrow keys from there
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
    const colour = `var(--al-${block})`;
    if (block === "encoder") {
      links.replaceChildren(...ribbons([middle(en[row]), under], en.map((node, j) => [middle(node), under, weight(j)]),
        colour, { arc: 1 }));
    } else if (block === "cross") {
      // the strongest link of each other word, pale
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
export function paintingHeads(it) {
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
        svg("path", { d: `M${memory.right} ${y0}H${x}V${y}H${to.left - 5}`, fill: "none", stroke: "var(--al-cross)",
          "stroke-width": 1.6 }),
        svg("path", { d: `M${to.left - 1} ${y}l-7 -4v8z`, fill: "var(--al-cross)" }),
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
