import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { packTar } from "modern-tar";

/**
 * Writes files to a compressed tar archive.
 *
 * @param folder the archive's only top folder
 * @throws Error of the file system
 */
export async function writeArchive(
  path: string,
  folder: string,
  entries: readonly (readonly [path: string, text: string])[],
): Promise<void> {
  const packed = await packTar(
    entries.map(([name, text]) => {
      const body = Buffer.from(text);
      return { header: { name: `${folder}/${name}`, size: body.length, mode: 0o600 }, body };
    }),
  );
  // It may hold what only its owner may read.
  await pipeline(Readable.from([packed]), createGzip(), createWriteStream(path, { mode: 0o600 }));
}
