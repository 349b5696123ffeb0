import { type JsonObject, omit, type Pair } from "@istiod/parity";
import type { CompareContext } from "./compare-context.js";

/**
 * Replaces messages by Istio's if they have its parts: this control plane adds notes. Istio writes kinds with their
 * groups, and the listeners that deny a route in any order.
 */
export function withIstioMessages([theirs, ours]: Pair): Pair {
  const merged = (a: unknown, b: unknown, key: string): unknown => {
    if (key === "message" && typeof a === "string" && typeof b === "string") {
      const parts = new Set(b.split("; "));
      const own = a.replaceAll("gateway.networking.k8s.io/v1/", "").split("; ");
      return own.every((part) => parts.has(part)) ? a : b;
    }
    if (typeof a !== "object" || a === null || typeof b !== "object" || b === null || Array.isArray(b)) return b;
    const other = a as JsonObject;
    return Object.fromEntries(Object.entries(b).map(([name, inner]) => [name, merged(other[name], inner, name)]));
  };
  return [theirs, merged(theirs, ours, "") as typeof ours];
}

/** In Istio, the fault of a target is that of the targets after it, too. */
export function withOwnConditions([theirs, ours]: Pair, { name }: CompareContext): Pair {
  if (!name.startsWith("BackendTLSPolicy ") || theirs === undefined || ours === undefined) return [theirs, ours];
  const [a, b] = [theirs, ours].map((each) => each["ancestors"] as Record<string, JsonObject>) as [
    Record<string, JsonObject>,
    Record<string, JsonObject>,
  ];
  const reasonOf = (conditions: JsonObject | undefined): unknown =>
    (conditions?.["Accepted"] as JsonObject | undefined)?.["reason"];
  const faults = new Set(Object.values(b).map(reasonOf));
  const changed = Object.entries(a).map(([key, conditions]) =>
    ["TargetNotFound", "Conflicted"].includes(String(reasonOf(conditions))) &&
    faults.has(reasonOf(conditions)) &&
    reasonOf(b[key]) !== reasonOf(conditions)
      ? [key, { ...conditions, Accepted: b[key]?.["Accepted"] }]
      : [key, conditions],
  );
  return [{ ...theirs, ancestors: Object.fromEntries(changed) as JsonObject }, ours];
}

/** Istio tells whether a Secret of another namespace exists before it looks for a grant. */
export function withoutExistence([theirs, ours]: Pair, { name }: CompareContext): Pair {
  const resolved = (of: JsonObject | undefined): JsonObject =>
    ((of?.["conditions"] as JsonObject | undefined)?.["ResolvedRefs"] ?? {}) as JsonObject;
  const [a, b] = [resolved(theirs), resolved(ours)];
  if (
    !name.startsWith("Gateway ") ||
    a["reason"] !== "InvalidClientCertificateRef" ||
    b["reason"] !== "RefNotPermitted"
  )
    return [theirs, ours];
  const change = (of: JsonObject | undefined): JsonObject => ({
    ...of,
    conditions: { ...(of?.["conditions"] as JsonObject), ResolvedRefs: {} },
  });
  return [change(theirs), change(ours)];
}

/** Istio leaves the condition ResolvedRefs of a listener that is conflicted as it was before, or absent. */
export function withoutFormerReferences([theirs, ours]: Pair): Pair {
  const conditionsOf = (of: JsonObject | undefined, name: string): JsonObject | undefined =>
    (of?.["listeners"] as Record<string, { readonly conditions: JsonObject }> | undefined)?.[name]?.conditions;
  const listeners = Object.entries((theirs?.["listeners"] ?? {}) as Record<string, JsonObject>).map(
    ([name, listener]) => {
      const [a, b] = [conditionsOf(theirs, name), conditionsOf(ours, name)];
      const isConflicted = (b?.["Conflicted"] as JsonObject | undefined)?.["status"] === "True";
      if (!isConflicted || b === undefined || "ResolvedRefs" in b) return [name, listener];
      const { ResolvedRefs: _, ...conditions } = a ?? {};
      return [name, { ...listener, conditions }];
    },
  );
  return listeners.length === 0
    ? [theirs, ours]
    : [{ ...theirs, listeners: Object.fromEntries(listeners) as JsonObject }, ours];
}

/** Istio takes the references of a Gateway for those of the ListenerSet whose listeners they apply to. */
export function withoutRootsOfGateway([theirs, ours]: Pair, { name }: CompareContext): Pair {
  if (!name.startsWith("ListenerSet ") || !/caCertificateRef|CA certificate/.test(JSON.stringify(theirs)))
    return [theirs, ours];
  const without = (of: JsonObject | undefined): JsonObject => ({
    ...of,
    listeners: omit(of?.["listeners"] ?? {}, (key) => /^(Accepted|ResolvedRefs|Programmed)$/.test(key)),
  });
  return [without(theirs), without(ours)];
}

/** Istio writes Gateways of a pool with the group of its own API, and other parents of routes as Gateways. */
export function withoutPoolParents([theirs, ours]: Pair, { name }: CompareContext): Pair {
  if (!name.startsWith("InferencePool ")) return [theirs, ours];
  const parents = (of: JsonObject | undefined): Record<string, JsonObject> =>
    (of?.["parents"] ?? {}) as Record<string, JsonObject>;
  const own = parents(ours);
  const renamed = Object.fromEntries(
    Object.entries(parents(theirs)).map(([key, value]) => [
      key.replace("networking.istio.io ", "gateway.networking.k8s.io "),
      value,
    ]),
  );
  const kept = Object.fromEntries(Object.entries(renamed).filter(([key]) => Object.hasOwn(own, key)));
  const { parents: _, ...rest } = theirs ?? {};
  return [Object.keys(kept).length === 0 ? rest : { ...rest, parents: kept as JsonObject }, ours ?? {}];
}
