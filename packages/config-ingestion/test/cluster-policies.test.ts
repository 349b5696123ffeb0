import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ingestion, KubernetesSource } from "@istiod/config-ingestion";
import { MemoryCluster } from "@istiod/config-ingestion/testing";
import {
  authorizationPolicies,
  authorizationPolicyKind,
  formatProblem,
  rejectedAuthorizationPolicies,
} from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import type { Clock } from "@istiod/runtime";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

let root: string;
const ends: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "istiod-policies-"));
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

const type = {
  group: "security.istio.io",
  version: "v1",
  kind: "AuthorizationPolicy",
  plural: "authorizationpolicies",
  namespaced: true,
};

function apiServer(): MemoryCluster {
  const api = new MemoryCluster();
  api.serve([type]);
  return api;
}

async function start(api: MemoryCluster, stateDirectory: string | undefined = join(root, "state")) {
  const database = new Database<unknown>();
  const source = new KubernetesSource({
    cluster: "Kubernetes",
    reader: api,
    kinds: [authorizationPolicyKind],
    clock: quickClock,
    ...(stateDirectory && { stateDirectory }),
  });
  const ingestion = new Ingestion(database, [source], { clock: quickClock });
  ends.push(() => ingestion.stop());
  api.connect();
  await ingestion.ready;
  return { database, source, ingestion };
}

type Replica = Awaited<ReturnType<typeof start>>;

/** Returns what a replica enforces for a policy: the port that it denies, `all`, or nothing. */
function enforced({ database }: Replica, name = "deny"): string | undefined {
  const port = database.read(authorizationPolicies, `shop/${name}`)?.spec.rules[0]?.to[0]?.operation?.ports[0];
  return database.read(rejectedAuthorizationPolicies, `shop/${name}`) === undefined ? port : "all";
}

const policy = (port: string, name = "deny") => ({
  apiVersion: "security.istio.io/v1",
  kind: "AuthorizationPolicy",
  metadata: { name, namespace: "shop" },
  spec: { action: "DENY", rules: [{ to: [{ operation: { ports: [port] } }] }] },
});
const bad = policy("none");

const becomes = (replica: Replica, expected: string | undefined): Promise<void> =>
  vi.waitFor(() => expect(enforced(replica)).toBe(expected), { timeout: 20_000, interval: 5 });
const kinds = ({ source }: Replica): string[] => source.rejectedPolicies().map((rejected) => rejected.enforced);
const scope = (): string => join(root, "state", "last-good-objects", "Kubernetes~default");
const entries = async (): Promise<string[]> => (await readdir(scope())).filter((name) => name.endsWith(".json"));

test("an istiod that starts enforces the stored version of a rejected policy, and one without the state fails closed", async () => {
  const api = apiServer();
  api.set(policy("80"));
  const first = await start(api);
  expect(enforced(first)).toBe("80");
  await first.ingestion.stop();
  api.set(bad);
  const second = await start(api);
  expect(enforced(second)).toBe("80");
  expect(kinds(second)).toEqual(["stored"]);
  expect(second.ingestion.problems().map(formatProblem).join("\n")).toContain(
    "is rejected; its last good version, resource version 1, is active",
  );
  await second.ingestion.stop();
  const without = await start(api, "");
  expect(enforced(without)).toBe("all");
  expect(kinds(without)).toEqual(["fail-closed"]);
  await without.ingestion.stop();
  const third = await start(api);
  api.set(policy("81"));
  await becomes(third, "81");
  expect(kinds(third)).toEqual([]);
});

test("a policy that is deleted and created again has no good version of the former", async () => {
  const api = apiServer();
  api.set(policy("80"));
  const first = await start(api);
  api.delete(bad);
  await becomes(first, undefined);
  expect(await entries()).toEqual([]);
  api.set(policy("81"));
  await becomes(first, "81");
  await first.ingestion.stop();
  api.delete(bad);
  api.set(bad);
  expect(enforced(await start(api))).toBe("all");
});

test("replicas enforce the same version, whichever versions each has seen", async () => {
  const [seeing, blind] = [apiServer(), apiServer()];
  for (const api of [seeing, blind]) api.set(policy("80"));
  const [a, b] = [await start(seeing), await start(blind)];
  blind.disconnect(0, new Error("unreachable"));
  for (const api of [seeing, blind]) api.set(policy("81"));
  await becomes(a, "81");
  for (const api of [seeing, blind]) api.set(bad);
  blind.connect();
  await becomes(b, "81");
  await vi.waitFor(() => expect([kinds(a), kinds(b)]).toEqual([["stored"], ["stored"]]), { timeout: 20_000 });
  expect(enforced(a)).toBe("81");
});

test("a replica that is behind does not replace a newer version", async () => {
  const [ahead, behind] = [apiServer(), apiServer()];
  for (const api of [ahead, behind]) api.set(policy("80"));
  ahead.set(policy("81"));
  const a = await start(ahead);
  const stored = await entries();
  expect(enforced(await start(behind))).toBe("80");
  expect(await entries()).toEqual(stored);
  ahead.set(bad);
  await vi.waitFor(() => expect(kinds(a)).toEqual(["stored"]), { timeout: 20_000 });
  expect(enforced(a)).toBe("81");
});

test("versions of policies that were deleted while no istiod ran are removed", async () => {
  const api = apiServer();
  for (const name of ["deny", "other"]) api.set(policy("80", name));
  await (await start(api)).ingestion.stop();
  expect(await entries()).toHaveLength(2);
  api.delete(policy("80"));
  api.set(policy("81", "third"));
  await (await start(api)).ingestion.stop();
  expect((await entries()).map((name) => name.split("~")[2]).sort()).toEqual(["other", "third"]);
});

test("a damaged version is ignored as an error, and the policy fails closed", async () => {
  const api = apiServer();
  api.set(policy("80"));
  await (await start(api)).ingestion.stop();
  for (const name of await entries()) await writeFile(join(scope(), name), "{}");
  api.set(bad);
  const replica = await start(api);
  expect(enforced(replica)).toBe("all");
  expect(replica.ingestion.problems().map(formatProblem).join("\n")).toContain("does not match its digest");
});

test("a version that cannot be stored is kept in memory, with a problem", async () => {
  const api = apiServer();
  api.set(policy("80"));
  const replica = await start(api);
  await rm(scope(), { recursive: true });
  api.set(policy("81", "other"));
  api.set(policy("none", "other"));
  await vi.waitFor(() => expect(enforced(replica, "other")).toBe("81"), { timeout: 20_000, interval: 5 });
  expect(kinds(replica)).toEqual(["last-good"]);
  const problems = replica.ingestion.problems().map(formatProblem).join("\n");
  expect(problems).toContain("AuthorizationPolicy shop/other: --stateDir: cannot store the last good version");
});

test("a directory that cannot be used ends the startup", async () => {
  await writeFile(join(root, "file"), "");
  await expect(start(apiServer(), join(root, "file"))).rejects.toThrow(/--stateDir: .*expected a writable directory/);
});

test("whatever happens, a rejected policy is enforced by its last good version that an istiod saw", async () => {
  const step = fc.oneof(
    fc.constantFrom("80", "81", "none").map((port) => ({ do: "set", port }) as const),
    fc.constantFrom("delete", "restart", "edit twice").map((action) => ({ do: action }) as const),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 7 }), async (steps) => {
      const directory = await mkdtemp(join(root, "run-"));
      const api = apiServer();
      let replica = await start(api, directory);
      let good: string | undefined;
      let port: string | undefined;
      const settled = (): Promise<void> => becomes(replica, port === "none" ? (good ?? "all") : port);
      for (const next of steps) {
        if (next.do === "restart") {
          await replica.ingestion.stop();
          replica = await start(api, directory);
        } else if (next.do === "delete") {
          api.delete(bad);
          port = good = undefined;
        } else {
          // A good version that is rejected in the same burst counts, too.
          if (next.do === "edit twice") api.set(policy((good = "82")));
          port = next.do === "set" ? next.port : "none";
          api.set(policy(port));
          if (port !== "none") good = port;
        }
        await settled();
      }
      await replica.ingestion.stop();
    }),
    { numRuns: 25 },
  );
}, 120_000);
