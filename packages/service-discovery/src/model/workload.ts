import type { Labels } from "./service.js";

/** A pod or a WorkloadEntry, independent of services. */
export interface Workload {
  readonly kind: "Pod" | "WorkloadEntry";
  readonly cluster: string;
  readonly namespace: string;
  /** Name of the object. */
  readonly name: string;
  /** Name for telemetry: of the Deployment, StatefulSet or other controller; of the WorkloadEntry or its group. */
  readonly workloadName: string;
  /** All addresses, the primary one first. For a WorkloadEntry, possibly one hostname or `unix://` path. */
  readonly addresses: readonly string[];
  /** Labels and topology labels. */
  readonly labels: Labels;
  readonly serviceAccount: string;
  /** SPIFFE ID; empty without a service account. */
  readonly identity: string;
  /** `region/zone/subzone`; empty if unknown. */
  readonly locality: string;
  readonly network: string;
  readonly nodeName: string;
  readonly tlsMode: string;
  /** The pod's DNS name is `hostname.subdomain.namespace.svc.domain`; both are empty if it has none. */
  readonly hostname: string;
  readonly subdomain: string;
  /** 0 if not set. */
  readonly weight: number;
  /** Named ports of containers, or `WorkloadEntry.ports`. */
  readonly ports: Readonly<Record<string, number>>;
  /** Selected only by ServiceEntries with DNS resolution, because the address is a hostname or a path. */
  readonly dnsOnly: boolean;
}

/** A service port that a workload implements. */
export interface ServiceTarget {
  /** ID of the service (`Service.id`). */
  readonly service: string;
  /** The service's port. */
  readonly port: { readonly name: string; readonly number: number };
  /** The workload's listening port; 0 for a Unix socket. */
  readonly targetPort: number;
}

/** A gateway to another network. */
export interface NetworkGateway {
  readonly network: string;
  readonly cluster: string;
  /** An IP address or an unresolved hostname. */
  readonly address: string;
  /** Port for mutual TLS with SNI; 0 if none. */
  readonly port: number;
  /** Port for HBONE; 0 if none. */
  readonly hbonePort: number;
}
