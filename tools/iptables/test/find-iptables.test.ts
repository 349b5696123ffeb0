import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findIptables, findNftables } from "@istiod/iptables-binary";
import { afterEach, beforeEach, expect, test } from "vitest";

let directory: string;
beforeEach(async () => void (directory = await mkdtemp(join(tmpdir(), "iptables-"))));
afterEach(() => rm(directory, { recursive: true }));

async function program(path: string): Promise<void> {
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, "#!/bin/sh\n");
  await chmod(path, 0o755);
}

test("what the machine has is taken as it is", async () => {
  await program(join(directory, "bin/iptables-restore"));
  const found = await findIptables({ PATH: join(directory, "bin") }, join(directory, "none"));
  expect(found?.["PATH"]?.split(":")[0]).toBe(join(directory, "bin"));
  expect(found?.["XTABLES_LIBDIR"]).toBeUndefined();
});

test("what was fetched comes with its libraries", async ({ skip }) => {
  const cache = join(directory, "cache");
  await program(join(cache, "usr/sbin/xtables-nft-multi"));
  await mkdir(join(cache, "usr/lib/x86_64-linux-gnu/xtables"), { recursive: true });
  const found = await findIptables({ PATH: "/nowhere" }, cache);
  skip(found?.["XTABLES_LIBDIR"] === undefined, "this machine has an iptables of its own");
  expect(found).toEqual({
    PATH: `${join(cache, "usr/sbin")}:/nowhere:/usr/sbin:/sbin`,
    LD_LIBRARY_PATH: join(cache, "usr/lib/x86_64-linux-gnu"),
    XTABLES_LIBDIR: join(cache, "usr/lib/x86_64-linux-gnu/xtables"),
  });
});

test("nftables is found alone, in the same places", async ({ skip }) => {
  await program(join(directory, "bin/nft"));
  const env = { PATH: join(directory, "bin") };
  expect((await findNftables(env, join(directory, "none")))?.["PATH"]).toBe(`${env.PATH}:/usr/sbin:/sbin`);
  const cache = join(directory, "cache");
  await program(join(cache, "usr/sbin/nft"));
  await mkdir(join(cache, "usr/lib/x86_64-linux-gnu"), { recursive: true });
  const found = await findNftables({ PATH: "/nowhere" }, cache);
  skip(found?.["LD_LIBRARY_PATH"] === undefined, "this machine has nftables of its own");
  expect(found?.["PATH"]).toBe(`${join(cache, "usr/sbin")}:/nowhere:/usr/sbin:/sbin`);
  expect(await findNftables({ PATH: "/nowhere" }, join(directory, "none"))).toBeUndefined();
});
