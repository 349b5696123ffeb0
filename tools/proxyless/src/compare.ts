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
import { type JsonDifference, jsonDifferences, messageRegistry } from "@istiod/explain";
import { createApiClient, parseKubeconfig } from "@istiod/kubernetes";
import { Closers } from "@istiod/runtime";

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
const concurrency = 16;

interface Client {
  readonly namespace: string;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly locality: { readonly region: string; readonly zone: string };
  readonly services: readonly RandomService[];
}

type Resources = Readonly<Record<TypeName, Readonly<Record<string, JsonObject>>>>;

/** Requests what a library would: the listeners of targets, and what they lead to. */
async function resourcesOf(port: number, host: string, client: Client): Promise<Resources> {
  const { namespace, address, labels, locality, services } = client;
  const metadata = { GENERATOR: "grpc", NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", INSTANCE_IPS: address };
  const node = create(NodeSchema, {
    id: `sidecar~${address}~client.${namespace}~${namespace}.svc.cluster.local`,
    metadata: { ...metadata, LABELS: labels },
    locality,
    userAgentName: "gRPC Go",
    userAgentVersionType: { case: "userAgentVersion", value: "1.84.0" },
  });
  const stream = new GrpcXdsClient(port, toBinary(NodeSchema, node), host);
  const out = { lds: {}, rds: {}, cds: {}, eds: {} } as Record<TypeName, Record<string, JsonObject>>;
  const request = async (type: TypeName, names: readonly string[]): Promise<void> => {
    const schema = registry.getMessage(messages[type]);
    if (schema === undefined) throw new Error(messages[type]);
    for (const [name, bytes] of await stream.subscribe(types[type], names, 5000))
      out[type][name] = toJson(schema, fromBinary(schema, bytes), { registry }) as JsonObject;
  };
  const targets = services.flatMap((service) => service.ports.map((each) => `${service.host}:${each}`));
  const short = services.flatMap((service) => `${service.host.split(".")[0]}:${service.ports[0]}`);
  const inbound = [7000, 7001, 7002].map((each) => `xds.istio.io/grpc/lds/inbound/0.0.0.0:${each}`);
  await request("lds", [...targets, ...short, ...inbound]);
  await request("rds", textsIn(out.lds, "routeConfigName"));
  const referenced = [...textsIn(out.rds, "cluster"), ...namesOfWeighted(out.rds)];
  await request("cds", [...new Set([...referenced, ...Object.keys(out.rds)])]);
  await request(
    "eds",
    Object.keys(out.cds).filter((name) => out.cds[name]?.["type"] === "EDS"),
  );
  stream.close();
  return out;
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
    const addresses = ["10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.4", "10.1.0.5"];
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
          const expected = await resourcesOf(judge.port, "127.0.0.1", client);
          report.add(client.namespace, expected, await resourcesOf(15010, subnet.address(1), client));
        }
      }),
    );
    report.print();
    return true;
  } finally {
    await closers.close();
  }
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
        const differences = jsonDifferences(sorted(expected[type][name]), sorted(actual[type][name]));
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
