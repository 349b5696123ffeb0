import type { PolicyTargetReference, WorkloadSelector } from "@istiod/istio-api/type/v1beta1/selector";
import { each, type Place } from "./place.js";
import { atMost, atMostOne, matches, required, size, type Shape } from "./shape.js";

/** Kinds that a policy can target, as `group/kind`. */
const targets = [
  "core/Service",
  "networking.istio.io/ServiceEntry",
  "gateway.networking.k8s.io/Gateway",
  "gateway.networking.k8s.io/GatewayClass",
];

const reference = (at: string): Shape => ({
  [at]: required("kind", "name"),
  [`${at}.group`]: [
    atMost(253),
    matches(
      /^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
      "an API group, or nothing for core",
    ),
  ],
  [`${at}.kind`]: [size(1, 63), matches(/^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$/, "a kind")],
  [`${at}.name`]: size(1, 253),
});

/** Shape of `spec.selector`, a `type.v1beta1` selector. */
export const selectorShape: Shape = { "selector.matchLabels": atMost(4096), "selector.matchLabels.*": atMost(63) };

/** Shape of `spec.workloadSelector`, a `networking.v1alpha3` selector. */
export const workloadSelectorShape: Shape = {
  "workloadSelector.labels": atMost(256),
  "workloadSelector.labels.*": atMost(63),
};

/** Shape of `spec.targetRefs`. */
export const targetRefsShape: Shape = { ...reference("targetRefs[]"), targetRefs: atMost(16) };

/** Shape of policies that are attached by a selector or by references. */
export const attachmentShape: Shape = {
  "": atMostOne("selector", "targetRef", "targetRefs"),
  ...selectorShape,
  ...reference("targetRef"),
  ...targetRefsShape,
};

export interface Attached {
  readonly selector?: WorkloadSelector | undefined;
  readonly targetRef?: PolicyTargetReference | undefined;
  readonly targetRefs: readonly PolicyTargetReference[];
}

/** Checks the selector and the target references of a policy. */
export function checkAttachment(policy: Attached, place: Place): void {
  checkSelector(policy.selector, place.at("selector"));
  checkTarget(policy.targetRef, place.at("targetRef"));
  each(policy.targetRefs, place.at("targetRefs"), checkTarget);
}

/** Checks a selector. Without labels it selects everything, which is more likely a mistake. */
export function checkSelector(selector: WorkloadSelector | undefined, place: Place): void {
  if (selector !== undefined) checkSelectorLabels(selector.matchLabels, place, "matchLabels");
}

/** Checks a selector of the networking API, whose field is `labels`. */
export function checkWorkloadSelector(
  selector: { readonly labels: Readonly<Record<string, string>> } | undefined,
  place: Place,
): void {
  if (selector !== undefined) checkSelectorLabels(selector.labels, place, "labels");
}

/** Checks the selector of a service's endpoints, which selects nothing without labels. */
export function checkEndpointSelector(
  selector: { readonly labels: Readonly<Record<string, string>> } | undefined,
  place: Place,
): void {
  if (selector !== undefined) checkSelectorLabels(selector.labels, place, "labels", "no workload");
}

function checkSelectorLabels(
  labels: Readonly<Record<string, string>>,
  place: Place,
  field: string,
  selectedWithoutLabels = "every workload of the namespace",
): void {
  const entries = Object.entries(labels);
  if (entries.length === 0) place.warning(`has no labels and selects ${selectedWithoutLabels}`);
  for (const [key, value] of entries) {
    if (key === "") place.at(field).error("has an empty key, expected names of labels");
    if (key.includes("*") || value.includes("*"))
      place.at(field, key).error(`is ${JSON.stringify(value)}, expected no wildcard in key or value`);
  }
}

function checkTarget(target: PolicyTargetReference | undefined, place: Place): void {
  if (target === undefined) return;
  if (target.name === "") place.at("name").error("is empty, expected the name of an object");
  if (target.namespace !== "")
    place
      .at("namespace")
      .error(`is ${JSON.stringify(target.namespace)}, expected none: references do not cross namespaces`);
  const kind = `${target.group === "" ? "core" : target.group}/${target.kind}`;
  if (!targets.includes(kind)) place.error(`refers to ${kind}, expected one of ${targets.join(", ")}`);
}
