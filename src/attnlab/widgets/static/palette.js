// The colours of canvases and SVG, which CSS cannot reach: the same file and laws as attnlab/palette.py.
import PALETTE from "./palette.json";

const SIZE = 256; // colours of a ramp

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

/** The stops of a ramp as a table of 256 colours, flat: r, g, b, r, g, b … */
function tableOf(stops) {
  const marks = stops.map(channels), table = new Uint8ClampedArray(3 * SIZE);
  for (let i = 0; i < SIZE; i++) {
    const x = (i / (SIZE - 1)) * (marks.length - 1), a = Math.min(marks.length - 2, Math.floor(x)), f = x - a;
    for (let c = 0; c < 3; c++) table[3 * i + c] = marks[a][c] + f * (marks[a + 1][c] - marks[a][c]);
  }
  return table;
}

/** Relative luminance, as the Web's contrast guidelines define it. */
function luminance(r, g, b) {
  const [x, y, z] = [r, g, b].map((c) => ((c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
}

/** Where in a table of colours a place in [0, 1] is. */
export const entry = (place) => 3 * Math.round((SIZE - 1) * Math.max(0, Math.min(1, place)));

/** The one law from an attention weight to a place on the ramp: its square root, so that 1/64 can be told from 0. */
export const weightPlace = (weight, largest = 1) => Math.sqrt(Math.max(0, weight / largest));

/** The law for numbers with a sign: 0 in the middle, ±limit at the ends. */
export const signedPlace = (value, limit = 1) => 0.5 + value / (2 * limit);

/** The law for other amounts: evenly from low to high. */
export const amountPlace = (value, low, high) => (value - low) / (high - low || 1);

/** Colours of a ramp by place: `fill(t)`, and `on(t)`, the ink (black or white) that can be read on it. */
function rampOf(stops) {
  const table = tableOf(stops);
  const at = (t) => [0, 1, 2].map((c) => table[entry(t) + c]);
  return {
    table,
    fill: (t) => `rgb(${at(t)})`,
    on: (t) => (luminance(...at(t)) > 0.179 ? "#000" : "#fff"), // where both contrast alike
  };
}

const made = {};

/**
 * All colours of a theme, "light" or "dark". `weights` and `signed` are the two ramps; `weight(w, largest)` and
 * `signed(v, limit)` give a colour by its law, `inkOnWeight` and `inkOnSigned` what can be read on it.
 */
export function palette(theme) {
  if (made[theme]) return made[theme];
  const { surfaces, inks, weights, signed } = PALETTE[theme], known = { ...surfaces, ...inks };
  const ramp = rampOf(weights), both = rampOf(signed);
  return (made[theme] = {
    dark: theme === "dark",
    ...surfaces,
    background: surfaces.bg,
    /** By what it stands for ("query"), by hue ("blue") or by surface ("text"). */
    colour(name) {
      const found = known[PALETTE.roles[name] ?? name];
      if (!found) throw new Error(`No colour is called ${name}: give it an ink under roles in palette.json.`);
      return found;
    },
    /** For lines of a plot: the hues, in the order of printed plots. */
    series: Object.values(inks),
    table: ramp.table,
    signedTable: both.table,
    ramp: ramp.fill,
    on: ramp.on,
    weight: (w, largest) => ramp.fill(weightPlace(w, largest)),
    inkOnWeight: (w, largest) => ramp.on(weightPlace(w, largest)),
    signed: (v, limit) => both.fill(signedPlace(v, limit)),
    inkOnSigned: (v, limit) => both.on(signedPlace(v, limit)),
  });
}
