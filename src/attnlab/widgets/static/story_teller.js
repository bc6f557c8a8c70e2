// A small Llama tells a story, token by token: each token's weights in every layer and head, what may come next, how
// the cache of keys and values fills. On request the model itself runs in a worker, on the reader's own opening.
import { array, button, frame, make, nice, shorten, slider, visible } from "./kit.js";
import { drawRank } from "./layers.js";
import { paintWeights } from "./map.js";
import { random, softmax } from "./math.js";
import { BOS, EOS, readPieces } from "./pieces.js";
import { player } from "./player.js";
import { open, reset, step } from "./story_job.js";
import { weightsPanel } from "./weights.js";
import { openWorker } from "./worker.js";

const LONGEST = 256, MOST = 1000, SHOWN = 10; // tokens it was trained on; characters of an opening; bars
const RARE = 1e-7; // tokens less likely are left out where there are thousands
const KEYS = ["layer", "head", "position", "temperature", "top_p"];

/** The story that came with the page: { length, opened, text(t), row(layer, head, t), next(t) }. */
export function shippedTale({ roots, tokens, logits, nexts, opened }) {
  const [, heads, length] = roots.shape, many = logits.shape[1];
  return {
    length, opened, whole: false, text: (t) => tokens[t],
    row(layer, head, t) {
      const start = ((layer * heads + head) * length + t) * length;
      return Float64Array.from(roots.data.subarray(start, start + t + 1), (root) => (root / 255) ** 2);
    },
    next: (t) => ({ values: logits.data.subarray(t * many, (t + 1) * many), name: (i) => nexts[t][i] }),
  };
}

/** A story that the model tells here: `add(token, { logits, row })` after each step. */
export function liveTale(pieces, heads) {
  const tokens = [], steps = [];
  return {
    opened: 0, whole: true, ended: false,
    get length() { return tokens.length; },
    text: (t) => pieces.name(tokens[t]),
    row(layer, head, t) {
      const start = (layer * heads + head) * (t + 1);
      return steps[t].row.subarray(start, start + t + 1);
    },
    next: (t) => ({ values: steps[t].logits, name: (i) => pieces.name(i) }),
    add(token, found) {
      tokens.push(token);
      steps.push(found);
    },
  };
}

/**
 * What may come next: `order` from the likeliest on, `plain` their probabilities at this temperature, the first `kept`
 * of which hold top-p, with `shares` that sum to 1. Temperature 0 keeps one; `plain` is then that of temperature 1.
 */
export function nextPieces(values, temperature, topP) {
  const p = softmax(values, { temperature: temperature || 1 }), enough = temperature ? topP : 0;
  const least = values.length > 1000 ? RARE : 0, order = [];
  p.forEach((one, i) => { if (one > least) order.push(i); });
  order.sort((a, b) => p[b] - p[a] || a - b);
  const plain = order.map((i) => p[i]);
  let kept = 0, mass = 0;
  while (kept < plain.length && (kept === 0 || enough >= 1 || mass < enough)) mass += plain[kept++];
  return { order, plain, kept, shares: plain.slice(0, kept).map((p) => p / mass) };
}

/** What is drawn: the chosen token's weights, what may follow it, what the first token gets on average. */
export function compute(tale, { layer, head, position, temperature, top_p: topP }, { layers, width }) {
  const last = tale.length - 1, at = position < 0 ? last : Math.min(position, last);
  const { values, name } = tale.next(at), { order, plain, kept, shares } = nextPieces(values, temperature, topP);
  const few = order.slice(0, SHOWN);
  let sink = 0;
  for (let t = 1; t <= last; t++) sink += tale.row(layer, head, t)[0] / last;
  return {
    length: tale.length, at, weights: tale.row(layer, head, at), names: few.map(name), plain: plain.slice(0, SHOWN),
    shares: few.map((_, rank) => shares[rank] ?? 0), kept, sink, cache: 2 * layers * width * 4 * tale.length,
  };
}

/** All layers and heads as small maps that are buttons; each row of a map is painted once. */
function headWall(figure, layers, heads, chosen) {
  const thumbs = [], grid = make("div.al-st-wall", {
    role: "group", "aria-label": "Layers from top to bottom, heads from left to right", style: `--heads: ${heads}`,
  });
  for (let n = 0; n < layers; n++)
    for (let h = 0; h < heads; h++) {
      const canvas = make("canvas", { width: 56, height: 56 });
      const hidden = make("canvas", { width: LONGEST, height: LONGEST });
      const node = make("button.al-st-thumb", {
        type: "button", "aria-label": `Layer ${n + 1}, head ${h + 1}`, onclick: () => chosen(n, h),
      }, canvas, make("div.al-st-sink", { "aria-hidden": "true" }, make("div")));
      grid.append(node);
      const [pen, ink] = [canvas, hidden].map((one) => one.getContext("2d"));
      thumbs.push({ n, h, node, pen, hidden, ink, first: 0, sink: 0 });
    }
  let done = 0, drawn = null;
  const clear = () => { done = 0; };
  function rowOf(thumb, tale, t) {
    const { n, h, ink } = thumb, weights = tale.row(n, h, t);
    const line = ink.createImageData(t + 1, 1);
    thumb.first = t ? thumb.first + weights[0] : 0; // the first token has nothing else to attend to
    thumb.sink = t ? thumb.first / t : 0;
    paintWeights(line, weights, figure.theme);
    ink.putImageData(line, 0, t);
  }
  function paint(tale, now) {
    if (tale !== drawn) [drawn, done] = [tale, 0];
    const { length } = tale;
    for (const thumb of thumbs) {
      if (!done) thumb.ink.clearRect(0, 0, LONGEST, LONGEST);
      for (let t = done; t < length; t++) rowOf(thumb, tale, t);
      if (done < length) {
        thumb.pen.clearRect(0, 0, 56, 56);
        thumb.pen.imageSmoothingEnabled = length > 56;
        thumb.pen.drawImage(thumb.hidden, 0, 0, length, length, 0, 0, 56, 56);
        thumb.node.lastChild.firstChild.style.transform = `scaleX(${thumb.sink})`;
        thumb.node.title = `${nice(100 * thumb.sink, 0)} % goes to the first token`;
      }
      const on = thumb.n === now.layer && thumb.h === now.head;
      thumb.node.setAttribute("aria-pressed", String(on));
      thumb.node.tabIndex = on ? 0 : -1;
    }
    done = length;
  }
  figure.listen(grid, "keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -heads, ArrowDown: heads }[event.key];
    const from = thumbs.findIndex(({ node }) => node === event.target), to = thumbs[from + move];
    if (!move || from < 0) return;
    event.preventDefault();
    if (to) { chosen(to.n, to.h); to.node.focus(); }
  });
  return { grid, paint, clear, sinks: () => thumbs.map(({ sink }) => sink) };
}

/** The story as pieces, coloured by the chosen one's weights; pressing a piece chooses it. */
function storyText(figure, chosen) {
  const node = make("div.al-st-story", { role: "region", "aria-label": "The story", tabindex: "0" }), spans = [];
  figure.listen(node, "click", (event) => {
    const at = spans.indexOf(event.target);
    if (at >= 0) chosen(at);
  });
  let drawn = null;
  function paint(tale, { at, weights, length }) {
    if (tale !== drawn || length < spans.length) { spans.length = 0; node.replaceChildren(); drawn = tale; }
    while (spans.length < length) {
      const t = spans.length, text = tale.text(t), span = make("span", {}, text === "\n" ? "⏎\n" : text);
      spans.push(span);
      node.append(span);
    }
    const top = weights.reduce((a, b) => Math.max(a, b), 1e-9), { theme } = figure;
    spans.forEach((span, t) => {
      const seen = t < weights.length;
      span.className = `${t < tale.opened ? "al-st-opening" : ""} ${t === at ? "al-st-at" : ""}`;
      span.style.background = seen ? theme.weight(weights[t], top) : "";
      span.style.color = seen ? theme.inkOnWeight(weights[t], top) : "";
      span.title = seen ? `weight ${nice(weights[t], 3)}` : "";
    });
    if (at === length - 1) node.scrollTop = node.scrollHeight;
  }
  return { node, paint };
}

/** Bars of what may come next; what is cut is struck out, and hatched as likely as it was. */
function nextBars() {
  const title = make("div.al-st-title"), list = make("div", { role: "list" });
  const rows = Array.from({ length: SHOWN }, () => {
    const name = make("span.al-st-name"), bar = make("div.al-st-bar"), value = make("span.al-value");
    const ghost = make("div.al-st-ghost"), track = make("div.al-st-track", { "aria-hidden": "true" }, ghost, bar);
    const row = make("div.al-st-row", { role: "listitem" }, name, track, value);
    list.append(row);
    return { row, name, ghost, bar, value };
  });
  function paint(now, text) {
    title.textContent = `What may follow “${shorten(visible(text), 16)}”`;
    rows.forEach(({ row, name, ghost, bar, value }, rank) => {
      row.style.visibility = rank < now.names.length ? "" : "hidden";
      if (rank >= now.names.length) return;
      const cut = rank >= now.kept;
      name.textContent = shorten(visible(now.names[rank]), 14);
      ghost.style.transform = `scaleX(${now.plain[rank]})`;
      bar.style.transform = `scaleX(${cut ? 0 : now.shares[rank]})`;
      value.textContent = cut ? "cut" : nice(now.shares[rank], 3);
      row.classList.toggle("al-st-cut", cut);
    });
  }
  return { nodes: [title, list], paint };
}

/** The model's part: loaded on request, then it reads an opening and continues, one token at a time. */
function teller(figure, model, { heads, show, words, buttons }) {
  let worker = null, pieces = null, tale = null, dice = null, seed = 0, running = false, busy = false;
  const panel = weightsPanel(figure, model, {
    what: "the storyteller",
    ready: async (bytes) => {
      worker ??= openWorker("story_job", { fallback: { open, reset, step } });
      pieces ??= readPieces(array(model.get("vocabulary")).data);
      await worker.call("open", { bytes, longest: LONGEST });
      buttons(true, false);
      words("Ready. Write an opening, and let it tell.");
    },
  });
  const read = async (token) => {
    tale.add(token, await worker.call("step", { token }));
    show(tale);
  };
  /** Read the opening. false, with a sentence, where that is not possible. */
  async function begin(opening) {
    if (opening.length > MOST) {
      const [has, most] = [opening.length, MOST].map((count) => count.toLocaleString("en"));
      words(`This opening has ${has} characters, more than ${most}: shorten it. Your text is still in the box.`, true);
      return false;
    }
    const tokens = [BOS, ...pieces.encode(opening)];
    if (tokens.length >= LONGEST) {
      words(`This opening has ${tokens.length} pieces, but the model was trained on ${LONGEST}: shorten it.`, true);
      return false;
    }
    await worker.call("reset");
    tale = Object.assign(liveTale(pieces, heads), { opening });
    tale.opened = tokens.length;
    dice = random(++seed);
    for (const token of tokens) await read(token);
    words(opening ? "" : "No opening: the model begins by itself.");
    return true;
  }
  async function next() {
    const { values } = tale.next(tale.length - 1);
    const { order, shares } = nextPieces(values, model.get("temperature"), model.get("top_p"));
    const token = order[drawRank(shares, dice())];
    tale.ended = token === EOS || token === BOS || tale.length >= LONGEST;
    if (tale.length >= LONGEST) words(`The cache is full: the model was trained on ${LONGEST} tokens.`);
    else if (tale.ended) words("The end: the model has drawn its end mark.");
    else await read(token);
  }
  /** One thing at a time: what the buttons ask for while the model works only stops it. */
  const alone = (work) => async (opening) => {
    running = false;
    if (busy || !worker) return;
    busy = true;
    try {
      await work(opening);
    } catch (error) {
      if (error.name !== "Cancelled") words(error.message, true); // the figure has gone away
    } finally {
      busy = running = false;
      buttons(true, false);
    }
  };
  const fresh = (opening) => !tale || tale.ended || tale.opening !== opening;
  const tell = alone(async (opening) => {
    running = true;
    buttons(true, true);
    if (fresh(opening) && !(await begin(opening))) return;
    const start = performance.now(), from = tale.length;
    while (running && !tale.ended) await next();
    const rate = (tale.length - from) / ((performance.now() - start) / 1000);
    if (tale.length > from) show(tale, rate);
    figure.say(`${tale.length - from} more tokens are told, ${tale.length} in all.`);
  });
  figure.cleanup(() => worker?.close());
  return {
    panel, tell,
    step: alone(async (opening) => { if (fresh(opening)) await begin(opening); else await next(); }),
    again: alone((opening) => begin(opening)),
    stop: () => { running = false; },
  };
}

/** The form: opening, Tell or Stop, Step, Reset. `act.tell(opening)` and so on; disabled until the model is there. */
function openingForm(opening, act) {
  const input = make("input", { type: "text", "aria-label": "Opening of the story", autocomplete: "off" });
  input.value = opening;
  const tell = make("button.al-button", { type: "submit" }, "Tell");
  const one = button("Step", () => act.step(input.value)), anew = button("Reset", () => act.again(input.value));
  let telling = false;
  const form = make("form.al-st-form", {
    onsubmit: (event) => { event.preventDefault(); if (telling) act.stop(); else act.tell(input.value); },
  }, input, tell, one, anew);
  const buttons = (ready, now) => {
    telling = now;
    tell.textContent = now ? "Stop" : "Tell";
    tell.disabled = !ready;
    one.disabled = anew.disabled = !ready || now;
  };
  buttons(false, false);
  return { form, buttons };
}

function render(context) {
  const { model } = context, roots = array(model.get("roots")), [layers, heads] = roots.shape;
  const sizes = { layers, get width() { return model.get("width"); } }, heavy = Boolean(model.get("weights"));
  const shipped = () => shippedTale({
    roots: array(model.get("roots")), logits: array(model.get("logits")),
    ...Object.fromEntries(["tokens", "nexts", "opened"].map((key) => [key, model.get(key)])),
  });
  let rate = 0, tale = shipped();
  const chosen = () => Object.fromEntries(KEYS.map((key) => [key, model.get(key)]));
  const numbers = () => ({ ...compute(tale, chosen(), sizes), sinks: wall.sinks() });
  const figure = frame(context, { name: "story-teller", numbers, law: true });
  const where = slider({
    label: "Token", min: 0, max: tale.length - 1, step: 1, value: 0,
    format: (t) => `${t + 1} of ${tale.length}`, input: (t) => { walk.stop(); stand(t); },
  });
  const stand = (t) => figure.push("position", t >= tale.length - 1 ? -1 : t);
  const walk = player(figure, {
    at: () => (model.get("position") < 0 ? tale.length - 1 : Math.min(model.get("position"), tale.length - 1)),
    last: () => tale.length - 1, go: stand, pace: 500, names: { label: "Token by token" },
  });
  const heat = slider({
    label: "Temperature", min: 0, max: 2, step: 0.05, value: 0,
    format: (t) => (t ? nice(t, 2) : "0, the likeliest"), input: (t) => figure.push("temperature", t),
  });
  const mass = slider({
    label: "top-p", min: 0.05, max: 1, step: 0.05, value: 1,
    format: (p) => (p >= 1 ? "off" : nice(p, 2)), input: (p) => figure.push("top_p", Math.min(1, p)),
  });
  figure.controls.append(where, walk.node, heat, mass);

  const status = make("p.al-st-status", { role: "status" });
  const words = (text, bad = false) => { status.textContent = text; status.dataset.bad = bad; status.hidden = !text; };
  const story = storyText(figure, (t) => { walk.stop(); stand(t); });
  const wall = headWall(figure, layers, heads, (n, h) => { figure.push("layer", n); figure.push("head", h); });
  const bars = nextBars(), cache = make("progress", { max: 1, value: 0, "aria-label": "KV cache" }), held = make("div");
  const wallTitle = make("div.al-st-title"), readout = make("div.al-readout");
  if (heavy) {
    const act = {}, { form, buttons } = openingForm(model.get("opening"), act);
    const run = teller(figure, model, { heads, words, buttons, show: (next, speed = 0) => {
      [tale, rate] = [next, speed];
      if (model.get("position") !== -1) figure.push("position", -1);
      figure.schedule(paint);
    } });
    Object.assign(act, run);
    figure.body.append(make("div.al-st-own", {}, run.panel, form, status));
  }
  words("");
  const axes = make("div.al-st-axes", {}, "One row per layer, one column per head; " +
    "the bar below a map is the share that goes to the first token.");
  const filling = make("div.al-st-cache", {}, make("div.al-st-title", {}, "KV cache"), cache, held);
  figure.body.append(story.node, make("div.al-st-grid", {},
    make("div", {}, wallTitle, wall.grid, axes), make("div", {}, ...bars.nodes, filling)), readout);

  function paint() {
    const choice = chosen(), now = compute(tale, choice, sizes), range = where.querySelector("input");
    range.max = String(now.length - 1);
    walk.paint();
    [where.value, heat.value, mass.value] = [now.at, choice.temperature, choice.top_p];
    story.paint(tale, now);
    wall.paint(tale, choice);
    bars.paint(now, tale.text(now.at));
    cache.value = now.length / LONGEST;
    held.textContent = `${now.length} of ${LONGEST} tokens, ${nice(now.cache / 1e6, 2)} MB of keys and values`;
    wallTitle.textContent = `Layer ${choice.layer + 1}, head ${choice.head + 1}`;
    const speed = rate ? ` Told here at ${nice(rate, 0)} tokens per second.` : "";
    const pool = tale.whole ? "" : ` (of its ${tale.next(0).values.length} likeliest)`;
    const who = `“${shorten(visible(tale.text(now.at)), 20)}” in ${wallTitle.textContent.toLowerCase()}`;
    readout.textContent = `${who} gives ${nice(100 * now.weights[0], 0)} % of its weight to the first token, ` +
      `${shorten(visible(tale.text(0)), 20)}; on average over the story, tokens give it ` +
      `${nice(100 * now.sink, 0)} %. ${now.kept} may follow${pool}.${speed}`;
  }
  paint();
  figure.on(["roots", "logits", "tokens", "nexts", "opened", "width"], () => {
    tale = shipped();
    figure.schedule(paint);
  });
  figure.on(KEYS, () => figure.schedule(paint));
  figure.onTheme(() => { wall.clear(); figure.schedule(paint); });
  return figure.dispose;
}

export default { render };
