import type { Labels } from "./service.js";

/**
 * Whether an endpoint should receive traffic. Draining exists only where sessions persist; Unknown, where nothing
 * reports health (WorkloadEntry).
 */
export type Health = "Healthy" | "Unhealthy" | "Draining" | "Terminating" | "Unknown";

/** An endpoint whose proxy accepts Istio's mutual TLS has this mode (label `security.istio.io/tlsMode`). */
export const ISTIO_MUTUAL_TLS_MODE = "istio";
/** An endpoint without a proxy. */
export const DISABLED_TLS_MODE = "disabled";

/** One address of a workload for one port of a service. Source of meaning: `model.IstioEndpoint`. */
export interface Endpoint {
  /**
   * The first one identifies the endpoint; further ones are of another family. An IP, a host name, or a path where
   * `port` is 0. Empty where only a gateway can reach it.
   */
  readonly addresses: readonly string[];
  readonly port: number;
  /** The name of the service's port that this endpoint serves. */
  readonly portName: string;
  /** The number of the ServiceEntry's port that it serves; 0 for Kubernetes, where the name decides. */
  readonly portNumber: number;
  /** The workload's labels, with those of its cluster, network, locality and node added. */
  readonly labels: Labels;
  /** The workload's SPIFFE ID, or empty. */
  readonly identity: string;
  readonly network: string;
  /** `region/zone/subzone`, later parts may be missing; empty if unknown. */
  readonly locality: string;
  readonly cluster: string;
  /** 0 where none was given, which counts as 1. */
  readonly weight: number;
  readonly tlsMode: string;
  readonly namespace: string;
  readonly workloadName: string;
  /** The pod's own DNS name is `hostname.subdomain.namespace.svc.domain`, where both are not empty. */
  readonly hostname: string;
  readonly subdomain: string;
  readonly nodeName: string;
  readonly health: Health;
  /** It is sent to clients of its own cluster alone, since that does not export its service. */
  readonly forOwnCluster?: true;
}
