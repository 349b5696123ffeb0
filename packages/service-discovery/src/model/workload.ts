import type { Labels } from "./service.js";

/** A pod or a WorkloadEntry, apart from the services that it belongs to. */
export interface Workload {
  readonly kind: "Pod" | "WorkloadEntry";
  readonly cluster: string;
  readonly namespace: string;
  /** Name of the object. */
  readonly name: string;
  /** Name for telemetry: that of the Deployment, StatefulSet, …; of the WorkloadEntry or its group. */
  readonly workloadName: string;
  /** All addresses, the primary one first. One host name or `unix://` path is possible for a WorkloadEntry. */
  readonly addresses: readonly string[];
  /** Labels as declared, with those of cluster, network, locality and node added. */
  readonly labels: Labels;
  readonly serviceAccount: string;
  /** SPIFFE ID, or empty where the workload has no service account. */
  readonly identity: string;
  /** `region/zone/subzone`, or empty. */
  readonly locality: string;
  readonly network: string;
  readonly nodeName: string;
  readonly tlsMode: string;
  /** A pod's own DNS name is `hostname.subdomain.namespace.svc.domain`; both empty where it has none. */
  readonly hostname: string;
  readonly subdomain: string;
  /** 0 where none was given. */
  readonly weight: number;
  /** Named ports: of containers, or `WorkloadEntry.ports`. */
  readonly ports: Readonly<Record<string, number>>;
  /** Only a ServiceEntry of a DNS resolution can select it, since its address is a name or a path. */
  readonly dnsOnly: boolean;
}

/** A service that a workload implements, and where. */
export interface ServiceTarget {
  /** The id of the service declaration (`Service.id`). */
  readonly service: string;
  /** The service's port. */
  readonly port: { readonly name: string; readonly number: number };
  /** The port that the workload listens on; 0 for a Unix socket. */
  readonly targetPort: number;
}

/** A gateway through which another network is reached. */
export interface NetworkGateway {
  readonly network: string;
  readonly cluster: string;
  /** An IP, or a host name that is yet to be resolved. */
  readonly address: string;
  /** Port for mutual TLS with SNI; 0 if it has none. */
  readonly port: number;
  /** Port for HBONE; 0 if it has none. */
  readonly hbonePort: number;
}
