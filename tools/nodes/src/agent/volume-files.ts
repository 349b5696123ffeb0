import { randomUUID } from "node:crypto";
import { chmod, chown, mkdir, readdir, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface VolumeFile {
  readonly content: Buffer;
  readonly mode: number;
}

export type VolumeFiles = ReadonlyMap<string, VolumeFile>;

const CURRENT = "..data";

/**
 * Replaces the files of a volume at once, as the kubelet does: the visible names are links through `..data` to a folder
 * that never changes.
 */
export async function writeVolume(directory: string, files: VolumeFiles, group?: number): Promise<void> {
  await mkdir(directory, { recursive: true });
  const version = `..${randomUUID()}`;
  const folder = join(directory, version);
  await mkdir(folder);
  for (const [path, { content, mode }] of files) {
    checkPath(path);
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    await chmod(file, group === undefined ? mode : mode | 0o440);
    if (group !== undefined) await chown(file, 0, group);
  }
  const previous = await readlink(join(directory, CURRENT)).catch(() => undefined);
  const link = join(directory, `..link-${randomUUID()}`);
  await symlink(version, link);
  await rename(link, join(directory, CURRENT));
  const visible = new Set([...files.keys()].map((path) => path.split("/")[0] ?? ""));
  const existing = (await readdir(directory)).filter((name) => !name.startsWith(".."));
  for (const name of existing) if (!visible.has(name)) await rm(join(directory, name));
  for (const name of visible) if (!existing.includes(name)) await symlink(join(CURRENT, name), join(directory, name));
  if (previous !== undefined) await rm(join(directory, previous), { recursive: true });
}

/** @throws Error if a path leaves the volume */
function checkPath(path: string): void {
  if (path.startsWith("/") || path.split("/").some((part) => part === ".." || part === ""))
    throw new Error(`path ${path}: must be relative and must not contain '..'`);
}
