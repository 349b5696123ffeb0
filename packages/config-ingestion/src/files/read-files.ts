import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { IngestionError } from "../errors.js";
import { describeError, isAbsent } from "./file-system.js";
import { isConfigPath } from "./load-directory.js";

/** Path and text of a file. */
export interface NamedText {
  readonly file: string;
  readonly text: string;
}

/**
 * Reads a file, or every `.yaml`, `.yml` and `.json` file below a directory, in order of path. Names that begin with a
 * dot are skipped below a directory.
 *
 * @throws IngestionError with code `unreadable` that names the path if it does not exist or cannot be read.
 */
export async function readObjectFiles(path: string): Promise<readonly NamedText[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [{ file: path, text: await readFile(path, "utf8") }];
    const names = (await readdir(path, { recursive: true })).filter((name) => isConfigPath(name, true)).sort();
    return await Promise.all(
      names.map(async (name) => ({ file: join(path, name), text: await readFile(join(path, name), "utf8") })),
    );
  } catch (cause) {
    throw new IngestionError("unreadable", `${path} ${describeError(cause)}, expected a file or a directory`, {
      cause,
    });
  }
}

/**
 * Reads an optional file; undefined if it does not exist.
 *
 * @throws IngestionError with code `unreadable` if it exists and cannot be read.
 */
export async function readOptionalFile(file: string): Promise<NamedText | undefined> {
  try {
    return { file, text: await readFile(file, "utf8") };
  } catch (cause) {
    if (isAbsent(cause)) return undefined;
    throw new IngestionError("unreadable", `${file} ${describeError(cause)}`, { cause });
  }
}
