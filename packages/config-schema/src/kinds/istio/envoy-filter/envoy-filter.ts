import { collection, index } from "@istiod/incremental";
import {
  type EnvoyFilter,
  EnvoyFilter_ApplyTo as ApplyTo,
  type EnvoyFilter_EnvoyConfigObjectPatch as ConfigPatch,
  EnvoyFilter_Patch_Operation as Operation,
  EnvoyFilter_PatchContext as Context,
  EnvoyFilterSchema,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import type { ConfigObject } from "../../../config-object.js";
import { discoveryNamespacesFilter } from "../../../mesh/discovered-namespaces.js";
import { each, type Place } from "../../../validation/place.js";
import { checkProduct } from "../../../validation/products.js";
import { atMostOne, port, type Shape } from "../../../validation/shape.js";
import {
  checkAttachment,
  checkWorkloadSelector,
  targetRefsShape,
  workloadSelectorShape,
} from "../../../validation/targets.js";
import { checkLuaScripts } from "./lua-scripts.js";
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
 * Of these, only scripts are checked.
 */
function validate({ spec }: EnvoyFilterObject, place: Place): void {
  checkWorkloadSelector(spec.workloadSelector, place.at("workloadSelector"));
  checkAttachment({ targetRefs: spec.targetRefs }, place);
  each(spec.configPatches, place.at("configPatches"), checkPatch);
  each(spec.configPatches, place.at("configPatches"), ({ match, patch }, at) => {
    // No proxy gets a patch of waypoints, as in Istio, so Envoy compiles none of its scripts.
    if (match?.context !== Context.WAYPOINT) checkLuaScripts(patch?.value, at.at("patch", "value"));
  });
  const bytes = spec.configPatches.filter(isForAll).reduce((sum, { patch }) => sum + valueSize(patch?.value), 0);
  checkProduct("filterBytes", "bytes", [["bytes of values", bytes]], place.at("configPatches"));
}

/** Kinds of which a proxy has one, or one of each name. */
const appliedOnce: readonly ApplyTo[] = [ApplyTo.BOOTSTRAP, ApplyTo.EXTENSION_CONFIG];

/** Reports whether a patch may apply to any number of resources, each of which gets its value. */
function isForAll({ applyTo, match, patch }: ConfigPatch): boolean {
  if (appliedOnce.includes(applyTo) || (applyTo === ApplyTo.CLUSTER && patch?.operation === Operation.ADD))
    return false;
  const objects = match?.objectTypes;
  switch (objects?.case) {
    case "cluster":
      return objects.value.name === "" && objects.value.service === "";
    case "listener":
      return objects.value.name === "" && objects.value.portNumber === 0;
    case "routeConfiguration": {
      const { name, portNumber, vhost } = objects.value;
      return name === "" && portNumber === 0 && (vhost?.name ?? "") === "";
    }
    default:
      return true;
  }
}

const valueSize = (value: object | undefined): number =>
  value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
