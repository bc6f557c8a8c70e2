// A picture of the reader's own, read on the page and never sent anywhere. What cannot be read gets a sentence.
import { make, shorten } from "./kit.js";

const MOST_BYTES = 64e6, MOST_PIXELS = 120e6, LEAST = 14; // LEAST: pixels of one patch

const quoted = (file) => `“${shorten(file.name || "This file", 40)}”`;
const refuse = (words) => { throw Object.assign(new Error(words), { name: "Unreadable" }); };

/** Whether a GIF, PNG or WebP holds more than one frame, by the marks of its format. */
export function moves(bytes) {
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  const count = (mark, most = bytes.length) => {
    let found = 0;
    for (let i = 0; i + mark.length <= most; i++) if (mark.every((byte, k) => bytes[i + k] === byte)) found++;
    return found;
  };
  const letters = (text) => [...text].map((c) => c.charCodeAt(0));
  if (head.startsWith("GIF8")) return count([0x21, 0xf9, 0x04]) > 1 || count(letters("NETSCAPE2.0")) > 0;
  if (head.startsWith("\x89PNG")) return count(letters("acTL"), Math.min(bytes.length, 4096)) > 0;
  return head.startsWith("RIFF") && head.endsWith("WEBP") && count(letters("ANIM"), Math.min(bytes.length, 4096)) > 0;
}

/** The picture in a file, decoded; its size is that after turning it upright (EXIF). */
async function decoded(file) {
  const address = URL.createObjectURL(file), picture = new Image();
  try {
    await new Promise((resolve, reject) => {
      picture.onload = resolve;
      picture.onerror = reject;
      picture.src = address;
    });
    checkSize(file, picture.naturalWidth, picture.naturalHeight); // before memory is taken for all its pixels
    await picture.decode();
  } catch (error) {
    if (error.name === "Unreadable") throw error;
    const apple = /hei[cf]/i.test(`${file.type} ${file.name}`);
    const image = file.type.startsWith("image/");
    refuse(apple
      ? `${quoted(file)} is a HEIC picture, which this browser does not read: save it as JPEG first.`
      : image
        ? `${quoted(file)} is damaged, or of a kind this browser does not read: try a JPEG or PNG.`
        : `${quoted(file)} is not a picture: choose a photograph, such as a JPEG or PNG.`);
  } finally {
    URL.revokeObjectURL(address);
  }
  return picture;
}

function checkSize(file, wide, high) {
  if (!wide || !high) refuse(`${quoted(file)} does not say how large it is: save it as JPEG or PNG first.`);
  if (wide * high > MOST_PIXELS)
    refuse(`${quoted(file)} has ${Math.round((wide * high) / 1e6)} megapixels, more than ` +
      `the ${MOST_PIXELS / 1e6} this page reads: make it smaller first.`);
  if (Math.min(wide, high) < LEAST)
    refuse(`${quoted(file)} has ${wide} × ${high} pixels, less than one patch of ${LEAST} × ${LEAST}: ` +
      "choose a larger one.");
}

/**
 * The largest square in the middle of a picture as bytes (size, size, 3), upright, on white where it is transparent:
 * { pixels, size, name, notes }. Notes are sentences on what was done to it. Rejects with a sentence.
 */
export async function readPicture(file, size) {
  if (!file.size) refuse(`${quoted(file)} is empty: choose another file.`);
  if (file.size > MOST_BYTES)
    refuse(`${quoted(file)} has ${Math.round(file.size / 1e6)} MB, more than the ${MOST_BYTES / 1e6} MB ` +
      "this page reads: make it smaller first.");
  const picture = await decoded(file), { naturalWidth: wide, naturalHeight: high } = picture;
  const side = Math.min(wide, high), canvas = make("canvas", { width: size, height: size });
  const ink = canvas.getContext("2d", { willReadFrequently: true });
  ink.imageSmoothingQuality = "high";
  ink.drawImage(picture, (wide - side) / 2, (high - side) / 2, side, side, 0, 0, size, size);
  const through = ink.getImageData(0, 0, size, size).data.some((value, i) => i % 4 === 3 && value < 255);
  ink.globalCompositeOperation = "destination-over";
  ink.fillStyle = "#ffffff";
  ink.fillRect(0, 0, size, size);
  const { data } = ink.getImageData(0, 0, size, size), pixels = new Uint8Array(3 * size * size);
  for (let i = 0; i < size * size; i++) pixels.set(data.subarray(4 * i, 4 * i + 3), 3 * i);
  const notes = [
    ...(wide === high ? [] : ["The square in its middle is read."]),
    ...(through ? ["Its transparent parts are read as white."] : []),
    ...(side < size ? [`It has only ${wide} × ${high} pixels, so it is enlarged.`] : []),
    ...(moves(new Uint8Array(await file.arrayBuffer())) ? ["It moves: its first frame is read."] : []),
  ];
  return { pixels, size, name: file.name || "your photograph", notes };
}

/**
 * Buttons that open a photograph, or the camera of a phone, and a place to drop one: `chosen(file)` gets the file.
 * @returns {HTMLElement[]}
 */
export function pictureButtons(figure, chosen) {
  const opener = (words, extra) => {
    const input = make("input.al-sr", { type: "file", accept: "image/*", ...extra });
    figure.listen(input, "change", () => {
      if (input.files[0]) chosen(input.files[0]);
      input.value = ""; // the same file may be opened again
    });
    return make("label.al-button.al-own-open", {}, words, input);
  };
  const open = opener("Open your own photograph"), camera = opener("Take a picture", { capture: "environment" });
  camera.hidden = !matchMedia("(pointer: coarse)").matches;
  figure.listen(figure.root, "dragover", (event) => event.preventDefault());
  figure.listen(figure.root, "drop", (event) => {
    event.preventDefault();
    if (event.dataTransfer.files[0]) chosen(event.dataTransfer.files[0]);
  });
  return [open, camera];
}
