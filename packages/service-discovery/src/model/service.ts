import type { Protocol } from "../protocol.js";

/** Labels of an object, name to value. */
export type Labels = Readonly<Record<string, string>>;

/** How a client finds the endpoints of a service. */
export type Resolution =
  /** Istiod sends the endpoints (Kubernetes, ServiceEntry STATIC). */
  | "ClientSideLB"
  /** The proxy resolves the endpoints' names, all addresses (ServiceEntry DNS). */
  | "DNSLB"
  /** The proxy resolves one name and uses one address at a time (ServiceEntry DNS_ROUND_ROBIN). */
  | "DNSRoundRobinLB"
  /** The proxy connects where the application meant to (headless, ServiceEntry NONE). */
  | "Passthrough"
  /** Another name for a service (Kubernetes ExternalName). */
  | "Alias"
  /** The proxy resolves the name found in the request (ServiceEntry DYNAMIC_DNS). */
  | "DynamicDNS";

/** Where a service was declared: a Kubernetes Service, or a ServiceEntry. */
export type Registry = "Kubernetes" | "External";

/** Which endpoints a client prefers, before any DestinationRule speaks. */
export type TrafficDistribution = "Any" | "PreferSameZone" | "PreferSameNode";

/** The address of a service that has none. */
export const UNSPECIFIED_ADDRESS = "0.0.0.0";

/** A port where a service is reached. */
export interface ServicePort {
  /** Unique within the service; may be empty where it is the only one. */
  readonly name: string;
  /** The number at the service's address, not at its endpoints. */
  readonly number: number;
  readonly protocol: Protocol;
}

/**
 * A service as clients see it, without its endpoints. One Kubernetes Service (merged over clusters) gives one; one
 * ServiceEntry gives one for each host and address. Source of meaning: `model.Service` in `pilot/pkg/model/service.go`.
 */
export interface Service {
  /**
   * Names this declaration. It equals `key` for the one that owns the key (the Kubernetes Service, else the oldest);
   * further declarations of the same host in the same namespace have `key/object/address`.
   */
  readonly id: string;
  /** `namespace/hostname`: names the endpoints and the policies, which all declarations of it share. */
  readonly key: string;
  readonly hostname: string;
  readonly namespace: string;
  /** The Kubernetes Service's name; the hostname for a ServiceEntry. */
  readonly name: string;
  /** The object's own name (of the Service or of the ServiceEntry). */
  readonly objectName: string;
  readonly registry: Registry;
  readonly resolution: Resolution;
  /** Whether the service lies outside of the mesh (ServiceEntry MESH_EXTERNAL, ExternalName). */
  readonly meshExternal: boolean;
  /** Milliseconds since the epoch; decides which of two declarations wins. */
  readonly creationTimestamp: number;
  readonly ports: readonly ServicePort[];
  /** The first address, an IP or a CIDR, or `0.0.0.0`. Clients use `serviceAddresses`, which knows their cluster. */
  readonly defaultAddress: string;
  /** Addresses in each Kubernetes cluster that has the service; empty for a ServiceEntry. */
  readonly clusterAddresses: Readonly<Record<string, readonly string[]>>;
  /** Addresses given by the allocator (`ServiceEntry.status.addresses`), one a family. */
  readonly autoAllocatedIpv4?: string;
  readonly autoAllocatedIpv6?: string;
  readonly labels: Labels;
  /** `*`, `.`, `~` or namespaces, as declared; empty: the mesh's default applies. */
  readonly exportTo: readonly string[];
  /** The widest scope that MeshConfig.serviceEntryVisibility leaves; `public` where it does not apply. */
  readonly visibility: "public" | "namespace" | "none";
  /** Labels of the workloads behind it; absent where it selects none. */
  readonly selector?: Labels;
  /** Identities that are declared (annotations, ServiceEntry.subjectAltNames), as SPIFFE IDs or other names. */
  readonly declaredIdentities: readonly string[];
  /** Kubernetes `spec.type`; empty for a ServiceEntry. */
  readonly type: string;
  /** The target of an ExternalName service, else empty. */
  readonly externalName: string;
  /** Only endpoints on the client's node are used (`internalTrafficPolicy: Local`). */
  readonly nodeLocal: boolean;
  readonly trafficDistribution: TrafficDistribution;
  readonly publishNotReadyAddresses: boolean;
  /** DNS clusters race connections to all resolved addresses (annotation `istio.io/connect-strategy`). */
  readonly raceFirstTcpConnect: boolean;
  /** ServiceEntry NONE: service port to the port that is connected to instead. */
  readonly passthroughTargetPorts: Readonly<Record<number, number>>;
  /** Load balancer, external and node addresses where the service is reached from outside, by cluster. */
  readonly externalAddresses: Readonly<Record<string, readonly string[]>>;
  /** Service port to node port, by cluster, for NodePort services with a node selector. */
  readonly externalPorts: Readonly<Record<string, Readonly<Record<number, number>>>>;
}

/** The port with this name. */
export function portNamed(service: Service, name: string): ServicePort | undefined {
  return service.ports.find((port) => port.name === name);
}

/**
 * The port with this number at which connections are made: a UDP port with the same number (as of DNS) is another one.
 */
export function portNumbered(service: Service, number: number): ServicePort | undefined {
  return service.ports.find((port) => port.number === number && port.protocol !== "UDP");
}

/** Whether the hostname stands for many (`*` or `*.suffix`). */
export function isWildcardHost(hostname: string): boolean {
  return hostname.startsWith("*");
}
