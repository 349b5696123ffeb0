import { lstat, readFile, readlink } from "node:fs/promises";
import { posix } from "node:path";

/** A file, folder or symbolic link of an image. All belong to root. */
export type Entry =
  | { readonly type: "file"; readonly mode: number; readonly content: Uint8Array }
  | { readonly type: "folder"; readonly mode: number }
  | { readonly type: "link"; readonly target: string };

/** The entries of a layer by path, without a slash at the beginning, such as `usr/bin/ip`. */
export type Tree = Map<string, Entry>;

/** Folders that are links to those in `/usr`, as in all current distributions. */
const MERGED = /^(bin|sbin|lib|lib64)(?=\/|$)/;

/** Returns the path in `/usr` of what a package installs in `/bin`, `/sbin` or `/lib`. */
export function mergedPath(path: string): string {
  return path.replace(MERGED, "usr/$1");
}

export function addFile(tree: Tree, path: string, content: Uint8Array | string, mode = 0o644): void {
  tree.set(path, { type: "file", mode, content: typeof content === "string" ? Buffer.from(content) : content });
}

export function addLink(tree: Tree, path: string, target: string): void {
  tree.set(path, { type: "link", target });
}

/**
 * Copies a file or link of this machine. Files keep only whether they can be executed: no layer has set-user-ID or
 * set-group-ID bits, or files that others may write.
 *
 * @throws Error if it is something else
 */
export async function copyInto(tree: Tree, path: string, from: string): Promise<void> {
  const stats = await lstat(from);
  if (stats.isSymbolicLink()) return addLink(tree, path, await readlink(from));
  if (!stats.isFile()) throw new Error(`${from}: neither a file nor a symbolic link`);
  addFile(tree, path, await readFile(from), stats.mode & 0o100 ? 0o755 : 0o644);
}

/** Returns the entries with all folders that contain them, sorted so that folders come before their content. */
export function withFolders(tree: Tree): readonly (readonly [string, Entry])[] {
  const all = new Map<string, Entry>();
  for (const [path, entry] of tree) {
    for (let parent = posix.dirname(path); parent !== "."; parent = posix.dirname(parent))
      if (!tree.has(parent)) all.set(parent, { type: "folder", mode: 0o755 });
    all.set(path, entry);
  }
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1));
}
