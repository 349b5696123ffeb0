import type { Database } from "@istiod/incremental";
import { type Proxy, proxyFromNode } from "@istiod/push-context";
import { Gauge, type Registry } from "prom-client";
import { readProxy } from "../mesh-source.js";
import { modelGauges, modelHelp, targetsOfClient, type ModelGauges } from "./model-gauges.js";
import type { XdsServer } from "@istiod/xds-server";

export interface ModelMetricsOptions {
  readonly database: Database<Proxy>;
  readonly server: XdsServer;
  /** Kubernetes clusters whose objects are read, beside istiod's own. */
  readonly remoteClusters: () => number;
}

/** Istio's gauges of the model. They are made when metrics are asked for, and again only if something changed. */
export function modelMetrics(registry: Registry, { database, server, remoteClusters }: ModelMetricsOptions): void {
  const registers = [registry];
  const view = database.view(proxyFromNode({ id: "router~127.0.0.1~istiod.istio-system~istio-system.svc.cluster.local" }));
  for (const [name, help] of Object.entries(modelHelp)) {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(view.call(modelGauges)[name as keyof ModelGauges]);
      },
    });
  }
  let known: { readonly state: string; readonly none: number; readonly conflicts: number } | undefined;
  const ofClients = (): { readonly none: number; readonly conflicts: number } => {
    const sidecars = server.connections().map(({ id, node }) => ({ id, proxy: readProxy(node) })).filter(({ proxy }) => proxy.type === "sidecar");
    const state = `${database.revision} ${sidecars.map(({ id }) => id).join(" ")}`;
    if (known?.state === state) return known;
    let [none, conflicts] = [0, 0];
    for (const { proxy } of sidecars) {
      const client = database.view(proxy);
      const targets = client.call(targetsOfClient);
      client.release();
      none += targets.none ? 1 : 0;
      conflicts += targets.conflicts;
    }
    known = { state, none, conflicts };
    return known;
  };
  const gauge = (name: string, help: string, value: () => number): Gauge => new Gauge({ name, help, registers, collect() { this.set(value()); } });
  gauge("pilot_no_ip", "Connected sidecars that implement no service: their pods are in no endpoint table.", () => ofClients().none);
  gauge("pilot_conflict_inbound_listener", "Ports of connected sidecars for which their services name different protocols.", () => ofClients().conflicts);
  const managed = new Gauge({
    name: "istiod_managed_clusters",
    help: "Clusters whose objects are read.",
    labelNames: ["cluster_type"],
    registers,
    collect() {
      managed.set({ cluster_type: "local" }, 1);
      managed.set({ cluster_type: "remote" }, remoteClusters());
    },
  });
  gauge("xds_cache_size", "Records of the incremental engine, which stands in the place of Istio's cache.", () => database.stats().memos);
  gauge("xds_cache_dependent_config_size", "Recorded dependencies of those records.", () => database.stats().edges);
  const reads = new Gauge({
    name: "xds_cache_reads",
    help: "Results that were found (hit) or had to be made (miss). A count that only grows; Istio's has the same name.",
    labelNames: ["type"],
    registers,
    collect() {
      const { hits, verifications, recomputations } = database.stats();
      reads.set({ type: "hit" }, hits + verifications);
      reads.set({ type: "miss" }, recomputations);
    },
  });
}
