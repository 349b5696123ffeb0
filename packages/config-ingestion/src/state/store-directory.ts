import { mkdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { IngestionError } from "../errors.js";
import { describeError } from "../files/file-system.js";
import { writeEntry } from "./entry-file.js";

/**
 * Creates the directory of a store if it does not exist, and checks that it is private and writable.
 *
 * @throws IngestionError that names the directory if it cannot be used
 */
export async function openStoreDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    if (((await stat(directory)).mode & 0o002) !== 0)
      throw new IngestionError(
        "unreadable",
        `--stateDir: ${directory} can be written by every user, expected mode 0700`,
      );
    await writeEntry(directory, ".probe", "");
    await unlink(join(directory, ".probe"));
  } catch (cause) {
    if (cause instanceof IngestionError) throw cause;
    throw new IngestionError(
      "unreadable",
      `--stateDir: ${directory} ${describeError(cause)}, expected a writable directory`,
      { cause },
    );
  }
}
