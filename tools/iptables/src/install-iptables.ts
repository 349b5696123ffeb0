import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CACHE, findIptables, findNftables } from "./find-iptables.js";

const run = promisify(execFile);

/** Debian's packages that hold iptables and the libraries that it needs beside those of every system. */
const IPTABLES = [
  "iptables",
  "libxtables12",
  "libip4tc2",
  "libip6tc2",
  "libnftnl11",
  "libmnl0",
  "libnfnetlink0",
  "libnetfilter-conntrack3",
];

/** Those that hold nft, and its libraries. */
const NFTABLES = [
  "nftables",
  "libnftables1",
  "libnftnl11",
  "libmnl0",
  "libxtables12",
  "libjansson4",
  "libedit2",
  "libbsd0",
  "libmd0",
  "libgmp10",
];

/**
 * Fetches iptables and nftables by the system's package client and unpacks them into a folder of their own, unless they
 * are there already. Nothing is installed into the system.
 *
 * @throws Error that says in one sentence what is missing
 */
export async function installIptables(cache = CACHE): Promise<void> {
  const missing = [
    ...((await findIptables(process.env, cache)) ? [] : IPTABLES),
    ...((await findNftables(process.env, cache)) ? [] : NFTABLES),
  ];
  if (missing.length === 0) return;
  const fetched = await mkdtemp(join(tmpdir(), "istiod-iptables-"));
  try {
    await download([...new Set(missing)], fetched);
    await mkdir(cache, { recursive: true });
    for (const file of await readdir(fetched))
      await run("dpkg", ["-x", join(fetched, file), cache], { timeout: 60_000 });
  } catch (error) {
    throw new Error(
      `iptables and nftables could not be fetched, which needs apt-get and dpkg: ${(error as Error).message.split("\n")[0]}`,
      { cause: error },
    );
  } finally {
    await rm(fetched, { recursive: true, force: true });
  }
}

async function download(packages: readonly string[], into: string): Promise<void> {
  const get = (): Promise<unknown> => run("apt-get", ["download", ...packages], { cwd: into, timeout: 120_000 });
  // A new machine may not have the lists of packages yet.
  await get().catch(async () => {
    await run("apt-get", ["update"], { timeout: 300_000 });
    await get();
  });
}
