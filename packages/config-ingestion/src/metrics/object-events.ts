import { endpointSlices, istioKinds, kubernetesKinds, pods } from "@istiod/config-schema";
import type { Commit, Database } from "@istiod/incremental";
import type { Counter, Meter } from "@istiod/metrics";

/** Names of Kubernetes kinds in the events of Istio's registry. Events of other kinds are not counted. */
const registryNames: Readonly<Record<string, string>> = {
  Service: "Services",
  EndpointSlice: "EndpointSlice",
  Pod: "Pods",
  Node: "Nodes",
  Namespace: "Namespaces",
};
const nameOfKind = new Map([...istioKinds, ...kubernetesKinds].map((kind) => [kind.collection, kind.kind]));
const istioNames: ReadonlySet<string> = new Set(istioKinds.map((kind) => kind.kind));
const endpointKinds: ReadonlySet<string> = new Set(["EndpointSlice", "WorkloadEntry"]);
const serviceKinds: ReadonlySet<string> = new Set(["Service", "ServiceEntry"]);

type EventType = "add" | "update" | "delete";

/** Counts additions, updates and deletions of objects by kind. */
export class ObjectEvents<C> {
  readonly #database: Database<C>;
  readonly #config: Counter;
  readonly #kubernetes: Counter;
  readonly #updates: Counter;
  readonly #withoutPods: Counter;
  /** Keys of the objects in each collection, to tell additions from updates. */
  readonly #keys = new Map<unknown, Set<string>>();

  constructor(meter: Meter, database: Database<C>) {
    this.#database = database;
    const labels = ["type", "event"];
    this.#config = meter.counter({
      name: "pilot_k8s_cfg_events",
      help: "Objects of Istio's kinds that were added, updated or deleted.",
      labels,
    });
    this.#kubernetes = meter.counter({
      name: "pilot_k8s_reg_events",
      help: "Objects of Kubernetes' kinds that were added, updated or deleted.",
      labels,
    });
    this.#updates = meter.counter({
      name: "pilot_inbound_updates",
      help: "Updates received: of endpoints (eds), of services (svc, svcdelete), and of anything that may lead to a push (config).",
      labels: ["type"],
    });
    this.#withoutPods = meter.counter({
      name: "pilot_k8s_endpoints_with_no_pods",
      help: "Addresses of endpoints that came before their pods.",
    });
  }

  /** Counts the current objects as added. */
  countInitial(): void {
    for (const [collection, kind] of nameOfKind) {
      const keys = this.#database.keys(collection);
      this.#keys.set(collection, new Set(keys));
      for (const key of keys) {
        this.#count(kind, "add");
        if (collection === endpointSlices) this.#countMissingPods(key);
      }
    }
  }

  committed({ changed }: Commit): void {
    for (const { collection, key, present } of changed) {
      const kind = nameOfKind.get(collection);
      if (kind === undefined) continue;
      const keys = this.#keys.get(collection);
      this.#count(kind, !present ? "delete" : keys?.has(key) ? "update" : "add");
      if (present) keys?.add(key);
      else keys?.delete(key);
      if (present && collection === endpointSlices) this.#countMissingPods(key);
    }
  }

  #count(kind: string, event: EventType): void {
    const registryName = registryNames[kind];
    if (registryName !== undefined) this.#kubernetes.add({ type: registryName, event });
    else if (istioNames.has(kind)) this.#config.add({ type: kind, event });
    if (endpointKinds.has(kind)) this.#updates.add({ type: "eds" });
    if (serviceKinds.has(kind)) this.#updates.add({ type: event === "delete" ? "svcdelete" : "svc" });
    this.#updates.add({ type: "config" });
  }

  #countMissingPods(key: string): void {
    const slice = this.#database.read(endpointSlices, key);
    for (const { targetRef, addresses } of slice?.spec.endpoints ?? []) {
      if (targetRef?.kind !== "Pod") continue;
      const pod = this.#database.read(pods, `${slice?.cluster}/${targetRef.namespace}/${targetRef.name}`);
      if (pod === undefined) this.#withoutPods.add({}, addresses.length);
    }
  }
}
