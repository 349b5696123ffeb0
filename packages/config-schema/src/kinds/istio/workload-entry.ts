import { collection, index } from "@istiod/incremental";
import { WorkloadEntrySchema, type WorkloadEntry } from "@istiod/istio-api/networking/v1alpha3/workload_entry";
import { clusterKey, type ConfigObject } from "../../config-object.js";
import { record, records } from "../../decoding/json.js";
import { discoveryNamespacesFilter } from "../../mesh/discovered-namespaces.js";
import type { Place } from "../../validation/place.js";
import type { Shape } from "../../validation/shape.js";
import { checkWorkload, workloadShape } from "../../validation/network/workload.js";
import { istioKind } from "./istio-kind.js";

export interface WorkloadEntryStatus {
  /** The condition `Healthy`, set by health checks of the workload. */
  readonly healthy: boolean;
}

export type WorkloadEntryObject = ConfigObject<WorkloadEntry, WorkloadEntryStatus>;

/** WorkloadEntries by `cluster/ns/name`: every cluster of a mesh has its own. */
export const workloadEntries = collection<WorkloadEntryObject>("WorkloadEntry", { filter: discoveryNamespacesFilter });

export const workloadEntriesByNamespace = index(workloadEntries, "byNamespace", (v) => [v.namespace]);

const shape: Shape = workloadShape("");

export const workloadEntryKind = istioKind({
  kind: "WorkloadEntry",
  group: "networking.istio.io",
  versions: ["v1", "v1beta1", "v1alpha3"],
  schema: WorkloadEntrySchema,
  collection: workloadEntries,
  key: clusterKey,
  labels: "all",
  status: decodeStatus,
  statusFields: { conditions: { type: true, status: true } },
  conditions: ["istio.io/WaypointBound"],
  shape,
  specRequired: true,
  validate,
});

/** Validates a spec as Istio's `ValidateWorkloadEntry` does. */
function validate({ spec }: WorkloadEntryObject, place: Place): void {
  checkWorkload(spec, { namesAllowed: true }, place);
  if (/^127\.|^(?:::1|localhost)$/.test(spec.address))
    place
      .at("address")
      .warning(
        `is ${spec.address}, which each client takes for itself, expected an address at which clients reach the workload`,
        "contradiction",
      );
  if (spec.serviceAccount.includes("/"))
    place
      .at("serviceAccount")
      .warning(
        `is ${JSON.stringify(spec.serviceAccount)}, which no service account is called: clients expect another identity than the workload has, expected the name alone`,
        "never-matches",
      );
}

function decodeStatus(status: unknown): WorkloadEntryStatus | undefined {
  const condition = records(record(status)?.["conditions"]).find((c) => c["type"] === "Healthy");
  return condition === undefined ? undefined : { healthy: condition["status"] === "True" };
}
