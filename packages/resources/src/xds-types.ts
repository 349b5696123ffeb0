/** A resource type of the xDS protocol. */
export interface XdsType {
  /** Type URL of the messages in responses. */
  readonly typeUrl: string;
  /**
   * Istio's short name in lower case, as in `cds`; undefined for types that Istio has no name for. Source:
   * pkg/model/xds.go.
   */
  readonly shortName?: string;
  /** `named`: clients subscribe by name only, so that a first request without names is not a wildcard subscription. */
  readonly subscription: "wildcard" | "named";
  /** True if a state-of-the-world response must contain every resource, because clients delete absent ones. */
  readonly fullState: boolean;
  /**
   * True if resources are never removed: a client drops them when it does not use them any more, and removing one that
   * it uses fails its traffic.
   */
  readonly keepsAbsent?: true;
  /** Position in a push. Types without a position follow in the order of the first requests. */
  readonly pushOrder?: number;
}

const envoy = "type.googleapis.com/envoy.";
const istio = "type.googleapis.com/istio.";

export const clusterType = `${envoy}config.cluster.v3.Cluster`;
export const endpointType = `${envoy}config.endpoint.v3.ClusterLoadAssignment`;
export const listenerType = `${envoy}config.listener.v3.Listener`;
export const routeType = `${envoy}config.route.v3.RouteConfiguration`;
export const secretType = `${envoy}extensions.transport_sockets.tls.v3.Secret`;
export const extensionConfigType = `${envoy}config.core.v3.TypedExtensionConfig`;
export const scopedRouteType = `${envoy}config.route.v3.ScopedRouteConfiguration`;
export const virtualHostType = `${envoy}config.route.v3.VirtualHost`;
export const runtimeType = `${envoy}service.runtime.v3.Runtime`;
export const nameTableType = `${istio}networking.nds.v1.NameTable`;
export const proxyConfigType = `${istio}mesh.v1alpha1.ProxyConfig`;
export const addressType = `${istio}workload.Address`;
export const workloadType = `${istio}workload.Workload`;
export const authorizationType = `${istio}security.Authorization`;

const wildcard = { subscription: "wildcard", fullState: false } as const;
const named = { subscription: "named", fullState: false } as const;

/**
 * The known types. The push order is make before break, see "Eventual consistency considerations" of the xDS protocol.
 */
export const xdsTypes: readonly XdsType[] = [
  { typeUrl: clusterType, shortName: "cds", ...wildcard, fullState: true, pushOrder: 0 },
  { typeUrl: endpointType, shortName: "eds", ...named, pushOrder: 1 },
  { typeUrl: listenerType, shortName: "lds", ...wildcard, fullState: true, pushOrder: 2 },
  { typeUrl: routeType, shortName: "rds", ...named, pushOrder: 3 },
  { typeUrl: secretType, shortName: "sds", ...named, pushOrder: 4 },
  { typeUrl: extensionConfigType, shortName: "ecds", ...named, keepsAbsent: true },
  { typeUrl: nameTableType, shortName: "nds", ...wildcard },
  { typeUrl: proxyConfigType, shortName: "pcds", ...wildcard },
  { typeUrl: addressType, shortName: "wds", ...wildcard },
  { typeUrl: workloadType, shortName: "wds", ...wildcard },
  { typeUrl: authorizationType, shortName: "wads", ...wildcard },
  { typeUrl: scopedRouteType, ...wildcard },
  { typeUrl: virtualHostType, ...named },
  { typeUrl: runtimeType, ...wildcard },
];

const byUrl: ReadonlyMap<string, XdsType> = new Map(xdsTypes.map((type) => [type.typeUrl, type]));

/** Returns the type with a URL; undefined for unknown types. */
export function xdsType(typeUrl: string): XdsType | undefined {
  return byUrl.get(typeUrl);
}

/** Returns the type with a URL or a short name in any case, the first one if several types have the name. */
export function findXdsType(name: string): XdsType | undefined {
  const shortName = name.toLowerCase();
  return byUrl.get(name) ?? xdsTypes.find((type) => type.shortName === shortName);
}

/** Returns the short name of a type in lower case, or its URL if it has none. */
export function xdsShortName(typeUrl: string): string {
  return byUrl.get(typeUrl)?.shortName ?? typeUrl;
}

/** Compares two types by their position in a push, for sorting. Types without a position are equal, and come last. */
export function comparePushOrder(a: string, b: string): number {
  return pushOrderOf(a) - pushOrderOf(b);
}

function pushOrderOf(typeUrl: string): number {
  return byUrl.get(typeUrl)?.pushOrder ?? xdsTypes.length;
}
