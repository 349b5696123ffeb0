import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** A folder of reference data beside the repository, or undefined where it is absent. */
export function sharedFolder(name: string): string | undefined {
  const folder = resolve(fileURLToPath(new URL("../../../../shared", import.meta.url)), name);
  if (existsSync(folder)) return folder;
  console.warn(`skipped: ${join("..", "shared", name)} is not there`);
  return undefined;
}

/** Paths of the files below a folder whose names end so. */
export function filesBelow(folder: string, ending: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))
    .sort();
}
