import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFile,
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DirectorySource, type DirectorySourceOptions, Ingestion } from "@istiod/config-ingestion";
import { authorizationPolicies, formatProblem, rejectedAuthorizationPolicies } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import type { Clock } from "@istiod/runtime";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, type TestContext, vi } from "vitest";

let root: string;
const ends: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "istiod-state-"));
  await mkdir(join(root, "config"));
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await rm(root, { recursive: true, force: true });
});

/** Twenty times as fast as real time, so that a burst is over soon. */
const quickClock: Clock = {
  now: () => performance.now() * 20,
  after(delay, callback) {
    const timer = setTimeout(callback, delay / 20);
    return () => clearTimeout(timer);
  },
};

interface Replica {
  readonly database: Database<unknown>;
  readonly ingestion: Ingestion<unknown>;
  stop(): Promise<void>;
}

async function start(options: Partial<DirectorySourceOptions> = {}): Promise<Replica> {
  const database = new Database<unknown>();
  const source = new DirectorySource({
    directory: join(root, "config"),
    stateDirectory: join(root, "state"),
    clock: quickClock,
    ...options,
  });
  const ingestion = new Ingestion(database, [source], { clock: quickClock });
  const stop = (): Promise<void> => ingestion.stop();
  ends.push(stop);
  await ingestion.ready;
  return { database, ingestion, stop };
}

/** Returns what a replica enforces for a policy: the port that it denies, `all`, or nothing. */
function enforced({ database }: Replica, key = "shop/deny"): string | undefined {
  const port = database.read(authorizationPolicies, key)?.spec.rules[0]?.to[0]?.operation?.ports[0];
  return database.read(rejectedAuthorizationPolicies, key) === undefined ? port : "all";
}

const policy = (port: string, name = "deny"): string =>
  `apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {name: ${name}, namespace: shop}\nspec: {action: DENY, rules: [{to: [{operation: {ports: ["${port}"]}}]}]}\n`;
const bad = policy("none");
const unparsable = `${policy("80")}: [\n`;

async function write(file: string, text: string): Promise<void> {
  const path = join(root, "config", file);
  await writeFile(`${path}.tmp`, text);
  await rename(`${path}.tmp`, path);
}

const remove = (file: string): Promise<void> => rm(join(root, "config", file), { force: true });
const eventually = (assertion: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(assertion, { timeout: 10_000, interval: 5 });
const problems = ({ ingestion }: Replica): string => ingestion.problems().map(formatProblem).join("\n");

/** Returns the paths of the stored versions. */
async function entries(): Promise<readonly string[]> {
  const scope = join(root, "state", "last-good", "Kubernetes~default");
  return (await readdir(scope)).filter((name) => name.endsWith(".json")).map((name) => join(scope, name));
}

describe("the last good version of a policy", () => {
  test.each([
    ["rejected", bad],
    ["not YAML", unparsable],
    ["of a misspelled kind", bad.replace("kind: AuthorizationPolicy", "kind: AuthorizationPolicie")],
    ["without a name", policy("80").replace("name: deny", "name: 7")],
  ])("applies after a restart on one that is %s", async (_, text) => {
    await write("a.yaml", policy("80"));
    const first = await start();
    expect(enforced(first)).toBe("80");
    await first.stop();
    await write("a.yaml", text);
    const second = await start();
    expect(enforced(second)).toBe("80");
    expect(problems(second)).toContain(
      "AuthorizationPolicy shop/deny: is rejected; its last good version, stored at 20",
    );
  });

  test("applies in a replica that never saw it, and the newest one everywhere", async () => {
    await write("a.yaml", policy("80"));
    const a = await start();
    await write("a.yaml", bad);
    const b = await start();
    expect([enforced(a), enforced(b)]).toEqual(["80", "80"]);
    await write("a.yaml", policy("81"));
    await eventually(() => expect([enforced(a), enforced(b)]).toEqual(["81", "81"]));
    await write("a.yaml", bad);
    const c = await start();
    await eventually(() => expect([enforced(a), enforced(b), enforced(c)]).toEqual(["81", "81", "81"]));
    expect(await entries()).toHaveLength(1);
  });

  test("is forgotten when the policy is deleted, also while no process runs", async () => {
    await write("a.yaml", policy("80"));
    await write("b.yaml", policy("81", "other"));
    const first = await start();
    expect(await entries()).toHaveLength(2);
    await remove("a.yaml");
    await eventually(() => expect(first.database.keys(authorizationPolicies)).toEqual(["shop/other"]));
    await vi.waitFor(async () => expect(await entries()).toHaveLength(1), { timeout: 5_000, interval: 5 });
    await first.stop();
    await remove("b.yaml");
    await start();
    expect(await entries()).toEqual([]);
    await write("b.yaml", bad.replace("name: deny", "name: other"));
    const third = await start();
    expect(enforced(third, "shop/other")).toBe("all");
  });

  test("is private, and survives a move to another file", async () => {
    await write("a.yaml", policy("80"));
    const first = await start();
    const [entry = ""] = await entries();
    expect((await stat(entry)).mode & 0o777).toBe(0o600);
    expect((await stat(join(entry, ".."))).mode & 0o777).toBe(0o700);
    await write("b.yaml", policy("80"));
    await remove("a.yaml");
    await vi.waitFor(
      async () => expect(await readFile((await entries())[0] ?? "", "utf8")).toContain('"file":"b.yaml"'),
      { timeout: 5_000, interval: 5 },
    );
    await first.stop();
    await write("b.yaml", "- [\n");
    expect(enforced(await start())).toBe("80");
  });

  test.each<[string, (entry: string) => Promise<unknown>, string]>([
    [
      "changed",
      async (entry) => writeFile(entry, (await readFile(entry, "utf8")).replace('"80"', '"81"')),
      "does not match its digest",
    ],
    [
      "cut",
      async (entry) => writeFile(entry, (await readFile(entry, "utf8")).slice(0, 50)),
      "does not match its digest",
    ],
    ["writable by everyone", (entry) => chmod(entry, 0o666), "can be written by every user"],
    [
      "a link",
      async (entry) => (await rename(entry, join(root, "elsewhere")), symlink(join(root, "elsewhere"), entry)),
      "ELOOP",
    ],
  ])("is ignored loudly if its entry was %s, and the policy fails closed", async (_, tamper, message) => {
    await write("a.yaml", policy("80"));
    await (await start()).stop();
    await write("a.yaml", bad);
    await tamper((await entries())[0] ?? "");
    const second = await start();
    expect(enforced(second)).toBe("all");
    expect(problems(second)).toContain(message);
    await write("a.yaml", policy("82"));
    await eventually(() => expect(enforced(second)).toBe("82"));
    await eventually(() => expect(problems(second)).toBe(""));
  });
});

describe("a version that cannot be stored", () => {
  /** A policy of 30 KB, which denies the port and others. */
  const large = (port: string): string =>
    policy(port).replace(
      /ports: \[.*?\]/,
      `ports: ${JSON.stringify([port, ...Array(3000).keys()].map(String).map((p) => (p === "0" ? "1" : p)))}`,
    );
  const disks: readonly [string, string, () => Promise<void>][] = [
    ["whose blocks are used up", "size=256k", () => fillUp(join(root, "state", "ballast"))],
    ["whose files are used up", "size=256k,nr_inodes=12", () => useUpFiles(join(root, "state"))],
  ];

  test.for(disks)(
    "on a disk %s, is not replaced by an older one after a restart",
    async ([, options, fill], context) => {
      await onDisk(context, options, async () => {
        await write("a.yaml", policy("80"));
        const first = await start();
        await fill();
        await write("a.yaml", large("81"));
        await eventually(() => expect(enforced(first)).toBe("81"));
        expect(problems(first)).toMatch(/AuthorizationPolicy shop\/deny: .*cannot store the last good version: ENOSPC/);
        await write("a.yaml", bad);
        await eventually(() => expect(problems(first)).toContain('is "none", expected a port number'));
        expect(enforced(first)).toBe("81");
        await first.stop();
        await empty();
        expect(enforced(await start())).toBe("all");
      });
    },
  );

  test.for(disks)(
    "on a disk %s, is stored once there is space, and applies then",
    async ([, options, fill], context) => {
      await onDisk(context, options, async () => {
        await write("a.yaml", policy("80"));
        const first = await start();
        const second = await start();
        await fill();
        await write("a.yaml", policy("81"));
        await eventually(() => expect([enforced(first), enforced(second)]).toEqual(["81", "81"]));
        for (const name of await readdir(join(root, "state")))
          if (name.startsWith("ballast")) await rm(join(root, "state", name));
        await write("b.yaml", policy("90", "other"));
        await eventually(() => expect([problems(first), problems(second)]).toEqual(["", ""]));
        await eventually(async () => expect(await entries()).toHaveLength(2));
        await first.stop();
        await second.stop();
        await write("a.yaml", bad);
        expect(enforced(await start())).toBe("81");
      });
    },
  );

  test.for(disks)("on a disk %s, does not hide in a file that is no YAML", async ([, options, fill], context) => {
    await onDisk(context, options, async () => {
      const first = await start();
      await fill();
      await write("a.yaml", large("81"));
      await eventually(() => expect(enforced(first)).toBe("81"));
      await first.stop();
      await write("a.yaml", unparsable);
      const second = await start();
      expect(enforced(second)).toBe("all");
      await remove("a.yaml");
      await eventually(() => expect(enforced(second)).toBe(undefined));
      await eventually(() => expect(problems(second)).toBe(""));
      expect(await entries()).toEqual([]);
    });
  });

  test("because the directory became read-only, says that an older one would apply, and startup ends", async (context) => {
    await onDisk(context, "size=256k", async () => {
      await write("a.yaml", policy("80"));
      const first = await start();
      execFileSync("mount", ["-o", "remount,ro", join(root, "state")]);
      await write("a.yaml", policy("81"));
      await eventually(() => expect(enforced(first)).toBe("81"));
      expect(problems(first)).toMatch(/EROFS.*; an older one applies after a restart unless its entry is deleted/);
      await first.stop();
      await expect(start()).rejects.toThrow(/^--stateDir: .*EROFS.*, expected a writable directory$/);
    });
  });
});

/** Runs a test with the state directory on a disk of its own. */
async function onDisk(context: TestContext, options: string, run: () => Promise<void>): Promise<void> {
  const directory = join(root, "state");
  await mkdir(directory);
  const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", directory], {
    encoding: "utf8",
  });
  if (status !== 0) return context.skip(`no file system can be mounted: ${stderr || "there is no mount"}`);
  try {
    await run();
  } finally {
    for (const end of ends.splice(0).reverse()) await end();
    execFileSync("umount", ["-l", directory]);
  }
}

async function fillUp(path: string): Promise<void> {
  for (;;) {
    const failure = await appendFile(path, "x".repeat(4096)).catch((error: unknown) => error);
    if (failure !== undefined) return;
  }
}

/** Removes what a disk was filled up with. */
async function empty(): Promise<void> {
  const names = await readdir(join(root, "state"));
  for (const name of names) if (name.startsWith("ballast")) await rm(join(root, "state", name));
}

async function useUpFiles(directory: string): Promise<void> {
  for (let i = 0; ; i++) {
    const failure = await writeFile(join(directory, `ballast-${i}`), "").catch((error: unknown) => error);
    if (failure !== undefined) return;
  }
}

test("a state directory that everyone can write ends startup by the name of the flag", async () => {
  await mkdir(join(root, "state", "last-good", "Kubernetes~default"), { recursive: true });
  await chmod(join(root, "state", "last-good", "Kubernetes~default"), 0o777);
  await expect(start()).rejects.toThrow(/^--stateDir: .* can be written by every user, expected mode 0700$/);
  await expect(start({ stateDirectory: "/dev/null" })).rejects.toThrow(/^--stateDir: \/dev\/null/);
});

test("a file that cannot be read at startup keeps its stored policies; without them startup ends", async () => {
  await write("a.yaml", policy("80"));
  await (await start()).stop();
  await remove("a.yaml");
  await mkdir(join(root, "config", "a.yaml.d"));
  await symlink("/proc/self/mem", join(root, "config", "a.yaml"));
  await expect(start({ stateDirectory: join(root, "other") })).rejects.toThrow(
    /a\.yaml .*its policies are unknown, and istiod does not start without them/,
  );
  const second = await start();
  expect(enforced(second)).toBe("80");
});

/** Strength of what is enforced, for the versions of one policy, each of which denies more than those before. */
const edits = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("good" as const), port: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("bad" as const, "unparsable" as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("deleted" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("restart" as const), replica: fc.nat(1) }) },
);

test("two replicas agree after any edits and restarts, and never enforce less than the last good version", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(edits, { minLength: 1, maxLength: 8 }), async (sequence) => {
      await rm(join(root, "config"), { recursive: true, force: true });
      await rm(join(root, "state"), { recursive: true, force: true });
      await mkdir(join(root, "config"));
      const replicas = [await start(), await start()];
      // A version counts as accepted once any replica enforces it.
      let expected: string | undefined;
      for (const edit of sequence) {
        if (edit.kind === "restart") {
          await replicas[edit.replica]?.stop();
          replicas[edit.replica] = await start();
        } else if (edit.kind === "good") await write("a.yaml", policy(`${edit.port}`));
        else if (edit.kind === "deleted") await remove("a.yaml");
        else await write("a.yaml", edit.kind === "bad" ? bad : unparsable);
        if (edit.kind === "good") expected = `${edit.port}`;
        if (edit.kind === "deleted") expected = undefined;
        if ((edit.kind === "bad" || edit.kind === "unparsable") && expected === undefined) expected = "all";
        await eventually(() => expect(replicas.map((replica) => enforced(replica))).toEqual([expected, expected]));
      }
      for (const replica of replicas) await replica.stop();
    }),
    { numRuns: 25, interruptAfterTimeLimit: 60_000 },
  );
}, 120_000);

test("two replicas that missed different versions agree once the edits end, also with one that starts then", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(edits, { minLength: 2, maxLength: 10 }),
      fc.array(fc.nat(15)),
      async (sequence, pauses) => {
        await rm(join(root, "config"), { recursive: true, force: true });
        await rm(join(root, "state"), { recursive: true, force: true });
        await mkdir(join(root, "config"));
        const replicas = [await start(), await start()];
        let ends: string | undefined;
        for (const [i, edit] of sequence.entries()) {
          if (edit.kind === "restart") {
            await replicas[edit.replica]?.stop();
            replicas[edit.replica] = await start();
            continue;
          }
          ends = edit.kind;
          if (edit.kind === "good") await write("a.yaml", policy(`${edit.port}`));
          else if (edit.kind === "deleted") await remove("a.yaml");
          else await write("a.yaml", edit.kind === "bad" ? bad : unparsable);
          await new Promise((resolve) => setTimeout(resolve, pauses[i] ?? 0));
        }
        replicas.push(await start());
        const last = sequence.findLast((edit) => edit.kind !== "restart");
        await eventually(() => {
          const found = replicas.map((replica) => enforced(replica));
          expect(new Set(found).size).toBe(1);
          if (ends === "good" && last?.kind === "good") expect(found[0]).toBe(`${last.port}`);
          else if (ends === "bad" || ends === "unparsable") expect(found[0]).toBeDefined();
          else expect(found[0]).toBeUndefined();
        });
        for (const replica of replicas) await replica.stop();
      },
    ),
    { numRuns: 25, interruptAfterTimeLimit: 60_000 },
  );
}, 120_000);

test("clusters and revisions whose names join to the same text have entries of their own", async () => {
  await write("a.yaml", policy("80"));
  await (await start({ cluster: "a~b", revision: "c" })).stop();
  await write("a.yaml", bad);
  expect(enforced(await start({ cluster: "a", revision: "b~c" }))).toBe("all");
  expect(enforced(await start({ cluster: "a~b", revision: "c" }))).toBe("80");
});
