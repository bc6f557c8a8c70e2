// What the website adds to the theme: the contents follow the reader, sections once read are
// remembered on this machine, and a figure in use keeps its height.
"use strict";
{
  const KEY = "attnlab-read";
  const LINE = 0.3; // of the screen: a section is the reader's once its heading is above this line
  const STAY = 1500; // milliseconds in a section until it counts as read

  const page = location.pathname.split("/").pop().replace(/\.html$/, "") || "index";
  const load = () => { try { return JSON.parse(localStorage.getItem(KEY)) ?? {}; } catch { return {}; } };
  const save = (all) => { try { localStorage.setItem(KEY, JSON.stringify(all)); } catch { /* private browsing */ } };

  /** The list of contents on the right: the active entry in view, progress, and what was read. */
  function followReader() {
    const side = document.querySelector(".bd-sidebar-secondary");
    const list = side?.querySelector("nav.page-toc");
    const links = [...(list?.querySelectorAll("a[href^='#']") ?? [])];
    const entries = links
      .map((link) => ({ link, part: document.getElementById(decodeURIComponent(link.hash.slice(1))) }))
      .filter(({ part }) => part);
    if (!entries.length) return;
    document.body.removeAttribute("data-bs-spy"); // the theme's own, which loses its entry from sight
    const fill = document.createElement("i");
    const bar = document.createElement("div");
    bar.className = "course-progress";
    bar.setAttribute("aria-hidden", "true"); // a scroll bar says the same to those who listen
    bar.append(fill);
    list.before(bar);

    const read = new Set(load()[page]?.read ?? []);
    const mark = () => {
      for (const { link, part } of entries) link.classList.toggle("course-read", read.has(part.id));
    };
    mark();
    let active = null;
    let staying = 0;
    let asked = false;
    function follow() {
      asked = false;
      const line = innerHeight * LINE;
      const end = scrollY + innerHeight >= document.documentElement.scrollHeight - 4;
      const above = entries.filter(({ part }) => part.getBoundingClientRect().top <= line);
      const now = end ? entries.at(-1) : above.at(-1);
      const far = scrollY / Math.max(1, document.documentElement.scrollHeight - innerHeight);
      fill.style.width = `${(100 * far).toFixed(1)}%`;
      if (now === active) return;
      active = now;
      for (const { link } of entries) {
        link.classList.toggle("active", link === now?.link);
        if (link === now?.link) link.setAttribute("aria-current", "location");
        else link.removeAttribute("aria-current");
      }
      clearTimeout(staying);
      if (!now) return;
      let frame = now.link.parentElement;
      while (frame !== document.body && getComputedStyle(frame).overflowY !== "auto") frame = frame.parentElement;
      const [box, seen] = [now.link, frame].map((node) => node.getBoundingClientRect());
      if (frame !== document.body && (box.top < seen.top + 80 || box.bottom > seen.bottom - 80))
        frame.scrollTop += box.top - seen.top - seen.height / 2;
      staying = setTimeout(() => {
        read.add(now.part.id);
        save({ ...load(), [page]: { read: [...read], of: entries.length } });
        mark();
      }, STAY);
    }
    addEventListener("scroll", () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(follow);
    }, { passive: true });
    follow();
  }

  /** The list of chapters on the left says how much of each was read. */
  function showProgress() {
    const all = load();
    for (const link of document.querySelectorAll(".bd-sidebar-primary .bd-links a")) {
      const name = link.getAttribute("href").split("#")[0].replace(/\.html$/, "").split("/").pop() || page;
      const known = all[link.getAttribute("href") === "#" ? page : name];
      if (!known?.of) continue;
      const share = Math.min(1, known.read.length / known.of);
      link.style.setProperty("--read", `${Math.round(100 * share)}%`);
      link.classList.add("course-begun");
      link.title = share === 1 ? "read" : `${known.read.length} of ${known.of} sections read`;
    }
  }

  /** Words below must not jump while a hand is on a figure: it may grow, and does not shrink again. */
  function keepHeights() {
    for (const place of document.querySelectorAll("[data-widget]:not([data-widget=quiz])")) {
      let width = 0;
      let tallest = 0;
      const watch = new ResizeObserver(() => {
        if (place.clientWidth !== width) {
          width = place.clientWidth;
          tallest = 0;
          place.style.minHeight = "";
        }
        tallest = Math.max(tallest, place.offsetHeight);
        place.style.minHeight = `${tallest}px`;
      });
      const begin = () => watch.observe(place);
      place.addEventListener("pointerdown", begin, { once: true });
      place.addEventListener("keydown", begin, { once: true });
    }
  }

  /** A link to a fold, or to something in it, opens it: search leads there. */
  function openTarget() {
    let target = null;
    try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { /* not an id */ }
    for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    if (target?.closest("details")) target.scrollIntoView();
  }

  /** Frames that share libraries get them here, before they wake up (see coursekit/frames.py). */
  function fillFrames() {
    const libraries = [...document.querySelectorAll("script[data-library]")]
      .map((node) => [`<!-- shared: ${node.dataset.library} -->`, `<script>${node.textContent}<${"/"}script>`]);
    for (const frame of document.querySelectorAll("iframe[data-srcdoc]")) {
      let text = frame.dataset.srcdoc;
      for (const [mark, library] of libraries) text = text.replace(mark, () => library);
      frame.srcdoc = text;
    }
  }

  const start = () => { followReader(); showProgress(); keepHeights(); fillFrames(); openTarget(); };
  addEventListener("hashchange", openTarget);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
}
