import type { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { Resource, ResourceSet } from "@istiod/resources";
import { generators } from "@istiod/xds-generators";
import { type JsonDifference, jsonDifferences } from "./json-difference.js";
import { resourceJson, type ResourceType, resourceTypes } from "./resource-types.js";

/** A proxy in two states of a mesh; absent where that state does not have it. */
export interface ProxyPair {
  readonly before?: Proxy;
  readonly after?: Proxy;
}

/** A change of one resource, with all proxies to which it applies. */
export interface ResourceDiff {
  readonly type: string;
  readonly name: string;
  readonly change: "added" | "removed" | "changed";
  /** Differences of a changed resource: `missing` fields were removed, `extra` fields added. Empty for secrets. */
  readonly differences: readonly JsonDifference[];
  /** Node IDs, sorted. */
  readonly proxies: readonly string[];
}

export interface MeshDiff {
  /** Number of proxies in both states. */
  readonly compared: number;
  /** Node IDs of the compared proxies with a changed resource, sorted. */
  readonly changed: readonly string[];
  /** Node IDs of proxies that only the second state has, sorted. */
  readonly added: readonly string[];
  /** Node IDs of proxies that only the first state has, sorted. */
  readonly removed: readonly string[];
  /** In the order of types, then by name. */
  readonly resources: readonly ResourceDiff[];
}

/** Pairs the proxies of two states by cluster, type and name, ignoring addresses. */
export function pairProxies(before: readonly Proxy[], after: readonly Proxy[]): readonly ProxyPair[] {
  const pairs = new Map<string, ProxyPair>();
  const id = ({ type, id, metadata }: Proxy): string => `${metadata.CLUSTER_ID ?? ""} ${type} ${id}`;
  for (const proxy of before) pairs.set(id(proxy), { before: proxy });
  for (const proxy of after) pairs.set(id(proxy), { ...pairs.get(id(proxy)), after: proxy });
  return [...pairs.values()];
}

/** Compares the resources of proxies in two states of a mesh. */
export function diffMeshes(
  before: Database<Proxy>,
  after: Database<Proxy>,
  pairs: readonly ProxyPair[],
  types: readonly ResourceType[] = resourceTypes,
): MeshDiff {
  const compared = pairs.flatMap(({ before, after }) => (before && after ? [{ before, after }] : []));
  const changes = new Map<string, ProxyChanges>();
  const memo: SetChangeMemo = new Map();
  for (const pair of compared) {
    for (const type of types) {
      for (const change of setChanges(setOf(before, pair.before, type), setOf(after, pair.after, type), memo)) {
        const id = `${type.short} ${change.name} ${change.before?.version} ${change.after?.version}`;
        const known = changes.get(id);
        if (known === undefined) changes.set(id, { change, type, proxies: [pair.after.nodeId] });
        else known.proxies.push(pair.after.nodeId);
      }
    }
  }
  const nodeIds = (proxies: readonly (Proxy | undefined)[]): readonly string[] =>
    proxies.flatMap((proxy) => proxy?.nodeId ?? []).sort();
  return {
    compared: compared.length,
    changed: [...new Set([...changes.values()].flatMap(({ proxies }) => proxies))].sort(),
    added: nodeIds(pairs.map((pair) => (pair.before === undefined ? pair.after : undefined))),
    removed: nodeIds(pairs.map((pair) => (pair.after === undefined ? pair.before : undefined))),
    resources: inTypeOrder(mergeEqualDiffs([...changes.values()].map(resourceDiff)), types),
  };
}

interface SetChange {
  readonly name: string;
  readonly before?: Resource;
  readonly after?: Resource;
}

interface ProxyChanges {
  readonly change: SetChange;
  readonly type: ResourceType;
  readonly proxies: string[];
}

type SetChangeMemo = Map<ResourceSet, Map<ResourceSet, readonly SetChange[]>>;

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

/** Compares two sets, once for all proxies that share them. */
function setChanges(
  before: ResourceSet | undefined,
  after: ResourceSet | undefined,
  memo: SetChangeMemo,
): readonly SetChange[] {
  if (before === undefined || after === undefined) return [];
  const memoOfBefore = memo.get(before) ?? new Map<ResourceSet, readonly SetChange[]>();
  memo.set(before, memoOfBefore);
  let changes = memoOfBefore.get(after);
  if (changes === undefined) {
    const removed = [...before]
      .filter(({ name }) => !after.has(name))
      .map((resource): SetChange => ({ name: resource.name, before: resource }));
    const addedOrChanged = [...after].flatMap((resource): readonly SetChange[] => {
      const old = before.get(resource.name);
      return old?.version === resource.version
        ? []
        : [{ name: resource.name, ...(old && { before: old }), after: resource }];
    });
    memoOfBefore.set(after, (changes = [...removed, ...addedOrChanged]));
  }
  return changes;
}

function resourceDiff({ change: { name, before, after }, type, proxies }: ProxyChanges): ResourceDiff {
  const isSecret = type.short === "sds";
  const differences =
    before && after && !isSecret
      ? jsonDifferences(resourceJson(type.typeUrl, before.bytes), resourceJson(type.typeUrl, after.bytes))
      : [];
  return {
    type: type.short,
    name,
    change: before === undefined ? "added" : after === undefined ? "removed" : "changed",
    differences,
    proxies: [...proxies].sort(),
  };
}

/** Merges diffs that are equal except for their proxies. */
function mergeEqualDiffs(diffs: readonly ResourceDiff[]): ResourceDiff[] {
  const merged = new Map<string, ResourceDiff>();
  for (const { proxies, ...diff } of diffs) {
    const id = JSON.stringify(diff);
    merged.set(id, { ...diff, proxies: [...(merged.get(id)?.proxies ?? []), ...proxies].sort() });
  }
  return [...merged.values()];
}

function inTypeOrder(diffs: readonly ResourceDiff[], types: readonly ResourceType[]): readonly ResourceDiff[] {
  const order = types.map(({ short }) => short);
  return [...diffs].sort(
    (a, b) => order.indexOf(a.type) - order.indexOf(b.type) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  );
}
