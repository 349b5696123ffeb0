import type { Fields } from "../../../decoding/fields.js";
import { maxTotalWeight } from "../../../validation/numbers.js";
import {
  groupName,
  kindName,
  namespaceName,
  objectName,
  optionalInteger,
  optionalText,
  sectionNameRule,
  text,
  warnOfIgnored,
  warnOfOthers,
} from "../field-rules.js";
import type { LocalReference } from "../references.js";

/** Reference of a route to what it attaches to, as declared. */
export interface ParentReference {
  /** Default `gateway.networking.k8s.io`. Empty for the core group. */
  readonly group?: string;
  /** Default `Gateway`. */
  readonly kind?: string;
  /** Default: the namespace of the route. */
  readonly namespace?: string;
  readonly name: string;
  /** Name of a listener. */
  readonly sectionName?: string;
  readonly port?: number;
}

/** Reference to an object that receives requests or connections, as declared. */
export interface BackendObjectReference {
  /** Default: the core group. */
  readonly group?: string;
  /** Default `Service`. */
  readonly kind?: string;
  readonly name: string;
  /** Default: the namespace of the route. */
  readonly namespace?: string;
  readonly port?: number;
}

/** A backend with its share of requests or connections. */
export interface BackendReference extends BackendObjectReference {
  /** Proportion of the traffic, relative to the sum of weights. 0 to 1,000,000; default 1. */
  readonly weight: number;
}

/** Parents of a route of any kind. */
export interface RouteParents {
  readonly parentRefs: readonly ParentReference[];
}

export const routeParentFields = ["parentRefs", "useDefaultGateways"] as const;

/** Decodes the parents of a route. A reference that is repeated is reported. */
export function decodeParents(spec: Fields): RouteParents {
  warnOfIgnored(
    spec,
    "useDefaultGateways",
    "no Gateway of istiod is a default Gateway; name the Gateways in parentRefs",
  );
  const parentRefs = spec.list("parentRefs").map((ref): ParentReference => {
    warnOfOthers(ref, ["group", "kind", "namespace", "name", "sectionName", "port"]);
    return {
      ...optionalText(ref, "group", groupName),
      ...optionalText(ref, "kind", kindName),
      ...optionalText(ref, "namespace", namespaceName),
      name: text(ref, "name", objectName, "required"),
      ...optionalText(ref, "sectionName", sectionNameRule),
      ...optionalInteger(ref, "port", 1, 65_535),
    };
  });
  const seen = new Set<string>();
  for (const [i, ref] of parentRefs.entries()) {
    const { group = "gateway.networking.k8s.io", kind = "Gateway", namespace = "", name, sectionName = "" } = ref;
    const identity = JSON.stringify([group, kind, namespace, name, sectionName, ref.port ?? 0]);
    if (seen.has(identity))
      spec.fault(["parentRefs", i], ref, `another parent than those before it: ${kind} ${name} is repeated`);
    seen.add(identity);
  }
  return { parentRefs };
}

export const backendObjectFields = ["group", "kind", "name", "namespace", "port"] as const;

export function decodeBackendObject(ref: Fields): BackendObjectReference {
  return {
    ...optionalText(ref, "group", groupName),
    ...optionalText(ref, "kind", kindName),
    name: text(ref, "name", objectName, "required"),
    ...optionalText(ref, "namespace", namespaceName),
    ...optionalInteger(ref, "port", 1, 65_535),
  };
}

export const backendFields = [...backendObjectFields, "weight"] as const;

/** Decodes the backends of a rule. Weights that are too many in all for Envoy are reported. */
export function decodeBackends<B extends BackendReference>(rule: Fields, decode: (ref: Fields) => B): readonly B[] {
  const backends = rule.list("backendRefs").map(decode);
  const total = backends.reduce((sum, { weight }) => sum + weight, 0);
  if (total > maxTotalWeight)
    rule.fault(["backendRefs"], backends, `weights of at most ${maxTotalWeight} in all, not ${total}`);
  return backends;
}

export function decodeBackend(ref: Fields): BackendReference {
  return { ...decodeBackendObject(ref), weight: optionalInteger(ref, "weight", 0, 1_000_000).weight ?? 1 };
}

export function decodeLocalObject(ref: Fields): LocalReference {
  warnOfOthers(ref, ["group", "kind", "name"]);
  return {
    group: text(ref, "group", groupName, "required"),
    kind: text(ref, "kind", kindName, "required"),
    name: text(ref, "name", objectName, "required"),
  };
}
