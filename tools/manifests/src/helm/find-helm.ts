import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Version that the charts are tested with: the one of `helm/go.mod`. */
export const HELM_VERSION = "v3.21.4";
/** A folder that the repository ignores. */
export const CACHE = fileURLToPath(new URL("../../build/", import.meta.url));

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Finds Helm: ISTIOD_HELM_BINARY, then the one that `installHelm` built.
 *
 * @returns its absolute path; `undefined` if there is none
 * @throws Error if ISTIOD_HELM_BINARY names something that cannot be executed
 */
export async function findHelm(env: Env = process.env, cache = CACHE): Promise<string | undefined> {
  const named = env["ISTIOD_HELM_BINARY"];
  if (!named) return executable(builtHelm(cache));
  const found = await executable(resolve(named));
  if (!found) throw new Error(`ISTIOD_HELM_BINARY is ${named}, which cannot be executed`);
  return found;
}

/** Returns the reason why there is no Helm here, or `undefined` if there is one. */
export async function helmUnavailable(env: Env = process.env, cache = CACHE): Promise<string | undefined> {
  if (await findHelm(env, cache)) return undefined;
  return "there is no Helm: run `npm run helm:install`, which needs Go, or set ISTIOD_HELM_BINARY";
}

/** Returns the path that Helm has once it is built. */
export function builtHelm(cache: string): string {
  return join(cache, `helm-${HELM_VERSION}`, "helm");
}

async function executable(path: string): Promise<string | undefined> {
  return access(path, constants.X_OK).then(
    () => path,
    () => undefined,
  );
}
