// How the workbench shows its matrices: colours, digits, and the sum that made a cell.
import { make, nice, shorten, visible } from "./kit.js";
import { brief, compact, factor, parseNumber, typed } from "./workbench_numbers.js";

/** Numbers and colours, and where a cell comes from. */
export function drawing(it) {
  const { model, figure, field, heat, scaled, causal, bench, readout, tell, KINDS, views, place, values } = it;
  function paint() {
    const colours = figure.theme;
    for (const [key, { title, cells }] of Object.entries(views)) {
      title.replaceChildren(...KINDS[key].title());
      const list = values(key), input = KINDS[key].trait;
      let top = 1;
      for (const x of list) if (Number.isFinite(x)) top = Math.max(top, Math.abs(x));
      cells.forEach((cell, c) => {
        const x = list[c];
        if (!input) cell.textContent = key === "weights" && !it.mask[c] ? "0" : compact(x);
        else if (cell !== document.activeElement) cell.value = brief(x);
        else if (cell.getAttribute("aria-invalid") !== "true"
          && parseNumber(typed(x)) !== parseNumber(cell.value)) cell.value = typed(x);
        if (key === "weights") {
          cell.style.background = it.mask[c] ? colours.weight(x) : "";
          cell.style.color = it.mask[c] ? colours.inkOnWeight(x) : "";
        } else if (Number.isFinite(x)) {
          cell.style.background = colours.signed(x, 1.5 * top); // pale: numbers are typed into these cells
          cell.style.color = colours.inkOnSigned(x, 1.5 * top);
        } else cell.style.background = cell.style.color = "";
        if (key === "masked" || key === "weights") cell.classList.toggle("al-masked", !it.mask[c]);
        if (key === "masked") {
          cell.setAttribute("aria-pressed", String(!it.mask[c]));
          cell.setAttribute("aria-label",
            `${place(key, Math.floor(c / it.given.L), c % it.given.L)}: ${it.mask[c] ? nice(x, 2) : "masked"}`);
        }
      });
    }
    if (!it.glance.hidden) it.glance.replaceChildren(summary(colours));
    heat.value = model.get("temperature");
    scaled.value = model.get("scaled");
    causal.value = model.get("causal");
    if (document.activeElement !== field && it.words(field.value).join(" ") !== it.tokens.join(" ")) field.value =
      it.tokens.join(" ");
    if (pointed) explain(...pointed);
  }

  /** Weights and output in one small table, row by row. */
  function summary(colours) {
    const { L, V } = it.given;
    const head = (text) => make("th", {}, shorten(visible(text), 6));
    const cell = (x, masked) => {
      const node = make("td", {}, masked ? "0" : compact(x));
      if (masked) node.classList.add("al-masked");
      return node;
    };
    const rows = Array.from({ length: L }, (_, i) => make("tr", {}, head(it.tokens[i]),
      ...Array.from({ length: L }, (_, j) => {
        const c = i * L + j, node = cell(it.now.weights[c], !it.mask[c]);
        if (it.mask[c]) Object.assign(node.style, { background: colours.weight(it.now.weights[c]),
          color: colours.inkOnWeight(it.now.weights[c]) });
        return node;
      }), make("td.al-into", {}, "→"),
      ...Array.from({ length: V }, (_, j) => cell(it.now.output[i * V + j], false))));
    return make("table", {}, make("tbody", {},
      make("tr", {}, make("th", {}, "α"), ...it.tokens.map(head), make("td.al-into"),
        make("th", { colspan: V }, "output")), ...rows));
  }

  // ---- where a number comes from
  /** Cells that made a cell, as [matrix, row or null, column or null], and the sum, or words where there is none. */
  function origin(key, i, j) {
    const { L, E, D, V } = it.given;
    const line = (m, columns, r) => Array.from({ length: columns }, (_, c) => values(m)[r * columns + c]);
    const column = (m, rows, columns, c) => Array.from({ length: rows }, (_, r) => values(m)[r * columns + c]);
    const sum = (a, b) => a.map((x, n) => `${factor(x)}·${factor(b[n])}`).join(" + ");
    const c = i * L + j;
    const t = model.get("temperature");
    switch (key) {
      case "q": case "k": case "v": {
        const w = `w_${key}`, width = key === "v" ? V : D;
        return { from: [["x", i, null], [w, null, j]], text: sum(line("x", E, i), column(w, E, width, j)),
          result: values(key)[i * width + j] };
      }
      case "scores": return { from: [["q", i, null], ["k", j, null]], text: sum(line("q", D, i), line("k", D, j)),
        result: it.now.scores[c] };
      case "scaled": return { from: [["scores", i, j]], text: model.get("scaled")
        ? `${nice(it.now.scores[c], 2)} / √${D}` : null, words: "not scaled, stays", result: it.now.scaled[c] };
      case "masked": return { from: [["scaled", i, j]], words: it.mask[c] ? "may attend, stays"
        : "may not attend, becomes", result: it.now.masked[c] };
      case "weights": {
        const power = (s) => (t === 1 ? `e^${factor(s)}` : `e^(${nice(s, 2)}/${t.toFixed(2)})`);
        const row = line("masked", L, i).filter(Number.isFinite);
        return {
          from: [["masked", i, null]],
          text: it.mask[c] ? `${power(it.now.masked[c])} / (${row.map(power).join(" + ")})` : null,
          words: row.length ? "masked, weighs" : "nothing to attend to, weighs", result: it.now.weights[c],
        };
      }
      case "output": return { from: [["weights", i, null], ["v", null, j]],
        text: sum(line("weights", L, i), column("v", L, V, j)), result: it.now.output[i * V + j] };
      default: return null;
    }
  }

  let pointed = null;
  function explain(key, i, j) {
    clear();
    pointed = [key, i, j];
    const { columns, cells } = views[key];
    if (!cells[i * columns + j]) return clear();
    const made = origin(key, i, j);
    if (!made) return;
    cells[i * columns + j].closest("td").classList.add("al-to");
    for (const [m, row, column] of made.from)
      views[m].cells.forEach((cell, c) => {
        if ((row === null || Math.floor(c / views[m].columns) === row)
          && (column === null || c % views[m].columns === column)) cell.closest("td").classList.add("al-from");
      });
    tell("");
    readout.append(make("b", {}, place(key, i, j)), made.text ? ` = ${made.text} = ` : `: ${made.words} `,
      make("b", {}, nice(made.result, key === "weights" ? 3 : 2)));
  }
  function clear() {
    pointed = null;
    for (const cell of bench.querySelectorAll(".al-from, .al-to")) cell.classList.remove("al-from", "al-to");
  }
  const cellOf = (event) => {
    const node = event.target.closest?.("[data-matrix]") ?? event.target.querySelector?.(":scope > [data-matrix]");
    return node ? [node.dataset.matrix, Number(node.dataset.row), Number(node.dataset.column)] : null;
  };
  const show = (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    if (!KINDS[cell[0]].trait) explain(...cell);
    else if (event.type === "focusin") {
      clear();
      event.target.value = typed(it.given[cell[0]][it.indexOf(event.target)]);
      event.target.select(); // the first digit takes the place of the old number
      tell(`${place(...cell)}: type a number, or press ↑ ↓ to change it by 0.1 (with Shift by 1).`);
    }
  };
  figure.listen(bench, "pointerover", show);
  figure.listen(bench, "focusin", show);
  Object.assign(it, { paint, clear });
}
