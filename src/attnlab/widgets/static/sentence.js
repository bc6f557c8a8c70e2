// What a reader types, read kindly: words, and for unknown ones the words that may have been meant. No DOM.

// What people write, in words of the corpus. As CONTRACTIONS in browser_translator.py.
const CONTRACTIONS = [["can't", "cannot"], ["can not", "cannot"], ["n't", " not"], ["i'm", "i am"], ["'re", " are"],
  ["'ve", " have"]];

/** Text to words: lower case, commas apart, full stops gone; `left` lists the other signs, each once. */
export function readEnglish(text) {
  // A joiner or a variation selector belongs to an emoji and is nothing by itself.
  let plain = text.normalize("NFC").toLowerCase().replace(/[’‘]/g, "'").replace(/[\u200d\ufe0f]/g, "");
  for (const [short, long] of CONTRACTIONS) plain = plain.split(short).join(long);
  const words = plain.match(/\p{L}[\p{L}\p{M}]*(?:'\p{L}[\p{L}\p{M}]*)*|,/gu) ?? [];
  return { words, left: [...new Set(plain.match(/[^\p{L}\p{M}\p{C}\p{Z}\s,.!?;:'"“”]/gu) ?? [])] };
}

/** How many letters to add, drop, change or swap with their neighbour (Damerau and Levenshtein). */
export function distance(a, b) {
  let before = [], row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) next[j] = Math.min(next[j],
        before[j - 2] + 1);
    }
    [before, row] = [row, next];
  }
  return row[b.length];
}

/** Up to three known words that the reader may have meant: few letters differ, or they begin alike. */
export function suggestions(word, known) {
  if (word.length > 30) return [];
  const near = known.flatMap((other) => {
    const d = distance(word, other), alike = other.length > 3 && word.startsWith(other.slice(0, 4));
    return d <= Math.max(1, Math.floor(word.length / 3)) || alike ? [[d, other]] : [];
  });
  return near.sort(([d, a], [e, b]) => d - e || (a < b ? -1 : 1)).slice(0, 3).map(([, other]) => other);
}

/** French words as they are written: l' homme → l'homme. */
export const writeFrench = (words) => words.join(" ").replaceAll("' ", "'").replaceAll(" ,", ",");
