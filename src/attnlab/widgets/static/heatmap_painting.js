// How an attention map is laid out and drawn on its canvas: the parts of attention_heatmap.js that make pixels.
import { context2d, lecture, legible, nice, shorten, visible } from "./kit.js";

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const TILT = (50 * Math.PI) / 180; // of the tokens on the top axis

/** How large everything is. */
export function measuring(it) {
  const { figure } = it;
  Object.assign(it, { width: 0, metrics: null, blockedPath: null });
  const hatch = document.createElement("canvas");
  Object.assign(it, { hatchPattern: null });

  /** Shorten a token until it fits. */
  function fit(ctx, token, room) {
    let letters = 20, text = shorten(token, letters);
    while (letters > 1 && ctx.measureText(text).width > room) text = shorten(token, --letters);
    return text;
  }

  /** Words go beside the map, unless that would make its cells small and words above it leave them much larger. */
  function measure(ctx) {
    const stacked = labelled(ctx, true);
    if (lecture()) return labelled(ctx, false);
    if (it.width < 660) return stacked;
    const beside = labelled(ctx, false);
    return beside.cell < 20 && stacked.cell >= 1.5 * beside.cell ? stacked : beside;
  }

  /** Small letters where they save a label. */
  function labelled(ctx, stacked) {
    const large = Math.max(it.data.L, it.data.S) > 24 ? null : measured(ctx, stacked, 13);
    if (large?.every === 1) return large;
    const small = measured(ctx, stacked, 11);
    return small.every === 1 ? small : large ?? small;
  }

  function measured(ctx, stacked, wish) {
    const { L, S } = it.data, narrow = it.width < 660, size = legible(wish);
    const room = stacked ? it.width : it.width - (lecture() ? 250 : 320);
    ctx.font = `${size}px ${FONT}`;
    const labelRoom = narrow ? 64 : 104;
    const rows = it.queries.map((t) => fit(ctx, visible(t), labelRoom));
    const widest = (list) => Math.max(...list.map((t) => ctx.measureText(t).width));
    const left = Math.ceil(Math.max(1.1 * widest(rows), legible(11) * 3.8)) + 10; // the chosen one is bold
    const wideStrip = it.width >= 480 || S <= 8;
    const bits = lecture() ? 6 : wideStrip ? 98 : 36;
    const fitted = Math.min((room - left - bits - 4) / S, it.figure.tall(400, it.map) / L, 56);
    const cell = fitted >= 8 ? Math.floor(fitted) : Math.max(2, Math.floor(fitted * 4) / 4);
    const every = Math.max(1, Math.ceil((size + 2) / cell)); // label every n-th token
    let columns = it.keys.map((t) => fit(ctx, visible(t), narrow ? 72 : 92));
    const longest = Math.max(40, widest(columns.filter((_, j) => j % every === 0)));
    columns = columns.map((t) => fit(ctx, t, longest)); // the others are shown only under the pointer
    const flat = every === 1 && widest(columns) <= cell - 6;
    const top = flat ? size + 16 : Math.ceil(longest * Math.sin(TILT)) + 18;
    const overhang = flat ? 0 : Math.ceil(longest * Math.cos(TILT)) - cell / 2;
    return {
      cell, left, top, size, rows, columns, flat, stacked, wideStrip,
      width: Math.ceil(left + cell * S + Math.max(bits + 4, overhang + 4)), height: Math.ceil(top + cell * L + 3),
      every,
    };
  }

  function pathOfBlocked({ cell, left, top }) {
    const path = new Path2D(), { L, S } = it.data;
    for (let i = 0; i < L; i++)
      for (let j = 0; j < S; j++) {
        if (it.mask[i * S + j]) continue;
        let end = j;
        while (end < S && !it.mask[i * S + end]) end++;
        path.rect(left + j * cell, top + i * cell, (end - j) * cell, cell);
        j = end;
      }
    return path;
  }

  function pattern(ctx) {
    if (it.hatchPattern) return it.hatchPattern;
    const step = 7;
    const h = context2d(hatch, step, step);
    h.clearRect(0, 0, step, step);
    h.strokeStyle = figure.theme.hatch;
    h.lineWidth = 1.1;
    h.beginPath();
    for (const shift of [-step, 0, step]) { h.moveTo(shift - 1, step + 1); h.lineTo(shift + step + 1, -1); }
    h.stroke();
    it.hatchPattern = ctx.createPattern(hatch, "repeat");
    const ratio = window.devicePixelRatio || 1;
    it.hatchPattern.setTransform(new DOMMatrix().scale(1 / ratio));
    return it.hatchPattern;
  }
  Object.assign(it, { measure, pathOfBlocked, pattern });
}

/** All that is drawn on the canvas. */
export function painting(it) {
  const { figure, canvas, layout, offscreen, measure, pathOfBlocked, pattern } = it;
  function paint() {
    if (!it.width || !it.data) return;
    it.metrics ??= measure(canvas.getContext("2d"));
    layout.dataset.stacked = String(it.metrics.stacked);
    const { L, S } = it.data, { cell, left, top } = it.metrics, colours = figure.theme;
    const ctx = context2d(canvas, it.metrics.width, it.metrics.height);
    ctx.clearRect(0, 0, it.metrics.width, it.metrics.height);
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(offscreen, left, top, S * cell, L * cell);
    it.blockedPath ??= pathOfBlocked(it.metrics);
    ctx.fillStyle = pattern(ctx);
    ctx.fill(it.blockedPath);
    if (cell >= 12) paintGrid(ctx);
    ctx.strokeStyle = colours.line;
    ctx.lineWidth = 1;
    ctx.strokeRect(left - 0.5, top - 0.5, S * cell + 1, L * cell + 1);
    if (Math.max(L, S) <= 8 && cell >= 24) paintNumbers(ctx);
    paintAxes(ctx);
    if (!lecture()) paintStrip(ctx);
    if (it.active) paintActive(ctx);
    it.describe();
  }

  function paintGrid(ctx) {
    const { L, S } = it.data, { cell, left, top } = it.metrics;
    ctx.strokeStyle = figure.theme.background;
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (let i = 1; i < L; i++) {
      ctx.moveTo(left, top + i * cell + 0.5);
      ctx.lineTo(left + S * cell, top + i * cell + 0.5);
    }
    for (let j = 1; j < S; j++) {
      ctx.moveTo(left + j * cell + 0.5, top);
      ctx.lineTo(left + j * cell + 0.5, top + L * cell);
    }
    ctx.stroke();
  }

  function paintNumbers(ctx) {
    const { L, S } = it.data, { cell, left, top } = it.metrics;
    ctx.font = `${legible(cell >= 40 ? 13 : 11)}px ${FONT}`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    for (let i = 0; i < L; i++)
      for (let j = 0; j < S; j++) {
        if (!it.mask[i * S + j]) continue;
        const w = it.shown.weights[i * S + j];
        ctx.fillStyle = figure.theme.inkOnWeight(w);
        const text = nice(w, 2);
        ctx.fillText(cell >= 34 ? text : text.replace(/^0\./, ".").replace("1.00", "1"), left + (j + 0.5) * cell,
          top + (i + 0.5) * cell + 1);
      }
  }

  function paintAxes(ctx) {
    const { L, S } = it.data;
    const { cell, left, top, size, rows, columns, flat, every } = it.metrics, colours = figure.theme;
    const near = (n, a) => a !== undefined && n !== a && Math.abs(n - a) < every; // leave room for the bold one
    const style = (bold) => {
      ctx.font = `${bold ? "700 " : ""}${legible(size)}px ${FONT}`;
      ctx.fillStyle = bold ? colours.text : colours.muted;
    };
    ctx.textBaseline = "middle";
    ctx.textAlign = "right";
    for (let i = 0; i < L; i++) {
      const bold = it.active?.[0] === i;
      if (!bold && (i % every || near(i, it.active?.[0]))) continue;
      style(bold);
      ctx.fillText(rows[i], left - 7, top + (i + 0.5) * cell + 1);
    }
    for (let j = 0; j < S; j++) {
      const bold = it.active?.[1] === j;
      if (!bold && (j % every || near(j, it.active?.[1]))) continue;
      style(bold);
      ctx.save();
      ctx.translate(left + (j + 0.5) * cell, top - 6);
      ctx.textAlign = flat ? "center" : "left";
      if (flat) ctx.textBaseline = "bottom";
      else ctx.rotate(-TILT);
      ctx.fillText(columns[j], 0, 0);
      ctx.restore();
    }
    ctx.font = `italic ${legible(11)}px ${FONT}`;
    ctx.fillStyle = colours.muted;
    ctx.textAlign = "right";
    ctx.textBaseline = "bottom";
    ctx.fillText("key →", left - 7, top - 7 - legible(11));
    ctx.fillText("query ↓", left - 7, top - 4);
  }

  function paintStrip(ctx) {
    const { L, S } = it.data, { cell, left, top, wideStrip } = it.metrics, colours = figure.theme;
    const numbers = wideStrip && cell >= 13;
    const x = left + S * cell + (it.metrics.flat ? 8 : Math.max(8, 19 - cell / 2));
    const bar = numbers ? 30 : wideStrip ? 60 : 22, barX = numbers ? x + 34 : x;
    const most = Math.log2(Math.max(2, S));
    ctx.font = `${legible(11)}px ${FONT}`;
    ctx.fillStyle = colours.muted;
    ctx.textBaseline = "bottom";
    ctx.textAlign = "left";
    if (numbers) ctx.fillText("Σ", x + 8, top - 4);
    ctx.fillText(numbers ? "entropy" : "bits", barX, top - 4);
    ctx.textBaseline = "middle";
    for (let i = 0; i < L; i++) {
      const y = top + i * cell, thick = Math.max(1, Math.min(cell - 2, 10));
      ctx.fillStyle = colours.line;
      ctx.fillRect(barX, y + (cell - thick) / 2, bar, thick);
      ctx.fillStyle = colours.series[2];
      ctx.fillRect(barX, y + (cell - thick) / 2, (bar * it.shown.bits[i]) / most, thick);
      if (!numbers) continue;
      ctx.fillStyle = it.shown.sums[i] > 0 ? colours.muted : colours.series[1];
      ctx.fillText(nice(it.shown.sums[i], 2), x, y + cell / 2 + 1);
      ctx.fillStyle = colours.muted;
      ctx.fillText(nice(it.shown.bits[i], 1), barX + bar + 4, y + cell / 2 + 1);
    }
  }

  function paintActive(ctx) {
    const { L, S } = it.data, { cell, left, top } = it.metrics, [i, j] = it.active;
    const x = left + j * cell, y = top + i * cell;
    ctx.lineWidth = 1;
    ctx.strokeStyle = figure.theme.muted;
    ctx.strokeRect(left - 0.5, y - 0.5, S * cell + 1, cell + 1);
    ctx.strokeRect(x - 0.5, top - 0.5, cell + 1, L * cell + 1);
    const pad = cell < 8 ? 2 : 0;
    ctx.lineWidth = 4;
    ctx.strokeStyle = figure.theme.background;
    ctx.strokeRect(x - pad, y - pad, cell + 2 * pad, cell + 2 * pad);
    ctx.lineWidth = 2.5;
    ctx.strokeStyle = figure.theme.series[1];
    ctx.strokeRect(x - pad, y - pad, cell + 2 * pad, cell + 2 * pad);
  }
  Object.assign(it, { paint });
}
