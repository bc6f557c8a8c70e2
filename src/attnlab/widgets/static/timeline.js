// A timeline: events along a line, one of them open. Threads of thought can be shown alone.
import { button, choice, frame, make, shorten, slider } from "./kit.js";

/** What is shown: the indices of the thread's events, which of them is open, and the years between. */
export function view(events, selected, thread) {
  const shown = events.flatMap((event, i) => (!thread || event.thread === thread ? [i] : []));
  const places = shown.length ? shown : events.map((_, i) => i);
  let at = 0;
  places.forEach((place, i) => { if (place <= selected) at = i; });
  const event = events[places[at]];
  return {
    shown: places, at, year: event.year,
    gap: at > 0 ? event.year - events[places[at - 1]].year : 0,
    since: event.year - events[places[0]].year,
  };
}

const MARKS = ["●", "■", "▲", "◆", "★", "▼"];

function render(context) {
  const { model } = context;
  const now = () => view(model.get("events"), model.get("selected"), model.get("thread"));
  const figure = frame(context, { name: "timeline", numbers: now });
  const open = (at) => figure.push("selected", now().shown[at]);

  const threads = () => [...new Set(model.get("events").map((event) => event.thread))];
  const walk = make("div");
  const back = button("‹ Earlier", () => { const { at } = now(); if (at > 0) open(at - 1); });
  const forth = button("Later ›", () => { const { at, shown } = now(); if (at + 1 < shown.length) open(at + 1); });
  const pick = choice({
    label: "Show", options: [["", "everything"]], value: "",
    input: (value) => figure.push("thread", value),
  });
  figure.controls.append(walk, back, forth, pick);

  const line = make("div.al-tl-line.al-scrolls");
  const card = make("div.al-tl-card.al-readout");
  figure.body.append(line, card);

  let knob = null, built = "";
  function build() {
    const names = threads();
    pick.fill([["", "everything"],
      ...names.map((name, i) => [name, `${MARKS[i % MARKS.length]} ${shorten(name, 30)}`])]);
    const { shown } = now();
    knob = slider({
      label: "Event", min: 0, max: Math.max(1, shown.length - 1), step: 1, value: now().at,
      format: (at) => String(model.get("events")[now().shown[Math.min(at, now().shown.length - 1)]].year),
      input: (at) => open(Math.min(at, shown.length - 1)),
    });
    walk.replaceChildren(knob);
    const events = model.get("events");
    line.replaceChildren(...shown.map((place, at) => {
      const event = events[place];
      const mark = MARKS[names.indexOf(event.thread) % MARKS.length];
      return make("button.al-tl-event", {
        type: "button", title: shorten(`${event.year} · ${event.name}`, 80), onclick: () => open(at),
      }, make("span.al-tl-mark", { "aria-hidden": "true" }, mark), make("span.al-tl-year", {}, event.year),
      make("span.al-tl-name", {}, shorten(event.name, 24)));
    }));
    built = JSON.stringify([model.get("thread"), events]);
  }
  function paint() {
    if (built !== JSON.stringify([model.get("thread"), model.get("events")])) build();
    const { shown, at, gap, since } = now();
    const event = model.get("events")[shown[at]];
    pick.value = model.get("thread");
    knob.value = at;
    back.disabled = at === 0;
    forth.disabled = at === shown.length - 1;
    [...line.children].forEach((node, i) => node.setAttribute("aria-pressed", String(i === at)));
    const chosen = line.children[at];
    line.scrollLeft = chosen.offsetLeft - line.clientWidth / 2 + chosen.clientWidth / 2;
    const apart = gap === 0 ? "same year as the one before"
      : `${gap} ${gap === 1 ? "year" : "years"} after the one before`;
    const times = at === 0 ? "the first here" : `${apart}, ${since} after the first`;
    card.replaceChildren(
      make("div.al-tl-head", {}, make("strong", {}, `${event.year} · ${shorten(event.name, 60)}`),
        make("span.al-tl-times", {}, times)),
      make("div", {}, shorten(event.text, 600)),
      make("div.al-tl-paper", {}, shorten([event.thread, event.paper].filter(Boolean).join(" · "), 160)),
    );
  }
  paint();
  figure.on(["events", "selected", "thread"], () => figure.schedule(paint));
  figure.onResize(() => paint());
  return figure.dispose;
}

export default { render };
