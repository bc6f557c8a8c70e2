// Starts reveal.js and makes every slide fit 1280 × 720, whatever its author put on it.
const WIDTH = 1280;
const HEIGHT = 720;
const SMALLEST = 0.6; // of the normal type; a slide that needs less should be split
const LARGEST_FIGURE = 1.7; // live figures are drawn for a desk; a lecture hall sits further away

const frame = () => new Promise((done) => setTimeout(done, 34)); // figures answer a new size late
const overflows = (slide) => slide.scrollHeight > HEIGHT + 1;

/** Long lines of code: a smaller type first, scrolling only when that is not enough. */
function fitCode(slide) {
  for (const block of slide.querySelectorAll("pre")) {
    block.style.fontSize = "";
    const ratio = block.clientWidth / block.scrollWidth;
    if (ratio < 1) {
      const size = parseFloat(getComputedStyle(block).fontSize);
      block.style.fontSize = `${(size * Math.max(ratio * 0.99, 0.7)).toFixed(2)}px`;
    }
  }
}

/** The largest type, and for live figures the largest size, with which a slide does not overflow. */
async function fit(slide) {
  const figures = [...slide.querySelectorAll("[data-widget]")];
  for (let size = 1; size >= SMALLEST - 0.001; size -= 0.04) {
    slide.style.fontSize = size === 1 ? "" : `${size.toFixed(2)}em`;
    fitCode(slide);
    if (!overflows(slide)) break;
  }
  if (figures.length) {
    for (let zoom = LARGEST_FIGURE; zoom >= 0.59; zoom -= 0.1) {
      figures.forEach((figure) => { figure.style.zoom = zoom.toFixed(1); });
      await frame();
      const cut = figures.some((figure) => figure.scrollWidth > figure.clientWidth + 1);
      if (!overflows(slide) && !cut) break;
    }
  }
  slide.dataset.fits = overflows(slide) ? "no" : "yes";
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
  margin: 0.02,
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
  Reveal.on("slidechanged", (event) => event.currentSlide.dataset.fits ?? fit(event.currentSlide));
  const slides = leaves();
  const here = slides.indexOf(Reveal.getCurrentSlide()); // what is seen next comes first
  for (const slide of [...slides.slice(here), ...slides.slice(0, here)]) await fit(slide);
  document.querySelector(".slides").addEventListener("click", async () => {
    await frame();
    await shrink(Reveal.getCurrentSlide());
  });
  document.documentElement.dataset.ready = "yes"; // what the tests wait for
});
