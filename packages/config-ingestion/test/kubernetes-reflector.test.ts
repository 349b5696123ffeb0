import { clusterReader, Ingestion, KubernetesSource } from "@istiod/config-ingestion";
import { MemorySource } from "@istiod/config-ingestion/testing";
import {
  authorizationPolicyKind,
  type Kind,
  namespaceKind,
  serviceKind,
  virtualServiceKind,
} from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { createApiClient, type ResourceType } from "@istiod/kubernetes";
import { type ApiServer, type ObjectInput, startApiServer } from "@istiod/kubernetes/testing";
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";

const kinds: readonly Kind[] = [namespaceKind, serviceKind, virtualServiceKind, authorizationPolicyKind];
const istioTypes: readonly ResourceType[] = [
  { group: "networking.istio.io", version: "v1", kind: "VirtualService", plural: "virtualservices", namespaced: true },
  {
    group: "security.istio.io",
    version: "v1",
    kind: "AuthorizationPolicy",
    plural: "authorizationpolicies",
    namespaced: true,
  },
];
const types: readonly ResourceType[] = [
  { group: "", version: "v1", kind: "Namespace", plural: "namespaces", namespaced: false },
  { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true },
  ...istioTypes,
];
const collections = kinds.flatMap(({ collection, failClosed }) =>
  failClosed === undefined ? [collection] : [collection, failClosed.collection],
);

function contentOf(database: Database<unknown>): ReadonlyMap<string, unknown> {
  return new Map(
    collections.flatMap((of) => database.keys(of).map((key) => [`${of.name} ${key}`, database.read(of, key)])),
  );
}

/** Returns what a directory with the server's objects gives. */
async function contentOfDirectory(server: ApiServer): Promise<ReadonlyMap<string, unknown>> {
  const source = new MemorySource();
  const objects = types.flatMap(({ group, version, kind }) =>
    server.objects.list({ apiVersion: group === "" ? version : `${group}/${version}`, kind }),
  );
  source.set("all.yaml", objects.map((object) => JSON.stringify(object)).join("\n---\n"));
  const database = new Database<unknown>();
  const ingestion = new Ingestion(database, [source], { debounceAfter: 0 });
  await ingestion.ready;
  await ingestion.stop();
  return contentOf(database);
}

/** Returns one of a few objects, in one of a few versions. */
function objectOf(what: number, version: number): ObjectInput {
  const metadata = { name: `o${what % 4}`, namespace: "default", labels: { version: `${version}` } };
  if (what < 4)
    return {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: { ports: [{ port: 80 + version, protocol: "TCP", targetPort: 80 }] },
    } as ObjectInput;
  if (what < 8)
    return {
      apiVersion: "networking.istio.io/v1",
      kind: "VirtualService",
      metadata,
      spec: { hosts: [`v${version}.example`], http: [{ route: [{ destination: { host: "a.example" } }] }] },
    } as ObjectInput;
  return {
    apiVersion: "security.istio.io/v1",
    kind: "AuthorizationPolicy",
    metadata: { ...metadata, name: `p${what}` },
    // Each policy is either always accepted or always rejected, as a directory has no last good version.
    spec: { action: what % 2 === 0 ? "DENY" : "FORBID", rules: [{ to: [{ operation: { paths: [`/${version}`] } }] }] },
  } as ObjectInput;
}

async function write(server: ApiServer, what: number, version: number): Promise<void> {
  const object = objectOf(what, version);
  const { name = "", namespace = "" } = object.metadata;
  const reference = { apiVersion: object.apiVersion, kind: object.kind, name, namespace };
  const exists = server.objects.get(reference) !== undefined;
  if (version === 0) await (exists ? server.objects.delete(reference) : undefined);
  else await server.objects.apply(object);
}

/** Faults by the name of the test that injects them. */
const faults: Readonly<Record<string, readonly ((server: ApiServer) => Promise<unknown>)[]>> = {
  "no faults": [],
  "dropped connections": [
    ({ faults }) => faults.dropConnections("abort", { watch: true }),
    ({ faults }) => faults.dropConnections("reset", { watch: true }),
    ({ faults }) => faults.dropConnections("end", { watch: true }),
  ],
  "expired versions and refused requests": [
    ({ faults }) => faults.expireWatches(),
    ({ faults }) => faults.compact(),
    async ({ faults }) => {
      await faults.failRequests({ status: 503, times: 2, pathPrefix: "/api" });
      await faults.dropConnections("reset", { watch: true });
    },
    async ({ faults }) => {
      await faults.failRequests({ status: 429, times: 1, pathPrefix: "/api" });
      await faults.expireWatches();
    },
  ],
};

/** All faults, after each of which random writes continue. */
const mixed = Object.values(faults).flat();

test("a cluster has what a directory with its objects has, whatever order writes and faults come in", async () => {
  const server = await startApiServer({ types: istioTypes, bookmarkIntervalMs: 200 });
  onTestFinished(() => server.stop());
  const client = createApiClient({
    cluster: { name: "test", server: server.url, skipTLSVerify: false },
    user: { name: "admin", token: server.tokens.admin },
  });
  onTestFinished(() => client.close());
  const source = new KubernetesSource({ cluster: "Kubernetes", kinds, reader: clusterReader(client) });
  const database = new Database<unknown>();
  const ingestion = new Ingestion(database, [source], { debounceAfter: 5 });
  onTestFinished(() => ingestion.stop());
  await ingestion.ready;
  const writes = fc.array(fc.tuple(fc.nat(11), fc.nat(3)), { minLength: 1, maxLength: 4 });
  const steps = fc.array(fc.tuple(writes, fc.nat(mixed.length - 1)), { minLength: 2, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      for (const [written, fault] of sequence) {
        for (const [what, version] of written) await write(server, what, version);
        await mixed[fault]?.(server);
      }
      const expected = await contentOfDirectory(server);
      await vi.waitFor(() => expect(contentOf(database)).toEqual(expected), { timeout: 60_000, interval: 20 });
    }),
    // A failure is not shrunk: the server keeps what earlier runs wrote.
    { numRuns: Number(process.env["PROPERTY_RUNS"] ?? 4), endOnFailure: true },
  );
}, 300_000);

test.each(Object.keys(faults))(
  "a cluster has what a directory with its objects has, as they change, with %s",
  async (name) => {
    const injected = faults[name] ?? [];
    const server = await startApiServer({ types: istioTypes, bookmarkIntervalMs: 200 });
    onTestFinished(() => server.stop());
    const client = createApiClient({
      cluster: { name: "test", server: server.url, skipTLSVerify: false },
      user: { name: "admin", token: server.tokens.admin },
    });
    onTestFinished(() => client.close());
    const source = new KubernetesSource({
      cluster: "Kubernetes",
      kinds,
      reader: clusterReader(client),
    });
    const database = new Database<unknown>();
    const ingestion = new Ingestion(database, [source], { debounceAfter: 5 });
    onTestFinished(() => ingestion.stop());
    await ingestion.ready;

    const bursts = fc.array(fc.tuple(fc.nat(11), fc.nat(3)), { maxLength: 12 });
    let compared = 0;
    for (const [i, writes] of fc.sample(bursts, 12).entries()) {
      for (const [j, [what, version]] of writes.entries()) {
        await write(server, what, version);
        if (j === Math.floor(writes.length / 2)) await injected[i % injected.length]?.(server);
      }
      const expected = await contentOfDirectory(server);
      await vi.waitFor(() => expect(contentOf(database)).toEqual(expected), { timeout: 30_000, interval: 20 });
      compared += expected.size;
    }
    expect(compared).toBeGreaterThan(12);
    await vi.waitFor(() => expect(source.syncState()).toEqual({ state: "synced" }), { timeout: 30_000, interval: 20 });
  },
  120_000,
);
