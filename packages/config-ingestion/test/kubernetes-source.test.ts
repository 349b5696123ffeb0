import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Ingestion, KubernetesSource, type KubernetesSourceOptions } from "@istiod/config-ingestion";
import { MemoryCluster, MemorySource } from "@istiod/config-ingestion/testing";
import {
  allKinds,
  authorizationPolicyKind,
  documentsOf,
  formatProblem,
  gatewayClassKind,
  type Kind,
  type ObjectOfOtherRevision,
  otherRevisions,
  parseYaml,
  podKind,
  rejectedAuthorizationPolicies,
  serviceKind,
  services,
  virtualServiceKind,
  virtualServices,
} from "@istiod/config-schema";
import { type Collection, Database } from "@istiod/incremental";
import { ApiError, type ResourceType } from "@istiod/kubernetes";
import { FakeClock } from "@istiod/runtime/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

type Json = Record<string, unknown>;

const cluster = "Kubernetes";
const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

function typesOf(kinds: readonly Kind[], version?: string): readonly ResourceType[] {
  return kinds.map(({ kind, group, versions, scope }) => ({
    group,
    version: version ?? versions[0]!,
    kind,
    plural:
      kind === "Gateway"
        ? "gateways"
        : `${kind
            .toLowerCase()
            .replace(/([^aeiou])y$/, "$1ie")
            .replace(/ss$/, "sse")}s`,
    namespaced: scope === "namespaced",
  }));
}

function open(options: Partial<KubernetesSourceOptions> = {}, isRequired = true) {
  const clock = new FakeClock(0);
  const api = new MemoryCluster();
  const kinds = options.kinds ?? allKinds;
  api.serve(typesOf(kinds));
  const source = new KubernetesSource({ cluster, reader: api, clock, ...options });
  const database = new Database<unknown>();
  const told: string[] = [];
  const resolved: string[] = [];
  const commits: string[][] = [];
  database.observe({
    after: ({ changed }) =>
      commits.push(changed.map(({ collection, key, present }) => `${present ? "" : "-"}${collection.name} ${key}`)),
  });
  const ingestion = new Ingestion(database, [{ source, isRequired }], {
    clock,
    onProblems: (found) => void told.push(...found.map(formatProblem)),
    onResolved: (gone) => void resolved.push(...gone.map(formatProblem)),
  });
  let isReady = false;
  ingestion.ready.then(
    () => (isReady = true),
    () => undefined,
  );
  const settle = async (ms = 100): Promise<void> => {
    await turn();
    clock.advance(ms);
    await ingestion.idle();
    await turn();
  };
  return { api, source, database, ingestion, settle, told, resolved, commits, kinds, isReady: () => isReady };
}

const route = (weight: unknown, name = "cart"): Json => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name, namespace: "shop" },
  spec: { hosts: ["cart"], http: [{ route: [{ destination: { host: "cart" }, weight }] }] },
});

const policy = (action: string): Json => ({
  apiVersion: "security.istio.io/v1",
  kind: "AuthorizationPolicy",
  metadata: { name: "deny", namespace: "shop" },
  spec: { action, selector: { matchLabels: { app: "cart" } }, rules: [{}] },
});

const service = (metadata: Json = {}): Json => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "cart", namespace: "shop", ...metadata },
  spec: { ports: [{ port: 80 }] },
});

test("the first commit waits until every kind has synced", async () => {
  const { api, settle, isReady, commits, source } = open({ kinds: [serviceKind, virtualServiceKind] });
  api.set(service());
  api.set(route(1));
  api.fail("VirtualService", { phase: "syncing" });
  api.connect();
  await settle();
  expect([isReady(), source.syncState()]).toEqual([false, { state: "syncing" }]);
  api.fail("VirtualService", undefined);
  await settle(0);
  expect([isReady(), commits]).toEqual([true, [["Service Kubernetes/shop/cart", "VirtualService shop/cart"]]]);
});

test("a kind of which the server cannot tell whether it is served is awaited, and keeps its objects", async () => {
  const { api, settle, isReady, source, database } = open({ kinds: [serviceKind, virtualServiceKind] });
  const types = typesOf([serviceKind, virtualServiceKind]);
  const unreadable = new Set(["networking.istio.io/v1", "metrics.k8s.io/v1"]);
  api.serve(
    types.filter(({ kind }) => kind === "Service"),
    unreadable,
  );
  api.connect();
  await settle();
  expect([isReady(), source.syncState()]).toEqual([
    false,
    expect.objectContaining({ state: "syncing", reason: "networking.istio.io/v1 cannot be read" }),
  ]);
  api.serve(types);
  api.set(route(1));
  await settle();
  expect([isReady(), source.syncState(), database.keys(virtualServices)]).toEqual([
    true,
    { state: "synced" },
    ["shop/cart"],
  ]);
});

test("a rejected update keeps the last good version; problems name the cluster and the object", async () => {
  const { api, settle, database, told, ingestion } = open({ kinds: [virtualServiceKind] });
  api.set(route(7));
  api.connect();
  await settle();
  api.set(route("most"));
  await settle();
  const weight = () => database.read(virtualServices, "shop/cart")?.spec.http[0]?.route[0]?.weight;
  expect([weight(), told]).toEqual([
    7,
    ['cluster Kubernetes: VirtualService shop/cart: http[0].route[0].weight: is "most", expected an integer'],
  ]);
  api.set(route(8));
  await settle();
  expect([weight(), ingestion.problems()]).toEqual([8, []]);
  api.set(route("most"));
  api.delete(route(1));
  await settle();
  expect(weight()).toBeUndefined();
});

test("a rejected policy without a good version fails closed until it is accepted or deleted", async () => {
  const { api, settle, database, source } = open({ kinds: [authorizationPolicyKind] });
  api.set(policy("FORBID"));
  api.connect();
  await settle();
  expect(database.keys(rejectedAuthorizationPolicies)).toEqual(["shop/deny"]);
  expect(source.rejectedPolicies()).toEqual([
    { kind: authorizationPolicyKind, key: "shop/deny", file: "cluster Kubernetes", line: 0, enforced: "fail-closed" },
  ]);
  api.set(policy("DENY"));
  await settle();
  expect([database.keys(rejectedAuthorizationPolicies), source.rejectedPolicies()]).toEqual([[], []]);
  api.set(policy("FORBID"));
  await settle();
  expect(database.keys(rejectedAuthorizationPolicies)).toEqual([]);
  expect(source.rejectedPolicies()).toMatchObject([{ enforced: "last-good" }]);
  // The policy that is created under the name of a deleted one has no good version of its own.
  api.delete(policy("DENY"));
  api.set(policy("FORBID"));
  await settle();
  expect(database.keys(rejectedAuthorizationPolicies)).toEqual(["shop/deny"]);
  api.delete(policy("DENY"));
  await settle();
  expect(database.keys(rejectedAuthorizationPolicies)).toEqual([]);
});

test("objects go with their CustomResourceDefinition, come back with it, and survive a change of versions", async () => {
  const { api, settle, database, isReady, commits } = open({ kinds: [serviceKind, virtualServiceKind] });
  api.serve(typesOf([serviceKind]));
  api.set(service());
  api.connect();
  await settle();
  expect(isReady()).toBe(true);
  api.serve(typesOf([serviceKind, virtualServiceKind]));
  api.set(route(1));
  await settle();
  expect(database.keys(virtualServices)).toEqual(["shop/cart"]);
  const count = commits.length;
  api.serve([...typesOf([serviceKind]), ...typesOf([virtualServiceKind], "v1beta1"), ...typesOf([virtualServiceKind])]);
  expect(api.targets.map(({ resource }) => resource.version)).toEqual(["v1", "v1"]);
  api.serve([...typesOf([serviceKind]), ...typesOf([virtualServiceKind], "v1beta1")]);
  await settle();
  expect([commits.length, api.targets.map(({ resource }) => resource.version)]).toEqual([count, ["v1", "v1beta1"]]);
  api.serve(typesOf([serviceKind]));
  await settle();
  expect(database.keys(virtualServices)).toEqual([]);
  api.serve(typesOf([serviceKind, virtualServiceKind]));
  api.set(route(2));
  await settle();
  expect(database.keys(virtualServices)).toEqual(["shop/cart"]);
});

test("objects that go while the version changes are removed, and later ones of their names do not keep their versions", async () => {
  const { api, settle, database } = open({ kinds: [virtualServiceKind] });
  for (const name of ["cart", "gone", "kept"]) api.set(route(1, name));
  api.connect();
  await settle();
  api.disconnect(0, new Error("connection refused"));
  api.delete(route(1, "gone"));
  api.delete(route(1));
  api.set(route("most"));
  await settle();
  expect(database.keys(virtualServices)).toEqual(["shop/cart", "shop/gone", "shop/kept"]);
  api.serve(typesOf([virtualServiceKind], "v1beta1"));
  api.connect();
  await settle();
  expect(database.keys(virtualServices)).toEqual(["shop/kept"]);
});

test("a missing permission names the rule to add at startup, and makes the cluster stale later", async () => {
  const error = new Error('user "istiod" cannot list');
  const first = open({ kinds: [serviceKind, virtualServiceKind] });
  first.api.fail("VirtualService", { phase: "forbidden", error });
  first.api.connect();
  await expect(first.ingestion.ready).rejects.toMatchObject({
    code: "forbidden",
    message: `list and watch of virtualservices.networking.istio.io in the cluster is forbidden (user "istiod" cannot list); add these rules to a ClusterRole that is bound to istiod's ServiceAccount:
- apiGroups: ["networking.istio.io"]
  resources: ["virtualservices"]
  verbs: ["get","list","watch"]`,
  });

  const { api, settle, source, database } = open({ kinds: [serviceKind, virtualServiceKind] });
  api.set(route(1));
  api.connect();
  await settle();
  api.fail("VirtualService", { phase: "forbidden", error });
  await settle();
  expect(source.syncState()).toEqual({
    state: "stale",
    since: 100,
    reason: 'VirtualService: user "istiod" cannot list',
    reasonKind: 'user "istiod" cannot list',
  });
  expect(database.keys(virtualServices)).toEqual(["shop/cart"]);
  api.fail("VirtualService", undefined);
  expect(source.syncState()).toEqual({ state: "synced" });
});

test("what changes while the connection is down is removed by the next list only", async () => {
  const { api, settle, database, source } = open({ kinds: [virtualServiceKind] });
  api.set(route(1));
  api.set(route(1, "other"));
  api.connect();
  await settle();
  api.disconnect(50, new Error("connection refused"));
  api.delete(route(1));
  await settle();
  expect([database.keys(virtualServices), source.syncState()]).toEqual([
    ["shop/cart", "shop/other"],
    { state: "stale", since: 50, reason: "VirtualService: connection refused", reasonKind: "connection refused" },
  ]);
  api.connect();
  await settle();
  expect([database.keys(virtualServices), source.syncState()]).toEqual([["shop/other"], { state: "synced" }]);
});

test("a new kind whose first list fails for a moment does not make the cluster stale, and one that fails for long does", async () => {
  const { api, settle, told, source } = open({ kinds: [serviceKind, virtualServiceKind] });
  api.connect();
  await settle();
  const busy = new ApiError("too-many-requests", "429 TooManyRequests: storage is (re)initializing");
  api.fail("VirtualService", { phase: "syncing", error: busy });
  await settle(1900);
  expect([source.syncState(), told]).toEqual([{ state: "synced" }, []]);
  api.fail("VirtualService", { phase: "syncing", error: busy });
  await settle(200);
  expect(source.syncState()).toMatchObject({ state: "stale", since: 100, reason: `VirtualService: ${busy.message}` });
  api.fail("VirtualService", { phase: "syncing", error: busy });
  await settle();
  expect(told).toEqual([expect.stringContaining("stale since 1970-01-01T00:00:00.100Z because VirtualService: 429")]);
  api.fail("VirtualService", undefined);
  await settle();
  expect(source.syncState()).toEqual({ state: "synced" });
});

test("an outage is reported once, and again only when the kind of its reason changes", async () => {
  const kinds = [serviceKind, virtualServiceKind];
  const { api, settle, told, resolved, source, ingestion } = open({ kinds });
  api.connect();
  await settle();
  const refused = (port: number): ApiError => new ApiError("network", `connect ECONNREFUSED 10.0.0.1:${port}`);
  // The kinds fail one after the other, and each attempt has a message of its own.
  api.fail("Service", { phase: "stale", since: 50, error: refused(1) });
  await settle();
  api.fail("VirtualService", { phase: "stale", since: 40, error: refused(2) });
  await settle();
  api.fail("Service", { phase: "stale", since: 50, error: refused(3) });
  await settle();
  expect(told).toEqual([
    "cluster Kubernetes: stale since 1970-01-01T00:00:00.050Z because Service: connect ECONNREFUSED 10.0.0.1:1",
  ]);
  // The newest reason is shown all the same.
  expect(source.syncState()).toMatchObject({
    since: 40,
    reason: "Service: connect ECONNREFUSED 10.0.0.1:3 (likewise VirtualService)",
  });
  expect(ingestion.problems().map(formatProblem)).toEqual([expect.stringContaining("10.0.0.1:3")]);

  const busy = new ApiError("too-many-requests", "429 TooManyRequests");
  api.fail("Service", { phase: "stale", since: 50, error: busy });
  api.fail("VirtualService", { phase: "stale", since: 40, error: busy });
  await settle();
  expect([told.length, told[1], resolved]).toEqual([2, expect.stringContaining("429 TooManyRequests"), []]);

  api.fail("Service", undefined);
  api.fail("VirtualService", undefined);
  await settle();
  expect([told.length, resolved]).toEqual([2, [told[1]]]);
});

test("edits of metadata that is not read change no input, and writers see them", async () => {
  const { api, settle, commits, source, database } = open({
    kinds: [serviceKind, podKind],
    forWriting: (kind) => kind === serviceKind,
  });
  api.set(service());
  api.connect();
  await settle();
  const before = database.read(services, "Kubernetes/shop/cart");
  for (const metadata of [
    {},
    { managedFields: [{ manager: "kubectl" }] },
    { annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}" } },
    { generation: 5, ownerReferences: [{ kind: "Gateway", name: "a", uid: "u" }], finalizers: ["a/b"] },
  ]) {
    api.set(service(metadata));
    await settle();
  }
  expect(commits).toEqual([["Service Kubernetes/shop/cart"]]);
  expect(database.read(services, "Kubernetes/shop/cart")).toBe(before);
  expect(source.metadata(serviceKind, "Kubernetes/shop/cart")).toEqual({
    uid: "uid-1",
    resourceVersion: "5",
    generation: 5,
    labels: {},
    ownerReferences: [{ kind: "Gateway", name: "a", uid: "u" }],
    finalizers: ["a/b"],
  });
  api.delete(service());
  await settle();
  expect(source.metadata(serviceKind, "Kubernetes/shop/cart")).toBeUndefined();
});

test("events that change nothing that is read notify nobody and extend no burst", async () => {
  const configMapKind = allKinds.find(({ kind }) => kind === "ConfigMap")!;
  const kinds = [configMapKind, virtualServiceKind, authorizationPolicyKind, serviceKind];
  const { api, settle, commits, ingestion, source } = open({ kinds });
  const renewal = (at: number): Json => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: "istio-leader",
      namespace: "istio-system",
      annotations: { "control-plane.alpha.kubernetes.io/leader": JSON.stringify({ renewTime: at }) },
    },
  });
  const withStatus = (object: Json, observedGeneration: number): Json => ({
    ...object,
    status: { observedGeneration },
  });
  const rejected = { ...route("heavy", "bad") };
  for (const object of [renewal(0), route(1), policy("DENY"), rejected, service()]) api.set(object);
  api.connect();
  await settle();
  expect(commits).toHaveLength(1);
  const versionOf = (): unknown => source.metadata(virtualServiceKind, "shop/cart")?.resourceVersion;
  const version = versionOf();

  for (const at of [1, 2, 3]) {
    const unread = [renewal(at), ...[route(1), policy("DENY"), rejected, service()].map((o) => withStatus(o, at))];
    for (const object of unread) api.set(object);
    expect([ingestion.isDebouncing, ingestion.pendingCount]).toEqual([false, 0]);
  }
  expect(versionOf()).not.toBe(version);

  // A renewal in the middle of a burst does not prolong it, which ends after 100 ms.
  api.set(route(2));
  expect(ingestion.isDebouncing).toBe(true);
  await settle(60);
  api.set(renewal(4));
  await settle(60);
  expect([ingestion.isDebouncing, commits.slice(1)]).toEqual([false, [["VirtualService shop/cart"]]]);

  // An event that does change something is not taken for one that does not.
  api.set({ ...renewal(5), data: { mesh: "{}" } });
  api.set(route("heavier", "bad"));
  await settle();
  expect(commits.slice(2)).toEqual([["ConfigMap Kubernetes/istio-system/istio-leader"]]);
  expect(ingestion.problems().map(formatProblem)).toEqual([expect.stringContaining('"heavier"')]);
});

test("watches are limited to a namespace, to selected objects, to fields that are read, and to resources", async () => {
  const { api, settle } = open({
    namespace: "shop",
    resources: { ignore: "*.istio.io", include: "wasmplugins.extensions.istio.io, services" },
  });
  api.connect();
  await settle();
  const target = (kind: string) => api.targets.find(({ resource }) => resource.kind === kind);
  expect(target("Secret")).toMatchObject({
    namespace: "shop",
    fieldSelector: "type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token",
    fields: { type: true, data: true },
  });
  expect(target("Pod")?.fieldSelector).toBe("status.phase!=Failed");
  expect(target("Node")?.namespace).toBeUndefined();
  expect(api.targets.filter(({ resource }) => resource.group.endsWith("istio.io")).map((t) => t.resource.kind)).toEqual(
    ["WasmPlugin"],
  );
});

test("objects of another revision are not read, and named, also when their label changes", async () => {
  const others = otherRevisions.get(virtualServiceKind) as Collection<ObjectOfOtherRevision>;
  const { api, settle, database } = open({ kinds: [virtualServiceKind], revision: "canary" });
  const labelled = (revision: string): Json => ({
    ...route(1),
    metadata: { name: "cart", namespace: "shop", labels: { "istio.io/rev": revision } },
  });
  api.set(labelled("stable"));
  api.connect();
  await settle();
  expect(database.keys(virtualServices)).toEqual([]);
  api.set(labelled("canary"));
  await settle();
  expect(database.keys(virtualServices)).toEqual(["shop/cart"]);
  expect(database.keys(others)).toEqual([]);
  api.set(labelled("stable"));
  await settle();
  expect(database.keys(virtualServices)).toEqual([]);
  const stable = { namespace: "shop", name: "cart", revision: "stable", own: "canary" };
  expect(database.read(others, "shop/cart")).toEqual(stable);
  api.set(labelled("blue"));
  await settle();
  expect(database.read(others, "shop/cart")).toEqual({ ...stable, revision: "blue" });
  api.delete(labelled("blue"));
  await settle();
  expect(database.keys(others)).toEqual([]);
});

/** Returns the content of a database that an API server and a directory can both have. */
function contentOf(database: Database<unknown>): ReadonlyMap<string, unknown> {
  const collections = allKinds.flatMap(({ collection, failClosed }) =>
    failClosed === undefined ? [collection] : [collection, failClosed.collection],
  );
  return new Map(
    collections.flatMap((of) => database.keys(of).map((key) => [`${of.name} ${key}`, database.read(of, key)])),
  );
}

/** Leaves out what an API server gives: UIDs of Pods, and the versions of the kinds that keep these (WasmPlugin). */
function withoutGivenByServer(content: ReadonlyMap<string, unknown>): ReadonlyMap<string, unknown> {
  return new Map(
    [...content].map(([key, object]) => {
      const { kind, spec, resourceVersion, ...rest } = object as {
        readonly kind?: string;
        readonly spec?: object;
        readonly resourceVersion?: string;
      };
      if (kind === "Pod") return [key, { ...rest, kind, spec: { ...spec, uid: undefined } }];
      return [key, resourceVersion === undefined ? object : { ...rest, kind, spec }];
    }),
  );
}

/** Compares the directory's objects with the same ones of a cluster, in a random order of events and interruptions. */
async function compare(documents: readonly Json[], random: (choices: number) => number): Promise<number> {
  const directory = new MemorySource();
  directory.set("all.yaml", documents.map((document) => JSON.stringify(document)).join("\n---\n"));
  const expected = new Database<unknown>();
  const loading = new Ingestion(expected, [directory], { clock: new FakeClock(0), debounceAfter: 0 });
  await loading.ready;
  await loading.stop();

  const { api, settle, database, ingestion } = open();
  const shuffled = documents.map((document) => ({ document, at: random(1_000_000) })).sort((a, b) => a.at - b.at);
  for (const [i, { document }] of shuffled.entries()) {
    const action = random(8);
    if (action === 0) api.connect();
    if (action === 1 && i > 0) api.disconnect(0, new Error("reset"));
    // An object that comes, goes or changes in between.
    if (action === 2) api.delete(shuffled[random(i + 1)]!.document);
    if (action === 3) await settle(random(200));
    api.set(document);
  }
  for (const { document } of shuffled) api.set(document);
  api.connect();
  await settle();
  await settle();
  await ingestion.ready;
  const content = withoutGivenByServer(contentOf(database));
  expect(content).toEqual(withoutGivenByServer(contentOf(expected)));
  await ingestion.stop();
  return content.size;
}

const samples = resolve(import.meta.dirname, "..", "..", "..", "samples");
const shared = resolve(import.meta.dirname, "..", "..", "..", "..", "shared");

/** Returns the objects of each folder of YAML files that an API server could have: of known kinds, each once. */
function meshesBelow(folder: string): readonly (readonly Json[])[] {
  const folders = new Map<string, string[]>();
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort()) {
    if (!name.endsWith(".yaml")) continue;
    const parent = name.slice(0, name.lastIndexOf("/") + 1);
    folders.set(parent, [...(folders.get(parent) ?? []), readFileSync(join(folder, name), "utf8")]);
  }
  return [...folders.values()].map(objectsOf).filter((objects) => objects.length > 0);
}

function objectsOf(texts: readonly string[]): readonly Json[] {
  const objects = new Map<string, Json>();
  for (const document of texts.flatMap((text) => [...documentsOf(text)])) {
    const parsed = parseYaml(document);
    const value = "message" in parsed ? undefined : (parsed.value as Json | null);
    const items = (Array.isArray(value?.["items"]) ? value["items"] : [value]) as (Json | null | undefined)[];
    for (const item of items) {
      const metadata = item?.["metadata"] as Json | undefined;
      const group = String(item?.["apiVersion"]).includes("/") ? String(item?.["apiVersion"]).split("/")[0] : "";
      const kind = allKinds.find((known) => known.kind === item?.["kind"] && known.group === group);
      if (item == null || kind === undefined || typeof metadata?.["name"] !== "string") continue;
      if (kind === podKind && (item["status"] as Json | undefined)?.["phase"] === "Failed") continue;
      objects.set(`${kind.kind}/${String(metadata["namespace"] ?? "default")}/${metadata["name"]}`, item);
    }
  }
  return [...objects.values()];
}

describe.each([
  { name: "samples of the repository", folder: samples },
  { name: "reference scenarios", folder: join(shared, "scenarios") },
  { name: "reference cases", folder: join(shared, "cases") },
])("objects of the $name", ({ name, folder }) => {
  test("are the same from a cluster as from a directory, whatever the order and interruptions", async ({ skip }) => {
    if (!existsSync(folder)) return skip(`no ${name} beside the repository`);
    const meshes = meshesBelow(folder);
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...meshes), fc.infiniteStream(fc.nat()), async (mesh, stream) => {
        compared += await compare(mesh, (choices) => (stream.next().value as number) % choices);
      }),
      { numRuns: 40, endOnFailure: true },
    );
    expect(compared).toBeGreaterThan(20);
  });
});

test("a source says why it reads no object of a kind whose definition is too old, or that is excluded", async () => {
  const reasons = new Map([["VirtualService", "CRD virtualservices.networking.istio.io is old"]]);
  const api = new MemoryCluster();
  api.serve(typesOf([serviceKind, authorizationPolicyKind, gatewayClassKind]));
  api.connect();
  const reader = { ...readerOf(api), reasonUnread: ({ kind }: { readonly kind: string }) => reasons.get(kind) };
  const kinds = [serviceKind, virtualServiceKind, authorizationPolicyKind, gatewayClassKind];
  const resources = { ignore: "authorizationpolicies.security.istio.io,gatewayclasses.gateway.networking.k8s.io" };
  const source = new KubernetesSource({ cluster, reader, kinds, clock: new FakeClock(0), resources });
  void source.start(() => undefined);
  await expect
    .poll(() => kinds.map((kind) => source.reasonUnread(kind)))
    .toEqual([
      undefined,
      "CRD virtualservices.networking.istio.io is old",
      "PILOT_IGNORE_RESOURCES and PILOT_INCLUDE_RESOURCES exclude authorizationpolicies.security.istio.io",
      "PILOT_IGNORE_RESOURCES and PILOT_INCLUDE_RESOURCES exclude gatewayclasses.gateway.networking.k8s.io",
    ]);
  source.stop();
});

function readerOf(api: MemoryCluster): Pick<MemoryCluster, "followServed" | "watch" | "list"> {
  return {
    followServed: (handler) => api.followServed(handler),
    watch: (target, handler) => api.watch(target, handler),
    list: (target) => api.list(target),
  };
}
