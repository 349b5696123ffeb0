import { createRegistry, fromBinary, type JsonObject, toJson } from "@bufbuild/protobuf";
import { applyMeshConfig, meshConfig, meshConfigKey, readText, setObjects } from "@istiod/config-schema";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { registry as messages } from "@istiod/envoy-api/registry";
import { Database } from "@istiod/incremental";
import { type Proxy, proxyNamed } from "@istiod/push-context";
import { listenerType } from "@istiod/resources";
import { generators } from "@istiod/xds-generators";
import type { Callers } from "./callers.js";
import type { RandomPolicy } from "./cases.js";

/** A workload with its own namespace and address. */
export interface CaseWorkload {
  readonly address: string;
  readonly policies: readonly RandomPolicy[];
}

export const ports = { http: 8080, tcp: 9090 } as const;

/** Returns the name of the nth case's Pod. */
export function podOf(n: number): string {
  return `web.c${n}`;
}

/** Returns a mesh in which each case is a workload. Policies that validation rejects close the workload. */
export function caseMesh(
  workloads: readonly CaseWorkload[],
  { jwtRules }: Pick<Callers, "jwtRules">,
  normalization: string,
): Database<Proxy> {
  const database = new Database<Proxy>();
  const faults = { warning: (): void => undefined, error: (_: unknown, message: string) => fail(message) };
  const config = applyMeshConfig(
    {
      trustDomain: "td1",
      trustDomainAliases: ["old-td"],
      pathNormalization: { normalization },
      extensionProviders: [
        { name: "sample-ext", envoyExtAuthzGrpc: { service: "ext.shop.svc.cluster.local", port: 80 } },
      ],
    },
    faults,
  );
  const common = [
    service("ext", "shop"),
    object(
      "security.istio.io/v1",
      "RequestAuthentication",
      { name: "tokens", namespace: "istio-system" },
      { jwtRules },
    ),
  ];
  const texts = [...common, ...workloads.flatMap(objectsOf)].map((each) => JSON.stringify(each)).join("\n---\n");
  const readings = readText(texts, "cases.yaml");
  database.commit((tx) => {
    for (const { objects } of readings) setObjects(tx, objects);
    if (config !== undefined) tx.set(meshConfig, meshConfigKey, config);
  });
  return database;
}

function fail(message: string): never {
  throw new Error(message);
}

function object(apiVersion: string, kind: string, metadata: object, spec: object, more: object = {}): object {
  return { apiVersion, kind, metadata, spec, ...more };
}

function service(name: string, namespace: string): object {
  const list = [
    { name: "http", port: 80, targetPort: ports.http },
    { name: "tcp", port: 90, targetPort: ports.tcp },
  ];
  return object(
    "v1",
    "Service",
    { name, namespace },
    { clusterIP: "10.96.0.1", selector: { app: "web" }, ports: list },
  );
}

function objectsOf({ address, policies }: CaseWorkload, n: number): readonly object[] {
  const namespace = `c${n}`;
  const labels = { app: "web", case: String(n), "security.istio.io/tlsMode": "istio" };
  const status = { phase: "Running", podIP: address, podIPs: [{ ip: address }] };
  return [
    service("web", namespace),
    object(
      "v1",
      "Pod",
      { name: "web", namespace, labels },
      { serviceAccountName: "web", containers: [{ name: "app" }] },
      { status },
    ),
    ...policies.map(({ root, dryRun, spec }, at) =>
      object(
        "security.istio.io/v1",
        "AuthorizationPolicy",
        {
          name: `p${n}-${at}`,
          namespace: root ? "istio-system" : namespace,
          ...(dryRun && { annotations: { "istio.io/dry-run": "true" } }),
        },
        { selector: { matchLabels: root ? { case: String(n) } : { app: "web" } }, ...spec },
      ),
    ),
  ];
}

const registry = createRegistry(...messages);

/** The filters that the generators built for a workload, as JSON with unpacked messages. */
export interface GeneratedFilters {
  readonly http: readonly NamedFilter[];
  readonly tcp: readonly NamedFilter[];
  /** The connection manager without its filters. */
  readonly manager: JsonObject;
}

export interface NamedFilter {
  readonly name: string;
  readonly typedConfig: JsonObject;
}

/** Returns the filters of the nth workload's inbound chains. */
export function generatedFilters(database: Database<Proxy>, n: number): GeneratedFilters {
  const view = database.view(proxyNamed(database, podOf(n)));
  try {
    const found = view.call(generators[listenerType]!).get("virtualInbound")!;
    const chains = fromBinary(ListenerSchema, found.bytes).filterChains;
    const filtersAt = (port: number): readonly NamedFilter[] => {
      const chain = chains.find(({ filterChainMatch }) => filterChainMatch?.destinationPort === port)!;
      const json = toJson(
        ListenerSchema,
        { ...fromBinary(ListenerSchema, new Uint8Array()), filterChains: [chain] },
        { registry },
      );
      return (json as unknown as { filterChains: { filters: NamedFilter[] }[] }).filterChains[0]!.filters;
    };
    const manager = filtersAt(ports.http).at(-1)!.typedConfig as unknown as JsonObject & { httpFilters: NamedFilter[] };
    return { http: manager.httpFilters, tcp: filtersAt(ports.tcp), manager };
  } finally {
    view.release();
  }
}
