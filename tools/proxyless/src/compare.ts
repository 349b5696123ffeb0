// Compares the resources of random meshes with those of Istio's pilot-discovery: see ../README.md.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { create, fromBinary, type JsonObject, toBinary, toJson } from "@bufbuild/protobuf";
import {
  freePort,
  type GrpcTypeName as TypeName,
  grpcTypes as types,
  GrpcXdsClient,
  positive,
  Random,
  runCommand,
} from "@istiod/bench";
import { startCluster } from "@istiod/cluster";
import { claimSubnet, startIstiodInProcess } from "@istiod/e2e";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { type JsonDifference, jsonDifferences, messageRegistry } from "@istiod/explain";
import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { Closers } from "@istiod/runtime";

import { acceptedVirtualHosts } from "../../../packages/xds-generators/src/grpc/accepted-virtual-hosts.js";
import { startOriginal } from "./original.js";
import { manifest, randomMesh, type RandomService } from "./random-mesh.js";

const { values } = parseArgs({
  options: {
    original: { type: "string" },
    meshes: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    examples: { type: "string", default: "1" },
  },
});

const registry = messageRegistry();
const messages: Readonly<Record<TypeName, string>> = {
  lds: "envoy.config.listener.v3.Listener",
  rds: "envoy.config.route.v3.RouteConfiguration",
  cds: "envoy.config.cluster.v3.Cluster",
  eds: "envoy.config.endpoint.v3.ClusterLoadAssignment",
};

/** Number of clients that ask at the same time. */
const concurrency = 8;

interface Client {
  readonly namespace: string;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly locality: { readonly region: string; readonly zone: string };
  readonly services: readonly RandomService[];
}

type Resources = Readonly<Record<TypeName, Readonly<Record<string, Uint8Array>>>>;

/** Milliseconds within which a control plane answers, if it has anything to answer. */
const TIMEOUT_MS = 20_000;

/** A stream of a client, and what it has received. */
class Requests {
  readonly #stream: GrpcXdsClient;
  readonly received = { lds: {}, rds: {}, cds: {}, eds: {} } as Record<TypeName, Record<string, Uint8Array>>;

  constructor(port: number, host: string, node: Uint8Array) {
    this.#stream = new GrpcXdsClient(port, node, host);
  }

  async request(type: TypeName, names: readonly string[]): Promise<void> {
    for (const [name, bytes] of await this.#stream.subscribe(types[type], names, TIMEOUT_MS))
      if (names.includes(name)) this.received[type][name] = bytes;
    if (this.#stream.ended !== undefined) throw new Error(`a stream ended: ${this.#stream.ended}`);
  }

  close(): void {
    this.#stream.close();
  }
}

/** Requests the same from both: the listeners of targets, and what either of them leads to. */
async function resourcesOf(both: readonly [Requests, Requests], { services }: Client): Promise<void> {
  const request = async (type: TypeName, names: readonly string[]): Promise<void> => {
    await Promise.all(both.map((each) => each.request(type, [...new Set(names)])));
  };
  const seen = (type: TypeName): readonly JsonObject[] =>
    both.flatMap(({ received }) => Object.values(received[type]).map((bytes) => decoded(type, bytes)));
  const targets = services.flatMap((service) => service.ports.map((each) => `${service.host}:${each}`));
  const short = services.flatMap((service) => `${service.host.split(".")[0]}:${service.ports[0]}`);
  const inbound = [7000, 7001, 7002].map((each) => `xds.istio.io/grpc/lds/inbound/0.0.0.0:${each}`);
  await request("lds", [...targets, ...short, ...inbound]);
  const routes = textsIn(seen("lds"), "routeConfigName");
  await request("rds", routes);
  const clusters = [...textsIn(seen("rds"), "cluster"), ...namesOfWeighted(seen("rds")), ...routes];
  await request("cds", clusters);
  await request("eds", clusters);
  for (const each of both) each.close();
}

function nodeOf({ namespace, address, labels, locality }: Client): Uint8Array {
  const metadata = { GENERATOR: "grpc", NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", INSTANCE_IPS: address };
  const node = create(NodeSchema, {
    id: `sidecar~${address}~client.${namespace}~${namespace}.svc.cluster.local`,
    metadata: { ...metadata, LABELS: labels },
    locality,
    userAgentName: "gRPC Go",
    userAgentVersionType: { case: "userAgentVersion", value: "1.84.0" },
  });
  return toBinary(NodeSchema, node);
}

function decoded(type: TypeName, bytes: Uint8Array): JsonObject {
  const schema = registry.getMessage(messages[type]);
  if (schema === undefined) throw new Error(messages[type]);
  return toJson(schema, fromBinary(schema, bytes), { registry }) as JsonObject;
}

function textsIn(value: unknown, field: string): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return [
    ...new Set(
      Object.entries(value).flatMap(([key, inner]) =>
        key === field && typeof inner === "string" ? [inner] : textsIn(inner, field),
      ),
    ),
  ];
}

function namesOfWeighted(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  if ("weightedClusters" in value)
    return (value.weightedClusters as { clusters: { name: string }[] }).clusters.map(({ name }) => name);
  return Object.values(value).flatMap(namesOfWeighted);
}

async function compare(): Promise<boolean> {
  const { original } = values;
  if (original === undefined) throw new Error("--original is required");
  const [count, seed, examples] = [values.meshes, values.seed, values.examples].map((each) => positive("number", each));
  const closers = new Closers();
  try {
    const work = await mkdtemp(join(tmpdir(), "proxyless-compare-"));
    closers.defer(() => rm(work, { recursive: true, force: true }));
    const config = join(work, "config");
    await mkdir(config);
    const clients: Client[] = [];
    const addresses = Array.from({ length: 60 }, (_, i) => `10.1.0.${i + 1}`);
    for (let i = 0; i < count!; i++) {
      const random = new Random(seed! * 100_000 + i);
      const namespace = `ns${i}`;
      const { objects, services } = randomMesh(random, { namespace, prefix: "s", addresses, isAlone: true });
      await writeFile(join(config, `${namespace}.yaml`), manifest(objects));
      const [region, zone] = random.pick([
        ["r1", "z1"],
        ["r2", "z1"],
        ["", ""],
      ]) as [string, string];
      const tls = random.chance(0.5) ? { "security.istio.io/tlsMode": "istio" } : {};
      clients.push({
        namespace,
        address: random.pick(addresses),
        labels: { app: random.pick(["client", "server"]), version: random.pick(["v1", "v2"]), ...tls },
        locality: { region, zone },
        services,
      });
    }
    await writeFile(join(work, "mesh.yaml"), "trustDomain: cluster.local\n");
    const subnet = await claimSubnet();
    closers.defer(() => subnet.release());
    const istiod = await startIstiodInProcess({ address: subnet.address(1), config, work });
    closers.defer(() => istiod.kill());
    const cluster = await startCluster();
    closers.defer(() => cluster.stop());
    const kubeconfig = join(work, "kubeconfig");
    await writeFile(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
    await createRootNamespace(cluster.kubeconfig);
    const judge = await startOriginal(original, { config, work, kubeconfig, port: await freePort() });
    closers.defer(() => judge.stop());
    const report = new Report(examples!);
    const chosen = clients.filter(({ namespace }) => (values.only ?? namespace) === namespace);
    const next = chosen[Symbol.iterator]();
    await Promise.all(
      Array.from({ length: concurrency }, async () => {
        for (const client of next) {
          const expected = new Requests(judge.port, "127.0.0.1", nodeOf(client));
          const actual = new Requests(15010, subnet.address(1), nodeOf(client));
          try {
            await resourcesOf([expected, actual], client);
            report.add(client.namespace, expected.received, actual.received);
          } catch (error) {
            console.log(`${client.namespace} was not compared: ${String(error)}`);
          }
        }
      }),
    );
    report.print();
    return true;
  } finally {
    await closers.close();
  }
}

/** Returns routes as gRPC accepts them: the conversion itself is what differs on purpose. */
function acceptedRoutes(bytes: Uint8Array): Uint8Array {
  const routes = fromBinary(RouteConfigurationSchema, bytes);
  const cluster = routes.name;
  routes.virtualHosts = routes.virtualHosts.flatMap((host) =>
    acceptedVirtualHosts(host, { cluster, authorities: [], supports: () => true, endsCallsEarly: false }),
  );
  return toBinary(RouteConfigurationSchema, routes);
}

/**
 * Returns a resource without what differs on purpose (docs/design/038-proxyless-grpc.md): load balancers that some
 * libraries reject, outlier detection, TLS, how hostnames are resolved, the names of rules, the order of localities.
 */
function comparable(type: TypeName, resource: JsonObject): JsonObject {
  if (type === "lds") {
    return JSON.parse(
      JSON.stringify(resource, (key, value: unknown) =>
        key === "policies" && typeof value === "object" && value !== null
          ? Object.values(value)
              .map((each) => JSON.stringify(sorted(each)))
              .sort()
          : value,
      ),
    ) as JsonObject;
  }
  if (type === "eds") {
    const { endpoints = [], ...rest } = resource as { endpoints?: JsonObject[] };
    const key = (each: JsonObject): string => JSON.stringify(sorted([each["priority"], each["locality"]]));
    return { ...rest, endpoints: endpoints.toSorted((a, b) => (key(a) < key(b) ? -1 : 1)) };
  }
  if (type !== "cds") return resource;
  const omitted = new Set([
    "lbPolicy",
    "loadBalancingPolicy",
    "maglevLbConfig",
    "ringHashLbConfig",
    "outlierDetection",
  ]);
  if (resource["type"] === "LOGICAL_DNS") omitted.add("type").add("loadAssignment");
  omitted.add("edsClusterConfig").add("transportSocket");
  return Object.fromEntries(Object.entries(resource).filter(([name]) => !omitted.has(name)));
}

/** Creates the namespace in which pilot-discovery keeps its root certificate. */
async function createRootNamespace(kubeconfig: string): Promise<void> {
  const client = createApiClient(await parseKubeconfig(kubeconfig));
  const body = JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: "istio-system" } });
  await client.json({ method: "POST", path: "/api/v1/namespaces", body });
  client.close();
}

/** Counts of equal resources, and differences by their paths. */
class Report {
  readonly #counts = new Map<string, number>();
  readonly #examples = new Map<string, string[]>();
  readonly #limit: number;

  constructor(examples: number) {
    this.#limit = examples;
  }

  add(namespace: string, expected: Resources, actual: Resources): void {
    for (const type of Object.keys(types) as TypeName[]) {
      for (const name of new Set([...Object.keys(expected[type]), ...Object.keys(actual[type])])) {
        const [theirs, ours] = [expected[type][name], actual[type][name]];
        const differences = jsonDifferences(
          theirs && sorted(comparable(type, decoded(type, type === "rds" ? acceptedRoutes(theirs) : theirs))),
          ours && sorted(comparable(type, decoded(type, ours))),
        );
        if (differences.length === 0) this.#count(`${type}: equal`);
        for (const each of differences) this.#difference(type, `${namespace} ${name}`, each);
      }
    }
  }

  #difference(type: TypeName, where: string, { path, kind, expected, actual }: JsonDifference): void {
    const general = path
      .replaceAll(/\/\d+(?=\/|$)/g, "/*")
      .replaceAll(/\[[^\]]*\]/g, "[]")
      .replaceAll(/\/[^/]*\|[^/]*/g, "/|");
    const key = `${type}: ${kind} ${general}`;
    this.#count(key);
    const examples = this.#examples.get(key) ?? [];
    if (examples.length < this.#limit)
      examples.push(`${where}: ${path}\n      istio: ${text(expected)}\n      this:  ${text(actual)}`);
    this.#examples.set(key, examples);
  }

  #count(key: string): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  print(): void {
    for (const [key, count] of [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1))) {
      console.log(`${count} ${key}`);
      for (const example of this.#examples.get(key) ?? []) console.log(`    ${example}`);
    }
  }
}

function text(value: unknown): string {
  return (JSON.stringify(value) ?? "absent").slice(0, 700);
}

/** Sorts the endpoints of a locality and the keys of objects, whose order means nothing. */
function sorted(value: unknown, key = ""): never {
  if (Array.isArray(value)) {
    const items = value.map((each) => sorted(each) as unknown);
    const isUnordered = key === "lbEndpoints" || key === "domains";
    return (isUnordered ? items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : items) as never;
  }
  if (typeof value !== "object" || value === null) return value as never;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner, name)]),
  ) as never;
}

await runCommand("compare", compare);
