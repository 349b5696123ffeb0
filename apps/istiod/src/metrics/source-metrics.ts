import { type CommitTiming } from "@istiod/config-ingestion";
import { endpointSlices, istioKinds, kubernetesKinds, pods, type Problem } from "@istiod/config-schema";
import type { Commit, Database } from "@istiod/incremental";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { rejectedConfigs } from "./rejected-configs.js";

/** What feeds the metrics of sources. */
export interface SourceMetrics {
  /** Counts the objects of the first state as added. Must be called before `committed`. */
  countInitial(): void;
  committed(commit: Commit): void;
  commitTiming(timing: CommitTiming): void;
  /** Counts a push to a proxy that was triggered by these revisions. */
  pushStarted(changes: readonly number[]): void;
  problems(found: readonly Problem[]): void;
}

/** Commits whose reasons are remembered until they are pushed. */
const commitsRemembered = 256;

/** Kubernetes' kinds as Istio's registry names their events; of others it tells none. */
const registryNames: Readonly<Record<string, string>> = {
  Service: "Services",
  EndpointSlice: "EndpointSlice",
  Pod: "Pods",
  Node: "Nodes",
  Namespace: "Namespaces",
};
const nameOfKind = new Map([...istioKinds, ...kubernetesKinds].map((kind) => [kind.collection, kind.kind]));
const kindNamed = new Map([...istioKinds, ...kubernetesKinds].map((kind) => [kind.kind, kind]));
const istioNames = new Set(istioKinds.map((kind) => kind.kind));
const sourcesQueue = "sources";
const queueBuckets = [0.01, 0.1, 0.2, 0.5, 1, 3, 5];
const endpointKinds = new Set(["EndpointSlice", "WorkloadEntry"]);
const serviceKinds = new Set(["Service", "ServiceEntry"]);
/**
 * Why proxies are pushed to, as Istio names it, where it is neither an endpoint, nor a service, nor Istio's
 * configuration.
 */
const reasonOfKind: Readonly<Record<string, string>> = {
  Secret: "secret",
  ConfigMap: "secret",
  Namespace: "namespace",
  Pod: "proxy",
  Ingress: "config",
  MeshConfig: "global",
  MeshNetworks: "networks",
};

/** Istio's metrics of what comes in: events of objects by kind, and the updates and pushes that they lead to. */
export function sourceMetrics<C>(registry: Registry, database: Database<C>): SourceMetrics {
  const registers = [registry];
  const events = (name: string, help: string): Counter<"type" | "event"> =>
    new Counter({ name, help, labelNames: ["type", "event"], registers });
  const config = events("pilot_k8s_cfg_events", "Objects of Istio's kinds that were added, updated or deleted.");
  const kubernetes = events(
    "pilot_k8s_reg_events",
    "Objects of Kubernetes' kinds that were added, updated or deleted.",
  );
  const updates = new Counter({
    name: "pilot_inbound_updates",
    help: "Updates received: of endpoints (eds), of services (svc, svcdelete), and of anything that may lead to a push (config).",
    labelNames: ["type"],
    registers,
  });
  const triggers = new Counter({
    name: "pilot_push_triggers",
    help: "Pushes to proxies by trigger.",
    labelNames: ["type"],
    registers,
  });
  const debounce = new Histogram({
    name: "pilot_debounce_time",
    help: "Seconds from the first change of a burst to its push.",
    buckets: [0.01, 0.1, 0.5, 1, 3, 5, 10, 20, 30],
    registers,
  });
  const init = new Histogram({
    name: "pilot_pushcontext_init_seconds",
    help: "Seconds that a commit took, which stands in the place of making a push context.",
    buckets: [0.01, 0.1, 0.5, 1, 3, 5],
    registers,
  });
  const latency = new Histogram({
    name: "pilot_worker_queue_latency",
    help: "Seconds from the first change in a source's burst to the work on it.",
    labelNames: ["queueID"],
    buckets: queueBuckets,
    registers,
  });
  const duration = new Histogram({
    name: "pilot_worker_queue_duration",
    help: "Seconds that reading and committing a burst took.",
    labelNames: ["queueID"],
    buckets: queueBuckets,
    registers,
  });
  const withoutPods = new Counter({
    name: "pilot_k8s_endpoints_with_no_pods",
    help: "Addresses of endpoints that came before their pods.",
    registers,
  });
  const valid = new Counter({
    name: "galley_validation_passed",
    help: "Objects that were found valid.",
    labelNames: ["group", "version", "resource"],
    registers,
  });
  const invalid = new Counter({
    name: "galley_validation_failed",
    help: "Objects that were found not valid.",
    labelNames: ["group", "version", "resource", "reason"],
    registers,
  });
  const rejected = rejectedConfigs(registry);
  const reasons = new Map<number, Readonly<Record<string, number>>>();
  const present = new Map<unknown, Set<string>>();
  const count = (kind: string, event: "add" | "update" | "delete"): void => {
    const registryName = registryNames[kind];
    if (registryName !== undefined) kubernetes.inc({ type: registryName, event });
    else if (istioNames.has(kind)) config.inc({ type: kind, event });
    if (endpointKinds.has(kind)) updates.inc({ type: "eds" });
    if (serviceKinds.has(kind)) updates.inc({ type: event === "delete" ? "svcdelete" : "svc" });
    updates.inc({ type: "config" });
  };
  const missPods = (key: string): void => {
    const slice = database.read(endpointSlices, key);
    for (const { targetRef, addresses } of slice?.spec.endpoints ?? []) {
      if (
        targetRef?.kind === "Pod" &&
        database.read(pods, `${slice?.cluster}/${targetRef.namespace}/${targetRef.name}`) === undefined
      )
        withoutPods.inc(addresses.length);
    }
  };
  return {
    countInitial() {
      for (const [collection, kind] of nameOfKind) {
        const keys = database.keys(collection);
        present.set(collection, new Set(keys));
        for (const key of keys) {
          count(kind, "add");
          if (collection === endpointSlices) missPods(key);
        }
      }
    },
    committed(commit) {
      for (const { collection, key, present: is } of commit.changed) {
        const kind = nameOfKind.get(collection);
        if (kind === undefined) continue;
        const keys = present.get(collection);
        const event = !is ? "delete" : keys?.has(key) ? "update" : "add";
        if (is) keys?.add(key);
        else keys?.delete(key);
        const { group, versions } = kindNamed.get(kind) ?? { group: "", versions: [] };
        if (is && istioNames.has(kind)) valid.inc({ group, version: versions[0] ?? "", resource: resourceOf(kind) });
        count(kind, event);
        if (is && collection === endpointSlices) missPods(key);
      }
      reasons.set(commit.revision, reasonsOf(commit));
      for (const oldest of reasons.keys()) {
        if (reasons.size <= commitsRemembered) break;
        reasons.delete(oldest);
      }
    },
    commitTiming({ debounceMs, commitMs, readMs }) {
      debounce.observe((debounceMs + commitMs) / 1000);
      init.observe(commitMs / 1000);
      latency.observe({ queueID: sourcesQueue }, debounceMs / 1000);
      duration.observe({ queueID: sourcesQueue }, (readMs + commitMs) / 1000);
    },
    pushStarted(changes) {
      for (const revision of changes)
        for (const [type, times] of Object.entries(reasons.get(revision) ?? {})) triggers.inc({ type }, times);
    },
    problems(found) {
      for (const { severity, subject } of found) {
        if (severity !== "error" || !subject) continue;
        rejected.inc({ type: subject.kind.toLowerCase(), name: `${subject.namespace}/${subject.name}` });
        invalid.inc({
          group: subject.group,
          version: kindNamed.get(subject.kind)?.versions[0] ?? "",
          resource: resourceOf(subject.kind),
          reason: "invalid_resource",
        });
      }
    },
  };
}

/** Istio's metric of the queue of a registry. @param waiting returns the changes that are not committed yet */
export function queueDepth(registry: Registry, waiting: () => number): void {
  new Gauge({
    name: "pilot_worker_queue_depth",
    help: "Sources that changed and were not read, and objects that were read and not committed.",
    labelNames: ["queueID"],
    registers: [registry],
    collect() {
      this.set({ queueID: sourcesQueue }, waiting());
    },
  });
}

/** Why proxies are pushed to after a commit, as Istio names it, each with the number of objects. */
export function reasonsOf({ changed }: Commit): Readonly<Record<string, number>> {
  const reasons: Record<string, number> = {};
  for (const { collection } of changed) {
    const reason = reasonOf(nameOfKind.get(collection) ?? collection.name);
    reasons[reason] = (reasons[reason] ?? 0) + 1;
  }
  return reasons;
}

function reasonOf(kind: string): string {
  if (endpointKinds.has(kind)) return "endpoint";
  if (serviceKinds.has(kind)) return "service";
  return reasonOfKind[kind] ?? (istioNames.has(kind) ? "config" : "global");
}

/** A kind's name in URLs of Kubernetes' API. */
function resourceOf(kind: string): string {
  return `${kind.toLowerCase().replace(/([^aeiou])y$/, "$1ie")}s`;
}
