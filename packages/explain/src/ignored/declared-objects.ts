import type { View } from "@istiod/incremental";
import { derivedFrom, gatewayObject, ingressOfGateway, type Proxy, virtualService } from "@istiod/push-context";
import { type ObjectReference, objectReference } from "./ignored-config.js";

/** An object that a user declared, and a field of it. */
export interface DeclaredField extends ObjectReference {
  readonly field: string;
}

/** Fields of routes of the Gateway API in which those of VirtualServices are declared. */
const fieldsOfRoutes = [
  { prefix: "spec.hosts", field: "spec.parentRefs" },
  { prefix: "spec.http", field: "spec.rules" },
  { prefix: "spec.tcp", field: "spec.rules" },
  { prefix: "spec.tls", field: "spec.rules" },
];

/**
 * Returns the objects that declare a field of a VirtualService (`namespace/name`), the oldest first: routes of the
 * Gateway API or Ingresses if it stands for them, else itself.
 */
export function declarationsOfRoutes(view: View<Proxy>, key: string, field: string): readonly DeclaredField[] {
  const sources = view.call(virtualService, key)?.derivedFrom ?? [];
  if (sources.length === 0) return [{ ...objectReference("VirtualService", key), field }];
  const own = fieldsOfRoutes.find(({ prefix }) => field.startsWith(prefix))?.field ?? "spec";
  return sources.map((source) => ({ ...source, field: source.kind === "Ingress" ? "spec.rules" : own }));
}

/** Returns the object that declares a field of a VirtualService; the oldest one if there are several. */
export function declarationOfRoutes(view: View<Proxy>, key: string, field: string): DeclaredField {
  return declarationsOfRoutes(view, key, field)[0] ?? { ...objectReference("VirtualService", key), field };
}

/** Returns the object that declares a server of a Gateway (`namespace/name`). */
export function declarationOfServer(view: View<Proxy>, gateway: string, index: number): DeclaredField {
  const ingress = view.call(ingressOfGateway, gateway);
  if (ingress !== undefined) return { ...objectReference("Ingress", ingress), field: "spec" };
  const [source] = derivedFrom(view.call(gatewayObject, gateway)?.annotations ?? {});
  return source === undefined
    ? { ...objectReference("Gateway", gateway), field: `spec.servers[${index}]` }
    : { ...source, field: "spec.listeners" };
}

/** Returns an object as it is named in a sentence: `HTTPRoute shop/cart`. */
export function named({ kind, namespace, name }: ObjectReference): string {
  return `${kind} ${namespace}/${name}`;
}
