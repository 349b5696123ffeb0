import { ManualSource, MemorySource } from "@istiod/config-ingestion/testing";
import { clusterMetrics, Ingestion, IngestionError, type SourceEntry, type Source } from "@istiod/config-ingestion";
import { formatProblem, services } from "@istiod/config-schema";
import { collection, Database } from "@istiod/incremental";
import { MemoryMeter } from "@istiod/metrics/testing";
import { FakeClock } from "@istiod/runtime/testing";
import fc from "fast-check";
import { expect, test } from "vitest";

const names = collection<string>("Name");
const numbers = collection<string>("Number");

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function open(...sources: (Source | SourceEntry)[]) {
  const clock = new FakeClock(0);
  const database = new Database<unknown>();
  const commits: string[][] = [];
  const told: string[] = [];
  database.observe({
    after: ({ changed }) => commits.push(changed.map(({ key, present }) => (present ? key : `-${key}`)).sort()),
  });
  const ingestion = new Ingestion(database, sources, {
    clock,
    onProblems: (found) => void told.push(...found.map(formatProblem)),
  });
  let isReady = false;
  ingestion.ready.then(
    () => (isReady = true),
    () => undefined,
  );
  const settle = async (ms: number): Promise<void> => {
    await turn();
    clock.advance(ms);
    await ingestion.idle();
    await turn();
  };
  const states = () => ingestion.states().map(({ sync }) => sync);
  return { clock, database, commits, told, ingestion, settle, states, isReady: () => isReady };
}

function synced(entries: Readonly<Record<string, string>>, name?: string): ManualSource {
  const source = new ManualSource(name === undefined ? {} : { name });
  for (const [key, value] of Object.entries(entries)) source.set(names, key, value);
  source.sync();
  return source;
}

test("the first commit waits for every source until its deadline, and for the config cluster as long as it takes", async () => {
  const config = new ManualSource();
  config.set(names, "a", "1");
  const remote = new ManualSource({ name: "cluster east", cluster: "east" });
  const { settle, commits, isReady, states, told } = open(config, {
    source: remote,
    syncTimeout: 30_000,
    isRequired: false,
  });
  await settle(29_999);
  expect(states()).toEqual([{ state: "syncing" }, { state: "syncing" }]);
  await settle(1);
  expect(isReady()).toBe(false);
  config.sync();
  await settle(0);
  expect([isReady(), commits]).toEqual([true, [["a"]]]);
  expect(states()).toEqual([
    { state: "synced" },
    { state: "timeout", since: 30_000, reason: "it did not sync within 30000 ms" },
  ]);
  expect(told).toEqual([
    "cluster east: timeout since 1970-01-01T00:00:30.000Z because it did not sync within 30000 ms",
  ]);

  remote.set(names, "b", "2");
  remote.set(names, "c", "3");
  remote.sync();
  await settle(100);
  expect(commits).toEqual([["a"], ["b", "c"]]);
  expect(states()).toEqual([{ state: "synced" }, { state: "synced" }]);
});

test("a source that is added before the first commit delays it until its deadline", async () => {
  const config = new ManualSource();
  config.set(names, "a", "1");
  const { settle, commits, ingestion, isReady } = open(config);
  const remote = new ManualSource();
  ingestion.add(remote, { syncTimeout: 1000 });
  config.sync();
  await settle(999);
  expect(isReady()).toBe(false);
  remote.set(names, "b", "2");
  remote.sync();
  await settle(0);
  expect(commits).toEqual([["a", "b"]]);
});

test("a required source that is forbidden makes ready reject with its reason; another one does not", async () => {
  const forbidden = { state: "forbidden", since: 0, reason: "services: list is forbidden" } as const;
  const config = new ManualSource();
  const first = open(config);
  config.cutOff(forbidden);
  await expect(first.ingestion.ready).rejects.toMatchObject({
    code: "forbidden",
    message: "services: list is forbidden",
  });
  expect(config.isStopped).toBe(true);

  const remote = new ManualSource();
  const second = open(synced({ a: "1" }), { source: remote, syncTimeout: 10, isRequired: false });
  remote.cutOff(forbidden);
  await second.settle(10);
  await second.settle(0);
  expect([second.isReady(), second.states()]).toEqual([true, [{ state: "synced" }, forbidden]]);
});

test("a source is replaced in one commit, and stops only when the new one has synced", async () => {
  const before = synced({ a: "1", b: "2" });
  const { settle, commits, ingestion, states } = open(before);
  await settle(0);
  const after = new ManualSource();
  ingestion.replace(before, after);
  after.set(names, "a", "1");
  after.set(names, "c", "3");
  before.set(names, "d", "4");
  await settle(100);
  expect(before.isStopped).toBe(false);
  expect(ingestion.states()[0]?.replacement).toEqual({ source: after, sync: { state: "syncing" } });
  after.sync();
  await settle(100);
  expect(commits).toEqual([["a", "b"], ["d"], ["-b", "-d", "c"]]);
  expect([before.isStopped, after.isStopped, states()]).toEqual([true, false, [{ state: "synced" }]]);
  expect(ingestion.states()[0]).toMatchObject({ source: after });
  after.delete(names, "a");
  await settle(100);
  expect(commits[3]).toEqual(["-a"]);
});

test("a replacement that does not sync changes nothing, and can be replaced itself", async () => {
  const before = synced({ a: "1" });
  const { settle, commits, ingestion } = open(before);
  await settle(0);
  const wrong = new ManualSource();
  ingestion.replace(before, wrong, { syncTimeout: 1000 });
  await settle(5000);
  expect(ingestion.states()[0]?.replacement?.sync).toMatchObject({ state: "timeout" });
  const right = synced({ a: "1" });
  ingestion.replace(before, right);
  await settle(100);
  wrong.sync();
  await settle(100);
  expect(commits).toEqual([["a"]]);
  expect([before, wrong, right].map(({ isStopped }) => isStopped)).toEqual([true, true, false]);
});

test("a source that has a replacement is named by either of the two", async () => {
  const [first, second, third] = [synced({ a: "1" }), new ManualSource(), new ManualSource()];
  const { settle, commits, ingestion } = open(first);
  await settle(0);
  ingestion.replace(first, second);
  ingestion.replace(second, third);
  expect(ingestion.states()).toMatchObject([{ source: first, replacement: { source: third } }]);
  expect([first, second, third].map(({ isStopped }) => isStopped)).toEqual([false, true, false]);
  ingestion.remove(third);
  await settle(100);
  expect(commits).toEqual([["a"], ["-a"]]);
  expect([first, third].map(({ isStopped }) => isStopped)).toEqual([true, true]);
});

test("removing a source removes its objects in one commit, and uncovers those of others", async () => {
  const first = synced({ a: "1", b: "1" });
  const second = synced({ b: "2", c: "2" });
  const { settle, commits, ingestion, database } = open(first, second);
  await settle(0);
  expect(database.all(names)).toEqual(["1", "1", "2"]);
  ingestion.remove(first);
  await settle(100);
  expect(commits[1]).toEqual(["-a", "b"]);
  expect(database.all(names)).toEqual(["2", "2"]);
  expect(first.isStopped).toBe(true);
});

test("an object that two sources define is reported with both, and that of the first counts", async () => {
  const service = (port: number): string =>
    `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: ${port}}]}}\n`;
  const [one, two] = [new MemorySource(), new MemorySource()];
  one.set("one.yaml", service(1));
  two.set("two.yaml", service(2));
  const { settle, told, database } = open(one, two);
  await settle(0);
  expect(told).toEqual([
    "two.yaml:1: Service default/a: is also defined at one.yaml:1, which counts; expected it to be defined once",
  ]);
  const port = () => database.read(services, "Kubernetes/default/a")?.spec.ports[0]?.port;
  expect(port()).toBe(1);
  two.set("two.yaml", service(3));
  await settle(100);
  expect(port()).toBe(1);
  one.remove("one.yaml");
  await settle(100);
  expect(port()).toBe(3);
});

test("a source that cannot be read is stale, keeps its objects, and is tried again", async () => {
  const broken = synced({ a: "1" }, "cluster east");
  const other = synced({ b: "1" });
  const { settle, commits, states, told } = open(broken, other);
  await settle(0);
  broken.failReads(new Error("the disk is gone"));
  broken.delete(names, "a");
  other.set(names, "b", "2");
  await settle(100);
  expect(commits).toEqual([["a", "b"], ["b"]]);
  const reason = { reason: "the disk is gone", reasonKind: "the disk is gone" };
  expect(states()).toEqual([{ state: "stale", since: 100, ...reason }, { state: "synced" }]);
  expect(told).toEqual(["cluster east: stale since 1970-01-01T00:00:00.100Z because the disk is gone"]);
  await settle(1000);
  await settle(100);
  expect(states()[0]).toMatchObject({ state: "stale", since: 100 });
  broken.failReads(undefined);
  await settle(100);
  expect([commits.at(-1), states()[0]]).toEqual([["-a"], { state: "synced" }]);
});

test("a source whose start fails is started again; a required one makes ready reject", async () => {
  const flaky = new ManualSource();
  flaky.set(names, "a", "1");
  const { settle, commits, states, ingestion } = open();
  await settle(0);
  ingestion.add(flaky);
  flaky.rejectStart(new IngestionError("unreadable", "no route to host"));
  await settle(0);
  expect(states()).toEqual([{ state: "syncing", reason: "no route to host", reasonKind: "unreadable" }]);
  await settle(1000);
  flaky.sync();
  await settle(100);
  expect(commits).toEqual([["a"]]);

  const required = new ManualSource();
  const second = open(required);
  required.rejectStart(new IngestionError("unreadable", "no such directory"));
  await expect(second.ingestion.ready).rejects.toThrow("no such directory");
});

test("sources that an ingestion does not have, or had before, are errors", () => {
  const source = new ManualSource({ name: "cluster east" });
  const { ingestion } = open(source);
  expect(() => ingestion.add(source)).toThrow("cluster east is or was a source already");
  expect(() => ingestion.remove(new ManualSource({ name: "cluster west" }))).toThrow(
    "cluster west is not a source of this ingestion",
  );
});

test("metrics report clusters, their sync states, and missed deadlines", async () => {
  const config = new ManualSource({ cluster: "main" });
  config.sync();
  const remote = new ManualSource({ cluster: "east" });
  const { settle, ingestion } = open(config, { source: remote, syncTimeout: 10, isRequired: false }, synced({}));
  const meter = new MemoryMeter();
  clusterMetrics(meter, ingestion, "main");
  const status = (name: string) =>
    meter.value("istiod_remote_cluster_sync_status", { cluster: "east", cluster_type: "remote", status: name });
  await settle(0);
  expect([status("syncing"), status("timeout"), status("synced")]).toEqual([1, 0, 0]);
  await settle(10);
  expect([status("syncing"), status("timeout"), status("synced")]).toEqual([0, 1, 0]);
  expect(meter.value("remote_cluster_sync_timeouts_total", { cluster: "east" })).toBe(1);
  remote.sync();
  await settle(100);
  expect([status("syncing"), status("timeout"), status("synced")]).toEqual([0, 0, 1]);
  expect(meter.value("istiod_managed_clusters", { cluster_type: "local" })).toBe(1);
  expect(meter.value("istiod_managed_clusters", { cluster_type: "remote" })).toBe(1);
  ingestion.remove(remote);
  expect(meter.value("istiod_managed_clusters", { cluster_type: "remote" })).toBe(0);
});

type Operation =
  | { readonly type: "add" | "remove" | "replace" | "cut" | "sync" | "fail"; readonly at: number }
  | { readonly type: "set"; readonly at: number; readonly key: number; readonly value: number }
  | { readonly type: "delete"; readonly at: number; readonly key: number }
  | { readonly type: "wait"; readonly ms: number };

const at = fc.nat(3);
const key = fc.nat(5);
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ type: fc.constantFrom("add", "remove", "cut", "fail"), at }),
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom("replace", "sync"), at }) },
  {
    weight: 5,
    arbitrary: fc.record({ type: fc.constant("set" as const), at: fc.nat(7), key, value: fc.nat(2) }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("delete" as const), at: fc.nat(7), key }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("wait" as const), ms: fc.constantFrom(1, 50, 100, 3000) }) },
);

interface Place {
  current: ManualSource;
  next: ManualSource | undefined;
}

/** The sources as the operations left them, without an ingestion. */
class Model {
  readonly places: Place[] = [];

  /** The union of the content of sources that synced. The first counts. */
  content(): Map<string, unknown> {
    const union = new Map<string, unknown>();
    for (const { current, next } of this.places)
      for (const [id, value] of visible(isSynced(next) ? next : current)) if (!union.has(id)) union.set(id, value);
    return union;
  }

  /** Entries of each place that must be there whether or not replacements are active yet. */
  certain(): Certain {
    return new Map(
      this.places.map((place) => {
        const { current, next } = place;
        const ids = [...visible(current).keys()];
        return [place, new Set(isSynced(next) ? ids.filter((id) => visible(next).has(id)) : ids)];
      }),
    );
  }
}

/**
 * Entries by the place that has had them since they were read last. Another place may have the same entry without the
 * ingestion knowing it yet.
 */
type Certain = ReadonlyMap<Place, ReadonlySet<string>>;

function intersection(some: Certain, others: Certain): Certain {
  return new Map(
    [...some].map(([place, ids]) => [place, new Set([...ids].filter((id) => others.get(place)?.has(id) === true))]),
  );
}

const syncedOnce = new WeakSet<ManualSource>();
const isSynced = (source: ManualSource | undefined): source is ManualSource =>
  source !== undefined && syncedOnce.has(source);
const visible = (source: ManualSource): ReadonlyMap<string, unknown> => (isSynced(source) ? source.visible : new Map());

function run(operation: Operation, model: Model, ingestion: Ingestion<unknown>): void {
  if (operation.type === "wait") return;
  const { places } = model;
  const place = places[operation.at % Math.max(places.length, 1)];
  if (operation.type === "add") {
    const current = new ManualSource();
    places.push({ current, next: undefined });
    ingestion.add(current);
    return;
  }
  if (place === undefined) return;
  const { current, next } = place;
  const source = operation.at > 3 && next !== undefined ? next : current;
  switch (operation.type) {
    case "remove":
      places.splice(places.indexOf(place), 1);
      return ingestion.remove(current);
    case "replace":
      // A replacement that has synced may be active already.
      if (isSynced(next)) return;
      place.next = new ManualSource();
      for (const [id, value] of current.visible) put(place.next, Number(id.slice(-1)), value as string);
      return ingestion.replace(current, place.next);
    case "sync": {
      const target = next ?? current;
      syncedOnce.add(target);
      return target.sync();
    }
    case "cut":
      return isSynced(current) ? current.cutOff({ state: "stale", since: 0, reason: "cut off" }) : undefined;
    case "fail":
      return current.failReads(new Error("cannot be read"));
    case "set":
      return put(source, operation.key, `${operation.value}`);
    case "delete":
      return source.delete(operation.key % 2 === 0 ? names : numbers, `${operation.key}`);
  }
}

function put(source: ManualSource, key: number, value: string): void {
  source.set(key % 2 === 0 ? names : numbers, `${key}`, value);
}

/** Takes replacements that are active as such into the model. Returns their number. */
function adopt(model: Model, ingestion: Ingestion<unknown>): number {
  let adopted = 0;
  for (const [i, { source }] of ingestion.states().entries()) {
    const place = model.places[i]!;
    if (place.next !== source) continue;
    place.current = place.next;
    place.next = undefined;
    adopted++;
  }
  return adopted;
}

test("whatever comes, goes and fails, the content is the union of the current sources, and nothing is missing meanwhile", async () => {
  let [replaced, compared] = [0, 0];
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 40, maxLength: 100, size: "max" }), async (operations) => {
      const model = new Model();
      const { clock, database, ingestion, settle } = open();
      await settle(0);
      const content = (): Map<string, unknown> =>
        new Map(
          [names, numbers].flatMap((of) => database.keys(of).map((k) => [`${of.name} ${k}`, database.read(of, k)])),
        );
      let certain: Certain = new Map();
      const missing: string[] = [];
      database.observe({
        after: () => {
          const present = content();
          for (const ids of certain.values()) missing.push(...[...ids].filter((id) => !present.has(id)));
        },
      });
      for (const each of [...operations, { type: "wait", ms: 3000 } as const]) {
        if (each.type === "wait") {
          clock.advance(each.ms);
          await ingestion.idle();
          await turn();
        }
        replaced += adopt(model, ingestion);
        run(each, model, ingestion);
        certain = intersection(certain, model.certain());
        if (each.type !== "wait" || each.ms !== 3000) continue;
        for (const { current, next } of model.places) for (const s of [current, next]) s?.failReads(undefined);
        for (let i = 0; i < 3; i++) await settle(120_000);
        expect(content()).toEqual(model.content());
        compared += model.content().size;
        replaced += adopt(model, ingestion);
        certain = model.certain();
      }
      await ingestion.stop();
      expect(missing).toEqual([]);
    }),
    { numRuns: 200 },
  );
  expect(replaced).toBeGreaterThan(50);
  expect(compared).toBeGreaterThan(300);
});
