// A self-test, one question at a time. Every choice that is opened says whether it is right, and why.
import { button, frame, make } from "./kit.js";

/**
 * How one question stands after the choices `tried`, in order.
 * `done`: every correct choice was found. `clean`: none was wrong before that.
 */
export function grade(choices, tried) {
  const missing = new Set(choices.flatMap((c, i) => (c.correct ? [i] : [])));
  let clean = true;
  for (const i of tried) {
    if (!missing.size) break; // what is opened afterwards is reading, not guessing
    if (!missing.delete(i)) clean = false;
  }
  const done = missing.size === 0;
  return { started: tried.length > 0, done, clean: done && clean, missing: missing.size };
}

/** Counts over the whole quiz: `answered` questions are done, `correct` ones without a wrong try. */
export function compute(questions, answers) {
  const grades = questions.map((q, i) => grade(q.choices, answers[i] ?? []));
  return {
    answered: grades.filter((g) => g.done).length,
    correct: grades.filter((g) => g.clean).length,
    total: questions.length,
  };
}

/** `code` and *emphasis* as elements; everything else stays the text it is. */
export function rich(text) {
  const out = [];
  const pattern = /`([^`]+)`|(^|[\s(“"'])\*(\S|\S[^*`]*\S)\*(?=$|[\s).,;:!?”"'–—-])/g;
  let from = 0;
  for (const found of text.matchAll(pattern)) {
    const [whole, code, before, stressed] = found;
    out.push(text.slice(from, found.index) + (before ?? ""));
    out.push(code === undefined ? make("em", {}, stressed) : make("code", {}, code));
    from = found.index + whole.length;
  }
  out.push(text.slice(from));
  return out.filter((piece) => piece !== "");
}

/** The same words for a screen reader, without the marks. */
const spoken = (text) => rich(text).map((piece) => piece.textContent ?? piece).join("");

/** A short name for this set of questions, so that answers to an older edition are not shown for a newer one. */
export function fingerprint(questions) {
  const text = JSON.stringify(questions.map((q) => [q.question, q.choices.map((c) => [c.text, c.correct])]));
  let hash = 0x811c9dc5; // FNV-1a
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash.toString(16);
}

/** Where answers are kept between visits. A page may refuse: then they live as long as it does. */
function shelf(key) {
  const name = `attnlab-quiz-${key}`;
  const attempt = (action) => {
    if (!key) return null;
    try { return action(); } catch { return null; }
  };
  return {
    read: () => attempt(() => JSON.parse(localStorage.getItem(name))),
    write: (value) => attempt(() => localStorage.setItem(name, JSON.stringify(value))),
    clear: () => attempt(() => localStorage.removeItem(name)),
  };
}

/** Keep only answers that fit the questions: what was stored may be anything. */
export function fitting(questions, answers) {
  const out = {};
  if (answers === null || typeof answers !== "object") return out;
  questions.forEach((q, i) => {
    const tried = Array.isArray(answers[i])
      ? answers[i].filter((c) => Number.isInteger(c) && c >= 0 && c < q.choices.length) : [];
    if (tried.length) out[i] = [...new Set(tried)];
  });
  return out;
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** The card and its buttons. */
function cardOf(it) {
  const { context } = it;
  const { model } = context;
  const questions = () => model.get("questions") ?? [];
  const answers = () => fitting(questions(), model.get("answers"));
  const numbers = () => compute(questions(), answers());
  const figure = frame(context, { name: "quiz", numbers });

  const dots = make("div.al-q-dots", { role: "group", "aria-label": "Questions" });
  const count = make("span.al-q-count");
  figure.controls.append(dots, count);
  const card = make("div.al-q-card");
  const back = button("← Back", () => it.go(it.at - 1));
  const next = button("Next →", () => it.go(it.at + 1));
  const reset = button("Start again", (...given) => it.restart(...given));
  reset.classList.add("al-q-quiet");
  figure.body.append(card, make("div.al-q-turn", {}, back, next, reset));
  Object.assign(it, { model, questions, answers, figure, dots, count, card, back, next, reset });
}

/** From question to question. */
function turning(it) {
  const { model, questions, answers, figure, card } = it;
  Object.assign(it, { at: 0 });
  Object.assign(it, { parts: [] }); // the choices on the card
  Object.assign(it, { stored: shelf(model.get("key")) });

  function remember() {
    it.stored.write({ questions: fingerprint(questions()), answers: answers() });
  }

  function open(place) {
    const now = answers();
    const tried = now[it.at] ?? [];
    if (!tried.includes(place)) {
      now[it.at] = [...tried, place];
      figure.push("answers", now);
      figure.push("score", compute(questions(), now).correct);
      remember();
    }
    const choice = questions()[it.at].choices[place];
    const standing = it.standing(grade(questions()[it.at].choices, now[it.at]));
    figure.say(`${it.verdict(choice)} ${spoken(choice.why)} ${standing}`);
  }

  function go(place) {
    it.at = Math.max(0, Math.min(questions().length - 1, place));
    it.build();
    card.querySelector(".al-q-question")?.focus();
  }

  function restart() {
    figure.push("answers", {});
    figure.push("score", 0);
    it.stored.clear();
    go(0);
    figure.say("All answers are cleared.");
  }
  Object.assign(it, { open, go, restart });
}

/** The question, and what was answered. */
function painting(it) {
  const { questions, answers, dots, count, card, back, next, reset, open, go } = it;
  const verdict = (choice) => (choice.correct ? "✓ Right." : "✗ Not this one.");
  const standing = (g) => {
    if (g.clean) return "";
    if (g.done) return "Solved.";
    return g.missing === 1 ? "" : `${g.missing} more to find.`;
  };

  /** A new card. */
  function build() {
    const all = questions();
    it.at = Math.min(it.at, all.length - 1);
    const question = all[it.at];
    const right = question.choices.filter((c) => c.correct).length;
    const words = make("div.al-q-question", { tabindex: "-1" },
      make("span.al-q-which", {}, `${it.at + 1} of ${all.length}`), make("div", {}, ...rich(question.question)));
    const group = make("div.al-q-choices", { role: "group", "aria-label": `Choices for question ${it.at + 1}` });
    it.parts = question.choices.map((choice, i) => {
      const mark = make("span.al-q-verdict");
      const why = make("div.al-q-why", { hidden: true });
      const node = button("", () => open(i), { "aria-expanded": "false" });
      node.classList.add("al-q-choice");
      node.append(
        make("span.al-q-letter", { "aria-hidden": "true" }, LETTERS[i] ?? String(i + 1)),
        make("span.al-q-text", {}, ...rich(choice.text)), mark,
      );
      group.append(make("div.al-q-option", {}, node, why));
      return { node, mark, why };
    });
    card.replaceChildren(
      words, ...(right > 1 ? [make("p.al-q-many", {}, `${right} of these are right: find them all.`)] : []),
      group, make("p.al-q-standing"),
    );
    paint();
  }

  function paint() {
    const all = questions(), now = answers();
    const question = all[it.at];
    const tried = now[it.at] ?? [];
    question.choices.forEach((choice, i) => {
      const { node, mark, why } = it.parts[i];
      const shown = tried.includes(i);
      node.classList.toggle("al-q-right", shown && choice.correct);
      node.classList.toggle("al-q-wrong", shown && !choice.correct);
      node.setAttribute("aria-expanded", String(shown));
      mark.textContent = shown ? (choice.correct ? "✓ right" : "✗ no") : "";
      if (shown && why.hidden) why.replaceChildren(...rich(choice.why));
      why.hidden = !shown;
    });
    const here = grade(question.choices, tried);
    const unread = question.choices.length - tried.length;
    card.querySelector(".al-q-standing").textContent = here.done
      ? (unread ? "You can still open the other choices to read why not." : "")
      : here.started ? (here.missing > 1 ? `${here.missing} more to find.` : "Try another one.") : "";

    if (dots.children.length !== all.length)
      dots.replaceChildren(...all.map((_, i) => {
        const dot = button("", () => go(i));
        dot.classList.add("al-q-dot");
        return dot;
      }));
    all.forEach((q, i) => {
      const g = grade(q.choices, now[i] ?? []);
      const [sign, words] = g.clean ? ["✓", "right"] : g.done ? ["↻", "solved after a wrong try"] : g.started
        ? ["…", "not solved yet"] : ["", "not answered"];
      const dot = dots.children[i];
      dot.textContent = `${i + 1}${sign && ` ${sign}`}`;
      dot.className = `al-button al-q-dot${g.clean ? " al-q-right" : g.started ? " al-q-wrong" : ""}`;
      dot.setAttribute("aria-label", `Question ${i + 1}, ${words}`);
      if (i === it.at) dot.setAttribute("aria-current", "step");
      else dot.removeAttribute("aria-current");
    });
    dots.hidden = all.length < 2;
    const { answered, correct, total } = compute(all, now);
    count.textContent = answered === total
      ? `${correct} of ${total} right at the first try${correct === total ? " — well done!" : ""}`
      : `${answered} of ${total} answered`;
    back.disabled = it.at === 0;
    next.disabled = it.at === all.length - 1;
    back.hidden = next.hidden = all.length < 2;
    reset.hidden = Object.keys(now).length === 0;
  }
  Object.assign(it, { verdict, standing, build, paint });
}

/** Keyboard, and what happens when something changes. */
function life(it) {
  const { model, questions, answers, figure, card, open, build, paint } = it;
  // Up and down walk through the choices, a letter opens one.
  figure.listen(card, "keydown", (event) => {
    const here = it.parts.findIndex(({ node }) => node === event.target);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const letter = event.ctrlKey || event.altKey || event.metaKey ? -1 : LETTERS.indexOf(event.key.toUpperCase());
    if (here >= 0 && step) it.parts[(here + step + it.parts.length) % it.parts.length].node.focus();
    else if (event.key.length === 1 && letter >= 0 && letter < it.parts.length) {
      it.parts[letter].node.focus();
      open(letter);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function load() {
    it.stored = shelf(model.get("key"));
    if (Object.keys(answers()).length) return;
    const kept = it.stored.read();
    if (!kept || kept.questions !== fingerprint(questions())) return;
    const fit = fitting(questions(), kept.answers);
    if (!Object.keys(fit).length) return;
    figure.push("answers", fit);
    figure.push("score", compute(questions(), fit).correct);
    // Come back to the first question that is still open.
    const open = questions().findIndex((q, i) => !grade(q.choices, fit[i] ?? []).done);
    it.at = Math.max(0, open);
  }

  load();
  build();
  figure.on("answers", () => figure.schedule(paint));
  figure.on(["questions", "key"], () => figure.schedule(() => { load(); build(); }));
}

function render(context) {
  const it = { context };
  for (const piece of [cardOf, turning, painting, life]) piece(it);
  const { figure } = it;
  return figure.dispose;
}

export default { render };
