import { collection, index } from "@istiod/incremental";
import { EnvoyFilterSchema, type EnvoyFilter } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import type { ConfigObject } from "../../../config-object.js";
import { discoveryNamespacesFilter } from "../../../mesh/discovered-namespaces.js";
import { each, type Place } from "../../../validation/place.js";
import { atMostOne, port, type Shape } from "../../../validation/shape.js";
import {
  checkAttachment,
  checkWorkloadSelector,
  targetRefsShape,
  workloadSelectorShape,
} from "../../../validation/targets.js";
import { checkPatch } from "./patch.js";
import { istioKind } from "../istio-kind.js";

export type EnvoyFilterObject = ConfigObject<EnvoyFilter>;

export const envoyFilters = collection<EnvoyFilterObject>("EnvoyFilter", { filter: discoveryNamespacesFilter });

export const envoyFiltersByNamespace = index(envoyFilters, "byNamespace", ({ namespace }) => [namespace]);

const shape: Shape = {
  "": atMostOne("workloadSelector", "targetRefs"),
  ...workloadSelectorShape,
  ...targetRefsShape,
  "configPatches[].match.waypoint.portNumber": port,
};

export const envoyFilterKind = istioKind({
  kind: "EnvoyFilter",
  group: "networking.istio.io",
  versions: ["v1alpha3"],
  schema: EnvoyFilterSchema,
  collection: envoyFilters,
  shape,
  validate,
});

/**
 * Validates a spec as Istio's `ValidateEnvoyFilter` does, except for the values of patches, which need Envoy's types.
 */
function validate({ spec }: EnvoyFilterObject, place: Place): void {
  checkWorkloadSelector(spec.workloadSelector, place.at("workloadSelector"));
  checkAttachment({ targetRefs: spec.targetRefs }, place);
  each(spec.configPatches, place.at("configPatches"), checkPatch);
}
