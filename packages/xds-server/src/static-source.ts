import { ResourceSet, type Resource, xdsType } from "@istiod/resources";
import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { Peer, ResourceSource, SourceChange } from "./source.js";

/** Sets by type URL. */
export type ResourceSets = Readonly<Record<string, Iterable<Resource>>>;

/** A client of a static source. */
export interface StaticClient {
  readonly node: Node;
  readonly peer: Peer;
}

/** A source with the same resources for every client, changed by method calls. */
export interface StaticSource extends ResourceSource<StaticClient> {
  /** Clients whose streams are open, oldest first. */
  readonly clients: readonly StaticClient[];
  /** Replaces the sets of the given types as one change. Returns the revision, counted from 1. */
  set(sets: ResourceSets): number;
  /** Adds resources to the set of a type, replacing those of the same names. */
  put(typeUrl: string, ...resources: readonly Resource[]): number;
  /** Removes resources from the set of a type. */
  remove(typeUrl: string, ...names: readonly string[]): number;
}

/** Creates a source of the given sets. */
export function staticSource(sets: ResourceSets = {}): StaticSource {
  const current = new Map<string, ResourceSet>();
  const clients = new Set<StaticClient>();
  const listeners = new Set<(change: SourceChange<StaticClient>) => void>();
  let revision = 0;

  const asSet = (resources: Iterable<Resource>): ResourceSet =>
    resources instanceof ResourceSet ? resources : ResourceSet.of(resources);
  const set = (changed: ResourceSets): number => {
    for (const [typeUrl, resources] of Object.entries(changed)) current.set(typeUrl, asSet(resources));
    revision++;
    for (const listener of listeners) listener({ revision, types: Object.keys(changed) });
    return revision;
  };
  const without = (typeUrl: string, names: readonly string[]): Resource[] =>
    [...(current.get(typeUrl) ?? [])].filter(({ name }) => !names.includes(name));

  for (const [typeUrl, resources] of Object.entries(sets)) current.set(typeUrl, asSet(resources));
  return {
    get clients() {
      return [...clients];
    },
    set,
    put(typeUrl, ...resources) {
      const before = [...(current.get(typeUrl) ?? [])];
      const replaced = before.map((old) => resources.find(({ name }) => name === old.name) ?? old);
      return set({ [typeUrl]: ResourceSet.of([...replaced, ...resources]) });
    },
    remove: (typeUrl, ...names) => set({ [typeUrl]: without(typeUrl, names) }),
    ready: () => true,
    open(node, peer) {
      const client: StaticClient = { node, peer };
      clients.add(client);
      return client;
    },
    serves: (typeUrl) => current.has(typeUrl) || xdsType(typeUrl) !== undefined,
    resources: (_client, typeUrl) => current.get(typeUrl),
    watch(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: (client) => clients.delete(client),
  };
}
