// A diagram that Python has drawn: here its parts are lit, its values change, its steps are gone through.
import { frame, lecture, make, nice, shorten, slider } from "./kit.js";
import { player, still } from "./player.js";
import { sideways } from "./sideways.js";

/**
 * What a state of the diagram shows: the parts and arrows that are lit, and the values.
 * An arrow is lit when it is named or both its ends are; a group lights what is in it.
 */
export function shown(drawing, steps, step, lit) {
  const named = lit.length ? lit : steps[step]?.lit ?? [];
  const on = new Set();
  for (const name of named) {
    on.add(name);
    for (const part of drawing.groups[name] ?? []) on.add(part);
  }
  for (const [name, [source, target]] of Object.entries(drawing.arrows)) if (on.has(source) && on.has(target)) on.add(
    name);
  const tables = Object.fromEntries(Object.entries(drawing.tables).map(([name, table]) => [name, table.values]));
  const carried = { ...drawing.carried };
  for (const { values } of steps.slice(0, step + 1))
    for (const [name, value] of Object.entries(values)) (name in carried ? carried : tables)[name] = value;
  return { step, lit: [...on].sort(), tables, carried };
}

/** A part with all that leads to it and from it. */
export function around(drawing, name) {
  const found = [name];
  for (const [arrow, [source, target]] of Object.entries(drawing.arrows))
    if (source === name || target === name) found.push(arrow, source === name ? target : source);
  return [...new Set(found)];
}

/** The colour of a value, and of a number on it, by the law of its table. */
function paintOf(theme, value, { law, scale }) {
  if (law === "signed") return [theme.signed(value, scale), theme.inkOnSigned(value, scale)];
  if (law === "weights") return [theme.weight(value, scale), theme.inkOnWeight(value, scale)];
  return [theme.ramp(value / scale), theme.on(value / scale)];
}

const slug = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");

/** The heading or section that an anchor names: by its id, or where ids are made otherwise, by its words. */
function findSection(link) {
  const anchor = decodeURIComponent(link.replace(/^#/, ""));
  const byId = document.getElementById(anchor);
  if (byId) return byId;
  return [...document.querySelectorAll("h1, h2, h3, h4")].find(
    (node) => slug(node.textContent.replace("#", "")) === slug(anchor)) ?? null;
}

function jump(event, link) {
  if (!link.startsWith("#")) return; // another page of the course: an ordinary link
  event.preventDefault();
  const goal = findSection(link);
  if (!goal) return;
  const slide = goal.closest(".reveal .slides section");
  if (slide && window.Reveal) {
    const { h, v } = window.Reveal.getIndices(slide);
    window.Reveal.slide(h, v);
    return;
  }
  goal.scrollIntoView({ behavior: still() ? "auto" : "smooth", block: "start" });
  if (goal.id && !document.body.dataset.jpThemeLight) history.pushState(null, "", `#${goal.id}`);
  const heading = goal.matches("h1, h2, h3, h4") ? goal : goal.querySelector("h1, h2, h3, h4");
  if (heading) {
    heading.tabIndex = -1; // so that the keyboard goes on from there
    heading.focus({ preventScroll: true });
  }
}

const PACE = 2200; // milliseconds per step, when it plays

/** The picture and its parts. */
function pictureOf(it) {
  const { context } = it;
  const { model } = context;
  const drawing = model.get("drawing"), steps = model.get("steps");
  const now = () => shown(drawing, steps, Math.min(model.get("step"), Math.max(0, steps.length - 1)), model.get("lit"));
  const figure = frame(context, { name: "diagram", numbers: now });

  // On a static page the picture is there already; elsewhere it comes as text that Python made.
  const there = context.fallback?.querySelector(".al-dg-pick");
  const picture = there ?? new DOMParser().parseFromString(model.get("picture"), "text/html").body.firstElementChild;
  figure.body.append(document.adoptNode(picture));
  const nodes = new Map();
  for (const node of picture.querySelectorAll("[data-part]")) {
    const name = node.getAttribute("data-part");
    if (!nodes.has(name)) nodes.set(name, []);
    nodes.get(name).push(node);
  }
  Object.assign(it, { model, drawing, steps, now, figure, picture, nodes });
}

/** One step after the other. */
function stepping(it) {
  const { model, steps, figure } = it;
  Object.assign(it, { words: [], knob: null, player: null });

  const go = (step) => {
    if (model.get("lit").length) figure.push("lit", []);
    figure.push("step", Math.max(0, Math.min(steps.length - 1, step)));
  };
  const stop = () => it.player?.stop();
  if (steps.length > 1) {
    it.knob = slider({
      label: "Step", min: 0, max: steps.length - 1, step: 1, value: model.get("step"),
      format: (at) => `${Math.round(at) + 1} of ${steps.length}`, input: (at) => { stop(); go(Math.round(at)); },
    });
    it.player = player(figure, { at: () => model.get("step"), last: () => steps.length - 1, go, pace: PACE });
    figure.controls.append(it.knob, it.player.node);
  }
  if (steps.length) {
    // All sentences lie on top of each other, so that the figure has the height of the longest.
    it.words = steps.map((step) => make("span", {}, shorten(step.text, 400)));
    figure.body.append(make("div.al-readout.al-dg-say", {}, ...it.words));
  }
  Object.assign(it, { go, stop });
}

/** Where the drawing is wider than its place, it scrolls: to what is lit. */
function looking(it) {
  const { drawing, figure, picture, nodes, now } = it;
  const sides = sideways(figure, picture);
  let wide = false;
  it.look = ({ lit }) => {
    if (!wide) return;
    const from = picture.getBoundingClientRect().left - picture.scrollLeft;
    const seen = lit.filter((name) => drawing.parts[name])
      .map((name) => nodes.get(name).find((node) => node.checkVisibility()).getBoundingClientRect())
      .map((box) => [box.left - from, box.right - from]).sort((a, b) => a[0] - b[0]);
    if (!seen.length) return;
    const start = seen[0][0], all = seen.filter(([, right]) => right - start < picture.clientWidth);
    sides.see(start, Math.max(...all.map(([, right]) => right)));
  };
  figure.onResize(() => {
    wide = picture.scrollWidth - picture.clientWidth > 4;
    sides.paint();
    it.look(now());
  });
}

/** What is lit, filled and carried now. */
function painting(it) {
  const { drawing, steps, now, figure, picture, nodes } = it;
  function lightUp({ lit }) {
    const on = new Set(lit);
    picture.classList.toggle("al-dg-some", on.size > 0);
    for (const [name, all] of nodes) for (const node of all) node.classList.toggle("al-dg-lit", on.has(name));
  }
  function fill({ tables, carried }) {
    for (const [name, values] of Object.entries(tables)) {
      const table = drawing.tables[name], flat = values.flat();
      for (const node of nodes.get(name) ?? []) {
        const cells = node.querySelectorAll(".al-dg-cells rect"), texts = node.querySelectorAll(".al-dg-cells text");
        flat.forEach((value, i) => {
          const [colour, ink] = paintOf(figure.theme, value, table);
          cells[i].setAttribute("fill", colour);
          if (!texts.length) return;
          texts[i].setAttribute("fill", ink);
          texts[i].textContent = nice(value, table.digits);
        });
      }
    }
    for (const [name, value] of Object.entries(carried))
      for (const node of nodes.get(name) ?? []) {
        node.querySelector("path").style.strokeWidth = 1.2 + 4.8 * Math.min(1, Math.abs(value) / drawing.most);
        const text = node.querySelector("text");
        if (text && /^[−\d.]+$/.test(text.textContent)) text.textContent = nice(value, 2);
      }
  }
  let last = "";
  function paint() {
    const state = now();
    lightUp(state);
    const values = JSON.stringify([figure.theme.dark, state.tables, state.carried]);
    if (values !== last) fill(state);
    last = values;
    it.look(state);
    it.words.forEach((word, i) => {
      word.classList.toggle("al-dg-now", i === state.step);
      word.ariaHidden = String(i !== state.step);
    });
    if (it.knob) {
      it.knob.value = state.step;
      it.player.paint();
    }
  }
  Object.assign(it, { paint });
}

/** Parts: one stop of the Tab key, arrow keys between them; Enter jumps, or lights what belongs. */
function roving(it) {
  const { model, drawing, figure, picture, stop } = it;
  // Parts: one stop of the Tab key, arrow keys between them; Enter jumps to the section, or lights what belongs to it.
  const parts = [...picture.querySelectorAll(".al-dg-part, a.al-dg-group")];
  const visibleParts = () => parts.filter((part) => part.checkVisibility());
  const rove = (to) => {
    for (const part of parts) part.setAttribute("tabindex", part === to ? "0" : "-1");
  };
  const press = (event, part) => {
    const link = part.getAttribute("href");
    if (link) return jump(event, link);
    const names = around(drawing, part.getAttribute("data-part"));
    const same = model.get("lit")[0] === names[0];
    stop();
    figure.push("lit", same ? [] : names);
    figure.say(same ? "" : `${part.getAttribute("aria-label")}, with what leads to it and from it`);
  };
  for (const part of parts) {
    if (!part.hasAttribute("href")) part.setAttribute("role", "button");
    figure.listen(part, "click", (event) => { rove(part); press(event, part); });
    figure.listen(part, "focus", () => rove(part));
  }
  rove(visibleParts()[0] ?? parts[0]);
  figure.onResize(() => {
    if (lecture()) picture.style.setProperty("--al-tall", `${figure.tall(1e4, picture, 0)}px`);
    if (!visibleParts().some((part) => part.getAttribute("tabindex") === "0")) rove(visibleParts()[0]);
  });
  figure.listen(picture, "keydown", (event) => {
    const seen = visibleParts(), at = seen.indexOf(event.target.closest?.("[data-part]"));
    if (at < 0) return;
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0,
      End: seen.length - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      seen[Math.max(0, Math.min(seen.length - 1, to))].focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      press(event, seen[at]);
    } else if (event.key === "Escape" && model.get("lit").length) {
      event.preventDefault();
      figure.push("lit", []);
    }
  });
}

/** The part whose section the reader is in says so; on a slide every step is a fragment. */
function following(it) {
  const { steps, figure, picture, go, stop } = it;
  // The part whose section the reader is in says so.
  const sections = new Map();
  const here = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) here[isIntersecting ? "add" : "delete"](target);
    const inner = [...here].filter((section) => ![...here].some((other) => other !== section
      && section.contains(other)));
    for (const [part, section] of sections) {
      const is = inner.includes(section);
      part.classList.toggle("al-dg-here", is);
      if (is) part.setAttribute("aria-current", "location");
      else part.removeAttribute("aria-current");
    }
  }, { rootMargin: "-35% 0px -60% 0px" });
  for (const part of picture.querySelectorAll('a[href^="#"]')) {
    const section = findSection(part.getAttribute("href"))?.closest("section");
    if (!section || section.closest(".reveal")) continue;
    sections.set(part, section);
    watcher.observe(section);
  }
  figure.cleanup(() => watcher.disconnect());

  // On a slide every step is a fragment, so that the lecturer's own keys walk through them.
  const fragments = () => {
    const reveal = window.Reveal, slide = figure.root.closest(".reveal .slides section");
    if (!slide || !reveal || steps.length < 2 || figure.root.querySelector(".fragment")) return;
    const marks = steps.slice(1).map((_, i) => make("i.fragment.al-dg-mark",
      { "aria-hidden": "true", "data-step": i + 1 }));
    figure.root.append(...marks);
    reveal.syncFragments?.(slide);
    const follow = ({ fragments: changed }) => {
      if (!changed?.some((mark) => marks.includes(mark))) return;
      stop();
      go(marks.filter((mark) => mark.classList.contains("visible")).length);
    };
    for (const event of ["fragmentshown", "fragmenthidden"]) {
      reveal.on(event, follow);
      figure.cleanup(() => reveal.off(event, follow));
    }
  };
  const waiting = setInterval(() => {
    if (!document.querySelector(".reveal .slides")) return clearInterval(waiting);
    if (figure.root.isConnected && window.Reveal?.isReady?.()) { clearInterval(waiting); fragments(); }
  }, 50);
  figure.cleanup(() => clearInterval(waiting));
}

/** What happens when something changes. */
function life(it) {
  const { figure, paint } = it;
  paint();
  figure.on(["step", "lit"], () => figure.schedule(paint));
  figure.onTheme(() => figure.schedule(paint));
}

function render(context) {
  const it = { context };
  for (const piece of [pictureOf, stepping, looking, painting, roving, following, life]) piece(it);
  const { figure } = it;
  return figure.dispose;
}

export default { render };
