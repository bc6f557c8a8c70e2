"""Can every word of a page be read? Contrast as the Web's guidelines (WCAG) define it."""

# Text drawn into SVG is left out: what lies under it is a shape, which no style sheet knows.
FAINT = """() => {
  for (const fold of document.querySelectorAll("main details")) fold.open = true;
  const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (css) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = css;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => below.map((c, i) => top[i] * top[3] + c * (1 - top[3]));
  const ground = (node) => {
    const layers = [];
    for (let n = node; n && layers.at(-1)?.[3] !== 1; n = n.parentElement)
      layers.push(rgba(getComputedStyle(n).backgroundColor));
    return layers.reduceRight((below, top) => over(top, below), [255, 255, 255]);
  };
  const linear = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const found = new Map();
  const words = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const { data, parentElement: node } = words.currentNode;
    const drawn = node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    if (!data.trim() || !drawn || node.closest("svg, mjx-assistive-mml, .al-sr, option")) continue;
    const style = getComputedStyle(node), below = ground(node);
    const pair = [light(over(rgba(style.color), below)), light(below)].sort((a, b) => a - b);
    const contrast = (pair[1] + 0.05) / (pair[0] + 0.05), size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const mark = !/[\\p{L}\\p{N}]/u.test(data); // ▼ in a legend is a picture, not a word
    const where = `${node.tagName}.${node.className}`;
    if (contrast < (large || mark ? 3 : 4.5))
      found.set(where, [contrast.toFixed(1), data.trim().slice(0, 40)]);
  }
  return [...found].flat(2);
}"""
