import { fact, type FactContext, type QueryContext } from "@istiod/incremental";
import { firstGlobalUnicast } from "./ip-mode.js";
import { compareIstioVersions } from "./istio-version.js";
import { type Labels, labelsOf, localityOf, selectorMatches } from "./labels.js";
import type { NodeMetadata, NodeMetadataKey } from "./node-metadata.js";
import type { Proxy } from "./proxy.js";

/*
 * Facts about the client. Clients with different answers are in different classes, so queries should ask the narrowest
 * predicate: `inNamespace` of a relevant namespace rather than `namespace`.
 */

export const proxyType = fact("proxyType", (proxy: Proxy) => proxy.type);

export const inNamespace = fact("inNamespace", (proxy: Proxy, namespace: string) => proxy.namespace === namespace);

/** The client's namespace. Ask it only if the output differs between all namespaces. */
export const namespace = fact("namespace", (proxy: Proxy) => proxy.namespace);

/**
 * Reports whether the client's workload has all labels of a selector. Use {@link selects} if the selector may be empty:
 * it does not ask.
 */
export const matchesLabels = fact("matchesLabels", (proxy: Proxy, selector: Labels, q: FactContext) =>
  selectorMatches(selector, labelsOf(proxy, q)),
);

/** The value of one label of the client's workload. */
export const label = fact("label", (proxy: Proxy, name: string, q: FactContext) => labelsOf(proxy, q)[name]);

/** Reports whether the client's workload has any label, including topology labels. */
export const isLabelled = fact(
  "isLabelled",
  (proxy: Proxy, _: undefined, q: FactContext) => Object.keys(labelsOf(proxy, q)).length > 0,
);

/** Parsed node metadata. Read it with {@link askMetadata}, which returns the type of each key. */
export const metadata = fact("metadata", (proxy: Proxy, key: NodeMetadataKey) => proxy.metadata[key]);

/** Any key of the node metadata as text: a string unchanged, another value as JSON; undefined if absent. */
export const rawMetadata = fact("rawMetadata", (proxy: Proxy, key: string) => {
  const value = proxy.rawMetadata[key];
  return value === undefined ? undefined : typeof value === "string" ? value : JSON.stringify(value);
});

/** Reports whether the client runs at least this version: `[major, minor]` or `[major, minor, patch]`. */
export const versionAtLeast = fact(
  "versionAtLeast",
  (proxy: Proxy, [major, minor, patch]: readonly [number, number] | readonly [number, number, number]) =>
    compareIstioVersions(proxy.version, { major, minor, patch: patch ?? -1 }) >= 0,
);

/** The version that the client reports. */
export const istioVersion = fact("istioVersion", (proxy: Proxy) => proxy.metadata.ISTIO_VERSION ?? "");

/**
 * Reports whether the client's Envoy has an extension. An Envoy that lists no extensions is assumed to be Istio's
 * build, which has all of them.
 */
export const hasExtension = fact(
  "hasExtension",
  (proxy: Proxy, name: string) => proxy.extensions?.includes(name) ?? true,
);

/** Reports whether the client's Envoy has at least this version. One that reports no version has none. */
export const envoyAtLeast = fact(
  "envoyAtLeast",
  ({ envoyVersion: [major, minor] = [0, 0] }: Proxy, [leastMajor, leastMinor]: readonly [number, number]) =>
    major > leastMajor || (major === leastMajor && minor >= leastMinor),
);

export const ipMode = fact("ipMode", (proxy: Proxy) => proxy.ipMode);

/** The client's own addresses. Ask them only for what is bound to them or to find the workload. */
export const ipAddresses = fact("ipAddresses", (proxy: Proxy) => proxy.ipAddresses);

export const globalUnicastAddress = fact("globalUnicastAddress", (proxy: Proxy) =>
  firstGlobalUnicast(proxy.ipAddresses),
);

export const locality = fact("locality", (proxy: Proxy, _: void, q: FactContext) => localityOf(proxy, q));

/** The network that the client's node metadata reports; empty if none. */
export const network = fact("network", (proxy: Proxy) => proxy.metadata.NETWORK ?? "");

/** Reports whether a network is the client's. An unset network on either side matches any. */
export const inNetwork = fact("inNetwork", (proxy: Proxy, name: string) => {
  const own = proxy.metadata.NETWORK ?? "";
  return own === "" || name === "" || own === name;
});

/** The cluster ID that the client's node metadata reports; empty if none. */
export const cluster = fact("cluster", (proxy: Proxy) => proxy.metadata.CLUSTER_ID ?? "");

/** Reports whether a cluster is the client's. An unset cluster on either side matches any. */
export const inCluster = fact("inCluster", (proxy: Proxy, id: string) => {
  const own = proxy.metadata.CLUSTER_ID ?? "";
  return own === "" || id === "" || own === id;
});

/** Namespace of the client's authenticated identity; undefined if it has none. Node metadata is not considered. */
export const verifiedNamespace = fact("verifiedNamespace", (proxy: Proxy) => proxy.verifiedIdentity?.namespace);

/** Reports whether the client is authenticated. */
export const isAuthenticated = fact("isAuthenticated", (proxy: Proxy) => proxy.verifiedIdentity !== undefined);

/** Reports whether the client's authenticated identity is in this namespace. */
export const verifiedInNamespace = fact(
  "verifiedInNamespace",
  (proxy: Proxy, namespace: string) => proxy.verifiedIdentity?.namespace === namespace,
);

/** Reports whether the client's authenticated identity has this service account, in any namespace. */
export const verifiedAsServiceAccount = fact(
  "verifiedAsServiceAccount",
  (proxy: Proxy, serviceAccount: string) => proxy.verifiedIdentity?.serviceAccount === serviceAccount,
);

/** The client's authenticated service account, in the cluster that its node metadata reports; undefined if none. */
export const verifiedAccount = fact(
  "verifiedAccount",
  ({ verifiedIdentity, metadata }: Proxy) =>
    verifiedIdentity && { cluster: metadata.CLUSTER_ID ?? "", ...verifiedIdentity },
);

/** The client's DNS domain, for example `shop.svc.cluster.local`. */
export const dnsDomain = fact("dnsDomain", (proxy: Proxy) => proxy.dnsDomain);

/** Reports whether this is the client's DNS domain. */
export const hasDnsDomain = fact("hasDnsDomain", (proxy: Proxy, domain: string) => proxy.dnsDomain === domain);

/** Third part of the node ID: `name.namespace` for a pod. */
export const proxyId = fact("proxyId", (proxy: Proxy) => proxy.id);

/** The node's `cluster` field, its service cluster. */
export const nodeCluster = fact("nodeCluster", (proxy: Proxy) => proxy.nodeCluster);

/** Traffic interception mode; REDIRECT unless the node metadata says otherwise. */
export const interceptionMode = fact("interceptionMode", (proxy: Proxy): "REDIRECT" | "TPROXY" | "NONE" => {
  const mode = proxy.metadata.INTERCEPTION_MODE;
  return mode === "TPROXY" || mode === "NONE" ? mode : "REDIRECT";
});

/** Reports whether the client cannot bind ports below 1024. */
export const isUnprivileged = fact("isUnprivileged", (proxy: Proxy) =>
  ["1", "t", "T", "TRUE", "true", "True"].includes(proxy.metadata.UNPRIVILEGED_POD ?? ""),
);

/** Reports whether the client is a gRPC application without a proxy. */
export const isProxylessGrpc = fact("isProxylessGrpc", (proxy: Proxy) => proxy.metadata.GENERATOR === "grpc");

/** Asks one key of the node metadata. */
export function askMetadata<K extends NodeMetadataKey>(q: QueryContext, key: K): NodeMetadata[K] {
  return q.ask(metadata, key) as NodeMetadata[K];
}

/** Reports whether a selector selects the client. An absent or empty selector selects all clients without asking. */
export function selects(q: QueryContext, selector: Labels | undefined): boolean {
  return selector === undefined || Object.keys(selector).length === 0 || q.ask(matchesLabels, selector);
}
