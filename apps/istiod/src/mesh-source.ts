import { Code, ConnectError } from "@connectrpc/connect";
import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { Commit, Database, Query, View } from "@istiod/incremental";
import { type Proxy, ProxyNodeError, proxyFromNode, type VerifiedIdentity } from "@istiod/push-context";
import type { Resource, ResourceSet } from "@istiod/resources";
import { generators, lookups, secretLookup } from "@istiod/xds-generators";
import { type Peer, type ResourceSource, secretType, type SourceChange } from "@istiod/xds-server";
import type { Logger } from "pino";

/** A connected proxy and its view of the mesh. */
export interface MeshClient {
  readonly proxy: Proxy;
  readonly view: View<Proxy>;
  /** The last good resources of each type, which are kept while generation fails. */
  readonly last: Map<string, ResourceSet>;
  /** Requested secrets that are not served, by name, with the logged reason. */
  readonly deniedSecrets: Map<string, string>;
}

export interface MeshSourceOptions {
  readonly database: Database<Proxy>;
  readonly log: Logger;
  /** Returns the verified identity of a caller, if any. Throws a ConnectError to reject the stream. */
  readonly authorize?: (
    proxy: Proxy,
    peer: Peer,
  ) => VerifiedIdentity | undefined | Promise<VerifiedIdentity | undefined>;
  /** Called when a requested secret is denied, once until the reason changes. */
  readonly onSecretDenied?: () => void;
}

/** The source of proxies' resources: what the generators build from the database's current revision. */
export class MeshSource implements ResourceSource<MeshClient> {
  readonly #options: MeshSourceOptions;
  readonly #clients = new WeakMap<Node, MeshClient>();
  readonly #byView = new WeakMap<View<unknown>, MeshClient>();

  constructor(options: MeshSourceOptions) {
    this.#options = options;
  }

  ready(): boolean {
    return true;
  }

  /**
   * Returns the clients that a commit may affect, with the types. Names are followed again when they are requested
   * again, so subscriptions that end need not be tracked.
   */
  #affected({ affected }: Commit): ReadonlyMap<MeshClient, ReadonlySet<string>> {
    const clients = new Map<MeshClient, Set<string>>();
    for (const { view, query, arg } of affected) {
      const client = this.#byView.get(view);
      const typeUrl = typeOf.get(query);
      if (client === undefined || typeUrl === undefined) continue;
      const types = clients.get(client);
      if (types === undefined) clients.set(client, new Set([typeUrl]));
      else types.add(typeUrl);
      if (typeof arg === "string") view.unfollow(query as Query<string, unknown>, arg);
    }
    return clients;
  }

  async open(node: Node, peer: Peer): Promise<MeshClient> {
    const claimed = readProxy(node);
    const verifiedIdentity = await this.#options.authorize?.(claimed, peer);
    const proxy = verifiedIdentity === undefined ? claimed : { ...claimed, verifiedIdentity };
    const client = { proxy, view: this.#options.database.view(proxy), last: new Map(), deniedSecrets: new Map() };
    this.#clients.set(node, client);
    this.#byView.set(client.view, client);
    return client;
  }

  /** Returns the client of a stream by the node that it was opened with. */
  clientOf(node: Node): MeshClient | undefined {
    return this.#clients.get(node);
  }

  resources(client: MeshClient, typeUrl: string): ResourceSet | undefined {
    const generator = generators[typeUrl];
    if (!generator) return undefined;
    try {
      const set = client.view.follow(generator);
      client.last.set(typeUrl, set);
      return set;
    } catch (error) {
      this.#options.log.error(
        { proxy: client.proxy.nodeId, type: typeUrl, err: error },
        "generation failed, keeping the last good config",
      );
      const last = client.last.get(typeUrl);
      if (!last)
        throw new ConnectError(
          `${typeUrl} for ${client.proxy.nodeId}: ${error instanceof Error ? error.message : String(error)}`,
          Code.Internal,
        );
      return last;
    }
  }

  lookup(client: MeshClient, typeUrl: string, name: string): Resource | undefined {
    if (typeUrl === secretType) return this.#secret(client, name);
    const lookup = lookups[typeUrl];
    return lookup && client.view.follow(lookup, name);
  }

  #secret({ proxy, view, deniedSecrets }: MeshClient, name: string): Resource | undefined {
    const lookup = view.follow(secretLookup, name);
    if ("resource" in lookup) {
      deniedSecrets.delete(name);
      return lookup.resource;
    }
    if (deniedSecrets.get(name) !== lookup.denied) {
      this.#options.log.warn({ proxy: proxy.nodeId, secret: name }, `secret not served: ${lookup.denied}`);
      this.#options.onSecretDenied?.();
    }
    deniedSecrets.set(name, lookup.denied);
    return undefined;
  }

  watch(listener: (change: SourceChange<MeshClient>) => void): () => void {
    return this.#options.database.observe({
      after: (commit) => listener({ revision: commit.revision, clients: this.#affected(commit) }),
    });
  }

  close(client: MeshClient): void {
    client.view.release();
  }
}

/** Type URL of each followed query. */
const typeOf = new Map<Query<never, unknown>, string>(
  [...Object.entries(generators), ...Object.entries(lookups), [secretType, secretLookup] as const].map(
    ([typeUrl, query]) => [query, typeUrl],
  ),
);

const extensionNamesOf = new WeakMap<Node["extensions"], readonly string[]>();

/** Returns the names of extensions. Nodes of proxies of one build share both lists. */
function extensionNames(extensions: Node["extensions"]): readonly string[] {
  let names = extensionNamesOf.get(extensions);
  if (names === undefined) extensionNamesOf.set(extensions, (names = extensions.map(({ name }) => name)));
  return names;
}

/**
 * Returns the proxy that a node describes.
 *
 * @throws ConnectError `InvalidArgument` if the node is invalid
 */
export function readProxy(node: Node): Proxy {
  try {
    return proxyFromNode({
      id: node.id,
      cluster: node.cluster,
      ...(node.locality
        ? { locality: { region: node.locality.region, zone: node.locality.zone, subzone: node.locality.subZone } }
        : {}),
      ...(node.metadata ? { metadata: node.metadata } : {}),
      extensions: extensionNames(node.extensions),
    });
  } catch (error) {
    if (error instanceof ProxyNodeError) throw new ConnectError(error.message, Code.InvalidArgument);
    throw error;
  }
}
