import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Architecture } from "../lock.js";
import { CACHE } from "./cache.js";
import { run } from "./run.js";

const updated = new Map<string, Promise<string>>();

/**
 * Options of apt for an architecture. It has lists of packages of its own, so that neither this machine's packages nor
 * its architecture matter, and nothing is changed outside of this repository.
 */
async function aptOptions(architecture: Architecture, sources: string | undefined): Promise<readonly string[]> {
  const folder = join(CACHE, "apt", architecture);
  for (const name of ["lists/partial", "cache/archives/partial"]) await mkdir(join(folder, name), { recursive: true });
  const options = {
    "APT::Architecture": architecture,
    "APT::Architectures::": architecture,
    "APT::Sandbox::User": "root",
    "Dir::State::lists": join(folder, "lists"),
    "Dir::State::status": "/dev/null",
    "Dir::Cache": join(folder, "cache"),
    ...(sources !== undefined && { "Dir::Etc::sourcelist": resolve(sources), "Dir::Etc::sourceparts": "-" }),
  };
  return Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
}

/**
 * Runs apt-get for an architecture, with lists of packages that are updated once if it fails with those that exist.
 *
 * @param cwd folder of what it downloads
 * @throws Error with the reason
 */
export async function aptGet(architecture: Architecture, args: readonly string[], cwd: string): Promise<string> {
  // A file in the form of sources.list, for machines whose packages are not Debian's.
  const options = await aptOptions(architecture, process.env["IMAGES_APT_SOURCES"]);
  const get = (): Promise<string> => run("apt-get", [...options, "--quiet", "--quiet", ...args], cwd);
  return await get().catch(async () => {
    if (!updated.has(architecture)) updated.set(architecture, run("apt-get", [...options, "update"], cwd));
    await updated.get(architecture);
    return await get();
  });
}
