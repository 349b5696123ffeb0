import { istioKinds, kubernetesKinds } from "@istiod/config-schema";
import type { Commit } from "@istiod/incremental";
import type { Meter } from "@istiod/metrics";

const kindOf = new Map([...istioKinds, ...kubernetesKinds].map(({ kind, collection }) => [collection, kind]));
const istioNames: ReadonlySet<string> = new Set(istioKinds.map(({ kind }) => kind));

/** Triggers of pushes in Istio, by kind. Source: `TriggerReason` in pilot/pkg/model/push_context.go. */
const triggerOfKind: Readonly<Record<string, string>> = {
  EndpointSlice: "endpoint",
  WorkloadEntry: "endpoint",
  Service: "service",
  ServiceEntry: "service",
  Secret: "secret",
  ConfigMap: "secret",
  Namespace: "namespace",
  Pod: "proxy",
  Ingress: "config",
  MeshConfig: "global",
  MeshNetworks: "networks",
};

/** Returns the triggers of a commit as Istio names them, each with the number of its objects. */
export function triggersOf({ changed }: Commit): Readonly<Record<string, number>> {
  const triggers: Record<string, number> = {};
  for (const { collection } of changed) {
    const kind = kindOf.get(collection) ?? collection.name;
    const trigger = triggerOfKind[kind] ?? (istioNames.has(kind) ? "config" : "global");
    triggers[trigger] = (triggers[trigger] ?? 0) + 1;
  }
  return triggers;
}

/** Number of commits whose triggers are kept until they are pushed. */
const commitsKept = 256;

/** Istio's metric of pushes by trigger. */
export class PushTriggers {
  readonly #counter;
  readonly #triggers = new Map<number, Readonly<Record<string, number>>>();

  constructor(meter: Meter) {
    this.#counter = meter.counter({
      name: "pilot_push_triggers",
      help: "Pushes to proxies by trigger.",
      labels: ["type"],
    });
  }

  committed(commit: Commit): void {
    this.#triggers.set(commit.revision, triggersOf(commit));
    for (const oldest of this.#triggers.keys()) {
      if (this.#triggers.size <= commitsKept) break;
      this.#triggers.delete(oldest);
    }
  }

  /** Counts a push of these revisions to one proxy. */
  pushStarted(revisions: readonly number[]): void {
    for (const revision of revisions)
      for (const [type, count] of Object.entries(this.#triggers.get(revision) ?? {}))
        this.#counter.add({ type }, count);
  }
}
