import { collection, index } from "@istiod/incremental";
import { DestinationRuleSchema, type DestinationRule } from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import type { ConfigObject } from "../config-object.js";
import { hostBucket } from "./host-bucket.js";
import { istioKind } from "./istio-kind.js";

export type DestinationRuleObject = ConfigObject<DestinationRule>;

export const destinationRules = collection<DestinationRuleObject>("DestinationRule");

/** By host: as written, or `ns/host` for a short name (see `hostBuckets`). */
export const destinationRulesByHost = index(destinationRules, "byHost", (v) => [hostBucket(v.spec.host, v.namespace)]);

export const destinationRulesByNamespace = index(destinationRules, "byNamespace", (v) => [v.namespace]);

export const destinationRuleKind = istioKind({
  kind: "DestinationRule",
  group: "networking.istio.io",
  versions: ["v1", "v1beta1", "v1alpha3"],
  schema: DestinationRuleSchema,
  collection: destinationRules,
});
