// Positional encodings: pure functions on numbers and arrays, no DOM. Their twins are in attnlab.layers.positions.

/** Radians per position, one for each pair of numbers: base^(−2i/width). */
export function frequencies(width, base) {
  return Array.from({ length: width / 2 }, (_, i) => base ** ((-2 * i) / width));
}

/** The sinusoids of one position: sin, cos, sin, cos, … */
export function sinusoid(place, width, base) {
  return frequencies(width, base).flatMap((w) => [Math.sin(place * w), Math.cos(place * w)]);
}

/** A position as a binary number, lowest bit first. */
export function bits(place, count) {
  return Array.from({ length: count }, (_, i) => (place >> i) & 1);
}

/** Cosine of row `probe` with every row of a flat table (rows, width). */
export function cosines(table, width, probe) {
  const rows = table.length / width;
  const dot = (a, b) => {
    let sum = 0;
    for (let d = 0; d < width; d++) sum += table[a * width + d] * table[b * width + d];
    return sum;
  };
  const own = Math.sqrt(dot(probe, probe));
  return Array.from({ length: rows }, (_, row) => dot(probe, row) / (own * Math.sqrt(dot(row, row)) || 1));
}

/** Turn each pair of numbers by an angle: (a, b) -> (a cos − b sin, a sin + b cos). */
export function turned(vector, angles) {
  return angles.flatMap((angle, i) => {
    const a = vector[2 * i], b = vector[2 * i + 1], cos = Math.cos(angle), sin = Math.sin(angle);
    return [a * cos - b * sin, a * sin + b * cos];
  });
}

/** What each pair adds to the dot product of two vectors. */
export function pairProducts(q, k) {
  return Array.from({ length: q.length / 2 }, (_, i) => q[2 * i] * k[2 * i] + q[2 * i + 1] * k[2 * i + 1]);
}
