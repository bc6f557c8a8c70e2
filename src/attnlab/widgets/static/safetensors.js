// Reads a .safetensors file as attnlab.checkpoints writes it. No DOM: it runs in workers, too.
import { decode } from "./wire.js";

const KINDS = { F32: "float32", F16: "float16", I8: "int8", BOOL: "bool" };
const SCALE = ".scale"; // "out.weight" in int8 has its row scales under "out.weight.scale"

/**
 * { arrays, about }: arrays by name, { shape, data, scale? } as in wire.js (int8 stays int8), and what the header says.
 * @param {Uint8Array} bytes
 */
export function readSafetensors(bytes) {
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  if (length > bytes.length - 8) throw new Error("These bytes are not a safetensors file, or only its beginning.");
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const about = JSON.parse(header.__metadata__?.about ?? "{}"), arrays = {};
  const part = (name) => {
    const { dtype, shape, data_offsets: [from, to] } = header[name];
    return { dtype: KINDS[dtype] ?? dtype, shape, data: bytes.subarray(8 + length + from, 8 + length + to) };
  };
  for (const name of Object.keys(header)) {
    if (name === "__metadata__" || (name.endsWith(SCALE) && name.slice(0, -SCALE.length) in header)) continue;
    const scale = name + SCALE in header ? part(name + SCALE).data : null;
    arrays[name] = decode({ ...part(name), scale });
  }
  return { arrays, about };
}
