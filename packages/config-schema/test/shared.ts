import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of reference cases beside the repository, or undefined where it is absent. */
export function sharedFolder(...parts: readonly string[]): string | undefined {
  const repository = resolve(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
  const folder = join(repository, "..", "shared", ...parts);
  return existsSync(folder) ? folder : undefined;
}

/** Paths of the files below a folder whose names end in one of some ways. */
export function filesBelow(folder: string, ...endings: readonly string[]): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => endings.some((ending) => path.endsWith(ending)) && statSync(path).isFile())
    .sort();
}
