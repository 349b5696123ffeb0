import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type AsyncGzipOptions, gzip } from "fflate";
import { CACHE, into, isThere, sha256Of } from "../downloads/cache.js";

const LEVEL = 6;
const compressInThread = promisify((data: Uint8Array, options: AsyncGzipOptions, done: Done) =>
  gzip(data, options, done),
);
type Done = (error: Error | null, data: Uint8Array) => void;

/**
 * Compresses a layer by gzip. The compressor is a dependency of this repository, because the bytes of zlib differ
 * between versions of Node and between processors. Layers that were compressed before are read from the cache.
 */
export async function compress(content: Buffer): Promise<Buffer> {
  const path = join(CACHE, "compressed", sha256Of(content));
  if (!(await isThere(path))) {
    const compressed = await compressInThread(content, { level: LEVEL, mtime: 0 });
    await into(path, async (folder) => {
      await writeFile(join(folder, "layer"), compressed);
      return "layer";
    });
  }
  return await readFile(path);
}
