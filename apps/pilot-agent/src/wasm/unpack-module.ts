import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { reasonOf } from "@istiod/runtime";
import { AgentError } from "../errors.js";

const gunzipAsync = promisify(gunzip);
/** Bytes of a tar archive's blocks. */
const blockSize = 512;
/** Levels of compression and archives around a module. */
const maxLevels = 4;

/** Reports whether bytes start as a WebAssembly module does. */
export function isModule(bytes: Buffer): boolean {
  return bytes.length >= 8 && bytes.readUInt32BE(0) === 0x0061736d;
}

/**
 * Returns the module in a file: the file itself, or the first file of a tar archive, compressed by gzip or not.
 * Undefined if there is none.
 *
 * @param maxBytes maximum size after decompression
 */
export async function unpackModule(bytes: Buffer, maxBytes: number): Promise<Buffer | undefined> {
  let content = bytes;
  for (let level = 0; level < maxLevels; level++) {
    if (isModule(content)) return content;
    if (isGzip(content)) content = await decompress(content, maxBytes);
    else {
      const [first] = filesOf(content);
      if (first === undefined) return undefined;
      content = first.content;
    }
  }
  return undefined;
}

/** Returns the module `plugin.wasm` of a layer of an image: a tar archive, compressed by gzip or not. */
export async function moduleInLayer(bytes: Buffer, maxBytes: number): Promise<Buffer | undefined> {
  const archive = isGzip(bytes) ? await decompress(bytes, maxBytes) : bytes;
  for (const { name, content } of filesOf(archive)) if (name.split("/").at(-1) === "plugin.wasm") return content;
  return undefined;
}

/** @throws AgentError `module` */
async function decompress(bytes: Buffer, maxBytes: number): Promise<Buffer> {
  try {
    return await gunzipAsync(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    const isTooLarge = (error as { readonly code?: unknown }).code === "ERR_BUFFER_TOO_LARGE";
    const message = isTooLarge ? `is larger than ${maxBytes} bytes` : `cannot be decompressed: ${reasonOf(error)}`;
    throw new AgentError("module", `the module ${message}`, { cause: error });
  }
}

function isGzip(bytes: Buffer): boolean {
  return bytes.length > 2 && bytes.readUInt16BE(0) === 0x1f8b;
}

/** Iterates over the regular files of a tar archive; nothing if it is none. */
function* filesOf(archive: Buffer): Generator<{ readonly name: string; readonly content: Buffer }> {
  let at = 0;
  while (at + blockSize <= archive.length && archive.toString("latin1", at + 257, at + 262) === "ustar") {
    const text = (from: number, length: number): string =>
      archive.toString("latin1", at + from, at + from + length).replace(/\0.*$/s, "");
    const size = Number.parseInt(text(124, 12).trim() || "0", 8);
    const from = at + blockSize;
    if (!Number.isSafeInteger(size) || size < 0 || from + size > archive.length) return;
    if (["0", ""].includes(text(156, 1))) yield { name: text(0, 100), content: archive.subarray(from, from + size) };
    at = from + Math.ceil(size / blockSize) * blockSize;
  }
}
