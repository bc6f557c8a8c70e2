// SentencePiece's byte-pair vocabulary on a page: the twin of attnlab/data/pieces.py. No DOM.
// Texts are kept as strings of bytes (one letter of 0 … 255 for each), because a piece may be half a character.

export const BOS = 1, EOS = 2; // <s> and </s>
const FIRST_BYTE = 3, FIRST_PIECE = FIRST_BYTE + 256; // pieces 3 … 258 are the bytes 0 … 255

/** What a page carries: (length, bytes) for each piece. Each scores 1 less than the one before; 128 is added to the
 *  length of a piece that comes after all others. */
export function readPieces(bytes) {
  const texts = [], scores = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes[at] & 127;
    scores.push(bytes[at] & 128 ? -1e9 : Math.min(0, FIRST_PIECE - texts.length));
    texts.push(String.fromCharCode(...bytes.subarray(at + 1, at + 1 + length)));
    at += 1 + length;
  }
  // The names of marks and bytes are not text: nobody may type them.
  const numbers = new Map(texts.slice(FIRST_PIECE).map((text, i) => [text, FIRST_PIECE + i]));
  const joint = (a, b) => (Math.min(a, b) < FIRST_PIECE ? undefined : numbers.get(texts[a] + texts[b]));
  const utf8 = (text) => String.fromCharCode(...new TextEncoder().encode(text));

  function characters(text) {
    return [...text].flatMap((character) => {
      const code = utf8(character), number = numbers.get(code);
      return number === undefined ? [...code].map((byte) => FIRST_BYTE + byte.charCodeAt(0)) : [number];
    });
  }
  return {
    length: texts.length,
    /** A text as ids, without begin mark: the pair with the highest score is merged, until no pair is a piece. */
    encode(text) {
      const found = text ? characters(` ${text}`) : [];
      for (;;) {
        let best = -1, number = 0;
        for (let i = 0; i + 1 < found.length; i++) {
          const one = joint(found[i], found[i + 1]);
          if (one !== undefined && (best < 0 || scores[one] > scores[number])) [best, number] = [i, one];
        }
        if (best < 0) return found;
        found.splice(best, 2, number);
      }
    },
    /** One piece as people read it: marks by name, bytes that are no character of their own in hex. */
    name(number) {
      if (number === BOS) return "<s>";
      if (number === EOS) return "</s>";
      if (number < FIRST_BYTE) return "<unk>";
      const byte = number - FIRST_BYTE;
      if (number < FIRST_PIECE) return byte > 31 && byte < 127 || byte === 10
        ? String.fromCharCode(byte) : `⟨${byte.toString(16).toUpperCase().padStart(2, "0")}⟩`;
      return new TextDecoder().decode(Uint8Array.from(texts[number], (c) => c.charCodeAt(0)));
    },
  };
}
