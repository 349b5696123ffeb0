import { collection, Database, query } from "@istiod/incremental";
import { FakeClock } from "@istiod/runtime/testing";
import { expect, it } from "vitest";
import { type FetchKeySet, KeySetDemand, type KeySetFetch, refreshSchedule } from "../src/index.js";

const minute = 60_000;
const policies = collection<string>("Policy");
const keys = collection<string>("Keys");
const fetches = collection<KeySetFetch>("Fetch");
const wanted = query("wanted", (q) =>
  [...new Set(q.all(policies))].map((jwksUri) => ({ issuer: "", jwksUri, timeoutMs: 5000 })),
);

/** A demand for the key sets of policies, each of which names a URI, by the name of the policy. */
function demandOf(uris: Readonly<Record<string, string>>, fetch: FetchKeySet, intervalMs: number) {
  const database = new Database<void>();
  database.commit((tx) => Object.entries(uris).forEach(([name, uri]) => tx.set(policies, name, uri)));
  const clock = new FakeClock(0);
  const lines: string[] = [];
  const log = {
    info: (_: object, message: string) => lines.push(`info ${message}`),
    warn: (fields: object, message: string) => lines.push(`warn ${message} ${JSON.stringify(fields)}`),
  };
  const schedule = refreshSchedule(intervalMs);
  const demand = new KeySetDemand<void>({
    database,
    client: undefined,
    wanted,
    keys,
    fetches,
    fetch,
    schedule,
    clock,
    log,
  });
  return { database, clock, demand, lines };
}

it("1,000 policies with 50 URIs cost 50 fetches a period, and a key set that nobody needs is dropped", async () => {
  const uris = Array.from({ length: 50 }, (_, i) => `https://keys-${i}/`);
  const all = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`ns-${i}/jwt`, uris[i % 50] ?? ""]));
  const fetched: string[] = [];
  const fetch: FetchKeySet = ({ jwksUri }) => Promise.resolve(`{"keys":"${jwksUri}${fetched.push(jwksUri) > 0}"}`);
  const { database, clock, demand } = demandOf(all, fetch, 20 * minute);
  await demand.start();
  expect([...fetched].sort()).toEqual([...uris].sort());
  expect(database.keys(keys)).toHaveLength(50);
  for (let period = 2; period <= 5; period++) {
    await clock.advanceSettled(20 * minute);
    expect(fetched).toHaveLength(50 * period);
  }
  // The last policy of one URI is deleted, and another URI keeps one policy.
  database.commit((tx) => {
    for (let i = 0; i < 1000; i += 50) tx.delete(policies, `ns-${i}/jwt`);
    for (let i = 1; i < 950; i += 50) tx.delete(policies, `ns-${i}/jwt`);
  });
  await clock.advanceSettled(1000);
  expect(database.keys(keys)).toHaveLength(49);
  expect(database.keys(fetches)).toEqual([]);
  await clock.advanceSettled(20 * minute);
  expect(fetched).toHaveLength(5 * 50 + 49);
  expect(demand.counts()).toEqual({ current: 49, fetching: 0, failed: 0, stale: 0 });
  demand.stop();
});

it("a refresh that changes nothing changes no revision", async () => {
  let count = 0;
  const { database, clock, demand } = demandOf(
    { "shop/jwt": "https://keys/" },
    () => Promise.resolve(`{"keys":${count++ < 0}}`),
    minute,
  );
  await demand.start();
  const { revision } = database;
  await clock.advanceSettled(20 * minute);
  expect(count).toBeGreaterThan(10);
  expect(database.revision).toBe(revision);
  demand.stop();
});

it("a failure is logged and committed once, and the last keys stay", async () => {
  let reason: string | undefined;
  const { database, clock, demand, lines } = demandOf(
    { "shop/jwt": "https://keys/" },
    () => (reason === undefined ? Promise.resolve("{}") : Promise.reject(new Error(reason))),
    minute,
  );
  await demand.start();
  reason = "down";
  await clock.advanceSettled(3 * minute);
  expect(database.read(keys, "uri https://keys/")).toBe("{}");
  expect(database.read(fetches, "uri https://keys/")).toEqual({
    state: "stale",
    reason: "down",
    fetchedAt: "1970-01-01T00:00:00.000Z",
  });
  reason = undefined;
  await clock.advanceSettled(minute);
  expect(database.keys(fetches)).toEqual([]);
  expect(lines).toEqual([
    'warn failed to fetch JWKS, keeping the last keys {"jwks":"https://keys/","reason":"down"}',
    "info fetched JWKS after failures",
  ]);
  demand.stop();
});
