// All heads at once: w = softmax(scores / T) for each head, thumbnails, one enlarged, and what the layer sees.
import {
  array, button, choice, context2d, frame, lecture, legible, make, nice, pack, shorten, slider, toggle, visible,
} from "./kit.js";
import { attend, nested } from "./math.js";
import { paintWeights } from "./map.js";

const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

/** The weights of one head, and its mean entropy in bits. */
export function oneHead(scores, temperature, layer, head) {
  const [, H, L] = scores.shape;
  const start = (layer * H + head) * L * L;
  const { weights, bits } = attend(scores.data.subarray(start, start + L * L), L, L, { temperature });
  return { weights, bits: mean([...bits]) };
}

/** The mean map of the heads of a layer that are alive; zeros when none is. */
export function layerMean(maps, alive, L) {
  const out = new Float64Array(L * L);
  const living = maps.filter((_, h) => alive[h]);
  for (const map of living) for (let c = 0; c < out.length; c++) out[c] += map.weights[c] / living.length;
  return out;
}

function strongest(weights, row, L) {
  let best = 0;
  for (let j = 1; j < L; j++) if (weights[row * L + j] > weights[row * L + best]) best = j;
  return best;
}

/** From the traits to weights. */
function dataOf(it) {
  const { context } = it;
  const { model } = context;
  Object.assign(it, { narrow: false, scores: null, N: null, H: null, L: null, maps: null });
  const at = (layer, head) => layer * it.H + head;
  const temperatures = () => array(model.get("temperatures"))?.data ?? new Float32Array(it.N * it.H).fill(1);
  const knocked = () => array(model.get("knocked"))?.data ?? new Uint8Array(it.N * it.H);
  const word = (i) => visible(model.get("tokens")[i] ?? `token ${i + 1}`);

  /** Only the heads whose temperature changed are computed again. */
  function refresh() {
    const now = temperatures();
    it.maps ??= Array(it.N * it.H).fill(null);
    for (let i = 0; i < it.N * it.H; i++)
      if (!it.maps[i] || it.maps[i].temperature !== now[i])
        it.maps[i] = { ...oneHead(it.scores, now[i], Math.floor(i / it.H), i % it.H), temperature: now[i],
          stale: true };
  }
  function state() {
    refresh();
    const layer = model.get("layer"), head = model.get("head"), query = model.get("query");
    const alive = Array.from(knocked(), (k) => !k);
    const chosen = it.maps[at(layer, head)];
    const together = layerMean(it.maps.slice(layer * it.H, (layer + 1) * it.H),
      alive.slice(layer * it.H, (layer + 1) * it.H), it.L);
    return {
      layer, head, query,
      temperature: chosen.temperature,
      alive: nested(Float64Array.from(alive, Number), it.N, it.H),
      weights: nested(chosen.weights, it.L, it.L),
      together: nested(together, it.L, it.L),
      entropies: nested(Float64Array.from(it.maps, (m) => m.bits), it.N, it.H),
      top: strongest(chosen.weights, query, it.L),
    };
  }
  Object.assign(it, { model, at, temperatures, knocked, word, state });
}

/** What the reader can turn and switch. */
function controls(it) {
  const { context, model, at, temperatures, knocked, state } = it;
  const figure = frame(context, { name: "head-grid", law: true, numbers: state });

  const heat = slider({
    label: "Temperature", min: 0.1, max: 10, log: true, detents: [1], value: 1,
    format: (t) => t.toFixed(2),
    input: (t) => {
      const next = Float32Array.from(temperatures());
      next[at(model.get("layer"), model.get("head"))] = t;
      figure.push("temperatures", pack([it.N, it.H], next));
    },
  });
  const setKnocked = (change) => {
    const next = Uint8Array.from(knocked());
    change(next);
    figure.push("knocked", pack([it.N, it.H], next));
  };
  const out = toggle({
    label: "knock this head out", value: false,
    input: (on) => setKnocked((next) => { next[at(model.get("layer"), model.get("head"))] = on ? 1 : 0; }),
  });
  const asking = choice({ label: "Row of", options: [], value: 0, input: (i) => figure.push("query", Number(i)) });
  const rest = button("Knock out the rest of its layer", () => setKnocked((next) => {
    for (let h = 0; h < it.H; h++) next[at(model.get("layer"), h)] = h === model.get("head") ? 0 : 1;
  }));
  const reset = button("Reset", () => {
    figure.push("temperatures", pack([it.N, it.H], new Float32Array(it.N * it.H).fill(1)));
    figure.push("knocked", pack([it.N, it.H], new Uint8Array(it.N * it.H)));
  });
  for (const desk of [rest, reset]) desk.classList.add("al-desk");
  figure.controls.append(heat, out, asking, rest, reset);
  Object.assign(it, { figure, heat, out, asking });
}

/** The thumbnails. */
function gridOf(it) {
  const { model, at, word, figure, asking } = it;
  const grid = make("div.al-g-grid", { role: "group", "aria-label": "Heads: arrow keys move, one row per layer" });
  const scroll = make("div.al-g-scroll", {}, grid);
  const panes = ["head", "layer"].map((kind) => {
    const title = make("div.al-g-title"), canvas = make("canvas", { role: "img" });
    return { kind, title, canvas, node: make("div.al-g-pane", {}, title, make("div.al-g-scroll", {}, canvas)) };
  });
  const readout = make("div.al-readout");
  figure.body.append(make("div.al-g-both", {}, scroll, make("div.al-g-panes", {}, ...panes.map((p) => p.node))),
    readout);

  Object.assign(it, { thumbs: [] });
  function choose(layer, head, focus = false) {
    figure.push("layer", layer);
    figure.push("head", head);
    if (focus) it.thumbs[at(layer, head)].node.focus();
  }
  function build() {
    it.scores = array(model.get("scores"));
    [it.N, it.H, it.L] = it.scores.shape;
    it.maps = null;
    asking.fill(Array.from({ length: it.L }, (_, i) => [i, `${i + 1} ${shorten(word(i))}`]));
    grid.style.gridTemplateColumns = `auto repeat(${it.H}, minmax(var(--al-g-thumb, 2.3em), 1fr))`;
    const heads = [make("span")], notes = model.get("notes") ?? {};
    for (let h = 0; h < it.H; h++) heads.push(make("span.al-g-axis", { "aria-hidden": "true" }, String(h)));
    it.thumbs = [];
    const rows = [];
    for (let n = 0; n < it.N; n++) {
      rows.push(make("span.al-g-axis", { "aria-hidden": "true" }, n === 0 ? `layer ${n}` : String(n)));
      for (let h = 0; h < it.H; h++) {
        const canvas = make("canvas", { width: it.L, height: it.L, "aria-hidden": "true" });
        const note = notes[`${n}.${h}`];
        const name = `Layer ${n}, head ${h}${note ? `: ${shorten(note, 60)}` : ""}`;
        const node = make("button.al-g-thumb", { type: "button", title: name, "aria-label": name,
          onclick: () => choose(n, h) }, canvas);
        if (note) node.append(make("span.al-g-mark", { "aria-hidden": "true" }, "●"));
        it.thumbs.push({ node, canvas, n, h });
        rows.push(node);
      }
    }
    grid.replaceChildren(...heads, ...rows);
  }
  figure.listen(grid, "keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(it.N - 1, model.get("layer") + step[0])),
      Math.max(0, Math.min(it.H - 1, model.get("head") + step[1])), true);
  });
  Object.assign(it, { scroll, panes, readout, build });
}

/** Thumbnails, maps, words. */
function painting(it) {
  const { model, at, word, state, figure, heat, out, asking, scroll, panes, readout } = it;
  let centred = null;
  function paintThumb({ canvas }, weights) {
    const pen = canvas.getContext("2d"), image = pen.createImageData(it.L, it.L);
    paintWeights(image, weights, figure.theme);
    pen.putImageData(image, 0, 0);
  }
  function paintMap({ canvas }, rows, query, dead) {
    const size = legible(12), hall = size > 12, { theme } = figure;
    const ruler = canvas.getContext("2d");
    ruler.font = `bold ${size}px sans-serif`;
    const longest = Math.max(...Array.from({ length: it.L }, (_, i) => ruler.measureText(shorten(word(i), 9)).width));
    const label = longest + 8, top = (hall ? 1 : 0.9) * longest + 12, beside = hall ? 2 : 0.6 * longest;
    const cell = Math.max(hall ? size + 1 : 11, Math.min(it.narrow ? 14 : 26, Math.floor(272 / it.L)));
    const pen = context2d(canvas, label + cell * it.L + beside, top + cell * it.L + 2);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.font = `${size}px sans-serif`;
    pen.textBaseline = "middle";
    for (let i = 0; i < it.L; i++) {
      pen.fillStyle = theme.text;
      pen.textAlign = "right";
      pen.font = i === query ? `bold ${size}px sans-serif` : `${size}px sans-serif`;
      pen.fillText(shorten(word(i), 9), label - 6, top + (i + 0.5) * cell);
      pen.font = `${size}px sans-serif`;
      pen.save();
      pen.translate(label + (i + 0.5) * cell, top - 4);
      pen.rotate(hall ? -Math.PI / 2 : -Math.PI / 3); // in a hall letters are as large as cells
      pen.textAlign = "left";
      pen.fillText(shorten(word(i), 9), 0, 0);
      pen.restore();
      for (let j = 0; j < it.L; j++) {
        pen.fillStyle = theme.weight(rows[i][j]);
        pen.fillRect(label + j * cell, top + i * cell, cell - 1, cell - 1);
      }
    }
    pen.strokeStyle = theme.text;
    pen.lineWidth = 1.5;
    pen.strokeRect(label - 1, top + query * cell - 1, cell * it.L + 1, cell + 1);
    if (dead) { // out: a cross over the map, not colour alone
      pen.lineWidth = 3;
      pen.beginPath();
      pen.moveTo(label, top);
      pen.lineTo(label + cell * it.L, top + cell * it.L);
      pen.moveTo(label + cell * it.L, top);
      pen.lineTo(label, top + cell * it.L);
      pen.stroke();
    }
  }
  /** Scroll to the chosen head, where the grid is wider than the screen. */
  function centre() {
    const { node } = it.thumbs[at(model.get("layer"), model.get("head"))];
    scroll.scrollLeft = node.offsetLeft - scroll.clientWidth / 2 + node.offsetWidth / 2;
  }
  function paint(all = false) {
    const now = state(), here = at(now.layer, now.head);
    for (const [i, thumb] of it.thumbs.entries()) {
      if (all || it.maps[i].stale) paintThumb(thumb, it.maps[i].weights);
      it.maps[i].stale = false;
      thumb.node.tabIndex = i === here ? 0 : -1;
      thumb.node.setAttribute("aria-pressed", String(i === here));
      thumb.node.classList.toggle("al-g-out", !now.alive[thumb.n][thumb.h]);
    }
    if (centred !== here) centre();
    centred = here;
    const alive = now.alive[now.layer].reduce((a, b) => a + b, 0), dead = !now.alive[now.layer][now.head];
    if (heat.value !== now.temperature) heat.value = now.temperature;
    out.value = dead;
    asking.value = now.query;
    const note = (model.get("notes") ?? {})[`${now.layer}.${now.head}`];
    panes[0].title.textContent =
      `Head ${now.layer}.${now.head}${note ? ` · ${shorten(note, 40)}` : ""}${dead ? " · out" : ""}`;
    panes[1].title.textContent = `Layer ${now.layer}: mean of its ${alive} living ${alive === 1 ? "head" : "heads"}`;
    paintMap(panes[0], now.weights, now.query, dead);
    paintMap(panes[1], now.together, now.query, alive === 0);
    const asks = shorten(word(now.query), 30), looks = shorten(word(now.top), 30);
    const text = `In head ${now.layer}.${now.head} “${asks}” attends most to “${looks}” ` +
      `(${nice(now.weights[now.query][now.top], 2)}). ` +
      `The head spreads its attention over ${nice(now.entropies[now.layer][now.head], 2)} bits ` +
        `(even: ${nice(Math.log2(it.L), 2)}).`;
    readout.textContent = text;
    panes[0].canvas.setAttribute("aria-label", `Attention map of head ${now.layer}.${now.head}. ${text}`);
    panes[1].canvas.setAttribute("aria-label", `Mean attention map of layer ${now.layer}, ${alive} heads alive.`);
  }
  Object.assign(it, { centre, paint });
}

/** What happens when something changes. */
function life(it) {
  const { figure, build, centre, paint } = it;
  build();
  paint(true);
  figure.on(["temperatures", "knocked", "layer", "head", "query"], () => figure.schedule(paintNow));
  figure.on(["scores", "tokens", "notes"], () => figure.schedule(rebuild));
  figure.onTheme(() => paint(true));
  figure.onResize((width) => {
    // On a phone the controls are between the heads and the maps, in one view with both.
    const narrow = width < 520 && !lecture();
    if (narrow !== it.narrow) {
      it.narrow = narrow;
      if (narrow) it.scroll.after(figure.controls);
      else figure.body.before(figure.controls);
      paint(true);
    }
    centre();
  });
  function paintNow() { paint(); }
  function rebuild() {
    build();
    paint(true);
  }
}

function render(context) {
  const it = { context };
  for (const piece of [dataOf, controls, gridOf, painting, life]) piece(it);
  const { figure } = it;
  return figure.dispose;
}

export default { render };
