// DINO on dots in a plane: student, teacher, centre, and Adam, all in double precision, all in the browser.
import { softmax } from "./math.js";

export const STEPS = 200;
export const STUDENT = 0.1; // temperatures
export const SHARP = 0.03;
const MOMENTUM = 0.9, CENTRE = 0.8, RATE = 0.02;

/** A network's weights, flat: first layer (H, 2), its bias (H), prototypes (K, H). */
const parts = (w, H, K) => [w.subarray(0, 2 * H), w.subarray(2 * H, 3 * H), w.subarray(3 * H, 3 * H + K * H)];

/** Dot (x, y) -> hidden numbers h, their length, and the cosine with each prototype. */
function look(w, H, K, x, y, keep = {}) {
  const [first, bias, prototypes] = parts(w, H, K);
  const h = keep.h ?? new Float64Array(H), z = keep.z ?? new Float64Array(K), sizes = keep.sizes ?? new Float64Array(K);
  let size = 0;
  for (let i = 0; i < H; i++) {
    h[i] = Math.tanh(first[2 * i] * x + first[2 * i + 1] * y + bias[i]);
    size += h[i] * h[i];
  }
  size = Math.sqrt(size);
  for (let k = 0; k < K; k++) {
    let dot = 0, long = 0;
    for (let i = 0; i < H; i++) {
      const p = prototypes[k * H + i];
      dot += p * h[i];
      long += p * p;
    }
    sizes[k] = Math.sqrt(long);
    z[k] = dot / (size * sizes[k]);
  }
  return { h, size, z, sizes };
}

/** What a teacher says about a dot: centred, and as sharp as `temperature`. */
export function says({ weights, centre }, H, K, x, y, temperature) {
  const { z } = look(weights, H, K, x, y);
  return softmax(z.map((value, k) => value - centre[k]), { temperature });
}

/** Add the gradient of the cross-entropy −Σ target · log softmax(z / τ) of one dot, times `share`. */
function learn(gradient, w, H, K, x, y, seen, target, answer, share) {
  const [first, bias, prototypes] = parts(gradient, H, K), own = parts(w, H, K)[2];
  const { h, size, z, sizes } = seen, back = new Float64Array(H);
  for (let k = 0; k < K; k++) {
    const dz = (share * (answer[k] - target[k])) / STUDENT;
    for (let i = 0; i < H; i++) { // z = p·h / (|p| |h|)
      const p = own[k * H + i] / sizes[k], u = h[i] / size;
      prototypes[k * H + i] += (dz * (u - z[k] * p)) / sizes[k];
      back[i] += (dz * (p - z[k] * u)) / size;
    }
  }
  for (let i = 0; i < H; i++) {
    const d = back[i] * (1 - h[i] * h[i]);
    first[2 * i] += d * x;
    first[2 * i + 1] += d * y;
    bias[i] += d;
  }
}

/** Two entropies of answers (N, K), in nats: of the mean answer, and the mean of an answer's own. */
export function entropies(answers, K) {
  const mean = new Float64Array(K), h = (p) => (p > 0 ? -p * Math.log(p) : 0);
  let own = 0;
  for (const answer of answers) answer.forEach((p, k) => {
    mean[k] += p / answers.length;
    own += h(p) / answers.length;
  });
  return { mean, ofMean: mean.reduce((sum, p) => sum + h(p), 0), meanOf: own };
}

/**
 * Train for STEPS steps. points (N, 2), noise (T · 2, N, 2): two views of every dot, round and round; weights flat.
 * Returns what is known before each step and after the last: student, teacher, centre and the two entropies.
 */
export function train({ points, noise, weights, H, K, centring, sharpening }) {
  const N = points.length / 2, rounds = noise.length / (4 * N), temperature = sharpening ? SHARP : STUDENT;
  const student = Float64Array.from(weights), teacher = Float64Array.from(weights);
  const one = new Float64Array(student.length), two = new Float64Array(student.length);
  let centre = new Float64Array(K);
  const course = [];
  for (let step = 0; ; step++) {
    const known = { weights: teacher.slice(), student: student.slice(), centre: centre.slice() };
    const answers = Array.from({ length: N },
      (_, n) => says(known, H, K, points[2 * n], points[2 * n + 1], temperature));
    course.push({ ...known, ...entropies(answers, K) });
    if (step === STEPS) return course;
    const gradient = new Float64Array(student.length), mean = new Float64Array(K);
    for (let n = 0; n < N; n++) {
      const views = [0, 1].map((side) => {
        const at = (((step % rounds) * 2 + side) * N + n) * 2;
        const x = points[2 * n] + noise[at], y = points[2 * n + 1] + noise[at + 1];
        const said = look(teacher, H, K, x, y).z, seen = look(student, H, K, x, y);
        said.forEach((z, k) => { mean[k] += z / (2 * N); });
        return {
          x, y, seen, target: softmax(said.map((z, k) => z - centre[k]), { temperature }),
          answer: softmax(seen.z, { temperature: STUDENT }),
        };
      });
      views.forEach(({ x, y, seen, answer }, side) =>
        learn(gradient, student, H, K, x, y, seen, views[1 - side].target, answer, 1 / (2 * N)));
    }
    for (let i = 0; i < student.length; i++) { // Adam
      one[i] = 0.9 * one[i] + 0.1 * gradient[i];
      two[i] = 0.999 * two[i] + 0.001 * gradient[i] ** 2;
      const near = one[i] / (1 - 0.9 ** (step + 1)), far = two[i] / (1 - 0.999 ** (step + 1));
      student[i] -= (RATE * near) / (Math.sqrt(far) + 1e-8);
      teacher[i] = MOMENTUM * teacher[i] + (1 - MOMENTUM) * student[i];
    }
    if (centring) centre = centre.map((c, k) => CENTRE * c + (1 - CENTRE) * mean[k]);
  }
}
