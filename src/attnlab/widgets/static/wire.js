// Arrays as they travel between Python and a page, one form for all: { shape, dtype, data, scale? }. Traits are made by
// attnlab/widgets/base.py, weights by attnlab/checkpoints.py. `data` and `scale` are little-endian bytes (a DataView, a
// typed array, a buffer) or base64 text.
//   float32  float16  uint8  bool   one number after the other, the last axis first
//   int8 with a float32 scale       one scale for each row along the last axis: number = data · scale

/** @typedef {{shape: number[], dtype: string, data: any, scale?: any}} Packed */

/** A private copy of the bytes: a figure may write to them, and any typed array may begin at their start. */
export function toBytes(value) {
  if (typeof value === "string") return fromBase64(value);
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
  return new Uint8Array(value).slice();
}

/** Base64 text as bytes. */
export function fromBase64(text) {
  const letters = atob(text), out = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) out[i] = letters.charCodeAt(i);
  return out;
}

/** One half-precision number from its 16 bits: sign, 5 bits of exponent, 10 of fraction. */
export function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

const READ = {
  float32: (b) => new Float32Array(b.buffer, b.byteOffset, b.byteLength / 4),
  float16: (b) => Float32Array.from(new Uint16Array(b.buffer, b.byteOffset, b.byteLength / 2), fromHalf),
  int8: (b) => new Int8Array(b.buffer, b.byteOffset, b.byteLength),
  uint8: (b) => b,
  bool: (b) => b,
};

/**
 * An array as it is stored: floats as a Float32Array, int8 as an Int8Array with its `scale`, bool as 0 and 1.
 * null stays null.
 * @param {Packed | null} packed
 */
export function decode(packed) {
  if (!packed) return null;
  const { shape, dtype, data, scale = null } = packed;
  if (!READ[dtype]) throw new Error(`A page reads ${Object.keys(READ).join(", ")}, not ${dtype}.`);
  const out = READ[dtype](toBytes(data)), size = shape.reduce((a, b) => a * b, 1);
  if (out.length !== size)
    throw new Error(`An array of shape ${shape.join("×")} has ${size} numbers, not ${out.length}.`);
  const decoded = { shape: [...shape], data: out };
  return scale === null ? decoded : { ...decoded, scale: READ.float32(toBytes(scale)) };
}

/** The same in float32, whatever it is stored in: scales are multiplied in, rounded to float32 as torch does. */
export function tensor(packed) {
  const { shape, data, scale } = decode(packed), out = data instanceof Float32Array ? data : Float32Array.from(data);
  if (scale) {
    const width = shape.at(-1);
    for (let i = 0, c = 0; i < scale.length; i++) for (let j = 0; j < width; j++, c++) out[c] *= scale[i];
  }
  return { shape, data: out };
}

/** All arrays of a model, by name, in float32. @param {Record<string, Packed>} arrays */
export function tensors(arrays) {
  return Object.fromEntries(Object.entries(arrays).map(([name, packed]) => [name, tensor(packed)]));
}

/** The way back: a Float32Array, or a Uint8Array of 0 and 1 for a mask, to send to Python. */
export function encode(shape, data) {
  const dtype = data instanceof Float32Array ? "float32" : "bool";
  return { shape: [...shape], dtype, data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice() };
}
