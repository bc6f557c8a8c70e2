// Next-word probabilities, reshaped by temperature and cut by top-k and top-p, and draws from what is left.
import { array, button, choice, frame, make, nice, shorten, slider, visible } from "./kit.js";
import { drawRank, nextToken } from "./layers.js";
import { entropy, random, softmax } from "./math.js";

const SHOWN = 12;
const MOST = 500;

/**
 * As `attnlab.decoding.next_word_probabilities`: softmax(z / T) over the words that pass both cuts.
 * `order` lists words from the likeliest on; `plain` are their probabilities before the cuts, `kept` after.
 */
export function sampling(logits, temperature, topK, topP) {
  const { p, order, kept: allowed, shares } = nextToken(logits, { temperature, topK, topP });
  const kept = order.map((_, rank) => shares[rank] ?? 0);
  // How unlikely the model itself, at temperature 1, finds what will be drawn: the mean of −log₂ p.
  const own = softmax(order.map((i) => logits[i]));
  const surprise = kept.reduce((sum, p, i) => (p > 0 ? sum - p * Math.log2(Math.max(own[i], 1e-300)) : sum), 0);
  return { order, plain: order.map((i) => p[i]), kept, allowed, entropy: entropy(kept), surprise };
}

/** Ranks drawn from the first `allowed` of `kept`, one uniform number each. */
export function draw({ kept, allowed }, count, seed) {
  const dice = random(seed), shares = kept.slice(0, allowed);
  return Array.from({ length: count }, () => drawRank(shares, dice()));
}

function render(context) {
  const { model } = context;
  function state() {
    const { shape, data } = array(model.get("logits")), at = model.get("context");
    const row = data.slice(at * shape[1], (at + 1) * shape[1]);
    const now = sampling(row, model.get("temperature"), model.get("top_k"), model.get("top_p"));
    const drawn = draw(now, model.get("draws"), model.get("seed"));
    const counts = new Array(now.kept.length).fill(0);
    for (const rank of drawn) counts[rank]++;
    return { ...now, counts, last: drawn.length ? drawn[drawn.length - 1] : -1 };
  }
  const figure = frame(context, { name: "token-sampler", numbers: state });
  const labels = () => model.get("contexts").map((text, i) => [i, shorten(visible(text), 48)]);
  const where = choice({
    label: "After", options: labels(), value: model.get("context"),
    input: (v) => { figure.push("draws", 0); figure.push("context", Number(v)); },
  });
  const heat = slider({
    label: "Temperature", min: 0.1, max: 5, log: true, detents: [1], value: model.get("temperature"),
    format: (t) => nice(t, 2), input: (t) => figure.push("temperature", t),
  });
  const words = () => model.get("tokens").length;
  const few = slider({
    label: "top-k", min: 0, max: Math.min(40, words()), step: 1, value: model.get("top_k"),
    format: (k) => (k ? String(k) : "off"), input: (k) => figure.push("top_k", Math.round(k)),
  });
  const mass = slider({
    label: "top-p", min: 0.05, max: 1, step: 0.01, value: model.get("top_p"),
    format: (p) => (p >= 1 ? "off" : nice(p, 2)), input: (p) => figure.push("top_p", Math.min(1, p)),
  });
  const again = (more) => figure.push("draws", Math.min(MOST, model.get("draws") + more));
  figure.controls.append(
    where, heat, few, mass,
    button("Draw one", () => again(1)), button("Draw 50", () => again(50)), button("Start over", () => {
      figure.push("draws", 0);
      figure.push("seed", model.get("seed") + 1);
    }),
  );
  const list = make("div.al-s-rows", { role: "list" });
  const readout = make("div.al-readout");
  figure.body.append(list, readout);

  const rows = Array.from({ length: SHOWN }, () => {
    const name = make("span.al-s-name"), bar = make("div.al-s-bar"), ghost = make("div.al-s-ghost");
    const value = make("span.al-value"), count = make("span.al-s-count");
    const row = make("div.al-s-row", { role: "listitem" }, name,
      make("div.al-s-track", { "aria-hidden": "true" }, ghost, bar), value, count);
    return { row, name, bar, ghost, value, count };
  });

  function paint() {
    const now = state(), tokens = model.get("tokens");
    where.value = model.get("context");
    if (heat.value !== model.get("temperature")) heat.value = model.get("temperature");
    if (few.value !== model.get("top_k")) few.value = model.get("top_k");
    if (mass.value !== model.get("top_p")) mass.value = model.get("top_p");
    const shown = Math.min(SHOWN, tokens.length);
    list.replaceChildren(...rows.slice(0, shown).map((line, rank) => {
      const cut = rank >= now.allowed;
      const token = visible(tokens[now.order[rank]]);
      line.name.textContent = shorten(token, 14);
      line.name.title = shorten(token, 200);
      line.ghost.style.transform = `scaleX(${now.plain[rank]})`;
      line.bar.style.transform = `scaleX(${now.kept[rank]})`;
      line.value.textContent = cut ? "cut" : nice(now.kept[rank], 3);
      line.count.textContent = now.counts[rank] ? `drawn ${now.counts[rank]}` : "";
      line.row.classList.toggle("al-s-cut", cut);
      line.row.classList.toggle("al-s-last", rank === now.last);
      return line.row;
    }));
    const rest = now.kept.slice(shown).reduce((a, b) => a + b, 0);
    const said = now.last < 0 ? "Nothing drawn yet."
      : `Last draw: “${shorten(visible(tokens[now.order[now.last]]), 30)}”.`;
    readout.replaceChildren(
      make("div", {}, `${now.allowed} of ${tokens.length} may be drawn; entropy ${nice(now.entropy, 2)} bits. All ` +
        `beyond the bars: ${nice(rest, 3)}.`),
      make("div", {}, `Diversity: like ${nice(2 ** now.entropy, 1)} equal choices. Quality: the model itself, at ` +
        `temperature 1, is surprised by ${nice(now.surprise, 2)} bits.`),
      make("div", {}, `${said} Draws so far: ${model.get("draws")}, ${now.counts.filter(Boolean).length} different.`),
    );
  }
  paint();
  figure.on(["temperature", "top_k", "top_p", "draws", "seed", "context"], () => figure.schedule(paint));
  figure.on(["logits", "tokens", "contexts"], () => figure.schedule(() => { where.fill(labels()); paint(); }));
  return figure.dispose;
}

export default { render };
