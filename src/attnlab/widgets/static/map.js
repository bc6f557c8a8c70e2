// The one painter of maps: numbers to pixels, by the laws of palette.js.
import { entry, weightPlace } from "./palette.js";

/**
 * Fill an ImageData, one pixel for each attention weight, row by row.
 * @param {ImageData} image at least as large as the map; what lies beyond stays as it is
 * @param {ArrayLike<number>} weights flat, `columns` in a row
 * @param {{columns?: number, shown?: (c: number) => boolean, ground?: number[] | null, place?: (value: number) =>
 *   number}} [how] cells that are not shown take the colour of the ground, or none; `place` is the law, for numbers of
 *   another kind
 */
export function paintWeights(image, weights, theme, how = {}) {
  const { columns = image.width, shown = null, ground = null, place = weightPlace } = how;
  const { table } = theme, to = image.data;
  for (let c = 0; c < weights.length; c++) {
    const at = 4 * (Math.floor(c / columns) * image.width + (c % columns));
    if (!shown || shown(c)) {
      const from = entry(place(weights[c]));
      to[at] = table[from];
      to[at + 1] = table[from + 1];
      to[at + 2] = table[from + 2];
    } else if (ground) [to[at], to[at + 1], to[at + 2]] = ground;
    else continue;
    to[at + 3] = 255;
  }
}
