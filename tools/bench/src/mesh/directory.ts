import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Change } from "./changes.js";
import type { KubernetesObject } from "./objects.js";

/** The file of an object: the directory is flat, and one rename changes one object. */
export function fileName({ kind, metadata: { name, namespace = "_" } }: KubernetesObject): string {
  return `${kind.toLowerCase()}.${namespace}.${name}.yaml`;
}

/** JSON, which is YAML. */
const text = (object: KubernetesObject): string => `${JSON.stringify(object, undefined, 1)}\n`;

/** Writes objects into a directory, which is made if absent. */
export async function writeObjects(directory: string, objects: readonly KubernetesObject[]): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (const object of objects) await writeFile(join(directory, fileName(object)), text(object));
}

/**
 * Makes a change to a directory: all is written beside it, then renamed into it.
 *
 * @returns when the first rename began, in milliseconds since the epoch
 */
export async function apply(directory: string, { put, removed }: Change): Promise<number> {
  const beside = await mkdtemp(join(dirname(directory), ".change-"));
  try {
    await writeObjects(beside, put);
    const at = performance.timeOrigin + performance.now();
    for (const object of put) await rename(join(beside, fileName(object)), join(directory, fileName(object)));
    for (const object of removed) await rm(join(directory, fileName(object)), { force: true });
    return at;
  } finally {
    await rm(beside, { recursive: true, force: true });
  }
}
