import { stat } from "node:fs/promises";

/** A private key file that others than its owner can read or write. */
export interface ExposedKey {
  readonly path: string;
  /** Permissions in octal, such as `0644`. */
  readonly mode: string;
}

const othersMask = 0o077;

/** Returns the files among the paths that the group or everybody can access. Missing files are skipped. */
export async function exposedKeys(paths: readonly string[]): Promise<readonly ExposedKey[]> {
  const found = await Promise.all(paths.map((path) => exposed(path)));
  return found.filter((key) => key !== undefined);
}

async function exposed(path: string): Promise<ExposedKey | undefined> {
  try {
    const { mode } = await stat(path);
    if ((mode & othersMask) === 0) return undefined;
    return { path, mode: `0${(mode & 0o777).toString(8)}` };
  } catch {
    // The reader of the file reports the error.
    return undefined;
  }
}
