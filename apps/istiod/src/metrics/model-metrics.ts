import { pods } from "@istiod/config-schema";
import { type Database, query } from "@istiod/incremental";
import { mergedGateway, type Proxy, proxyFromNode, serviceTargets } from "@istiod/push-context";
import { emptyAssignments, generators, omissions, type Omissions } from "@istiod/xds-generators";
import { Counter, Gauge, type Registry } from "prom-client";
import { type Connection, endpointType, type XdsServer } from "@istiod/xds-server";
import type { MeshClient } from "../mesh-source.js";
import { type MeshCounts, meshCounts } from "./model-gauges.js";
import { rejectedConfigs } from "./rejected-configs.js";

export interface ModelMetricsOptions {
  readonly database: Database<Proxy>;
  readonly server: XdsServer;
  readonly clientOf: (connection: Connection) => MeshClient | undefined;
  /** The cluster that istiod is in. */
  readonly ownCluster: string;
  /** Kubernetes clusters whose objects are read, beside istiod's own. */
  readonly remoteClusters: () => Iterable<string>;
}

/** The states of a remote cluster, as Istio names them. A directory that is read is in the first for good. */
const syncStates = ["synced", "syncing", "timeout", "closed"];

/** Of one client: whether it implements no service. */
const withoutTargets = query("metrics.withoutTargets", (q): boolean => q.ask(serviceTargets).length === 0);
const rejectedServers = query("metrics.rejectedServers", (q) => q.call(mergedGateway)?.rejected ?? []);

/**
 * What is wrong with something that proxies have, by the name of the thing, with a proxy that has it: as
 * `/debug/push_status` shows it.
 */
export type Faults = ReadonlyMap<string, { readonly proxy?: string; readonly message?: string }>;

/** What was found of all proxies that are connected; names count once, however many proxies they concern. */
interface Census {
  readonly state: string;
  readonly mesh: MeshCounts;
  readonly faults: Readonly<Record<keyof typeof faultHelp, Faults>>;
}

/** The gauges that count faults by name, and what they mean. */
const faultHelp = {
  pilot_vservice_dup_domain:
    "Virtual hosts of connected sidecars that are wanted twice, or that lost domains to others.",
  pilot_endpoint_not_ready: "Connected proxies whose own endpoint is not ready.",
  pilot_eds_no_instances: "Clusters of connected proxies that are discovered by EDS and have no endpoint.",
  pilot_duplicate_envoy_clusters: "Clusters of connected proxies that are wanted twice.",
  pilot_dns_cluster_without_endpoints:
    "Clusters left out for connected proxies, because there is no endpoint for them to resolve.",
  pilot_conflict_outbound_listener_tcp_over_current_tcp:
    "Listeners of connected sidecars where TCP services cannot be told apart.",
  pilot_conflict_inbound_listener: "Connected sidecars two of whose services name different protocols for one port.",
  pilot_no_ip: "Connected sidecars that implement no service: their pods are in no endpoint table.",
  pilot_destrule_subsets: "Hosts for which DestinationRules of one namespace repeat a subset.",
  endpoint_no_pod: "Services with an endpoint whose pod is not known.",
} as const;

const gaugeOfOmission: Readonly<Record<Exclude<keyof Omissions, "hasInboundConflict">, keyof typeof faultHelp>> = {
  duplicateDomains: "pilot_vservice_dup_domain",
  duplicateClusters: "pilot_duplicate_envoy_clusters",
  dnsClustersWithoutEndpoints: "pilot_dns_cluster_without_endpoints",
  conflictingOutboundListeners: "pilot_conflict_outbound_listener_tcp_over_current_tcp",
};

/**
 * Istio's gauges of the model. They are made when metrics are asked for, and again only if something changed. Gives
 * what tells the faults that they count.
 */
export function modelMetrics(
  registry: Registry,
  { database, server, clientOf, ownCluster, remoteClusters }: ModelMetricsOptions,
): () => Readonly<Record<string, Faults>> {
  const registers = [registry];
  const view = database.view(
    proxyFromNode({ id: "router~127.0.0.1~istiod.istio-system~istio-system.svc.cluster.local" }),
  );
  const rejected = rejectedConfigs(registry);
  const untargeted = new Counter({
    name: "pilot_k8s_proxies_with_no_service_targets",
    help: "Sidecars that implemented no service when metrics were asked for, each stream once, by reason.",
    labelNames: ["reason"],
    registers,
  });
  const seenUntargeted = new WeakSet<object>();
  const seenRefusals = new Set<string>();
  let known: Census | undefined;
  const census = (): Census => {
    const connections = server.connections();
    const state = `${database.revision} ${connections.map(({ id }) => id).join(" ")}`;
    if (known?.state === state) return known;
    const mesh = view.call(meshCounts);
    const notReadyAt = new Set(mesh.notReady);
    const faults = Object.fromEntries(Object.keys(faultHelp).map((gauge) => [gauge, new Map()])) as Record<
      keyof typeof faultHelp,
      Map<string, { proxy?: string; message?: string }>
    >;
    for (const host of mesh.repeatedSubsets) faults.pilot_destrule_subsets.set(host, {});
    for (const { service, address } of mesh.withoutPod) faults.endpoint_no_pod.set(service, { message: address });
    const counted = new Set<unknown>();
    const once = <T>(value: T, use: (value: T) => void): void => {
      if (counted.has(value)) return;
      counted.add(value);
      use(value);
    };
    for (const client of connections.map(clientOf)) {
      if (client === undefined) continue;
      const { proxy } = client;
      const of = { proxy: proxy.nodeId };
      const omitted = client.view.call(omissions);
      once(omitted, () => {
        for (const [kind, gauge] of Object.entries(gaugeOfOmission))
          for (const name of omitted[kind as keyof typeof gaugeOfOmission]) faults[gauge].set(name, of);
      });
      const endpoints = generators[endpointType];
      if (endpoints !== undefined)
        once(client.view.call(endpoints), (set) =>
          emptyAssignments(set).forEach((name) => faults.pilot_eds_no_instances.set(name, of)),
        );
      if (omitted.hasInboundConflict) faults.pilot_conflict_inbound_listener.set(proxy.nodeId, of);
      if (proxy.type === "sidecar" && client.view.call(withoutTargets)) {
        faults.pilot_no_ip.set(proxy.nodeId, of);
        if (!seenUntargeted.has(client))
          untargeted.inc({ reason: reasonWithoutTargets(database, proxy, [ownCluster, ...remoteClusters()]) });
        seenUntargeted.add(client);
      }
      if (notReadyAt.has(proxy.ipAddresses[0] ?? "")) faults.pilot_endpoint_not_ready.set(proxy.nodeId, of);
      if (proxy.type === "router") {
        for (const { gateway, index, reason } of client.view.call(rejectedServers)) {
          const refusal = `${gateway} ${index} ${reason}`;
          if (!seenRefusals.has(refusal)) rejected.inc({ type: "gateway", name: gateway });
          seenRefusals.add(refusal);
        }
      }
    }
    known = { state, mesh, faults };
    return known;
  };
  const gauge = (name: string, help: string, value: () => number): Gauge =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  gauge("pilot_services", "Services that this istiod knows.", () => census().mesh.services);
  gauge("pilot_virt_services", "VirtualServices in force.", () => census().mesh.virtualServices);
  for (const [name, help] of Object.entries(faultHelp))
    gauge(name, help, () => census().faults[name as keyof typeof faultHelp].size);
  gauge(
    "pilot_k8s_endpoints_pending_pod",
    "Addresses of endpoints whose pods are not known.",
    () => new Set(census().mesh.withoutPod.map(({ address }) => address)).size,
  );
  const managed = new Gauge({
    name: "istiod_managed_clusters",
    help: "Clusters whose objects are read.",
    labelNames: ["cluster_type"],
    registers,
    collect() {
      managed.set({ cluster_type: "local" }, 1);
      managed.set({ cluster_type: "remote" }, [...remoteClusters()].length);
    },
  });
  const sync = new Gauge({
    name: "istiod_remote_cluster_sync_status",
    help: "1 for the state that a remote cluster is in. Nothing is served before all of them are read.",
    labelNames: ["cluster", "cluster_type", "status"],
    registers,
    collect() {
      for (const cluster of remoteClusters())
        for (const status of syncStates)
          sync.set({ cluster, cluster_type: "remote", status }, status === "synced" ? 1 : 0);
    },
  });
  return () => Object.fromEntries(Object.entries(census().faults).filter(([, faults]) => faults.size > 0));
}

/**
 * Why a proxy implements no service, as Istio names it. Source:
 * pilot/pkg/serviceregistry/kube/controller/controller.go, GetProxyServiceTargets.
 */
function reasonWithoutTargets(
  database: Database<Proxy>,
  { nodeId, metadata }: Proxy,
  clusters: readonly string[],
): string {
  const cluster = metadata.CLUSTER_ID || (clusters[0] ?? "");
  if (!clusters.includes(cluster)) return "incorrect_cluster";
  const pod = nodeId.split("~")[2] ?? "";
  const at = pod.lastIndexOf(".");
  const known = database.read(pods, `${cluster}/${pod.slice(at + 1)}/${pod.slice(0, at)}`) !== undefined;
  return known ? "no_matching_services" : "no_matching_metadata";
}
