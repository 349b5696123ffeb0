import { istioKinds, kubernetesKinds, type Problem, rejectedConfigs } from "@istiod/config-schema";
import type { Commit, Database } from "@istiod/incremental";
import type { Meter } from "@istiod/metrics";
import type { Ingestion } from "../ingestion/ingestion.js";
import type { CommitTiming } from "../ingestion/ingestion-options.js";
import { commitTimings } from "./commit-timings.js";
import { ObjectEvents } from "./object-events.js";

const istioKindOf = new Map(istioKinds.map((kind) => [kind.collection, kind]));
const kindNamed = new Map([...istioKinds, ...kubernetesKinds].map((kind) => [kind.kind, kind]));

/** Istio's metrics of sources: events of objects, their validation, and the timing of commits. */
export interface SourceMetrics {
  /** Counts the objects of the first state as added. Must be called before `committed`. */
  countInitial(): void;
  committed(commit: Commit): void;
  commitTiming(timing: CommitTiming): void;
  problems(found: readonly Problem[]): void;
}

export function sourceMetrics<C>(meter: Meter, database: Database<C>): SourceMetrics {
  const events = new ObjectEvents(meter, database);
  const validated = validation(meter);
  return {
    countInitial: () => events.countInitial(),
    committed(commit) {
      validated.committed(commit);
      events.committed(commit);
    },
    commitTiming: commitTimings(meter),
    problems: (found) => validated.problems(found),
  };
}

/** Registers Istio's metric of the queue of a registry: the changes that are not committed yet. */
export function queueDepth(meter: Meter, ingestion: Pick<Ingestion<unknown>, "pendingCount">): void {
  meter.observeGauge(
    {
      name: "pilot_worker_queue_depth",
      help: "Sources that changed and were not read, and objects that were read and not committed.",
      labels: ["queueID"],
    },
    () => [{ value: ingestion.pendingCount, labels: { queueID: "sources" } }],
  );
}

function validation(meter: Meter): Pick<SourceMetrics, "committed" | "problems"> {
  const labels = ["group", "version", "resource"];
  const valid = meter.counter({ name: "galley_validation_passed", help: "Valid objects.", labels });
  const invalid = meter.counter({
    name: "galley_validation_failed",
    help: "Rejected objects.",
    labels: [...labels, "reason"],
  });
  const rejected = meter.counter(rejectedConfigs);
  const labelsOf = (kind: string, group: string): Readonly<Record<string, string>> => ({
    group,
    version: kindNamed.get(kind)?.versions[0] ?? "",
    resource: resourceOf(kind),
  });
  return {
    committed({ changed }) {
      for (const { collection, present } of changed) {
        const kind = istioKindOf.get(collection);
        if (present && kind !== undefined) valid.add(labelsOf(kind.kind, kind.group));
      }
    },
    problems(found) {
      for (const { severity, subject, code } of found) {
        // These say what applies instead of an object whose rejection is a problem of its own.
        if (severity !== "error" || !subject || code === "fails-closed" || code === "stored-version") continue;
        rejected.add({ type: subject.kind.toLowerCase(), name: `${subject.namespace}/${subject.name}` });
        invalid.add({ ...labelsOf(subject.kind, subject.group), reason: "invalid_resource" });
      }
    },
  };
}

/** The name of a kind in URLs of the Kubernetes API. */
function resourceOf(kind: string): string {
  return `${kind.toLowerCase().replace(/([^aeiou])y$/, "$1ie")}s`;
}
