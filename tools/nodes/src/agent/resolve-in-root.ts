import { readlink } from "node:fs/promises";
import { join, posix } from "node:path";

/** Symbolic links that a path may lead through, as in Linux. */
const MAX_LINKS = 40;

/**
 * Resolves the symbolic links of a path in another root, to which absolute links are relative, too. Parts that do not
 * exist are kept.
 *
 * @param path absolute path in the root
 * @throws Error for a loop of links
 */
export async function resolveInRoot(root: string, path: string): Promise<string> {
  let rest = path.split("/").filter((part) => part !== "");
  let resolved = "/";
  for (let links = 0; rest.length > 0;) {
    const [part = "", ...following] = rest;
    const next = posix.join(resolved, part);
    const target = await readlink(join(root, next)).catch(() => undefined);
    if (target === undefined) {
      resolved = next;
      rest = following;
    } else {
      if (++links > MAX_LINKS) throw new Error(`${path}: too many levels of symbolic links`);
      if (target.startsWith("/")) resolved = "/";
      rest = [...target.split("/").filter((each) => each !== ""), ...following];
    }
  }
  return resolved;
}
