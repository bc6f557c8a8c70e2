// Products of matrices on a page, fast enough for models of twenty million weights. Pure functions, no DOM.
//
// Activations are flat row-major Float32Arrays. A weight is { shape: [N, M], data }, as torch's nn.Linear: a
// Float32Array, or an Int8Array with `scale`, one number per row (see wire.js). Sums are kept in double precision,
// results in single: a page agrees with torch to the last digits of a float32.

/** @typedef {{shape: number[], data: Float32Array | Int8Array, scale?: Float32Array}} Weight */

/**
 * out[i][j] = Σ a[i][m] · b[j][m]: L rows of a against N rows of b, all of length M. Every row starts `stride` after
 * the one before. Four rows against four at a time: sixteen sums stay in registers, and each number read is used
 * four times. This is where the time of a model goes.
 */
export function dotRows(a, aStart, aStride, b, bStart, bStride, out, outStart, outStride, L, N, M) {
  const fullL = L - (L % 4), fullN = N - (N % 4);
  for (let i = 0; i < fullL; i += 4) {
    const a0 = aStart + i * aStride, a1 = a0 + aStride, a2 = a1 + aStride, a3 = a2 + aStride;
    const o0 = outStart + i * outStride, o1 = o0 + outStride, o2 = o1 + outStride, o3 = o2 + outStride;
    for (let j = 0; j < fullN; j += 4) {
      const b0 = bStart + j * bStride, b1 = b0 + bStride, b2 = b1 + bStride, b3 = b2 + bStride;
      let s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;
      let s20 = 0, s21 = 0, s22 = 0, s23 = 0, s30 = 0, s31 = 0, s32 = 0, s33 = 0;
      for (let m = 0; m < M; m++) {
        const w = a[a0 + m], x = a[a1 + m], y = a[a2 + m], z = a[a3 + m];
        const p = b[b0 + m], q = b[b1 + m], r = b[b2 + m], s = b[b3 + m];
        s00 += w * p; s01 += w * q; s02 += w * r; s03 += w * s;
        s10 += x * p; s11 += x * q; s12 += x * r; s13 += x * s;
        s20 += y * p; s21 += y * q; s22 += y * r; s23 += y * s;
        s30 += z * p; s31 += z * q; s32 += z * r; s33 += z * s;
      }
      out[o0 + j] = s00; out[o0 + j + 1] = s01; out[o0 + j + 2] = s02; out[o0 + j + 3] = s03;
      out[o1 + j] = s10; out[o1 + j + 1] = s11; out[o1 + j + 2] = s12; out[o1 + j + 3] = s13;
      out[o2 + j] = s20; out[o2 + j + 1] = s21; out[o2 + j + 2] = s22; out[o2 + j + 3] = s23;
      out[o3 + j] = s30; out[o3 + j + 1] = s31; out[o3 + j + 2] = s32; out[o3 + j + 3] = s33;
    }
  }
  for (let i = 0; i < L; i++) // what is left over: the last columns, then the last rows
    dotOne(a, aStart + i * aStride, b, bStart, bStride, out, outStart + i * outStride, i < fullL ? fullN : 0, N, M);
}

/** One row of a against rows `first` to `last` of b, four at a time. */
function dotOne(a, aStart, b, bStart, bStride, out, outStart, first, last, M) {
  let j = first;
  for (; j + 4 <= last; j += 4) {
    const b0 = bStart + j * bStride, b1 = b0 + bStride, b2 = b1 + bStride, b3 = b2 + bStride;
    let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (let m = 0; m < M; m++) {
      const x = a[aStart + m];
      s0 += x * b[b0 + m]; s1 += x * b[b1 + m]; s2 += x * b[b2 + m]; s3 += x * b[b3 + m];
    }
    out[outStart + j] = s0; out[outStart + j + 1] = s1; out[outStart + j + 2] = s2; out[outStart + j + 3] = s3;
  }
  for (; j < last; j++) {
    const b0 = bStart + j * bStride;
    let sum = 0;
    for (let m = 0; m < M; m++) sum += a[aStart + m] * b[b0 + m];
    out[outStart + j] = sum;
  }
}

/** The same for whole numbers; a function of its own, because engines compile one for one kind of array. */
function dotOneInt8(x, w, out, N, M) {
  let j = 0;
  for (; j + 4 <= N; j += 4) {
    const b0 = j * M, b1 = b0 + M, b2 = b1 + M, b3 = b2 + M;
    let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (let m = 0; m < M; m++) {
      const value = x[m];
      s0 += value * w[b0 + m]; s1 += value * w[b1 + m]; s2 += value * w[b2 + m]; s3 += value * w[b3 + m];
    }
    out[j] = s0; out[j + 1] = s1; out[j + 2] = s2; out[j + 3] = s3;
  }
  for (; j < N; j++) {
    let sum = 0;
    for (let m = 0; m < M; m++) sum += x[m] * w[j * M + m];
    out[j] = sum;
  }
}

const asFloats = (x) => (x instanceof Float32Array ? x : Float32Array.from(x));

/**
 * W x + b: weight (N, M), x (M) -> (N). From int8 the scale is multiplied in once per row.
 * @param {Weight} weight @param {ArrayLike<number>} x @param {Weight | null} bias @returns {Float32Array}
 */
export function matVec(weight, x, bias = null, out = new Float32Array(weight.shape[0])) {
  const [N, M] = weight.shape, { data, scale } = weight;
  if (scale) dotOneInt8(asFloats(x), data, out, N, M);
  else dotOne(asFloats(x), 0, data, 0, M, out, 0, 0, N, M);
  if (scale) for (let j = 0; j < N; j++) out[j] *= scale[j];
  if (bias) for (let j = 0; j < N; j++) out[j] += bias.data[j];
  return out;
}

const BLOCK = 64; // rows of an int8 weight that become floats at a time

/**
 * A linear layer, x Wᵀ + b, for all rows of x: flat (L, M), weight (N, M) -> flat (L, N).
 * @param {Float32Array} x @param {Weight} weight @param {Weight | null} bias @returns {Float32Array}
 */
export function linear(x, weight, bias = null) {
  const [N, M] = weight.shape, L = x.length / M, out = new Float32Array(L * N), given = asFloats(x);
  if (L === 1) return matVec(weight, given, bias, out);
  if (!weight.scale) dotRows(given, 0, M, weight.data, 0, M, out, 0, N, L, N, M);
  else {
    const rows = new Float32Array(BLOCK * M);
    for (let j = 0; j < N; j += BLOCK) {
      const count = Math.min(BLOCK, N - j);
      unscaled(weight, j, count, rows);
      dotRows(given, 0, M, rows, 0, M, out, j, N, L, count, M);
    }
  }
  if (bias) for (let i = 0, c = 0; i < L; i++) for (let j = 0; j < N; j++, c++) out[c] += bias.data[j];
  return out;
}

/** Rows `first` to `first + count` of an int8 weight as floats. */
function unscaled({ shape: [, M], data, scale }, first, count, to) {
  for (let j = 0, c = 0; j < count; j++) {
    const factor = scale[first + j], from = (first + j) * M;
    for (let m = 0; m < M; m++) to[c++] = data[from + m] * factor;
  }
}

/** Row i of a matrix, the vector of word i when it is an embedding: a view of floats, or int8 made floats. */
export function rowOf(matrix, i) {
  const width = matrix.shape[1];
  if (!matrix.scale) return matrix.data.subarray(i * width, (i + 1) * width);
  const row = new Float32Array(width);
  unscaled(matrix, i, 1, row);
  return row;
}

/** (L, D) times (D, M), both flat: as torch's a @ b. */
export function matMul(a, b, L, D, M) {
  const out = new Float32Array(L * M);
  dotRows(asFloats(a), 0, D, transposed(b, D, M), 0, D, out, 0, M, L, M, D);
  return out;
}

/** Columns become rows: of (rows, columns), which may lie in wider rows of `stride` numbers. */
export function transposed(b, rows, columns, start = 0, stride = columns) {
  const out = new Float32Array(rows * columns);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) out[j * rows + i] = b[start + i * stride + j];
  return out;
}
