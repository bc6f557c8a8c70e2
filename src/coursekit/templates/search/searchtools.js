// Search by section. The index is searchindex.js, written by coursekit; it calls Search.setIndex.
const Search = (() => {
  const SHOWN = 30;
  const AROUND = 130; // characters of a snippet on each side of what was found
  let index = [];
  let ready = false;

  const plain = (text) => text.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");
  const wordsOf = (text) => plain(text).match(/[\p{L}\p{N}√]+/gu) ?? [];

  /** How often a text has words that begin like `word`. */
  const count = (words, word) => words.reduce((sum, one) => sum + one.startsWith(word), 0);

  /** A title says what a section teaches; then how much of its text is about it. */
  function score(section, asked) {
    let sum = 0;
    for (const word of asked) {
      const inTitle = count(section.titleWords, word);
      const inText = count(section.words, word);
      if (!inTitle && !inText) return 0;
      sum += (inTitle ? 10 : 0) + Math.log2(1 + inText) + (60 * inText) / (section.words.length + 120);
    }
    return sum;
  }

  function find(query) {
    const asked = wordsOf(query);
    if (!asked.length) return [];
    return index
      .map((section, place) => ({ section, place, score: score(section, asked) }))
      .filter((one) => one.score > 0)
      .sort((a, b) => b.score - a.score || a.place - b.place)
      .slice(0, SHOWN)
      .map((one) => one.section);
  }

  function make(name, properties = {}, ...children) {
    const node = Object.assign(document.createElement(name), properties);
    node.append(...children);
    return node;
  }

  /** The first place in the text where a word was found, with the words marked. */
  function snippet(text, asked) {
    const low = plain(text);
    const places = asked.map((word) => low.search(new RegExp(`(?<![\\p{L}\\p{N}])${word}`, "u")));
    const first = places.find((at) => at >= 0) ?? 0;
    // Whole words: from the first that begins there, to the last that ends.
    const start = first > AROUND ? text.indexOf(" ", first - AROUND) + 1 : 0;
    const last = text.length > first + 2 * AROUND ? text.lastIndexOf(" ", first + 2 * AROUND) : text.length;
    const cut = text.slice(start, last);
    const line = make("p");
    const marks = new RegExp(`(?<![\\p{L}\\p{N}])((?:${asked.join("|")})[\\p{L}\\p{N}]*)`, "giu");
    line.append(start ? "… " : "");
    for (const [place, part] of cut.split(marks).entries()) line.append(place % 2 ? make("mark", {}, part) : part);
    line.append(last < text.length ? " …" : "");
    return line;
  }

  function show(query) {
    const place = document.getElementById("search-results");
    const asked = wordsOf(query);
    const found = find(query);
    const more = found.length === SHOWN ? " or more" : "";
    const many = found.length === 1 ? "1 section" : `${found.length}${more} sections`;
    const words = found.length
      ? `${many} about “${query}”`
      : `Nothing about “${query}”. Try fewer words, or the beginning of one.`;
    const list = make("ol", { className: "course-found" });
    for (const { page, id, chapter, title, text } of found) {
      const where = chapter === title ? "" : chapter;
      const link = make("a", { href: `${page}#${id}` }, title);
      list.append(make("li", {}, link, make("span", {}, where), snippet(text, asked)));
    }
    place.replaceChildren(make("p", { className: "course-found-count", role: "status" }, words), list);
  }

  function start() {
    const query = new URLSearchParams(location.search).get("q")?.trim();
    if (!query || !ready) return;
    for (const field of document.querySelectorAll("input[name=q]")) field.value = query;
    show(query);
  }
  document.addEventListener("DOMContentLoaded", start);

  return {
    find,
    setIndex(sections) {
      index = sections.map((section) => (
        { ...section, titleWords: wordsOf(section.title), words: wordsOf(section.text) }));
      ready = true;
      if (document.readyState !== "loading") start();
    },
  };
})();
