import { create, fromBinary, type JsonObject, toBinary, toJson } from "@bufbuild/protobuf";
import { type GrpcTypeName, grpcTypes, GrpcXdsClient } from "@istiod/bench";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { messageRegistry } from "@istiod/explain";
import type { RandomService } from "../random-mesh.js";

const registry = messageRegistry();

/** Resources of a client as JSON, by type and name. */
export type Resources = Readonly<Record<GrpcTypeName, Readonly<Record<string, JsonObject>>>>;

/** A client of a random mesh, in a namespace of its own. */
export interface MeshClient {
  readonly namespace: string;
  readonly address: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly locality: { readonly region: string; readonly zone: string };
  readonly services: readonly RandomService[];
}

/** An xDS server in plaintext. */
export interface Server {
  readonly host: string;
  readonly port: number;
}

/** Milliseconds within which a control plane answers, if it has anything to answer. */
const timeoutMs = 20_000;
const ports = [7000, 7001, 7002];

/**
 * Requests the same resources of two control planes: the listeners of all targets and servers, and what either of them
 * leads to.
 */
export async function resourcesOf(
  client: MeshClient,
  servers: readonly [Server, Server],
): Promise<[Resources, Resources]> {
  const both = servers.map((server) => new Requests(server, nodeOf(client))) as [Requests, Requests];
  const request = async (type: GrpcTypeName, names: readonly string[]): Promise<void> => {
    await Promise.all(both.map((each) => each.request(type, [...new Set(names)])));
  };
  const seen = (type: GrpcTypeName): readonly JsonObject[] =>
    both.flatMap(({ received }) => Object.values(received[type]));
  try {
    const targets = client.services.flatMap(({ host, ports: own }) => own.map((port) => `${host}:${port}`));
    const short = client.services.map(({ host, ports: own }) => `${host.split(".")[0]}:${own[0]}`);
    const inbound = ports.map((port) => `xds.istio.io/grpc/lds/inbound/0.0.0.0:${port}`);
    await request("lds", [...targets, ...short, ...inbound]);
    const routes = textsIn(seen("lds"), "routeConfigName");
    await request("rds", routes);
    const clusters = [...textsIn(seen("rds"), "cluster"), ...weightedIn(seen("rds")), ...routes];
    await request("cds", clusters);
    await request("eds", clusters);
    return [both[0].received, both[1].received];
  } finally {
    for (const each of both) each.close();
  }
}

/** A stream of a client, and what it has received. */
class Requests {
  readonly #stream: GrpcXdsClient;
  readonly received: Record<GrpcTypeName, Record<string, JsonObject>> = { lds: {}, rds: {}, cds: {}, eds: {} };

  constructor({ host, port }: Server, node: Uint8Array) {
    this.#stream = new GrpcXdsClient(port, node, host);
  }

  /** @throws Error if the stream has ended */
  async request(type: GrpcTypeName, names: readonly string[]): Promise<void> {
    for (const [name, bytes] of await this.#stream.subscribe(grpcTypes[type], names, timeoutMs))
      if (names.includes(name)) this.received[type][name] = decoded(type, bytes);
    if (this.#stream.ended !== undefined) throw new Error(`a stream ended: ${this.#stream.ended}`);
  }

  close(): void {
    this.#stream.close();
  }
}

function nodeOf({ namespace, address, labels, locality }: MeshClient): Uint8Array {
  const metadata = { GENERATOR: "grpc", NAMESPACE: namespace, CLUSTER_ID: "Kubernetes", INSTANCE_IPS: address };
  const node = create(NodeSchema, {
    id: `sidecar~${address}~client.${namespace}~${namespace}.svc.cluster.local`,
    metadata: { ...metadata, LABELS: { ...labels } },
    locality,
    userAgentName: "gRPC Go",
    userAgentVersionType: { case: "userAgentVersion", value: "1.84.0" },
  });
  return toBinary(NodeSchema, node);
}

function decoded(type: GrpcTypeName, bytes: Uint8Array): JsonObject {
  const schema = registry.getMessage(grpcTypes[type].slice("type.googleapis.com/".length));
  if (schema === undefined) throw new Error(`unknown type ${grpcTypes[type]}`);
  return toJson(schema, fromBinary(schema, bytes), { registry }) as JsonObject;
}

/** Returns the texts of a field at any depth. */
function textsIn(value: unknown, field: string): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === field && typeof inner === "string" ? [inner] : textsIn(inner, field),
  );
}

function weightedIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  if ("weightedClusters" in value)
    return (value.weightedClusters as { clusters: { name: string }[] }).clusters.map(({ name }) => name);
  return Object.values(value).flatMap(weightedIn);
}
