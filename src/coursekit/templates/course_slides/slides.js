// Starts reveal.js and makes every slide fit 1280 × 720, whatever its author put on it.
const WIDTH = 1280;
const HEIGHT = 720;
const SMALLEST = 0.62; // of the normal type; beyond that a slide should be split

/** Shrink the type of a slide, step by step, until its content fits. */
function fit(section) {
  section.style.fontSize = "";
  for (let size = 1; size >= SMALLEST && section.scrollHeight > HEIGHT; size -= 0.04) {
    section.style.fontSize = `${size}em`;
  }
}

function leaves() {
  return [...document.querySelectorAll(".reveal .slides section")].filter(
    (section) => !section.querySelector(":scope > section"),
  );
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
  leaves().forEach(fit);
  Reveal.on("slidechanged", (event) => fit(event.currentSlide));
  document.documentElement.dataset.ready = "yes"; // what the tests wait for
});
