import { constants } from "node:fs";
import { access, readdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/** A folder that the repository ignores; what is fetched is kept here. */
export const CACHE = fileURLToPath(new URL("../build/root/", import.meta.url));

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Finds iptables: on PATH, else what `installIptables` fetched.
 *
 * @returns the environment in which `iptables-nft`, `iptables-legacy` and their like are found and run; `undefined`
 *   where there are none
 */
export function findIptables(env: Env = process.env, cache = CACHE): Promise<Env | undefined> {
  return find({ program: "iptables-restore", fetched: "xtables-nft-multi" }, env, cache);
}

/** Finds nftables in the same way. @returns the environment in which `nft` is found and runs */
export function findNftables(env: Env = process.env, cache = CACHE): Promise<Env | undefined> {
  return find({ program: "nft", fetched: "nft" }, env, cache);
}

async function find(
  { program, fetched }: { readonly program: string; readonly fetched: string },
  env: Env,
  cache: string,
): Promise<Env | undefined> {
  // Not everybody's PATH has the folders of the administrator's programs.
  const path = [...(env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"].filter((folder) => folder !== "");
  for (const folder of path) if (await executable(join(folder, program))) return { ...env, PATH: path.join(delimiter) };
  const programs = join(cache, "usr/sbin");
  if (!(await executable(join(programs, fetched)))) return undefined;
  const [triplet = ""] = (await readdir(join(cache, "usr/lib"))).filter((name) => name.includes("-linux-gnu"));
  const libraries = join(cache, "usr/lib", triplet);
  return {
    ...env,
    PATH: [programs, ...path].join(delimiter),
    LD_LIBRARY_PATH: libraries,
    XTABLES_LIBDIR: join(libraries, "xtables"),
  };
}

function executable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
