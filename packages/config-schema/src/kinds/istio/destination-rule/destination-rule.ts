import { collection, index } from "@istiod/incremental";
import {
  DestinationRuleSchema,
  type DestinationRule,
  TrafficPolicySchema,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import type { ConfigObject } from "../../../config-object.js";
import { discoveryNamespacesFilter } from "../../../mesh/discovered-namespaces.js";
import { checkSubsetName } from "../../../validation/network/destination.js";
import { checkExportTo } from "../../../validation/export-to.js";
import { checkLabels, checkWildcardDomain } from "../../../validation/network/names.js";
import { each, type Place } from "../../../validation/place.js";
import { checkProduct, encodedBound, encodedSize } from "../../../validation/products.js";
import { atMost } from "../../../validation/shape.js";
import { required, type Shape } from "../../../validation/shape.js";
import { checkSelector } from "../../../validation/targets.js";
import { trafficPolicyShape } from "./traffic-policy.js";
import { checkTrafficPolicy } from "./traffic-policy.js";
import { hostBucket } from "../../host-bucket.js";
import { istioKind } from "../istio-kind.js";

export type DestinationRuleObject = ConfigObject<DestinationRule>;

export const destinationRules = collection<DestinationRuleObject>("DestinationRule", {
  filter: discoveryNamespacesFilter,
});

/** DestinationRules by host: as written, or `ns/host` for a short name. See `hostBuckets`. */
export const destinationRulesByHost = index(destinationRules, "byHost", (v) => [hostBucket(v.spec.host, v.namespace)]);

const shape: Shape = {
  "": required("host"),
  "subsets[]": required("name"),
  "workloadSelector.matchLabels": atMost(4096),
  "workloadSelector.matchLabels.*": atMost(63),
  ...trafficPolicyShape("trafficPolicy"),
  ...trafficPolicyShape("subsets[].trafficPolicy"),
};

export const destinationRuleKind = istioKind({
  kind: "DestinationRule",
  group: "networking.istio.io",
  versions: ["v1", "v1beta1", "v1alpha3"],
  schema: DestinationRuleSchema,
  collection: destinationRules,
  shape,
  validate,
});

/** Validates a spec as Istio's `ValidateDestinationRule` does. */
function validate({ spec, namespace }: DestinationRuleObject, place: Place): void {
  checkWildcardDomain(spec.host, place.at("host"));
  checkTrafficPolicy(spec.trafficPolicy, namespace, place.at("trafficPolicy"));
  const names = new Set<string>();
  each(spec.subsets, place.at("subsets"), (subset, at) => {
    if (names.has(subset.name))
      at.at("name").error(`is ${JSON.stringify(subset.name)} a second time, expected unique names`);
    names.add(subset.name);
    checkSubsetName(subset.name, at.at("name"));
    checkLabels(subset.labels, at.at("labels"));
    checkTrafficPolicy(subset.trafficPolicy, namespace, at.at("trafficPolicy"));
  });
  checkExportTo(spec.exportTo, namespace, place.at("exportTo"), {
    ownNamespaceOnly: spec.workloadSelector !== undefined,
  });
  checkSelector(spec.workloadSelector, place.at("workloadSelector"));
  checkProducts(spec, place.at("subsets"));
}

/** Bounds subsets, of which each port has a cluster, and the bytes of the rule's policy that each of them repeats. */
function checkProducts({ subsets, trafficPolicy }: DestinationRule, place: Place): void {
  const clusters = subsets.length + 1;
  checkProduct(
    "clusters",
    "clusters",
    [
      ["subsets, and the service itself,", clusters],
      ["port", 1],
    ],
    place,
  );
  if (trafficPolicy === undefined || clusters * encodedBound(trafficPolicy) <= place.bounds.bytes) return;
  const bytes = encodedSize(TrafficPolicySchema, [trafficPolicy]);
  checkProduct(
    "bytes",
    "bytes",
    [
      ["subsets", clusters],
      ["bytes of trafficPolicy", bytes],
    ],
    place,
  );
}
