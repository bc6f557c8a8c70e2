// One control for whatever goes step by step: back, forward, play, at the reader's speed.
import { button, make } from "./kit.js";

const SPEEDS = [1, 2, 4, 0.5]; // times the figure's own pace; one button goes round them

/** Did the reader ask for reduced motion? Then nothing moves by itself, and Play shows the end at once. */
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/**
 * Buttons that move a figure from step `first` to step `last()`.
 *
 * `at()` is the step it is at, `go(step)` shows another. `pace`: milliseconds for a step when it plays. `names`: the
 * words on the buttons. `round`: the step that comes after the last. `rate`, { node, value() }, is a control of the
 * figure's own instead of the speed button. `end()` shows the end, where its step is not known. `rest()` is
 * told when playing ends. The figure calls `paint()` when it paints, and `stop()` when the reader does something else.
 */
export function player(figure, {
  at, last, go, first = 0, pace = 1000, names = {}, round = null, rate = null, end = null, rest = null,
  tag = "div.al-player.al-main",
}) {
  const { back: backwards, next: forwards, play: run, pause, label } = {
    back: "‹ Back", next: "Next ›", play: "▶ Play", pause: "⏸ Pause", label: "One step after the other", ...names,
  };
  let timer = 0, speed = 0;
  const to = (step) => go(Math.max(first, Math.min(last(), step)));
  const wait = () => pace / (rate ? rate.value() : SPEEDS[speed]);
  const over = () => at() >= last();
  function stop() {
    clearTimeout(timer);
    if (timer) rest?.();
    timer = 0;
    paint();
  }
  function tick() {
    if (!over()) to(at() + 1);
    if (over()) return stop();
    timer = setTimeout(tick, wait());
  }
  /** Play, from the first step on if it is at the last. `soon`: the first move comes at once. */
  function start({ soon = false } = {}) {
    clearTimeout(timer);
    if (still()) { timer = 0; (end ?? (() => to(last())))(); return paint(); }
    if (over()) to(first);
    timer = setTimeout(tick, soon ? Math.min(120, wait()) : wait());
    paint();
  }
  const move = (step) => { stop(); to(step); paint(); };
  const back = button(backwards, () => move(at() - 1));
  const next = button(forwards, () => move(over() && round !== null ? round : at() + 1));
  const play = button(run, () => (timer ? stop() : start()), { "aria-pressed": "false", class: "al-button al-play" });
  const fast = rate?.node ?? button("", () => { speed = (speed + 1) % SPEEDS.length; paint(); },
    { class: "al-button al-speed" });
  function paint() {
    if (timer && over()) return stop();
    play.textContent = timer ? pause : run;
    play.setAttribute("aria-label", play.textContent.replace(/^\P{L}+/u, ""));
    play.setAttribute("aria-pressed", String(timer !== 0));
    back.disabled = at() <= first;
    next.disabled = over() && round === null;
    if (rate) return;
    fast.textContent = `${String(SPEEDS[speed]).replace("0.5", "½")}×`;
    fast.setAttribute("aria-label", `Speed ${fast.textContent}`);
  }
  figure.cleanup(() => clearTimeout(timer));
  const node = make(tag, { role: "group", "aria-label": label }, back, next, play, still() && !rate ? null : fast);
  return { node, back, next, play, fast, paint, start, stop, playing: () => timer !== 0 };
}
