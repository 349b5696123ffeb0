import { Database } from "@istiod/incremental";
import { changesEndpointsAlone, Ingestion, type Source } from "@istiod/config-ingestion";
import { endpointSlices, formatProblem, readText, services } from "@istiod/config-schema";
import { MemorySource } from "@istiod/config-ingestion/testing";
import { FakeClock } from "@istiod/runtime/testing";
import { expect, test } from "vitest";

const service = (name: string, port: number): string =>
  `{apiVersion: v1, kind: Service, metadata: {name: ${name}}, spec: {ports: [{port: ${port}}]}}\n`;

async function start(...sources: Source[]) {
  const clock = new FakeClock(0);
  const database = new Database<unknown>();
  const commits: string[][] = [];
  const told: string[] = [];
  database.observe({ after: ({ changed }) => commits.push(changed.map((c) => c.key).sort()) });
  const ingestion = new Ingestion(database, sources, {
    clock,
    debounceAfter: 100,
    debounceMax: 1000,
    onProblems: (found) => void told.push(...found.map(formatProblem)),
  });
  await ingestion.ready;
  return { clock, database, commits, told, ingestion };
}

test("changes of several sources within the quiet time are coalesced into one commit", async () => {
  const [one, two] = [new MemorySource(), new MemorySource({ cluster: "remote" })];
  one.set("a", service("a", 1));
  two.set("b", service("b", 1));
  const { clock, commits, ingestion, database } = await start(one, two);
  expect(commits).toEqual([["Kubernetes/default/a", "remote/default/b"]]);
  one.set("a", service("a", 2));
  clock.advance(99);
  two.set("b", service("b", 2));
  clock.advance(99);
  await ingestion.idle();
  expect(commits).toHaveLength(1);
  clock.advance(1);
  await ingestion.idle();
  expect(commits[1]).toEqual(["Kubernetes/default/a", "remote/default/b"]);
  expect(database.read(services, "remote/default/b")?.spec.ports[0]?.port).toBe(2);
});

test("a source's state is changed until it is read, and has its own problems only", async () => {
  const [one, two] = [new MemorySource(), new MemorySource({ cluster: "remote" })];
  one.set("a", service("a", 1));
  const { clock, ingestion } = await start(one, two);
  two.set("b", service("b", 0));
  const states = () =>
    ingestion
      .states()
      .map(({ source, changed, problems }) => ({ source, changed, problems: problems.map(({ file }) => file) }));
  expect(states()).toEqual([
    { source: one, changed: false, problems: [] },
    { source: two, changed: true, problems: [] },
  ]);
  clock.advance(100);
  await ingestion.idle();
  expect(states()).toEqual([
    { source: one, changed: false, problems: [] },
    { source: two, changed: false, problems: ["b"] },
  ]);
});

test("changes that never stop are committed after debounceMax", async () => {
  const source = new MemorySource();
  const { clock, commits, ingestion } = await start(source);
  for (let i = 1; i <= 30; i++) {
    source.set("a", service("a", i));
    clock.advance(50);
    await ingestion.idle();
  }
  expect(commits).toHaveLength(1);
});

test("an edit that is reverted within the quiet time is not committed", async () => {
  const source = new MemorySource();
  source.set("a", service("a", 1));
  const { clock, commits, ingestion } = await start(source);
  source.set("a", service("a", 2));
  source.set("a", `# the same\n${service("a", 1)}`);
  clock.advance(100);
  await ingestion.idle();
  expect(commits).toHaveLength(1);
});

test("moving an object to another file is no change", async () => {
  const source = new MemorySource();
  source.set("a", service("a", 1));
  const { clock, commits, ingestion, told } = await start(source);
  source.set("b", service("a", 1));
  source.remove("a");
  clock.advance(100);
  await ingestion.idle();
  expect(commits).toHaveLength(1);
  expect(told).toEqual([]);
});

test("a stopped ingestion commits nothing", async () => {
  const source = new MemorySource();
  const { clock, commits, ingestion } = await start(source);
  source.set("a", service("a", 1));
  await ingestion.stop();
  source.set("a", service("a", 2));
  clock.advance(1000);
  await ingestion.idle();
  expect(commits).toEqual([]);
});

test("the first commit waits for the end of a burst, at most ten seconds", async () => {
  const clock = new FakeClock(0);
  const source = new MemorySource();
  source.set("a", service("a", 1));
  const read = source.read.bind(source);
  const begin = async (): Promise<{ commits: string[][]; over: () => boolean }> => {
    const commits: string[][] = [];
    let over = false;
    const database = new Database<unknown>();
    database.observe({ after: ({ changed }) => commits.push(changed.map(({ key }) => key).sort()) });
    const ingestion = new Ingestion(database, [source], { clock });
    void ingestion.ready.then(() => (over = true));
    await settled();
    return { commits, over: () => over };
  };
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  source.read = () => (source.set("b", service("b", 1)), (source.read = read), read());
  const first = await begin();
  clock.advance(99);
  source.set("c", service("c", 1));
  clock.advance(99);
  await settled();
  expect(first.over()).toBe(false);
  clock.advance(1);
  await settled();
  expect([first.over(), first.commits]).toEqual([
    true,
    [["Kubernetes/default/a", "Kubernetes/default/b", "Kubernetes/default/c"]],
  ]);

  source.read = () => (source.set("b", service("b", 2)), (source.read = read), read());
  const second = await begin();
  for (let i = 3; i < 250 && !second.over(); i++) {
    clock.advance(50);
    await settled();
    source.set("b", service("b", i));
  }
  expect(second.over()).toBe(true);
  expect(clock.now()).toBeLessThan(11_000);
  expect(clock.now()).toBeGreaterThan(9_900);
});

test("a ServiceEntry write that differs in endpoints only changes endpoints alone", async () => {
  const entry = (port: number, address: string, resolution = "STATIC"): string =>
    `{apiVersion: networking.istio.io/v1, kind: ServiceEntry, metadata: {name: a}, spec: {hosts: [a.example], ports: [{number: ${port}, name: http, protocol: HTTP}], resolution: ${resolution}, endpoints: [{address: ${address}}]}}`;
  const read = (text: string) => readText(text, "a.yaml").flatMap(({ objects }) => objects)[0]!;
  const alone = (before: string, after: string): boolean => {
    const { kind, key, object } = read(after);
    return changesEndpointsAlone({ collection: kind.collection, key, value: object }, read(before).object);
  };
  expect(alone(entry(80, "192.0.2.1"), entry(80, "192.0.2.2"))).toBe(true);
  expect(alone(entry(80, "192.0.2.1"), entry(81, "192.0.2.2"))).toBe(false);
  expect(alone(entry(80, "b.example", "DNS"), entry(80, "c.example", "DNS"))).toBe(false);
});

test("endpoint changes skip debouncing while other changes wait", async () => {
  const slice = (address: string): string =>
    `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: a-1, labels: {kubernetes.io/service-name: a}}, addressType: IPv4, endpoints: [{addresses: [${address}]}], ports: [{port: 80}]}\n`;
  const source = new MemorySource();
  source.set("a", service("a", 1) + "---\n" + slice("10.0.0.1"));
  const clock = new FakeClock(0);
  const database = new Database<unknown>();
  const commits: { readonly keys: readonly string[]; readonly gathered: number }[] = [];
  const keysOf = new Map<number, readonly string[]>();
  database.observe({
    after: ({ revision, changed }) =>
      keysOf.set(
        revision,
        changed.map(({ collection }) => collection.name),
      ),
  });
  const ingestion = new Ingestion(database, [source], {
    clock,
    skipsDebounce: changesEndpointsAlone,
    onCommitTiming: ({ revision, debounceMs }) =>
      commits.push({ keys: keysOf.get(revision) ?? [], gathered: debounceMs }),
  });
  await ingestion.ready;
  commits.splice(0);

  source.set("a", service("a", 1) + "---\n" + slice("10.0.0.2"));
  expect(ingestion.isDebouncing).toBe(true);
  clock.advance(5);
  await ingestion.idle();
  expect(commits.splice(0)).toEqual([{ keys: ["EndpointSlice"], gathered: 5 }]);
  expect(ingestion.isDebouncing).toBe(false);

  source.set("a", service("a", 2) + "---\n" + slice("10.0.0.3"));
  clock.advance(50);
  await ingestion.idle();
  expect(commits.splice(0).map(({ keys }) => keys)).toEqual([["EndpointSlice"]]);
  source.set("a", service("a", 2) + "---\n" + slice("10.0.0.4"));
  clock.advance(5);
  await ingestion.idle();
  expect(commits.splice(0).map(({ keys }) => keys)).toEqual([["EndpointSlice"]]);
  clock.advance(100);
  await ingestion.idle();
  expect(commits.splice(0).map(({ keys }) => keys)).toEqual([["Service"]]);
  expect(database.all(endpointSlices)[0]?.spec.endpoints[0]?.addresses).toEqual(["10.0.0.4"]);
  expect(ingestion.isDebouncing).toBe(false);
});
