import { pods, rejectedConfigs } from "@istiod/config-schema";
import { type Database, query } from "@istiod/incremental";
import type { Meter, Sample } from "@istiod/metrics";
import { features, mergedGateway, type Proxy, proxyFromNode } from "@istiod/push-context";
import { type FaultGauge, faultGauges, type Faults, type FaultsByGauge, faultsOf, isUntargeted } from "./faults.js";
import type { MeshClient } from "./mesh-client.js";
import { type MeshCounts, meshCounts } from "./mesh-counts.js";
import { patchStatuses, patchStatusLabels, patchStatusSamples } from "./patch-statuses.js";

export interface ModelMetricsOptions {
  readonly database: Database<Proxy>;
  /** Returns the connected proxies. */
  readonly clients: () => readonly MeshClient[];
  /** The cluster that istiod is in. */
  readonly ownCluster: string;
  /** Returns the other clusters whose objects are read. */
  readonly remoteClusters: () => Iterable<string>;
}

const countsPatches = query("metrics.countsPatches", (q) => features.envoyFilterStatus(q));

const rejectedServers = query("metrics.rejectedServers", (q) => q.call(mergedGateway)?.rejected ?? []);

/**
 * Registers Istio's gauges of the model. They are computed on collection, and again only after a change of the mesh or
 * of the connected proxies. Returns a function that returns the faults by gauge, without gauges that have none.
 */
export function modelMetrics(meter: Meter, options: ModelMetricsOptions): () => Readonly<Record<string, Faults>> {
  const census = new Census(meter, options);
  const gauge = (name: string, help: string, read: () => number): void => meter.observeGauge({ name, help }, read);
  gauge("pilot_services", "Services that this istiod knows.", () => census.take().mesh.services);
  gauge("pilot_virt_services", "VirtualServices that are accepted.", () => census.take().mesh.virtualServices);
  for (const [name, help] of Object.entries(faultGauges))
    gauge(name, help, () => census.take().faults[name as FaultGauge].size);
  gauge(
    "pilot_k8s_endpoints_pending_pod",
    "Addresses of endpoints whose pods are not known.",
    () => new Set(census.take().mesh.withoutPod.map(({ address }) => address)).size,
  );
  meter.observeGauge(
    {
      name: "pilot_envoy_filter_status",
      help: "Kinds of patches of EnvoyFilters that are applied to connected proxies (applied), match none of their resources (applied, 0), or are skipped (error).",
      labels: patchStatusLabels,
    },
    () => census.patches(),
  );
  return () => Object.fromEntries(Object.entries(census.take().faults).filter(([, faults]) => faults.size > 0));
}

interface CensusResult {
  readonly mesh: MeshCounts;
  readonly faults: FaultsByGauge;
}

/** Counts the mesh and the faults of the connected proxies. A result is kept until either changes. */
class Census {
  readonly #options: ModelMetricsOptions;
  readonly #view;
  readonly #untargeted;
  readonly #rejected;
  readonly #seenUntargeted = new WeakSet<MeshClient>();
  readonly #seenRejections = new Set<string>();
  /** Numbers of the clients, so that a kept result keeps none of them. */
  readonly #numbers = new WeakMap<MeshClient, number>();
  #clients = 0;
  #last: (CensusResult & { readonly state: string }) | undefined;

  constructor(meter: Meter, options: ModelMetricsOptions) {
    this.#options = options;
    this.#view = options.database.view(
      proxyFromNode({ id: "router~127.0.0.1~istiod.istio-system~istio-system.svc.cluster.local" }),
    );
    this.#rejected = meter.counter(rejectedConfigs);
    this.#untargeted = meter.counter({
      name: "pilot_k8s_proxies_with_no_service_targets",
      help: "Sidecars that implemented no service when metrics were collected, each stream once, by reason.",
      labels: ["reason"],
    });
  }

  take(): CensusResult {
    const clients = this.#options.clients();
    const state = `${this.#options.database.revision} ${clients.map((client) => this.#numberOf(client)).join(" ")}`;
    if (this.#last?.state === state) return this.#last;
    const mesh = this.#view.call(meshCounts);
    const faults = faultsOf(mesh, clients);
    for (const client of clients) this.#count(client);
    this.#last = { state, mesh, faults };
    return this.#last;
  }

  /** Returns the samples of EnvoyFilters; none unless they are counted. */
  patches(): readonly Sample[] {
    if (!this.#view.call(countsPatches)) return [];
    return patchStatusSamples(this.#options.database, patchStatuses(this.#options.clients()));
  }

  #numberOf(client: MeshClient): number {
    const number = this.#numbers.get(client) ?? ++this.#clients;
    this.#numbers.set(client, number);
    return number;
  }

  #count(client: MeshClient): void {
    const { proxy, view } = client;
    if (isUntargeted(client) && !this.#seenUntargeted.has(client)) {
      const { database, ownCluster, remoteClusters } = this.#options;
      this.#untargeted.add({ reason: untargetedReason(database, proxy, [ownCluster, ...remoteClusters()]) });
      this.#seenUntargeted.add(client);
    }
    if (proxy.type !== "router") return;
    for (const { gateway, index, reason } of view.call(rejectedServers)) {
      const rejection = `${gateway} ${index} ${reason}`;
      if (!this.#seenRejections.has(rejection)) this.#rejected.add({ type: "gateway", name: gateway });
      this.#seenRejections.add(rejection);
    }
  }
}

/**
 * Returns Istio's name of the reason for which a proxy implements no service. Source:
 * pilot/pkg/serviceregistry/kube/controller/controller.go, GetProxyServiceTargets.
 */
function untargetedReason(database: Database<Proxy>, { nodeId, metadata }: Proxy, clusters: readonly string[]): string {
  const cluster = metadata.CLUSTER_ID || (clusters[0] ?? "");
  if (!clusters.includes(cluster)) return "incorrect_cluster";
  const pod = nodeId.split("~")[2] ?? "";
  const at = pod.lastIndexOf(".");
  const known = database.read(pods, `${cluster}/${pod.slice(at + 1)}/${pod.slice(0, at)}`) !== undefined;
  return known ? "no_matching_services" : "no_matching_metadata";
}
