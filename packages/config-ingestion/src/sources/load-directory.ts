import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Transaction } from "@istiod/incremental";
import type { DecodeOptions } from "../documents/decode.js";
import type { Problem } from "../documents/problem.js";
import { readText, type LocatedObject } from "../documents/read-text.js";

export interface LoadedDirectory {
  readonly objects: readonly LocatedObject[];
  readonly problems: readonly Problem[];
  /** How many objects of other kinds there are, by kind. */
  readonly ignored: ReadonlyMap<string, number>;
}

/**
 * Reads every `.yaml` and `.yml` file below a directory once, without watching it. Names that begin with a dot are left out.
 * Throws what the file system throws.
 */
export async function loadDirectory(directory: string, options: DecodeOptions = {}): Promise<LoadedDirectory> {
  const objects: LocatedObject[] = [];
  const problems: Problem[] = [];
  const ignored = new Map<string, number>();
  const entries = await readdir(directory, { recursive: true });
  for (const name of entries.filter(isConfigFile).sort()) {
    const file = join(directory, name);
    for (const reading of readText(await readFile(file, "utf8"), file, options)) {
      objects.push(...reading.objects);
      problems.push(...reading.problems);
      for (const [kind, count] of reading.ignored) ignored.set(kind, (ignored.get(kind) ?? 0) + count);
    }
  }
  return { objects, problems, ignored };
}

function isConfigFile(name: string): boolean {
  return /\.ya?ml$/i.test(name) && !name.split(/[/\\]/).some((part) => part.startsWith("."));
}

/** Writes objects into the collections of their kinds: `database.commit((tx) => setObjects(tx, loaded.objects))`. */
export function setObjects(tx: Transaction, objects: readonly LocatedObject[]): void {
  for (const { kind, key, object } of objects) tx.set(kind.collection, key, object);
}
