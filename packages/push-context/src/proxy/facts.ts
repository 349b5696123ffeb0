import { fact, type FactContext, type QueryContext } from "@istiod/incremental";
import { firstGlobalUnicast } from "./ip-mode.js";
import { compareIstioVersions } from "./istio-version.js";
import { type Labels, labelsOf, localityOf, selectorMatches } from "./labels.js";
import type { NodeMetadata, NodeMetadataKey } from "./node-metadata.js";
import type { Proxy } from "./proxy.js";

/*
 * What may be asked of the client. Each answer splits clients into classes, so a query asks the narrowest predicate that
 * decides it: `inNamespace` of a namespace that matters rather than `namespace`.
 */

export const proxyType = fact("proxyType", (proxy: Proxy) => proxy.type);

export const inNamespace = fact("inNamespace", (proxy: Proxy, namespace: string) => proxy.namespace === namespace);

/** The client's namespace itself: only where the output differs for every namespace. */
export const namespace = fact("namespace", (proxy: Proxy) => proxy.namespace);

/**
 * Whether the client's workload has all labels of a selector. An empty selector matches everyone: use {@link selects},
 * which does not ask.
 */
export const matchesLabels = fact("matchesLabels", (proxy: Proxy, selector: Labels, q: FactContext) =>
  selectorMatches(selector, labelsOf(proxy, q)),
);

/** The value of one label of the client's workload. */
export const label = fact("label", (proxy: Proxy, name: string, q: FactContext) => labelsOf(proxy, q)[name]);

/** Whether the client's workload has any label, those of its topology included. */
export const isLabelled = fact(
  "isLabelled",
  (proxy: Proxy, _: undefined, q: FactContext) => Object.keys(labelsOf(proxy, q)).length > 0,
);

/** Metadata of the node, in its typed form; read it through {@link askMetadata}, which knows the form. */
export const metadata = fact("metadata", (proxy: Proxy, key: NodeMetadataKey) => proxy.metadata[key]);

/** Any entry of the node's metadata as text: a string as it is, another value as JSON; undefined where it is absent. */
export const rawMetadata = fact("rawMetadata", (proxy: Proxy, key: string) => {
  const value = proxy.rawMetadata[key];
  return value === undefined ? undefined : typeof value === "string" ? value : JSON.stringify(value);
});

/** Whether the client runs at least this version: `[major, minor]` or `[major, minor, patch]`. */
export const versionAtLeast = fact(
  "versionAtLeast",
  (proxy: Proxy, [major, minor, patch]: readonly [number, number] | readonly [number, number, number]) =>
    compareIstioVersions(proxy.version, { major, minor, patch: patch ?? -1 }) >= 0,
);

/** The client's version as it stated it. */
export const istioVersion = fact("istioVersion", (proxy: Proxy) => proxy.metadata.ISTIO_VERSION ?? "");

/** Whether the client's Envoy has an extension; one that lists none is taken for Istio's own build, which has all. */
export const hasExtension = fact(
  "hasExtension",
  (proxy: Proxy, name: string) => proxy.extensions?.includes(name) ?? true,
);

export const ipMode = fact("ipMode", (proxy: Proxy) => proxy.ipMode);

/** The client's own addresses: only for what is bound to them or finds the workload by them. */
export const ipAddresses = fact("ipAddresses", (proxy: Proxy) => proxy.ipAddresses);

export const globalUnicastAddress = fact("globalUnicastAddress", (proxy: Proxy) =>
  firstGlobalUnicast(proxy.ipAddresses),
);

export const locality = fact("locality", (proxy: Proxy, _: void, q: FactContext) => localityOf(proxy, q));

/** The client's network as its node states it; empty if it does not. */
export const network = fact("network", (proxy: Proxy) => proxy.metadata.NETWORK ?? "");

/** Whether a network is the client's, either of them being unstated counting as the same. */
export const inNetwork = fact("inNetwork", (proxy: Proxy, name: string) => {
  const own = proxy.metadata.NETWORK ?? "";
  return own === "" || name === "" || own === name;
});

/** The Kubernetes cluster that the client says it runs in; empty if it does not. */
export const cluster = fact("cluster", (proxy: Proxy) => proxy.metadata.CLUSTER_ID ?? "");

/** Whether a cluster is the client's, either of them being unstated counting as the same. */
export const inCluster = fact("inCluster", (proxy: Proxy, id: string) => {
  const own = proxy.metadata.CLUSTER_ID ?? "";
  return own === "" || id === "" || own === id;
});

/**
 * Where the client's authenticated identity is from; undefined where it has none. What its node claims does not count.
 */
export const verifiedNamespace = fact("verifiedNamespace", (proxy: Proxy) => proxy.verifiedIdentity?.namespace);

/** Whether the client is authenticated and its identity is of this namespace. */
export const verifiedInNamespace = fact(
  "verifiedInNamespace",
  (proxy: Proxy, namespace: string) => proxy.verifiedIdentity?.namespace === namespace,
);

/** Whether the client is authenticated as this service account, of whatever namespace. */
export const verifiedAsServiceAccount = fact(
  "verifiedAsServiceAccount",
  (proxy: Proxy, serviceAccount: string) => proxy.verifiedIdentity?.serviceAccount === serviceAccount,
);

/** The suffix of short host names where the client runs, for example `shop.svc.cluster.local`. */
export const dnsDomain = fact("dnsDomain", (proxy: Proxy) => proxy.dnsDomain);

/** Whether short host names where the client runs have this suffix. */
export const hasDnsDomain = fact("hasDnsDomain", (proxy: Proxy, domain: string) => proxy.dnsDomain === domain);

/** Third part of the node's id: for a pod `name.namespace`. */
export const proxyId = fact("proxyId", (proxy: Proxy) => proxy.id);

/** The node's own `cluster` field, its service cluster. */
export const nodeCluster = fact("nodeCluster", (proxy: Proxy) => proxy.nodeCluster);

/** How traffic reaches the client: by redirection unless its node says otherwise. */
export const interceptionMode = fact("interceptionMode", (proxy: Proxy): "REDIRECT" | "TPROXY" | "NONE" => {
  const mode = proxy.metadata.INTERCEPTION_MODE;
  return mode === "TPROXY" || mode === "NONE" ? mode : "REDIRECT";
});

/** Whether the client cannot bind ports below 1024. */
export const isUnprivileged = fact("isUnprivileged", (proxy: Proxy) =>
  ["1", "t", "T", "TRUE", "true", "True"].includes(proxy.metadata.UNPRIVILEGED_POD ?? ""),
);

/** Whether the client is a gRPC application without a proxy. */
export const isProxylessGrpc = fact("isProxylessGrpc", (proxy: Proxy) => proxy.metadata.GENERATOR === "grpc");

/** One entry of the node's metadata, in its form. */
export function askMetadata<K extends NodeMetadataKey>(q: QueryContext, key: K): NodeMetadata[K] {
  return q.ask(metadata, key) as NodeMetadata[K];
}

/** Whether a selector selects the client; nothing is asked for an absent or empty one, which selects everyone. */
export function selects(q: QueryContext, selector: Labels | undefined): boolean {
  return selector === undefined || Object.keys(selector).length === 0 || q.ask(matchesLabels, selector);
}
