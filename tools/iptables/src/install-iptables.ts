import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CACHE, findIptables } from "./find-iptables.js";

const run = promisify(execFile);

/** Debian's packages that hold iptables and the libraries that it needs beside those of every system. */
export const PACKAGES = [
  "iptables",
  "libxtables12",
  "libip4tc2",
  "libip6tc2",
  "libnftnl11",
  "libmnl0",
  "libnfnetlink0",
  "libnetfilter-conntrack3",
];

/**
 * Fetches iptables by the system's package client and unpacks it into a folder of its own, unless it is there already.
 * Nothing is installed into the system.
 *
 * @throws Error that says in one sentence what is missing
 */
export async function installIptables(cache = CACHE): Promise<void> {
  if (await findIptables(process.env, cache)) return;
  const fetched = await mkdtemp(join(tmpdir(), "istiod-iptables-"));
  try {
    await download(fetched);
    await mkdir(cache, { recursive: true });
    for (const file of await readdir(fetched))
      await run("dpkg", ["-x", join(fetched, file), cache], { timeout: 60_000 });
  } catch (error) {
    await rm(cache, { recursive: true, force: true });
    throw new Error(
      `iptables could not be fetched, which needs apt-get and dpkg: ${(error as Error).message.split("\n")[0]}`,
      { cause: error },
    );
  } finally {
    await rm(fetched, { recursive: true, force: true });
  }
}

async function download(into: string): Promise<void> {
  const get = (): Promise<unknown> => run("apt-get", ["download", ...PACKAGES], { cwd: into, timeout: 120_000 });
  // A new machine may not have the lists of packages yet.
  await get().catch(async () => {
    await run("apt-get", ["update"], { timeout: 300_000 });
    await get();
  });
}
