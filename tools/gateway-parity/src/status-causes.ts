import { type JsonObject, omit, type Pair } from "@istiod/parity";
import { type CompareContext, ofKind } from "./compare-context.js";

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

/** Istio leaves the number of attached ListenerSets as it was when none is attached any more. */
export function withoutFormerSets([theirs, ours]: Pair, { name }: CompareContext): Pair {
  if (!name.startsWith("Gateway ") || theirs === undefined || ours === undefined) return [theirs, ours];
  const { attachedListenerSets: _, ...rest } = theirs;
  return [ours["attachedListenerSets"] === undefined ? rest : theirs, ours];
}

/**
 * Istio takes the references of a Gateway in another namespace for those of the ListenerSet whose listeners they apply
 * to.
 */
export function withoutRootsOfGateway([theirs, ours]: Pair, context: CompareContext): Pair {
  if (!context.name.startsWith("ListenerSet ") || !hasGatewayElsewhere(context)) return [theirs, ours];
  const affected = (of: JsonObject | undefined): readonly string[] =>
    Object.entries((of?.["listeners"] ?? {}) as Record<string, JsonObject>)
      .filter(([, { conditions }]) => namesRoots(conditions as JsonObject | undefined))
      .map(([name]) => name);
  const names = new Set([...affected(theirs), ...affected(ours)]);
  if (names.size === 0) return [theirs, ours];
  const without = (of: JsonObject | undefined): JsonObject => ({
    ...of,
    listeners: Object.fromEntries(
      Object.entries((of?.["listeners"] ?? {}) as JsonObject).map(([name, listener]) => [
        name,
        names.has(name) ? omit(listener, (key) => /^(Accepted|ResolvedRefs|Programmed)$/.test(key)) : listener,
      ]),
    ),
  });
  return [without(theirs), without(ours)];
}

/** Reports whether conditions name references to roots. */
function namesRoots(conditions: JsonObject = {}): boolean {
  return Object.values(conditions).some((each) =>
    /caCertificateRef|CA certificate/.test(String((each as JsonObject)["message"])),
  );
}

/** Reports whether the Gateway of a ListenerSet is in another namespace. */
function hasGatewayElsewhere(context: CompareContext): boolean {
  const [namespace = "", name] = keyOf(context);
  const set = ofKind(context, "ListenerSet").find(
    ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
  );
  const { parentRef } = (set?.spec ?? {}) as { readonly parentRef?: { readonly namespace?: string } };
  return (parentRef?.namespace ?? namespace) !== namespace;
}

/** Returns the namespace and the name of the object that a status is of. */
function keyOf({ name }: CompareContext): readonly string[] {
  return name.slice(name.indexOf(" ") + 1).split("/");
}

/**
 * Istio writes Gateways of a pool with the group of its own API, and other parents of routes to the pool, such as
 * Services, as Gateways.
 */
export function withoutPoolParents([theirs, ours]: Pair, context: CompareContext): Pair {
  if (!context.name.startsWith("InferencePool ")) return [theirs, ours];
  const parents = (of: JsonObject | undefined): Record<string, JsonObject> =>
    (of?.["parents"] ?? {}) as Record<string, JsonObject>;
  const own = parents(ours);
  const others = otherParents(context);
  const kept = Object.entries(parents(theirs))
    .map(([key, value]) => [key.replace("networking.istio.io ", "gateway.networking.k8s.io "), value] as const)
    .filter(([key]) => Object.hasOwn(own, key) || !others.has(key.split(" ").slice(2, 4).join("/")));
  const { parents: _, ...rest } = theirs ?? {};
  return [kept.length === 0 ? rest : { ...rest, parents: Object.fromEntries(kept) as JsonObject }, ours ?? {}];
}

interface RouteSpec {
  readonly parentRefs?: readonly Reference[];
  readonly rules?: readonly { readonly backendRefs?: readonly Reference[] }[];
}
interface Reference {
  readonly kind?: string;
  readonly name: string;
  readonly namespace?: string;
}

/** Returns parents (`namespace/name`) of HTTPRoutes to a pool that are of another kind than Gateway only. */
function otherParents(context: CompareContext): ReadonlySet<string> {
  const pool = keyOf(context).join("/");
  const parents = ofKind(context, "HTTPRoute").flatMap(({ metadata: { namespace = "" }, spec }) => {
    const { parentRefs = [], rules = [] } = (spec ?? {}) as RouteSpec;
    const key = (ref: Reference): string => `${ref.namespace ?? namespace}/${ref.name}`;
    const leadsToPool = rules
      .flatMap(({ backendRefs = [] }) => backendRefs)
      .some((ref) => ref.kind === "InferencePool" && key(ref) === pool);
    return leadsToPool ? parentRefs.map((ref) => ({ key: key(ref), kind: ref.kind ?? "Gateway" })) : [];
  });
  const gateways = new Set(parents.filter(({ kind }) => kind === "Gateway").map(({ key }) => key));
  return new Set(parents.map(({ key }) => key).filter((key) => !gateways.has(key)));
}
