import type { Protocol } from "../protocol.js";

/** Labels of an object, name to value. */
export type Labels = Readonly<Record<string, string>>;

/** Resolution of the endpoints of a service. */
export type Resolution =
  /** Endpoints are sent by EDS (Kubernetes, ServiceEntry STATIC). */
  | "ClientSideLB"
  /** The proxy resolves hostnames and uses all addresses (ServiceEntry DNS). */
  | "DNSLB"
  /** The proxy resolves one hostname and uses one address at a time (ServiceEntry DNS_ROUND_ROBIN). */
  | "DNSRoundRobinLB"
  /** The proxy connects to the original destination (headless, ServiceEntry NONE). */
  | "Passthrough"
  /** An alias of another service (Kubernetes ExternalName). */
  | "Alias"
  /** The proxy resolves the hostname of each request (ServiceEntry DYNAMIC_DNS). */
  | "DynamicDNS";

/** Registry that declares a service: Kubernetes Services, or ServiceEntries. */
export type Registry = "Kubernetes" | "External";

/** Endpoints that clients prefer, unless a DestinationRule overrides it. */
export type TrafficDistribution = "Any" | "PreferSameZone" | "PreferSameNode";

/** Address of a service without one. */
export const UNSPECIFIED_ADDRESS = "0.0.0.0";

/** A port of a service. */
export interface ServicePort {
  /** Unique within the service; may be empty if it is the only port. */
  readonly name: string;
  /** Port of the service's address, not of its endpoints. */
  readonly number: number;
  readonly protocol: Protocol;
}

/**
 * A service without its endpoints. A Kubernetes Service, merged across clusters, is one service; a ServiceEntry is one
 * service per host and address. Corresponds to `model.Service` in `pilot/pkg/model/service.go`.
 */
export interface Service {
  /**
   * ID of this declaration. Equal to `key` for the owner of the key (the Kubernetes Service, else the oldest
   * ServiceEntry); `key/object/address` for other declarations of the hostname in the namespace.
   */
  readonly id: string;
  /** `namespace/hostname`. Endpoints and policies belong to the key and are shared by all its declarations. */
  readonly key: string;
  readonly hostname: string;
  readonly namespace: string;
  /** Name of the Kubernetes Service; the hostname for a ServiceEntry. */
  readonly name: string;
  /** Name of the object (Service or ServiceEntry). */
  readonly objectName: string;
  readonly registry: Registry;
  readonly resolution: Resolution;
  /** True if the service is outside of the mesh (ServiceEntry MESH_EXTERNAL, ExternalName). */
  readonly meshExternal: boolean;
  /** Milliseconds since the epoch; determines precedence among declarations. */
  readonly creationTimestamp: number;
  readonly ports: readonly ServicePort[];
  /** The first address, an IP or a CIDR, or `0.0.0.0`. Use `serviceAddresses` for the address in a client's cluster. */
  readonly defaultAddress: string;
  /** Addresses by Kubernetes cluster; empty for a ServiceEntry. */
  readonly clusterAddresses: Readonly<Record<string, readonly string[]>>;
  /** Auto-allocated addresses (`ServiceEntry.status.addresses`), one per family. */
  readonly autoAllocatedIpv4?: string;
  readonly autoAllocatedIpv6?: string;
  readonly labels: Labels;
  /** `*`, `.`, `~` or namespaces, as declared; empty for the mesh's default. */
  readonly exportTo: readonly string[];
  /** Limit set by MeshConfig.serviceEntryVisibility; `public` if it does not apply. */
  readonly visibility: "public" | "namespace" | "none";
  /** Labels of the selected workloads; absent without a selector. */
  readonly selector?: Labels;
  /** Declared identities (annotations, ServiceEntry.subjectAltNames), as SPIFFE IDs or DNS names. */
  readonly declaredIdentities: readonly string[];
  /** Kubernetes `spec.type`; empty for a ServiceEntry. */
  readonly type: string;
  /** Target of an ExternalName service; otherwise empty. */
  readonly externalName: string;
  /** Clients use only endpoints on their own node (`internalTrafficPolicy: Local`). */
  readonly nodeLocal: boolean;
  readonly trafficDistribution: TrafficDistribution;
  readonly publishNotReadyAddresses: boolean;
  /** DNS clusters race connections to all resolved addresses (annotation `istio.io/connect-strategy`). */
  readonly raceFirstTcpConnect: boolean;
  /** With ServiceEntry resolution NONE, maps service ports to the ports that are connected to instead. */
  readonly passthroughTargetPorts: Readonly<Record<number, number>>;
  /** Load balancer, external and node addresses of the service, by cluster. */
  readonly externalAddresses: Readonly<Record<string, readonly string[]>>;
  /** Maps service ports to node ports, by cluster, for NodePort services with a node selector. */
  readonly externalPorts: Readonly<Record<string, Readonly<Record<number, number>>>>;
  /**
   * Declarations of the key whose endpoints and identities the client does not see, because they are not exported to
   * it: names of ServiceEntries, or empty for the Kubernetes Service. Absent: it sees all.
   */
  readonly hiddenDeclarations?: readonly string[];
}

/** The endpoints of a service key (`namespace/hostname`) without those of some of its declarations. */
export interface EndpointSource {
  readonly service: string;
  readonly hidden?: readonly string[];
}

/** Returns the source of a service's endpoints, as the client sees it. */
export function endpointSource({ key, hiddenDeclarations }: Service): EndpointSource {
  return hiddenDeclarations === undefined ? { service: key } : { service: key, hidden: hiddenDeclarations };
}

/** Returns a key of a source. That of a whole service is its key. */
export function endpointSourceKey({ service, hidden }: EndpointSource): string {
  return hidden === undefined ? service : `${service} ${JSON.stringify(hidden)}`;
}

/** Returns the name of a declaration among those of its key: that of the ServiceEntry, or empty for a Service. */
export function declarationName({ registry, objectName }: Service): string {
  return registry === "External" ? objectName : "";
}

/**
 * Returns the port with this number, ignoring UDP ports: a UDP port with the same number (as for DNS) is a different
 * port.
 */
export function portNumbered(service: Service, number: number): ServicePort | undefined {
  return service.ports.find((port) => port.number === number && port.protocol !== "UDP");
}

/** Reports whether the hostname is a wildcard (`*` or `*.suffix`). */
export function isWildcardHost(hostname: string): boolean {
  return hostname.startsWith("*");
}
