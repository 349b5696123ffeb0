import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { DecodeOptions, ObjectChange, Problem } from "@istiod/config-schema";
import { Ledger } from "./ledger.js";

export interface LoadedDirectory {
  /** To be written in one commit, by `applyChanges`. */
  readonly changes: readonly ObjectChange[];
  readonly problems: readonly Problem[];
  /** How many objects of each kind are in force. */
  readonly counts: ReadonlyMap<string, number>;
  /** How many objects of kinds that are not read there are, by kind. */
  readonly ignored: ReadonlyMap<string, number>;
}

/**
 * Reads every `.yaml` and `.yml` file below a directory once, without watching it. Names that begin with a dot are left
 * out. Throws what the file system throws. A `DirectorySource` does the same and goes on following the directory.
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

/** True for files that hold configuration, by name. Editors' backup and swap files are not among them. */
export function isConfigFile(name: string): boolean {
  return !name.startsWith(".") && /\.ya?ml$/i.test(name);
}

/** Reports whether a path below a directory is of a file that holds configuration. JSON files count on request. */
export function isConfigPath(path: string, json = false): boolean {
  const parts = path.split(/[/\\]/);
  const name = parts.at(-1) ?? "";
  return (isConfigFile(name) || (json && name.endsWith(".json"))) && !parts.some((part) => part.startsWith("."));
}
