import type { Attachment, ObjectStatus, StatusCondition } from "@istiod/gateway-api";
import { isDeepStrictEqual } from "node:util";
import { type Condition, mergeConditions } from "./conditions.js";

/** A status as API servers have it. */
export interface ObservedStatus {
  readonly conditions?: readonly Condition[];
  readonly listeners?: readonly { readonly name: string; readonly conditions?: readonly Condition[] }[];
  readonly addresses?: readonly object[];
  readonly attachedListenerSets?: number;
  readonly supportedFeatures?: readonly { readonly name: string }[];
  readonly parents?: readonly ObservedAttachment[];
  readonly ancestors?: readonly ObservedAttachment[];
}

interface ObservedAttachment {
  readonly parentRef?: object;
  readonly ancestorRef?: object;
  readonly controllerName?: string;
  readonly conditions?: readonly Condition[];
}

export interface MergeOptions {
  /** Generation of the object that the status was computed from. */
  readonly generation: number;
  /** Namespace of the object, the default of references. */
  readonly namespace: string;
  /** Names of istiod's controllers, whose entries it may remove. */
  readonly controllers: ReadonlySet<string>;
  /** The most entries of a list of parents or ancestors. */
  readonly mostEntries: number;
}

/** Types of the conditions that istiod may write. */
const ownTypes: ReadonlySet<string> = new Set([
  "Accepted",
  "Conflicted",
  "InsecureFrontendValidationMode",
  "OverlappingTLSConfig",
  "Programmed",
  "ResolvedRefs",
  "ResolvedWaypoints",
]);

/**
 * Returns the fields of a status that have to be written; undefined if the observed status has them. Lists are written
 * as a whole, with the entries of others.
 */
export function statusChange(
  observed: ObservedStatus,
  desired: ObjectStatus,
  options: MergeOptions,
): ObservedStatus | undefined {
  const merge = (before: readonly Condition[] | undefined, after: readonly StatusCondition[]): readonly Condition[] =>
    mergeConditions(before ?? [], after, { generation: options.generation, own: ownTypes });
  const {
    conditions,
    listeners,
    addresses = [],
    attachedListenerSets,
    supportedFeatures,
    parents,
    ancestors,
    ownGateways,
  } = desired;
  const merging = { ...options, ownGateways: new Set(ownGateways) };
  const status: ObservedStatus = {
    ...(conditions && { conditions: merge(observed.conditions, conditions) }),
    ...(listeners && {
      listeners: listeners.map((listener) => {
        const before = observed.listeners?.find(({ name }) => name === listener.name);
        return { ...listener, conditions: merge(before?.conditions, listener.conditions) };
      }),
    }),
    ...(addresses.length > 0 && { addresses }),
    ...(attachedListenerSets !== undefined && { attachedListenerSets }),
    ...(supportedFeatures && { supportedFeatures }),
    ...(parents && { parents: mergeAttachments("parentRef", observed.parents, parents, merge, merging) }),
    ...(ancestors && { ancestors: mergeAttachments("ancestorRef", observed.ancestors, ancestors, merge, merging) }),
  };
  const changed = Object.entries(status).filter(
    ([field, value]) => !isEqual(value, (observed as Readonly<Record<string, unknown>>)[field]),
  );
  return changed.length === 0 ? undefined : (Object.fromEntries(changed) as ObservedStatus);
}

/**
 * Returns the entries of a list with those that are desired: known ones in their places, then new ones. Entries of
 * istiod that are not desired any more are removed.
 */
function mergeAttachments(
  field: "parentRef" | "ancestorRef",
  observed: readonly ObservedAttachment[] = [],
  desired: readonly (Attachment & ObservedAttachment)[],
  merge: (before: readonly Condition[] | undefined, after: readonly StatusCondition[]) => readonly Condition[],
  { namespace, controllers, mostEntries, ownGateways }: MergeOptions & { readonly ownGateways: ReadonlySet<string> },
): readonly ObservedAttachment[] {
  const keyOf = (entry: ObservedAttachment): string =>
    `${entry.controllerName ?? ""} ${referenceKey(entry[field] ?? {}, namespace)}`;
  const wanted = new Map(desired.map((entry) => [keyOf(entry), entry]));
  const mergedWith = (before: ObservedAttachment | undefined, entry: Attachment & ObservedAttachment) => ({
    ...entry,
    conditions: merge(before?.conditions, entry.conditions),
  });
  const kept = observed.flatMap((before): readonly ObservedAttachment[] => {
    const key = keyOf(before);
    const entry = wanted.get(key);
    if (entry === undefined) {
      const isOwn = controllers.has(before.controllerName ?? "") || isOf(ownGateways, before[field] ?? {}, namespace);
      return isOwn ? [] : [before];
    }
    wanted.delete(key);
    return [mergedWith(before, entry)];
  });
  return [...kept, ...[...wanted.values()].map((entry) => mergedWith(undefined, entry))].slice(0, mostEntries);
}

/** Reports whether a reference is to one of some Gateways, or the placeholder that definitions of InferencePool set. */
function isOf(gateways: ReadonlySet<string>, { kind = "Gateway", name, ...reference }: Reference, namespace: string) {
  if (gateways.size === 0) return false;
  if (kind === "Status" && name === "default") return true;
  return kind === "Gateway" && gateways.has(`${reference.namespace ?? namespace}/${name}`);
}

interface Reference {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly sectionName?: string;
  readonly port?: number;
}

/** Returns a key that references to one object have in common, whether they spell out the defaults or not. */
function referenceKey(reference: Reference, namespace: string): string {
  const { group = "gateway.networking.k8s.io", kind = "Gateway", name = "", sectionName = "", port = "" } = reference;
  return [group, kind, reference.namespace ?? namespace, name, sectionName, port].join("/");
}

/** Compares JSON. Servers omit empty lists, and those that are absent are empty. */
function isEqual(desired: unknown, observed: unknown): boolean {
  if (observed === undefined && Array.isArray(desired)) return desired.length === 0;
  return isDeepStrictEqual(plain(desired), plain(observed));
}

/** Returns JSON without members that are undefined. */
const plain = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
