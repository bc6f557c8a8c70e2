// Starts reveal.js and makes every slide fit 1280 × 720, whatever its author put on it.
const WIDTH = 1280;
const HEIGHT = 720;
const SMALLEST = 0.75; // of the normal type, 32 px: what the last row can read
const SMALLER = 0.6; // for a slide with too much on it, which should be split
const LARGER = 1.4; // for words, tables and code with room to spare
const ALONE = ":not(:has([data-widget], figure, img, h1)):not(.layout-question)"; // no picture to fill the slide
// How much a figure is enlarged. Its letters have 15.4 pixels or more (kit.css): from 1.6 on the last row reads them.
const LARGE = [1.6, 1.9, 2.3];
const TOO_SMALL = [1.5, 1.4, 1.3, 1.2, 1.1, 1, 0.9, 0.8, 0.7, 0.6];
// What a hall sees of a figure: all, no readout, two controls, its controls beside it; and what each is worth. The last
// are tried when nothing else is whole; a figure that is the statement of its slide, too, keeps its title until then.
const MODES = [["", 1], ["bare", 0.9], ["few", 0.85], ["bare few", 0.8], ["beside", 0.9]];
const UNTITLED = MODES.filter(([mode]) => mode.startsWith("bare")).map(([mode, worth]) => [`${mode} mute`, worth]);
const LAST = ["beside bare", "bare few less", "bare few least"];
const DRAWN = ":is(canvas, svg, table, img, .al-drawn)";

const FOOT = 24; // pixels that words leave free at the foot of a slide, where they can
// How words are made to fit: down to which size, code no smaller than, with less air, and free at the foot.
const TRIES = [
  [SMALLEST, 24, false, FOOT], [SMALLEST, 24, true, FOOT], [SMALLEST, 24, true, 0], [SMALLER, 0, true, 0],
];

// Figures answer a new size late: they hear of it after one frame and paint in the next. A busy machine has few frames,
// a deck in the background none.
const later = (time) => new Promise((done) => setTimeout(done, time));
const painted = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(later(0)))));
const frame = () => Promise.race([Promise.all([painted(), later(34)]), later(400)]);
const overflows = (slide) => slide.scrollHeight > HEIGHT + 1;
const parts = (slide) => [...slide.children].filter((part) => !part.matches("aside"));
const foot = (slide) => Math.max(...parts(slide).map((part) => part.offsetTop + part.offsetHeight));
const HOLDS = "[data-widget], figure, img, .highlight, .output_text, table";

/** Gives the parts of a slide their places: what fills it, and for two columns what goes where. */
function arrange(slide) {
  slide.setAttribute(slide.querySelector("h1, h2, h3") ? "data-titled" : "data-untitled", "");
  const held = parts(slide).filter((part) => !part.matches("h1, h2, h3"));
  if (slide.classList.contains("layout-columns")) {
    const [words, picture, columns] = [0, 0, 0].map(() => document.createElement("div"));
    const head = slide.querySelector("h1, h2, h3");
    slide.prepend(...(head ? [head] : []));
    for (const part of held)
      (part.querySelector(HOLDS) && !part.querySelector("p, li") ? picture : words).append(part);
    for (const part of picture.childElementCount ? [] : words.querySelectorAll(HOLDS)) picture.append(part);
    columns.className = "course-columns";
    columns.append(words, picture);
    slide.append(columns);
    return;
  }
  for (const part of held) {
    const fills = part.matches("figure, [data-widget]") || part.querySelector("figure img, [data-widget]");
    part.classList.toggle("course-fill", Boolean(fills));
  }
}

/** Printed figures as large as the room that is left, even larger than they were drawn. */
function fitPictures(slide) {
  for (const image of slide.querySelectorAll("figure > img[width]")) {
    const room = image.closest(".course-fill, .course-columns > div");
    if (!room) continue;
    image.style.cssText += "; width: 0; height: 0; max-height: none; margin: 0 auto;";
    const filled = room.classList.contains("course-fill") ? room : slide.querySelector(".course-columns");
    const printed = filled === room ? [...room.querySelectorAll(".output_text")] : []; // what stands below it
    const high = filled.clientHeight - printed.reduce((sum, text) => sum + text.offsetHeight, 0);
    const ratio = Math.min(room.clientWidth / image.getAttribute("width"), (high - 8) / image.getAttribute("height"));
    image.style.width = `${(ratio * image.getAttribute("width")).toFixed(1)}px`;
    image.style.height = `${(ratio * image.getAttribute("height")).toFixed(1)}px`;
  }
}

/** Long lines of code: a smaller type first, scrolling only when that is not enough. */
function fitCode(slide, smallest) {
  for (const block of slide.querySelectorAll("pre")) {
    block.style.fontSize = "";
    const ratio = block.clientWidth / block.scrollWidth;
    if (ratio < 1) {
      const size = parseFloat(getComputedStyle(block).fontSize);
      block.style.fontSize = `${Math.max(smallest, size * Math.max(ratio * 0.99, 0.5)).toFixed(2)}px`;
    }
  }
}

/** Words without a picture are larger, where there is room; their title stays as it is, and tables do not scroll. */
function grow(slide) {
  if (!slide.matches(ALONE)) return;
  for (let size = LARGER; size > 1.01; size -= 0.05) {
    slide.style.setProperty("--grown", size.toFixed(2));
    slide.style.fontSize = `${size.toFixed(2)}em`;
    fitCode(slide, 24);
    const wide = [...slide.querySelectorAll("table, pre, mjx-container[display]")];
    const cut = wide.some((part) => part.offsetLeft + part.offsetWidth > slide.clientWidth - 50 ||
      part.scrollWidth > part.clientWidth + 1);
    if (foot(slide) <= HEIGHT - 50 && !cut) return;
  }
  slide.style.removeProperty("--grown");
  slide.style.fontSize = "";
  fitCode(slide, 24);
}

/** The largest type with which a slide does not overflow; first by what can be read, then by what is whole. */
function fitType(slide) {
  slide.style.removeProperty("--grown");
  slide.classList.remove("course-middle");
  const words = slide.matches(ALONE); // a figure takes all that is left
  for (const [last, readable, tight, free] of TRIES) {
    slide.toggleAttribute("data-small", !readable);
    slide.toggleAttribute("data-tight", tight);
    for (let size = 1; size >= last - 0.001; size -= 0.05) {
      slide.style.fontSize = size === 1 ? "" : `${size.toFixed(2)}em`;
      fitCode(slide, readable);
      if (overflows(slide) || (words && foot(slide) > HEIGHT - free)) continue;
      if (size === 1) grow(slide);
      return;
    }
  }
}

/** Whether a figure is whole: nothing of it scrolls, and it is not higher than its room. */
function whole(figure) {
  const boxes = [figure, ...figure.querySelectorAll(".al-body, .al-body div")];
  const cut = boxes.some((box) => box.scrollWidth > box.clientWidth + 1 && !box.matches(".al-scrolls, .al-sr") &&
    (box === figure || getComputedStyle(box).overflowX !== "visible"));
  const room = figure.closest(".course-fill");
  return !cut && !(room && room.scrollHeight > room.clientHeight + 1);
}

/** Whether the letters of a diagram, which shrink with their room, reach the last row. */
function readable(figure) {
  const least = 23.95 * Reveal.getScale();
  return [...figure.querySelectorAll(".al-dg-pick text")].filter((text) => text.checkVisibility())
    .every((text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a >= least);
}

/** How much of the slide its drawings take; a little more for larger letters. */
function worth(figures, zoom) {
  const drawn = figures.flatMap((figure) => [...figure.querySelectorAll(`.al-body ${DRAWN}`)]);
  const area = drawn.filter((node) => !node.parentElement.closest(`.al-body ${DRAWN}`)).reduce((sum, node) => {
    const sheet = node.viewBox?.baseVal; // a drawing may be smaller than its box
    const scale = sheet?.width ? node.getScreenCTM()?.a : 0;
    const box = node.getBoundingClientRect();
    return sum + (scale ? sheet.width * sheet.height * scale ** 2 : box.width * box.height);
  }, 0);
  return area / (WIDTH * HEIGHT * Reveal.getScale() ** 2) + 0.06 * zoom;
}

/** The largest type, and for figures the form and size that show most, with which a slide does not overflow. */
async function fit(slide) {
  const figures = [...slide.querySelectorAll("[data-widget]")];
  const set = async (mode, zoom) => {
    const tried = [...[...MODES, ...UNTITLED].map(([name]) => name), ...LAST].indexOf(mode);
    for (const figure of figures) {
      figure.dataset.lecture = mode;
      figure.style.zoom = zoom + 0.004 * tried; // a pixel wider or narrower: it measures itself anew
    }
    await frame();
    return !overflows(slide) && figures.every(whole);
  };
  const choose = async () => {
    let faint = null; // the best whole one whose letters are too small: still better than one made smaller
    for (const modes of slide.hasAttribute("data-untitled") ? [MODES, UNTITLED] : [MODES]) {
      let best = null;
      for (const [mode, weight] of modes)
        for (const zoom of LARGE) {
          if (!(await set(mode, zoom))) break;
          const found = { mode, zoom, value: weight * worth(figures, zoom) };
          if (!figures.every(readable)) {
            if (!faint || found.value > faint.value) faint = found;
            break;
          }
          if (!best || found.value > best.value) best = found;
        }
      if (best) return set(best.mode, best.zoom);
    }
    if (faint) return set(faint.mode, faint.zoom);
    for (const mode of LAST) if (await set(mode, LARGE[0])) return true;
    for (const zoom of TOO_SMALL) if (await set("", zoom)) return true;
    return false;
  };
  figures.forEach((figure) => { figure.style.zoom = 1; });
  fitType(slide);
  if (figures.length) await choose();
  fitPictures(slide);
  centre(slide);
  slide.dataset.fits = overflows(slide) ? "no" : "yes";
}

/** Words that leave half of their slide empty go in the middle of it, below their heading. */
function centre(slide) {
  const held = parts(slide).filter((part) => !part.matches("h1, h2, h3"));
  const free = HEIGHT - 50 - foot(slide);
  const moved = slide.matches(ALONE) && !slide.matches(".layout-columns") && held.length && free > 60;
  slide.style.setProperty("--course-free", `${moved ? Math.round(free * 0.4) : 0}px`);
  slide.classList.toggle("course-middle", Boolean(moved));
}

/** A figure may grow under the hand of the lecturer, as a quiz does that explains its answers. */
async function shrink(slide) {
  const figures = [...slide.querySelectorAll("[data-widget]")];
  for (let zoom = parseFloat(figures[0]?.style.zoom); zoom > 0.65; zoom -= 0.1) {
    if (!overflows(slide)) return;
    figures.forEach((figure) => { figure.style.zoom = (zoom - 0.1).toFixed(1); });
    await frame();
  }
}

function leaves() {
  const slides = [...document.querySelectorAll(".reveal .slides section")];
  return slides.filter((slide) => !slide.querySelector(":scope > section"));
}

const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
Reveal.initialize({
  width: WIDTH,
  height: HEIGHT,
  margin: 0, // slides have their own
  center: false,
  hash: true,
  slideNumber: "c/t",
  transition: still ? "none" : "fade",
  transitionSpeed: "fast",
  viewDistance: 1000, // every slide is laid out, so that figures know their size and can be fitted
  mobileViewDistance: 1000,
  plugins: [RevealNotes],
}).then(async () => {
  await Promise.allSettled([MathJax.startup.promise, document.fonts.ready]);
  leaves().forEach(arrange);
  Reveal.on("slidechanged", (event) => event.currentSlide.dataset.fits ?? fit(event.currentSlide));
  const slides = leaves();
  const here = slides.indexOf(Reveal.getCurrentSlide()); // what is seen next comes first
  for (const slide of [...slides.slice(here), ...slides.slice(0, here)]) await fit(slide);
  // A figure that painted late, on a busy machine, has outgrown its slide since: once more.
  for (const slide of slides.filter(overflows)) await fit(slide);
  document.querySelector(".slides").addEventListener("click", async () => {
    await frame();
    await shrink(Reveal.getCurrentSlide());
  });
  document.documentElement.dataset.ready = "yes"; // what the tests wait for
});
