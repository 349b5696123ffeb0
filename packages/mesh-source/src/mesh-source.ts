import { Code, ConnectError } from "@connectrpc/connect";
import { configMessageTypeOf, findConfigType, meshConfigType, servedConfig } from "@istiod/config-xds";
import type { Node } from "@istiod/envoy-api/envoy/config/core/v3/base";
import type { Commit, Database, Query, View } from "@istiod/incremental";
import {
  type Proxy,
  ProxyNodeError,
  proxyFromNode,
  rootCertificatesSuffix,
  type SecretReader,
  type VerifiedIdentity,
} from "@istiod/push-context";
import { endpointType, type Resource, ResourceSet, xdsType } from "@istiod/resources";
import { type Clock, monotonicClock, reasonOf, shortened } from "@istiod/runtime";
import { endpointServices, generators, lookups, secretLookup, unknownLoadAssignment } from "@istiod/xds-generators";
import { type Peer, type ResourceSource, secretType, type SourceChange } from "@istiod/xds-server";
import type { Logger } from "pino";
import type { HeldSecretPermission } from "./secret-access-reviews.js";
import { DeniedSecrets } from "./denied-secrets.js";
import { type FailedResource, FailedResources, FailureLog } from "./failed-resources.js";
import { type LastGood, LastGoodMemory } from "./last-good-memory.js";

/** A workload outside of Kubernetes whose stream is open. */
export interface MeshWorkload {
  /** Reports its health. */
  report(health: { readonly isHealthy: boolean; readonly message: string }): void;
  /** Notes the end of its stream. */
  closed(): void;
}

/** A connected proxy and its view of the mesh. */
export interface MeshClient {
  readonly proxy: Proxy;
  readonly view: View<Proxy>;
  /** The last good resources, which are kept while their generation fails. */
  readonly failed: FailedResources;
  /** Key by which the proxy is recognized when it reconnects. */
  readonly key: string;
  readonly deniedSecrets: DeniedSecrets;
  /** The held decision on its service account, from the first Secret that it requests. */
  readonly secretPermission: { held?: HeldSecretPermission | undefined };
  /** Its registration as a workload outside of Kubernetes, if it is one. */
  readonly registered?: MeshWorkload | undefined;
}

export interface MeshSourceOptions {
  readonly database: Database<Proxy>;
  readonly log: Logger;
  /** Returns the verified identity of a caller, if any. Throws a ConnectError to reject the stream. */
  readonly authorize?: (
    proxy: Proxy,
    peer: Peer,
  ) => VerifiedIdentity | undefined | Promise<VerifiedIdentity | undefined>;
  /** Checks whether a client may read the configuration objects. Throws a ConnectError if not. Default: all may. */
  readonly authorizeConfig?: (proxy: Proxy) => void;
  /** Holds the decision on a proxy that requests Secrets. Default: none is required. */
  readonly holdSecretPermission?: (reader: SecretReader) => HeldSecretPermission;
  /** Registers the workload of a proxy. Throws a ConnectError to reject the stream. Default: none is registered. */
  readonly register?: (proxy: Proxy) => Promise<MeshWorkload | undefined>;
  /** IDs of clusters by the aliases that proxies may give instead. Default: none. */
  readonly clusterAliases?: Readonly<Record<string, string>>;
  /** Called when a requested secret is denied, once until the reason changes. */
  readonly onSecretDenied?: () => void;
  /** Default: the clock of the process. */
  readonly clock?: Clock;
}

/** The source of proxies' resources: what the generators build from the database's current revision. */
export class MeshSource implements ResourceSource<MeshClient> {
  readonly #options: MeshSourceOptions;
  readonly #clients = new WeakMap<Node, MeshClient>();
  readonly #open = new Set<MeshClient>();
  readonly #failures: FailureLog;
  readonly #lastGood = new LastGoodMemory();
  readonly #byView = new WeakMap<View<unknown>, MeshClient>();

  constructor(options: MeshSourceOptions) {
    this.#options = options;
    this.#failures = new FailureLog(options.log, options.clock ?? monotonicClock);
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
      const typeUrl = query === configQuery ? String(arg) : typeOf.get(query);
      if (client === undefined || typeUrl === undefined) continue;
      const types = clients.get(client);
      if (types === undefined) clients.set(client, new Set([typeUrl]));
      else types.add(typeUrl);
      if (typeof arg === "string") view.unfollow(query as Query<string, unknown>, arg);
    }
    return clients;
  }

  async open(node: Node, peer: Peer): Promise<MeshClient> {
    const claimed = readProxy(node, this.#options.clusterAliases);
    const verifiedIdentity = await this.#options.authorize?.(claimed, peer);
    const proxy = verifiedIdentity === undefined ? claimed : { ...claimed, verifiedIdentity };
    const registered = await this.#options.register?.(proxy);
    const { database, log, clock = monotonicClock } = this.#options;
    const key = `${this.#identityOf(verifiedIdentity) ?? peer.address} ${proxy.nodeId}`;
    const client = {
      registered,
      proxy,
      view: database.view(proxy),
      key,
      failed: new FailedResources(this.#failures, proxy, this.#lastGood, this.#recall(key, clock)),
      deniedSecrets: new DeniedSecrets(log, proxy.nodeId, clock),
      secretPermission: {},
    };
    this.#clients.set(node, client);
    this.#open.add(client);
    this.#byView.set(client.view, client);
    // A gateway requests secrets next, and its listeners would become active without those that it may have.
    if (proxy.type === "router") await this.#holdSecretPermission(client)?.decided;
    return client;
  }

  /** Returns the client of a stream by the node that it was opened with. */
  clientOf(node: Node): MeshClient | undefined {
    return this.#clients.get(node);
  }

  /** Reports whether a type is known. Known types that nothing is generated for get empty responses. */
  serves(typeUrl: string, { proxy }: MeshClient): boolean {
    if (xdsType(typeUrl) !== undefined) return true;
    if (!isConfigType(typeUrl)) return false;
    this.#options.authorizeConfig?.(proxy);
    return true;
  }

  messageType(typeUrl: string): string {
    return isConfigType(typeUrl) ? configMessageTypeOf(typeUrl) : typeUrl;
  }

  identity({ proxy: { verifiedIdentity } }: MeshClient): string | undefined {
    return this.#identityOf(verifiedIdentity);
  }

  #identityOf(identity: VerifiedIdentity | undefined): string | undefined {
    return identity && `${identity.namespace}/${identity.serviceAccount}`;
  }

  /** Returns the last good resources of a client's last stream, which may not have ended yet. */
  #recall(key: string, clock: Clock): LastGood | undefined {
    const remembered = this.#lastGood.recall(key, clock.now());
    if (remembered !== undefined) return remembered;
    for (const other of this.#open) if (other.key === key) return other.failed.lastGood();
    return undefined;
  }

  resources(client: MeshClient, typeUrl: string, wildcard = true): ResourceSet | undefined {
    // gRPC libraries name what they subscribe to, of which only that is generated.
    if (!wildcard && client.proxy.metadata.GENERATOR === "grpc" && Object.hasOwn(lookups, typeUrl))
      return ResourceSet.empty;
    if (isConfigType(typeUrl)) return client.view.follow(servedConfig, typeUrl);
    const generator = Object.hasOwn(generators, typeUrl) ? generators[typeUrl] : undefined;
    if (!generator) return undefined;
    try {
      return client.failed.set(typeUrl, () => client.view.follow(generator));
    } catch (error) {
      throw new ConnectError(`${typeUrl} for ${client.proxy.nodeId}: ${reasonOf(error)}`, Code.Internal);
    }
  }

  /** Returns the resources of connected proxies that cannot be generated, each with one of the proxies. */
  failed(): ReadonlyMap<string, FailedResource> {
    const found = new Map<string, FailedResource>();
    for (const client of this.#open)
      for (const [name, failure] of client.failed.entries()) if (!found.has(name)) found.set(name, failure);
    return found;
  }

  lookup(client: MeshClient, typeUrl: string, name: string): Resource | undefined {
    if (typeUrl === secretType) return client.failed.named(typeUrl, name, () => this.#secret(client, name));
    if (typeUrl === endpointType) {
      const unknown = unknownLoadAssignment(client.view.follow(endpointServices), name);
      if (unknown !== undefined) return unknown;
    }
    const lookup = Object.hasOwn(lookups, typeUrl) ? lookups[typeUrl] : undefined;
    return lookup && client.failed.named(typeUrl, name, () => client.view.follow(lookup, name));
  }

  isFailing({ failed }: MeshClient, typeUrl: string, name: string): boolean {
    return failed.isFailing(typeUrl, name);
  }

  report({ registered }: MeshClient, typeUrl: string, error: { readonly message: string } | undefined): boolean {
    if (typeUrl !== healthType) return false;
    registered?.report({ isHealthy: error === undefined, message: error?.message ?? "" });
    return true;
  }

  unsubscribed({ view, deniedSecrets, failed }: MeshClient, typeUrl: string, name: string): void {
    failed.delete(typeUrl, name);
    if (typeUrl === secretType) {
      deniedSecrets.delete(name);
      view.drop(secretLookup, name);
      return;
    }
    const lookup = Object.hasOwn(lookups, typeUrl) ? lookups[typeUrl] : undefined;
    if (lookup !== undefined) view.drop(lookup, name);
  }

  #holdSecretPermission({ proxy, secretPermission }: MeshClient): HeldSecretPermission | undefined {
    const { verifiedIdentity, metadata } = proxy;
    if (verifiedIdentity === undefined) return undefined;
    return (secretPermission.held ??= this.#options.holdSecretPermission?.({
      cluster: metadata.CLUSTER_ID ?? "",
      ...verifiedIdentity,
    }));
  }

  #secret(client: MeshClient, name: string): Resource | undefined {
    const { proxy, view, deniedSecrets } = client;
    if (requiresPermission(name)) this.#holdSecretPermission(client);
    // Without an identity every name is denied: no memo is kept for it.
    const lookup = proxy.verifiedIdentity === undefined ? unauthenticated : view.follow(secretLookup, name);
    if ("resource" in lookup) {
      deniedSecrets.delete(name);
      return lookup.resource;
    }
    if (deniedSecrets.add(name, lookup.denied)) this.#options.onSecretDenied?.();
    return undefined;
  }

  watch(listener: (change: SourceChange<MeshClient>) => void): () => void {
    return this.#options.database.observe({
      after: (commit) => listener({ revision: commit.revision, clients: this.#affected(commit) }),
    });
  }

  close(client: MeshClient): void {
    this.#open.delete(client);
    const { clock = monotonicClock } = this.#options;
    this.#lastGood.remember(client.key, client.failed.lastGood(), clock.now());
    client.registered?.closed();
    client.secretPermission.held?.release();
    client.view.release();
  }
}

/** Type by which agents report the health of their workloads. */
const healthType = "type.googleapis.com/istio.v1.HealthInformation";

function isConfigType(typeUrl: string): boolean {
  return typeUrl === meshConfigType || findConfigType(typeUrl) !== undefined;
}

/** Reports whether a secret is served only with the permission to list Secrets. Root certificates are public. */
function requiresPermission(name: string): boolean {
  return name.startsWith("kubernetes://") && !name.endsWith(rootCertificatesSuffix);
}

const configQuery: unknown = servedConfig;

const unauthenticated = {
  denied: "the proxy is not authenticated; secrets are served only on the TLS port",
} as const;

/** Type URL of each followed query. */
const typeOf = new Map<Query<never, unknown>, string>(
  [
    ...Object.entries(generators),
    ...Object.entries(lookups),
    [secretType, secretLookup] as const,
    [endpointType, endpointServices] as const,
  ].map(([typeUrl, query]) => [query, typeUrl]),
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
 * @param clusterAliases IDs of clusters by the aliases that the node may give instead. Default: none
 * @throws ConnectError `InvalidArgument` if the node is invalid
 */
export function readProxy(node: Node, clusterAliases: Readonly<Record<string, string>> = {}): Proxy {
  const claimed = node.metadata?.["CLUSTER_ID"];
  const alias =
    typeof claimed === "string" && Object.hasOwn(clusterAliases, claimed) ? clusterAliases[claimed] : undefined;
  try {
    return proxyFromNode({
      id: node.id,
      cluster: node.cluster,
      ...(node.locality
        ? { locality: { region: node.locality.region, zone: node.locality.zone, subzone: node.locality.subZone } }
        : {}),
      ...(node.metadata
        ? { metadata: alias === undefined ? node.metadata : { ...node.metadata, CLUSTER_ID: alias } }
        : {}),
      extensions: extensionNames(node.extensions),
      ...envoyVersion(node),
      ...userAgent(node),
    });
  } catch (error) {
    if (error instanceof ProxyNodeError) throw new ConnectError(shortened(error.message), Code.InvalidArgument);
    throw error;
  }
}

function envoyVersion({ userAgentVersionType: { case: kind, value } }: Node): {
  readonly envoyVersion?: readonly [number, number];
} {
  const version = kind === "userAgentBuildVersion" ? value.version : undefined;
  return version === undefined ? {} : { envoyVersion: [version.majorNumber, version.minorNumber] };
}

function userAgent({ userAgentName: name, userAgentVersionType: { case: kind, value } }: Node): {
  readonly userAgent?: { readonly name: string; readonly version: string };
} {
  return name === "" || name === "envoy"
    ? {}
    : { userAgent: { name, version: kind === "userAgentVersion" ? value : "" } };
}
