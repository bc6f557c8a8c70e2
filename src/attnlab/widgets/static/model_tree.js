// Models since 2017: a column for each branch, a row for each year, a line from child to parent.
import { button, choice, frame, make, shorten, svg } from "./kit.js";

const BRANCHES = ["encoder", "encoder–decoder", "decoder"];

/** What is drawn: who is shown, the way from the selected model back to the root, and its children. */
export function compute(models, selected, show) {
  const at = new Map(models.map((model, i) => [model.name, i]));
  const line = [];
  for (let i = selected; i !== undefined; i = at.get(models[i].parent)) line.push(i);
  const shown = models.flatMap((model, i) => (show === "all" || model.open === (show === "open") ? [i] : []));
  const children = models.flatMap((model, i) => (model.parent === models[selected].name ? [i] : []));
  const counts = BRANCHES.map((branch) => shown.filter((i) => models[i].branch === branch).length);
  return { selected, line, children, shown, counts };
}

/** A size in billions as people say it. */
export function spoken(size) {
  if (size === null || size === undefined) return "size not published";
  return size >= 1 ? `${size} billion parameters` : `${Math.round(1000 * size)} million parameters`;
}

function render(context) {
  const { model } = context;
  const state = () => compute(model.get("models"), model.get("selected"), model.get("show"));
  const figure = frame(context, { name: "model-tree", numbers: state });
  const step = (by) => {
    const { shown } = state(), here = model.get("selected");
    const next = by > 0 ? shown.find((i) => i > here) : shown.filter((i) => i < here).pop();
    if (next !== undefined) figure.push("selected", next);
  };
  const show = choice({
    label: "Show", value: model.get("show"), input: (value) => figure.push("show", value),
    options: [["all", "all"], ["open", "● weights can be had"], ["closed", "○ weights are kept"]],
  });
  const back = button("‹ Earlier", () => step(-1)), forth = button("Later ›", () => step(1));
  const home = button("To its parent", () => {
    const { line } = state();
    if (line.length > 1) figure.push("selected", line[1]);
  });
  figure.controls.append(show, back, forth, home);
  const lines = svg("svg", { class: "al-mt-lines", "aria-hidden": "true" });
  const grid = make("div.al-mt-grid");
  const card = make("div.al-mt-card.al-readout");
  figure.body.append(make("div.al-mt-tree", {}, lines, grid), card);

  let chips = [], built = "";
  function build() {
    const models = model.get("models");
    const years = [...new Set(models.map((m) => m.year))].sort((a, b) => a - b);
    chips = models.map((m, i) => make("button.al-mt-chip", {
      type: "button", onclick: () => figure.push("selected", i), title: shorten(`${m.year} · ${m.maker}`, 80),
    }, `${m.open ? "●" : "○"} ${shorten(m.name, 14)}`));
    grid.replaceChildren(make("span"), ...BRANCHES.map((name) => make("span.al-mt-branch", {}, name)),
      ...years.flatMap((year) => [
        make("span.al-mt-year", {}, year),
        ...BRANCHES.map((branch) => make("div.al-mt-cell", {},
          ...chips.filter((_, i) => models[i].year === year && models[i].branch === branch))),
      ]));
    built = JSON.stringify(models);
  }
  function middle(chip) {
    const from = grid.getBoundingClientRect(), box = chip.getBoundingClientRect();
    const zoom = from.width / (grid.offsetWidth || 1) || 1; // slides are scaled as a whole
    return { x: (box.left + box.width / 2 - from.left) / zoom, top: (box.top - from.top) / zoom,
      bottom: (box.bottom - from.top) / zoom };
  }
  function draw(now) {
    const models = model.get("models"), places = chips.map(middle);
    const onLine = new Set(now.line), at = new Map(models.map((m, i) => [m.name, i]));
    lines.replaceChildren(...models.flatMap((m, i) => {
      const parent = at.get(m.parent);
      if (parent === undefined || !now.shown.includes(i)) return [];
      const lit = (onLine.has(i) && onLine.has(parent)) || parent === now.selected;
      const a = places[parent], b = places[i], level = models[parent].year === m.year;
      const from = level ? (a.top + a.bottom) / 2 : a.bottom, to = level ? (b.top + b.bottom) / 2 : b.top;
      const bend = (from + to) / 2;
      return [svg("path", { class: lit ? "al-mt-lit" : "al-mt-faint",
        d: `M${a.x} ${from}C${a.x} ${bend} ${b.x} ${bend} ${b.x} ${to}` })];
    }).sort((a, b) => (a.getAttribute("class") > b.getAttribute("class") ? 1 : -1)));
  }
  function paint() {
    const models = model.get("models");
    if (built !== JSON.stringify(models)) build();
    const now = state(), chosen = models[now.selected];
    show.value = model.get("show");
    back.disabled = !now.shown.some((i) => i < now.selected);
    forth.disabled = !now.shown.some((i) => i > now.selected);
    home.disabled = now.line.length < 2;
    const lit = new Set([...now.line, ...now.children]);
    chips.forEach((chip, i) => {
      chip.setAttribute("aria-pressed", String(i === now.selected));
      chip.classList.toggle("al-mt-kin", lit.has(i) && i !== now.selected);
      chip.classList.toggle("al-mt-away", !now.shown.includes(i));
    });
    draw(now);
    const link = (address, text) => (/^http/.test(address)
      ? make("a", { href: address, target: "_blank", rel: "noopener" }, text) : shorten(address, 80));
    const size = chosen.size_source ? [" · ", link(chosen.size_source, "source of the size")] : [];
    card.replaceChildren(
      make("div", {}, make("strong", {}, `${chosen.year} · ${shorten(chosen.name, 40)}`),
        ` · ${shorten(chosen.maker, 40)} · ${chosen.branch} · ${spoken(chosen.size)} · ` +
        `${chosen.open ? "weights can be had" : "weights are kept"} · `, link(chosen.source, "source"), ...size),
      make("div", {}, shorten(chosen.text, 300)),
      make("div.al-mt-count", {}, `Shown: ${now.counts.map((n, i) => `${n} ${BRANCHES[i]}`).join(", ")}.`),
    );
  }
  paint();
  figure.on(["models", "selected", "show"], () => figure.schedule(paint));
  figure.onResize(() => paint());
  return figure.dispose;
}

export default { render };
