// A small runtime for trained models: weights from Python as typed arrays, and the few layers they need.
// Names and shapes are torch's: a weight is (out, in), row-major. Sums are kept in double precision, results
// in single, so a model gives the same numbers here and in torch up to the last digits of a float32.

/**
 * An array as `Translator.to_browser` sends it. `data` and `scale` are base64 text or bytes, little-endian.
 * @typedef {{shape: number[], dtype: string, data: any, scale?: any}} Packed
 * @typedef {{shape: number[], data: Float32Array}} Tensor
 */

/** Base64 text, a DataView, a typed array or an ArrayBuffer as bytes that start at an even place. */
export function toBytes(value) {
  if (typeof value === "string") {
    const text = atob(value), out = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
    return out;
  }
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
  return new Uint8Array(value).slice();
}

/** One half-precision number from its 16 bits: sign, 5 bits of exponent, 10 of fraction. */
export function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

/**
 * A packed array in float32. int8 comes with one scale for each row (a row runs along the last axis):
 * weight[i][j] = data[i][j] · scale[i], rounded to float32 as torch does.
 * @param {Packed} packed
 * @returns {Tensor}
 */
export function tensor({ shape, dtype, data, scale = null }) {
  const raw = toBytes(data).buffer;
  let out;
  if (dtype === "float32") out = new Float32Array(raw);
  else if (dtype === "float16") out = Float32Array.from(new Uint16Array(raw), fromHalf);
  else if (dtype === "int8") out = Float32Array.from(new Int8Array(raw));
  else throw new Error(`The runtime reads int8, float16 and float32, not ${dtype}.`);
  if (scale !== null) {
    const scales = new Float32Array(toBytes(scale).buffer), width = shape[shape.length - 1];
    for (let i = 0, c = 0; i < scales.length; i++) for (let j = 0; j < width; j++, c++) out[c] *= scales[i];
  }
  const size = shape.reduce((a, b) => a * b, 1);
  if (out.length !== size) throw new Error(
    `An array of shape ${shape.join("×")} has ${size} numbers, not ${out.length}.`);
  return { shape: [...shape], data: out };
}

/** All arrays of a model, by name. @param {Record<string, Packed>} arrays @returns {Record<string, Tensor>} */
export function tensors(arrays) {
  return Object.fromEntries(Object.entries(arrays).map(([name, packed]) => [name, tensor(packed)]));
}

/** Row i of a matrix, without a copy: the vector of word i, when the matrix is an embedding. */
export function rowOf(matrix, i) {
  const width = matrix.shape[1];
  return matrix.data.subarray(i * width, (i + 1) * width);
}

/**
 * W x + b: (N, M), (M) -> (N). `bias` may be null.
 * @param {Tensor} weight @param {ArrayLike<number>} x @param {Tensor | null} bias @returns {Float32Array}
 */
export function matVec(weight, x, bias = null, out = new Float32Array(weight.shape[0])) {
  const [rows, width] = weight.shape, w = weight.data;
  for (let i = 0, c = 0; i < rows; i++) {
    let sum = bias ? bias.data[i] : 0;
    for (let j = 0; j < width; j++) sum += w[c++] * x[j];
    out[i] = sum;
  }
  return out;
}

/**
 * A linear layer, x Wᵀ + b, for all rows of x at once: flat (L, M) -> flat (L, N).
 * @param {Float32Array} x @param {Tensor} weight @param {Tensor | null} bias @returns {Float32Array}
 */
export function linear(x, weight, bias = null) {
  const [out, width] = weight.shape, L = x.length / width;
  const result = new Float32Array(L * out);
  for (let i = 0; i < L; i++)
    matVec(weight, x.subarray(i * width, (i + 1) * width), bias, result.subarray(i * out, (i + 1) * out));
  return result;
}

/**
 * Layer norm of every row of flat x (L, E): mean 0, variance 1, then scaled and shifted. As torch, the variance
 * divides by E and epsilon is inside the square root.
 */
export function layerNorm(x, weight, bias = null, epsilon = 1e-5) {
  const width = weight.data.length, result = new Float32Array(x.length);
  for (let start = 0; start < x.length; start += width) {
    let mean = 0, spread = 0;
    for (let j = 0; j < width; j++) mean += x[start + j] / width;
    for (let j = 0; j < width; j++) spread += (x[start + j] - mean) ** 2 / width;
    const shrink = 1 / Math.sqrt(spread + epsilon);
    for (let j = 0; j < width; j++)
      result[start + j] = (x[start + j] - mean) * shrink * weight.data[j] + (bias ? bias.data[j] : 0);
  }
  return result;
}

/** 1 / (1 + e^−x), a gate between 0 and 1. */
export function sigmoid(x) {
  return 1 / (1 + Math.exp(-x));
}

/** Where the largest number stands; the first place if there are several, as torch. */
export function argmax(values) {
  let best = 0;
  for (let i = 1; i < values.length; i++) if (values[i] > values[best]) best = i;
  return best;
}

/** x + y, element by element. */
export function add(x, y) {
  return Float32Array.from(x, (value, i) => value + y[i]);
}
