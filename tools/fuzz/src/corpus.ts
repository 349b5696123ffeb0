import { hash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";

const root = fileURLToPath(new URL("../corpus", import.meta.url));

/** Returns the kept inputs of a target, by file name. */
export function readCorpus(target: string): ReadonlyMap<string, Uint8Array> {
  const directory = join(root, target);
  if (!existsSync(directory)) return new Map();
  return new Map(readdirSync(directory).map((file) => [file, readFileSync(join(directory, file))]));
}

/** Keeps an input, and returns its file. */
export function keepInput(target: string, input: Uint8Array): string {
  const directory = join(root, target);
  mkdirSync(directory, { recursive: true });
  const file = join(directory, hash("sha1", Buffer.from(input), "hex").slice(0, 16));
  writeFileSync(file, input);
  return file;
}
