import { type Database, query } from "@istiod/incremental";
import { mergedGateway, type Proxy, proxyFromNode, serviceTargets } from "@istiod/push-context";
import { emptyAssignments, type Findings, findings, generators } from "@istiod/xds-generators";
import { Gauge, type Registry } from "prom-client";
import { type Connection, endpointType, type XdsServer } from "@istiod/xds-server";
import type { MeshClient } from "../mesh-source.js";
import { type MeshCounts, meshCounts } from "./model-gauges.js";
import { rejectedConfigs } from "./rejected-configs.js";

export interface ModelMetricsOptions {
  readonly database: Database<Proxy>;
  readonly server: XdsServer;
  readonly clientOf: (connection: Connection) => MeshClient | undefined;
  /** Kubernetes clusters whose objects are read, beside istiod's own. */
  readonly remoteClusters: () => Iterable<string>;
}

/** The states of a remote cluster, as Istio names them. A directory that is read is in the first for good. */
const syncStates = ["synced", "syncing", "timeout", "closed"];

/** Of one client: whether it implements no service. */
const withoutTargets = query("metrics.withoutTargets", (q): boolean => q.ask(serviceTargets).length === 0);
const refusedServers = query("metrics.refusedServers", (q) => q.call(mergedGateway)?.refused ?? []);

/** What was found of all proxies that are connected; names count once, however many proxies they concern. */
interface Census {
  readonly state: string;
  readonly mesh: MeshCounts;
  readonly duplicateClusters: number;
  readonly unresolvedClusters: number;
  readonly repeatedDomains: number;
  readonly outboundConflicts: number;
  readonly inboundConflicts: number;
  readonly emptyClusters: number;
  readonly withoutService: number;
  readonly notReady: number;
}

type Names = { [K in keyof Findings as Findings[K] extends readonly string[] ? K : never]: Set<string> };

/** Istio's gauges of the model. They are made when metrics are asked for, and again only if something changed. */
export function modelMetrics(registry: Registry, { database, server, clientOf, remoteClusters }: ModelMetricsOptions): void {
  const registers = [registry];
  const view = database.view(proxyFromNode({ id: "router~127.0.0.1~istiod.istio-system~istio-system.svc.cluster.local" }));
  const rejected = rejectedConfigs(registry);
  const seenRefusals = new Set<string>();
  let known: Census | undefined;
  const census = (): Census => {
    const connections = server.connections();
    const state = `${database.revision} ${connections.map(({ id }) => id).join(" ")}`;
    if (known?.state === state) return known;
    const mesh = view.call(meshCounts);
    const notReadyAt = new Set(mesh.notReady);
    const names: Names = { duplicateClusters: new Set(), unresolvedClusters: new Set(), repeatedDomains: new Set(), outboundConflicts: new Set() };
    const emptyClusters = new Set<string>();
    const counted = new Set<unknown>();
    const proxies = { inboundConflicts: new Set<string>(), withoutService: new Set<string>(), notReady: new Set<string>() };
    const once = <T>(value: T, use: (value: T) => void): void => {
      if (counted.has(value)) return;
      counted.add(value);
      use(value);
    };
    for (const client of connections.map(clientOf)) {
      if (client === undefined) continue;
      const { proxy } = client;
      const found = client.view.call(findings);
      once(found, () => {
        for (const [kind, all] of Object.entries(names)) found[kind as keyof Names].forEach((name) => all.add(name));
      });
      const endpoints = generators[endpointType];
      if (endpoints !== undefined) once(client.view.call(endpoints), (set) => emptyAssignments(set).forEach((name) => emptyClusters.add(name)));
      if (found.inboundConflict) proxies.inboundConflicts.add(proxy.nodeId);
      if (proxy.type === "sidecar" && client.view.call(withoutTargets)) proxies.withoutService.add(proxy.nodeId);
      if (notReadyAt.has(proxy.ipAddresses[0] ?? "")) proxies.notReady.add(proxy.nodeId);
      if (proxy.type === "router") {
        for (const { gateway, index, reason } of client.view.call(refusedServers)) {
          const refusal = `${gateway} ${index} ${reason}`;
          if (!seenRefusals.has(refusal)) rejected.inc({ type: "gateway", name: gateway });
          seenRefusals.add(refusal);
        }
      }
    }
    known = {
      state,
      mesh,
      duplicateClusters: names.duplicateClusters.size,
      unresolvedClusters: names.unresolvedClusters.size,
      repeatedDomains: names.repeatedDomains.size,
      outboundConflicts: names.outboundConflicts.size,
      emptyClusters: emptyClusters.size,
      inboundConflicts: proxies.inboundConflicts.size,
      withoutService: proxies.withoutService.size,
      notReady: proxies.notReady.size,
    };
    return known;
  };
  const gauge = (name: string, help: string, value: () => number): Gauge => new Gauge({ name, help, registers, collect() { this.set(value()); } });
  gauge("pilot_services", "Services that this istiod knows.", () => census().mesh.services);
  gauge("pilot_virt_services", "VirtualServices in force.", () => census().mesh.virtualServices);
  gauge("pilot_vservice_dup_domain", "Virtual hosts of connected sidecars that are wanted twice, or that lost domains to others.", () => census().repeatedDomains);
  gauge("pilot_destrule_subsets", "Hosts for which DestinationRules of one namespace repeat a subset.", () => census().mesh.repeatedSubsets);
  gauge("pilot_endpoint_not_ready", "Connected proxies whose own endpoint is not ready.", () => census().notReady);
  gauge("pilot_eds_no_instances", "Clusters of connected proxies that are discovered by EDS and have no endpoint.", () => census().emptyClusters);
  gauge("pilot_duplicate_envoy_clusters", "Clusters of connected proxies that are wanted twice.", () => census().duplicateClusters);
  gauge("pilot_dns_cluster_without_endpoints", "Clusters left out for connected proxies, because there is no endpoint for them to resolve.", () => census().unresolvedClusters);
  gauge("pilot_conflict_outbound_listener_tcp_over_current_tcp", "Listeners of connected sidecars where TCP services cannot be told apart.", () => census().outboundConflicts);
  gauge("pilot_conflict_inbound_listener", "Connected sidecars two of whose services name different protocols for one port.", () => census().inboundConflicts);
  gauge("pilot_no_ip", "Connected sidecars that implement no service: their pods are in no endpoint table.", () => census().withoutService);
  gauge("endpoint_no_pod", "Services with an endpoint whose pod is not known.", () => new Set(census().mesh.withoutPod.map(({ service }) => service)).size);
  gauge("pilot_k8s_endpoints_pending_pod", "Addresses of endpoints whose pods are not known.", () => new Set(census().mesh.withoutPod.map(({ address }) => address)).size);
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
      for (const cluster of remoteClusters()) for (const status of syncStates) sync.set({ cluster, cluster_type: "remote", status }, status === "synced" ? 1 : 0);
    },
  });
}
