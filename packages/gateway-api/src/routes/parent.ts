import type { ParentReference } from "@istiod/config-schema";
import { gatewayApiGroup } from "../names.js";

/** An object that routes attach to. */
export interface RouteParent {
  readonly kind: "Gateway" | "ListenerSet" | "Service" | "ServiceEntry";
  readonly namespace: string;
  readonly name: string;
}

const groups: Readonly<Record<RouteParent["kind"], string>> = {
  Gateway: gatewayApiGroup,
  ListenerSet: gatewayApiGroup,
  Service: "",
  ServiceEntry: "networking.istio.io",
};

/**
 * Returns the parent that a route in a namespace refers to; undefined if istiod does not serve its kind, which another
 * controller may do.
 */
export function parentOf(
  { group = gatewayApiGroup, kind = "Gateway", namespace, name }: ParentReference,
  routeNamespace: string,
): RouteParent | undefined {
  const known = (Object.keys(groups) as RouteParent["kind"][]).find(
    (candidate) => candidate === kind && groups[candidate] === group,
  );
  return known && { kind: known, namespace: namespace ?? routeNamespace, name };
}

/** Returns a key of a parent. */
export function parentKey({ kind, namespace, name }: RouteParent): string {
  return `${kind}/${namespace}/${name}`;
}

/** Reports whether routes that attach to a parent apply to clients in the mesh. */
export function isMeshParent({ kind }: RouteParent): boolean {
  return kind === "Service" || kind === "ServiceEntry";
}

/** Returns the text by which Istio orders references to parents. */
export function parentOrder(ref: ParentReference, routeNamespace: string): string {
  const { group = gatewayApiGroup, kind = "Gateway", namespace = routeNamespace, name, sectionName = "" } = ref;
  return `${group}/${kind}/${name}/${sectionName}/${ref.port ?? 0}.${namespace}`;
}
