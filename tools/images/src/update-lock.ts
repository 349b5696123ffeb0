import { mkdir, writeFile } from "node:fs/promises";
import { CACHE } from "./downloads/cache.js";
import { currentPackages } from "./downloads/debian-packages.js";
import { currentEnvoy } from "./downloads/envoy.js";
import { currentNode } from "./downloads/node.js";
import { type Lock, LOCK, readLock } from "./lock.js";
import { TOOLS } from "./root/tools.js";
import { SYSTEM } from "./root/system.js";

export interface LockOptions {
  /** Version of Node, such as `22.23.5`. Default: the locked one. */
  readonly node?: string;
  /** Version of Envoy. Default: the locked one. */
  readonly envoy?: string;
}

/** Writes the current versions of the Debian packages, and the digests of the other downloads, to `lock.json`. */
export async function updateLock(options: LockOptions = {}): Promise<Lock> {
  await mkdir(CACHE, { recursive: true });
  const previous = await readLock();
  const [node, envoy] = [options.node ?? previous.node.version, options.envoy ?? previous.envoy.version];
  const names = [...Object.keys(SYSTEM), ...Object.keys(TOOLS)].toSorted();
  const lock: Lock = {
    node: { version: node, amd64: await currentNode("amd64", node), arm64: await currentNode("arm64", node) },
    envoy: { version: envoy, amd64: await currentEnvoy("amd64", envoy), arm64: await currentEnvoy("arm64", envoy) },
    debian: {
      release: previous.debian.release,
      amd64: await currentPackages(names, "amd64"),
      arm64: await currentPackages(names, "arm64"),
    },
  };
  await writeFile(LOCK, `${JSON.stringify(lock, undefined, 2)}\n`);
  return lock;
}
