import { type CommitTiming, istioKinds, kubernetesKinds, type Problem } from "@istiod/config-ingestion";
import type { Commit, Database } from "@istiod/incremental";
import { Counter, Histogram, type Registry } from "prom-client";

/** What feeds the metrics of sources. */
export interface SourceMetrics {
  committed(commit: Commit, timing: CommitTiming): void;
  problems(found: readonly Problem[]): void;
}

const nameOfKind = new Map([...istioKinds, ...kubernetesKinds].map((kind) => [kind.collection, kind.kind]));
const kindNamed = new Map([...istioKinds, ...kubernetesKinds].map((kind) => [kind.kind, kind]));
const ofRegistry = new Set(kubernetesKinds.map((kind) => kind.collection));
const endpointKinds = new Set(["EndpointSlice", "Pod"]);
const serviceKinds = new Set(["Service", "ServiceEntry", "WorkloadEntry"]);
const reasons: Readonly<Record<string, string>> = { Secret: "secret", ConfigMap: "secret", Namespace: "namespace", MeshConfig: "global", MeshNetworks: "networks" };

/** Istio's metrics of what comes in: events of objects by kind, and the updates and pushes that they lead to. */
export function sourceMetrics<C>(registry: Registry, database: Database<C>): SourceMetrics {
  const registers = [registry];
  const events = (name: string, help: string): Counter<"type" | "event"> => new Counter({ name, help, labelNames: ["type", "event"], registers });
  const config = events("pilot_k8s_cfg_events", "Objects of Istio's kinds that were added, updated or deleted.");
  const kubernetes = events("pilot_k8s_reg_events", "Objects of Kubernetes' kinds that were added, updated or deleted.");
  const updates = new Counter({ name: "pilot_inbound_updates", help: "Updates received: config, eds, svc, svcdelete.", labelNames: ["type"], registers });
  const triggers = new Counter({ name: "pilot_push_triggers", help: "Pushes, by what led to them.", labelNames: ["type"], registers });
  const debounce = new Histogram({ name: "pilot_debounce_time", help: "Seconds from the first change of a burst to its push.", buckets: [0.01, 0.1, 0.5, 1, 3, 5, 10, 20, 30], registers });
  const init = new Histogram({
    name: "pilot_pushcontext_init_seconds",
    help: "Seconds that a commit took, which stands in the place of making a push context.",
    buckets: [0.01, 0.1, 0.5, 1, 3, 5],
    registers,
  });
  const valid = new Counter({ name: "galley_validation_passed", help: "Objects that were found valid.", labelNames: ["group", "version", "resource"], registers });
  const invalid = new Counter({ name: "galley_validation_failed", help: "Objects that were found not valid.", labelNames: ["group", "version", "resource", "reason"], registers });
  const rejected = new Counter({ name: "pilot_total_rejected_configs", help: "Objects that were refused.", labelNames: ["type", "name"], registers });
  const present = new Map<unknown, Set<string>>();
  for (const collection of nameOfKind.keys()) present.set(collection, new Set(database.keys(collection)));

  return {
    committed({ changed }, { gatheredMs, committingMs }) {
      debounce.observe(gatheredMs / 1000);
      init.observe(committingMs / 1000);
      const led = new Set<string>();
      for (const { collection, key } of changed) {
        const kind = nameOfKind.get(collection);
        led.add(reasonOf(kind ?? collection.name));
        if (kind === undefined) continue;
        const keys = present.get(collection);
        const is = database.read(collection, key) !== undefined;
        const event = !is ? "delete" : keys?.has(key) ? "update" : "add";
        if (is) keys?.add(key);
        else keys?.delete(key);
        const { group, versions } = kindNamed.get(kind) ?? { group: "", versions: [] };
        if (is && !ofRegistry.has(collection)) valid.inc({ group, version: versions[0] ?? "", resource: kind });
        (ofRegistry.has(collection) ? kubernetes : config).inc({ type: kind, event });
        updates.inc({ type: endpointKinds.has(kind) ? "eds" : kind === "Service" && event === "delete" ? "svcdelete" : serviceKinds.has(kind) ? "svc" : "config" });
      }
      for (const type of led) triggers.inc({ type });
    },
    problems(found) {
      for (const { severity, subject } of found) {
        if (severity !== "error" || !subject) continue;
        rejected.inc({ type: subject.kind, name: `${subject.namespace}/${subject.name}` });
        invalid.inc({ group: subject.group, version: kindNamed.get(subject.kind)?.versions[0] ?? "", resource: subject.kind, reason: "invalid_resource" });
      }
    },
  };
}

function reasonOf(kind: string): string {
  if (endpointKinds.has(kind)) return "endpoint";
  if (serviceKinds.has(kind)) return "service";
  return reasons[kind] ?? (istioKinds.some((k) => k.kind === kind) ? "config" : "global");
}

