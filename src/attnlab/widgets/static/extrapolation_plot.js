// Accuracy against length for several encodings and seeds: the mean as a line, the seeds as a band.
import { array, choice, frame, make, nice, shorten, slider, toggle } from "./kit.js";
import { chart, letter } from "./chart.js";

const DASHES = ["", "7 4", "2 3", "10 3 2 3", "", "5 2", "1 4", "12 4"];
const MARKS = ["●", "■", "▲", "◆", "✚", "▼", "○", "□"];

/** Mean, lowest and highest over the seeds: accuracy is flat (tasks, encodings, seeds, lengths). */
export function compute({ accuracy, shape, lengths, names, shown, task, at }) {
  const [tasks, kinds, seeds, points] = shape;
  task = Math.min(task, tasks - 1);
  at = Math.min(at, points - 1);
  const value = (kind, seed, point) => accuracy[((task * kinds + kind) * seeds + seed) * points + point];
  const over = (kind, fold) => Array.from({ length: points },
    (_, point) => fold(Array.from({ length: seeds }, (_, seed) => value(kind, seed, point))));
  const mean = [], low = [], high = [];
  for (let kind = 0; kind < kinds; kind++) {
    mean.push(over(kind, (all) => all.reduce((a, b) => a + b, 0) / seeds));
    low.push(over(kind, (all) => Math.min(...all)));
    high.push(over(kind, (all) => Math.max(...all)));
  }
  const visible = names.flatMap((_, kind) => (shown[kind] ?? true ? [kind] : []));
  const ranking = [...visible].sort((a, b) => mean[b][at] - mean[a][at] || a - b);
  return { task, at, length: lengths[at], shown: visible, mean, low, high, ranking };
}

function render(context) {
  const { model } = context;
  const given = () => array(model.get("accuracy"));
  const lengths = () => [...array(model.get("lengths")).data];
  const state = () => compute({
    accuracy: given().data, shape: given().shape, lengths: lengths(), names: model.get("names"),
    shown: model.get("shown"), task: model.get("task"), at: model.get("at"),
  });
  const figure = frame(context, { name: "extrapolation-plot", numbers: state });

  const tasks = () => model.get("tasks").map((name, i) => [i, shorten(name, 48)]);
  const task = choice({ label: "Task", options: tasks(), value: model.get("task"),
    input: (i) => figure.push("task", Number(i)) });
  const at = slider({
    label: "Test length", min: 0, max: lengths().length - 1, step: 1, value: model.get("at"),
    format: (i) => String(Math.round(lengths()[i] ?? 0)), input: (i) => figure.push("at", i),
  });
  figure.controls.append(task, at);
  const picks = make("div.al-xp-picks", { role: "group", "aria-label": "Encodings" });
  const plotPlace = make("div"), table = make("table.al-xp-table"), readout = make("div.al-readout");
  const grid = make("div.al-xp-grid", {}, plotPlace, make("div.al-xp-side", {}, table));
  figure.body.append(picks, grid, readout);

  const colour = (kind) => (kind % 7 === 6 ? figure.theme.text : figure.theme.series[kind % 7]);
  let boxes = [];
  function build() {
    boxes = model.get("names").map((name, kind) => {
      const box = toggle({
        label: shorten(name, 20), value: model.get("shown")[kind] ?? true,
        input: (on) => {
          const next = model.get("names").map((_, i) => model.get("shown")[i] ?? true);
          next[kind] = on;
          figure.push("shown", next);
        },
      });
      const mark = make("span.al-xp-mark", { "aria-hidden": "true" }, MARKS[kind % 8]);
      box.querySelector("input").after(mark);
      box.mark = mark;
      return box;
    });
    picks.replaceChildren(...boxes);
    task.fill(tasks());
    paint();
  }

  let size = 720;
  function paint() {
    const now = state();
    const em = letter(figure), names = model.get("names"), all = lengths(), trained = model.get("trained");
    task.value = now.task;
    task.hidden = model.get("tasks").length < 2;
    at.querySelector("input").max = all.length - 1;
    at.value = now.at;
    boxes.forEach((box, kind) => {
      box.value = model.get("shown")[kind] ?? true;
      box.mark.style.color = colour(kind);
    });
    const two = size > 42 * em;
    grid.dataset.columns = two ? 2 : 1;
    const wide = Math.max(220, Math.floor(two ? size * 0.62 : size)), last = all.at(-1);
    const ticks = all.filter((v) => v % trained === 0);
    const plot = chart({
      wide, high: Math.round(figure.tall((two ? 19 : 16) * em, plotPlace)), em, x: [0, last], y: [0, 1.02],
      xTicks: ticks.length ? [0, ...ticks] : [0, last],
      yTicks: [0, 0.25, 0.5, 0.75, 1], xName: "length of the test sequence", right: 1.2,
        label: `Accuracy against length for ${now.shown.length} encodings`,
    });
    plot.rule(plot.x(trained), plot.box.top, plot.x(trained), plot.box.bottom, "al-xp-trained");
    plot.text(plot.x(trained) + 0.4 * em, plot.y(0.02), "longer than trained →", "start", "al-c-name");
    for (const kind of now.shown) {
      const back = now.low[kind].map((v, i) => [all[i], v]).reverse();
      plot.line([...now.high[kind].map((v, i) => [all[i], v]), ...back],
        { style: `fill: ${colour(kind)}; fill-opacity: 0.15` });
    }
    for (const kind of now.shown) {
      plot.line(now.mean[kind].map((v, i) => [all[i], v]),
        { style: `stroke: ${colour(kind)}`, "stroke-width": 2.4, "stroke-dasharray": DASHES[kind % 8] });
      const up = plot.y(now.mean[kind][now.at]) + 0.35 * em;
      plot.text(plot.x(now.length), up, MARKS[kind % 8], "middle", `al-xp-on al-xp-${kind}`);
      plot.node.lastChild.setAttribute("style", `fill: ${colour(kind)}`);
    }
    plot.rule(plot.x(now.length), plot.box.top, plot.x(now.length), plot.box.bottom, "al-xp-probe");
    plotPlace.replaceChildren(plot.node);
    const cell = (words) => make("td", {}, words);
    table.replaceChildren(
      make("caption", {}, `At length ${Math.round(now.length)}, best first`),
      make("thead", {}, make("tr", {},
        ...["", "encoding", "mean", "seeds"].map((words) => make("th", { scope: "col" }, words)))),
      make("tbody", {}, ...now.ranking.map((kind) => make("tr", {},
        make("td", { style: `color: ${colour(kind)}`, "aria-hidden": "true" }, MARKS[kind % 8]),
          make("th", { scope: "row", title: shorten(names[kind], 200) }, shorten(names[kind], 16)),
        cell(nice(now.mean[kind][now.at], 2)),
          cell(`${nice(now.low[kind][now.at], 2)} – ${nice(now.high[kind][now.at], 2)}`)))),
    );
    const ratio = nice(now.length / trained, 2);
    readout.textContent = now.ranking.length
      ? `Length ${Math.round(now.length)} is ${ratio} times the trained length. ` +
        `Best: ${shorten(names[now.ranking[0]], 40)}, ${nice(now.mean[now.ranking[0]][now.at], 2)} right.`
      : "Choose at least one encoding.";
  }
  build();
  figure.on(["accuracy", "lengths", "trained", "shown", "task", "at"], () => figure.schedule(paint));
  figure.on(["names", "tasks"], () => figure.schedule(build));
  figure.onTheme(() => figure.schedule(paint));
  figure.onWidth((now) => { size = now; paint(); });
  return figure.dispose;
}

export default { render };
