import { createWriteStream, renameSync, rmSync, type WriteStream } from "node:fs";
import { Writable } from "node:stream";

const LARGEST = 4_000_000;

/** Opens a log file. When it is full it is kept as `<path>.1`, in place of the one before, and begun again. */
export function openLogFile(path: string, largest = LARGEST): Writable {
  rmSync(`${path}.1`, { force: true });
  let file: WriteStream = createWriteStream(path);
  let bytes = 0;
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (bytes > 0 && bytes + chunk.length > largest) {
        const full = file;
        full.end();
        renameSync(path, `${path}.1`);
        file = createWriteStream(path);
        bytes = 0;
      }
      bytes += chunk.length;
      file.write(chunk, done);
    },
    final(done) {
      file.end(done);
    },
  });
}
