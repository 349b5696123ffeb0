import type { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { Resource, ResourceSet } from "@istiod/resources";
import { generators } from "@istiod/xds-generators";
import { type JsonDifference, jsonDifferences } from "./json-difference.js";
import { resourceJson, type ResourceType, resourceTypes } from "./resource-types.js";

/** A proxy in two states of a mesh, as it would describe itself in each; absent where it is not there. */
export interface ProxyPair {
  readonly before?: Proxy;
  readonly after?: Proxy;
}

/** What becomes of one resource, for all proxies for which the same becomes of it. */
export interface ResourceChange {
  readonly type: string;
  readonly name: string;
  readonly change: "added" | "removed" | "changed";
  /**
   * Where the two differ; of a changed resource only, and never of a secret. Kind `missing`: it is no more; `extra`: it
   * is new.
   */
  readonly differences: readonly JsonDifference[];
  /** Node ids, sorted. */
  readonly proxies: readonly string[];
}

export interface MeshChanges {
  /** How many proxies are in both states. */
  readonly compared: number;
  /** Those of them that would be sent something. */
  readonly changed: readonly string[];
  /** Proxies of one state only. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** In the order of types, then by name. */
  readonly resources: readonly ResourceChange[];
}

/** Proxies of two states as pairs, by their ids without addresses. */
export function pairProxies(before: readonly Proxy[], after: readonly Proxy[]): readonly ProxyPair[] {
  const pairs = new Map<string, ProxyPair>();
  const id = ({ type, id, metadata }: Proxy): string => `${metadata.CLUSTER_ID ?? ""} ${type} ${id}`;
  for (const proxy of before) pairs.set(id(proxy), { before: proxy });
  for (const proxy of after) pairs.set(id(proxy), { ...pairs.get(id(proxy)), after: proxy });
  return [...pairs.values()];
}

/** Which proxies' which resources differ between two states of a mesh, and how. */
export function meshChanges(
  before: Database<Proxy>,
  after: Database<Proxy>,
  pairs: readonly ProxyPair[],
  types: readonly ResourceType[] = resourceTypes,
): MeshChanges {
  const changed = new Set<string>();
  const found = new Map<
    string,
    { readonly change: SetChange; readonly type: ResourceType; readonly proxies: string[] }
  >();
  const memo = new Map<ResourceSet, Map<ResourceSet, readonly SetChange[]>>();
  const both = pairs.flatMap((pair) => (pair.before && pair.after ? [{ before: pair.before, after: pair.after }] : []));
  for (const pair of both) {
    for (const type of types) {
      for (const change of setChanges(setOf(before, pair.before, type), setOf(after, pair.after, type), memo)) {
        changed.add(pair.after.nodeId);
        const id = `${type.short} ${change.name} ${change.before?.version} ${change.after?.version}`;
        const group = found.get(id) ?? { change, type, proxies: [] };
        found.set(id, group);
        group.proxies.push(pair.after.nodeId);
      }
    }
  }
  const order = types.map(({ short }) => short);
  return {
    compared: both.length,
    changed: [...changed].sort(),
    added: pairs.flatMap((pair) => (pair.before === undefined && pair.after ? [pair.after.nodeId] : [])).sort(),
    removed: pairs.flatMap((pair) => (pair.after === undefined && pair.before ? [pair.before.nodeId] : [])).sort(),
    resources: alike([...found.values()].map(described)).sort(
      (a, b) => order.indexOf(a.type) - order.indexOf(b.type) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
    ),
  };
}

/** One change in the place of all that differ in their proxies only. */
function alike(changes: readonly ResourceChange[]): ResourceChange[] {
  const groups = new Map<string, ResourceChange>();
  for (const { proxies, ...same } of changes) {
    const id = JSON.stringify(same);
    groups.set(id, { ...same, proxies: [...(groups.get(id)?.proxies ?? []), ...proxies].sort() });
  }
  return [...groups.values()];
}

interface SetChange {
  readonly name: string;
  readonly before?: Resource;
  readonly after?: Resource;
}

function setOf(database: Database<Proxy>, proxy: Proxy, { typeUrl }: ResourceType): ResourceSet | undefined {
  const generator = generators[typeUrl];
  if (generator === undefined) return undefined;
  const view = database.view(proxy);
  try {
    return view.call(generator);
  } finally {
    view.release();
  }
}

/** The changes between two sets; found once for all proxies that have the two. */
function setChanges(
  before: ResourceSet | undefined,
  after: ResourceSet | undefined,
  memo: Map<ResourceSet, Map<ResourceSet, readonly SetChange[]>>,
): readonly SetChange[] {
  if (before === undefined || after === undefined) return [];
  const byAfter = memo.get(before) ?? new Map<ResourceSet, readonly SetChange[]>();
  memo.set(before, byAfter);
  let changes = byAfter.get(after);
  if (changes === undefined) {
    const gone = [...before]
      .filter(({ name }) => !after.has(name))
      .map((resource): SetChange => ({ name: resource.name, before: resource }));
    const others = [...after].flatMap((resource): readonly SetChange[] => {
      const old = before.get(resource.name);
      return old?.version === resource.version
        ? []
        : [{ name: resource.name, ...(old && { before: old }), after: resource }];
    });
    byAfter.set(after, (changes = [...gone, ...others]));
  }
  return changes;
}

function described({
  change: { name, before, after },
  type: { short, typeUrl },
  proxies,
}: {
  readonly change: SetChange;
  readonly type: ResourceType;
  readonly proxies: string[];
}): ResourceChange {
  const secret = short === "sds";
  const differences =
    before && after && !secret
      ? jsonDifferences(resourceJson(typeUrl, before.bytes), resourceJson(typeUrl, after.bytes))
      : [];
  return {
    type: short,
    name,
    change: before === undefined ? "added" : after === undefined ? "removed" : "changed",
    differences,
    proxies: [...proxies].sort(),
  };
}
