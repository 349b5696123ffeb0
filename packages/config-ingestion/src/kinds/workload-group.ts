import { collection, index } from "@istiod/incremental";
import { WorkloadGroupSchema, type WorkloadGroup } from "@istiod/istio-api/networking/v1alpha3/workload_group";
import type { ConfigObject } from "../config-object.js";
import { istioKind } from "./istio-kind.js";

export type WorkloadGroupObject = ConfigObject<WorkloadGroup>;

export const workloadGroups = collection<WorkloadGroupObject>("WorkloadGroup");

export const workloadGroupsByNamespace = index(workloadGroups, "byNamespace", (v) => [v.namespace]);

export const workloadGroupKind = istioKind({
  kind: "WorkloadGroup",
  group: "networking.istio.io",
  versions: ["v1", "v1beta1", "v1alpha3"],
  schema: WorkloadGroupSchema,
  collection: workloadGroups,
});
