import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { access, readdir, readFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Go sources of the API server. */
export const SOURCES = fileURLToPath(new URL("../server/", import.meta.url));
/** A folder that the repository ignores: built servers, by the hash of what they were built from. */
export const CACHE = fileURLToPath(new URL("../build/", import.meta.url));
export const BINARY = "istiod-cluster-server";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Finds an API server: ISTIOD_CLUSTER_BINARY, then the one that `buildServer` built from the current sources.
 *
 * @returns its absolute path; `undefined` if there is none
 * @throws Error if ISTIOD_CLUSTER_BINARY names something that cannot be executed
 */
export async function findServer(env: Env = process.env, cache = CACHE): Promise<string | undefined> {
  const named = env["ISTIOD_CLUSTER_BINARY"];
  if (named) {
    const found = await executable(resolve(named));
    if (!found) throw new Error(`ISTIOD_CLUSTER_BINARY is ${named}, which cannot be executed`);
    return found;
  }
  return builtServer(cache);
}

/** Returns the reason why `startCluster` cannot start an API server here, or `undefined` if it can. */
export async function clusterUnavailable(env: Env = process.env, cache = CACHE): Promise<string | undefined> {
  if (await findServer(env, cache)) return undefined;
  return "there is no API server: run `npm run cluster:install`, which needs Go, or set ISTIOD_CLUSTER_BINARY";
}

/** Returns the path of the server that was built from the current sources, if any. */
export async function builtServer(cache = CACHE): Promise<string | undefined> {
  return executable(join(cache, await sourceHash(), BINARY));
}

/** Returns a hash of everything that the built server depends on, except the version of Go. */
export async function sourceHash(sources = SOURCES): Promise<string> {
  const hash = createHash("sha256").update(`${process.platform} ${process.arch}`);
  for (const path of await sourceFiles(sources)) {
    const content = await readFile(path);
    hash.update(`\n${relative(sources, path)} ${content.length}\n`).update(content);
  }
  return hash.digest("hex").slice(0, 16);
}

/** Returns the committed files of the server, sorted. */
export async function sourceFiles(sources = SOURCES): Promise<string[]> {
  const names = await readdir(sources);
  return names
    .filter((name) => /\.(go|mod|sum|txt)$/.test(name))
    .toSorted()
    .map((name) => join(sources, name));
}

async function executable(path: string): Promise<string | undefined> {
  return access(path, constants.X_OK).then(
    () => path,
    () => undefined,
  );
}
