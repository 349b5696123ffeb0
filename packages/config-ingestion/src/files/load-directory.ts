import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { DecodeOptions, ObjectChange, OtherRevisionChange, Problem } from "@istiod/config-schema";
import { Ledger } from "../ledger/ledger.js";

export interface LoadedDirectory {
  /** Changes to write in one commit, with `applyChanges`. */
  readonly changes: readonly (ObjectChange | OtherRevisionChange)[];
  readonly problems: readonly Problem[];
  /** Number of accepted objects of each kind. */
  readonly counts: ReadonlyMap<string, number>;
  /** Number of objects of each kind that is not read. */
  readonly ignored: ReadonlyMap<string, number>;
}

/**
 * Reads every `.yaml` and `.yml` file below a directory once. Names that begin with a dot are skipped. A
 * `DirectorySource` does the same and watches the directory.
 *
 * @throws the errors of the file system.
 */
export async function loadDirectory(directory: string, options: DecodeOptions = {}): Promise<LoadedDirectory> {
  const ledger = new Ledger(options);
  const entries = await readdir(directory, { recursive: true });
  for (const name of entries.filter((name) => isConfigPath(name)).sort()) {
    const file = join(directory, name);
    ledger.replaceFile(file, await readFile(file, "utf8"));
  }
  return {
    changes: ledger.takeChanges(),
    problems: ledger.problems(),
    counts: ledger.counts(),
    ignored: ledger.ignored(),
  };
}

/** Reports whether a file holds configuration, by its name. Editors' backup and swap files do not. */
export function isConfigFile(name: string): boolean {
  return !name.startsWith(".") && /\.ya?ml$/i.test(name);
}

/**
 * Reports whether a path below a directory names a file that holds configuration. JSON files count if `json` is set.
 */
export function isConfigPath(path: string, json = false): boolean {
  const parts = path.split(/[/\\]/);
  const name = parts.at(-1) ?? "";
  return (isConfigFile(name) || (json && name.endsWith(".json"))) && !parts.some((part) => part.startsWith("."));
}
