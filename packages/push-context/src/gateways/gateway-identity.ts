import type { GatewayObject } from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import { verifiedAsServiceAccount, verifiedInNamespace } from "../proxy/facts.js";

/** Annotations of Gateways generated from the Gateway API. */
const serviceAccountAnnotation = "internal.istio.io/service-account-name";
const parentNamespaceAnnotation = "internal.istio.io/parent-namespace";

type Annotated = Pick<GatewayObject, "namespace" | "annotations">;

/** Returns the service account that a Gateway was generated for; empty for any. */
export function serviceAccountOf({ annotations }: Annotated): string {
  return annotations[serviceAccountAnnotation] ?? "";
}

/** Returns the namespace of a Gateway's workloads. For one of a ListenerSet, it is that of the parent. */
export function workloadNamespaceOf({ namespace, annotations }: Annotated): string {
  return annotations[parentNamespaceAnnotation] || namespace;
}

/** Reports whether the client's authenticated identity is one of a Gateway's workloads. */
export function hasIdentityOf(q: QueryContext, gateway: Annotated): boolean {
  const account = serviceAccountOf(gateway);
  return (
    q.ask(verifiedInNamespace, workloadNamespaceOf(gateway)) &&
    (account === "" || q.ask(verifiedAsServiceAccount, account))
  );
}
