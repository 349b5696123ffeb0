import type { Labels } from "./service.js";

/**
 * Health of an endpoint. Draining is used only for services with persistent sessions, Unknown for WorkloadEntries
 * without health checks.
 */
export type Health = "Healthy" | "Unhealthy" | "Draining" | "Terminating" | "Unknown";

/** TLS mode of endpoints that accept Istio's mutual TLS (label `security.istio.io/tlsMode`). */
export const ISTIO_MUTUAL_TLS_MODE = "istio";
/** TLS mode of endpoints without a proxy. */
export const DISABLED_TLS_MODE = "disabled";

/** An endpoint of a workload for one port of a service. Corresponds to `model.IstioEndpoint`. */
export interface Endpoint {
  /**
   * The first address identifies the endpoint; the others are of another family. An IP, a hostname, or a path if `port`
   * is 0. Empty if only a gateway can reach the endpoint.
   */
  readonly addresses: readonly string[];
  readonly port: number;
  /** Name of the service port. */
  readonly portName: string;
  /** Number of the ServiceEntry port; 0 for Kubernetes, where ports are found by name. */
  readonly portNumber: number;
  /** The workload's labels and topology labels. */
  readonly labels: Labels;
  /** The workload's SPIFFE ID; empty if it has none. */
  readonly identity: string;
  readonly network: string;
  /** `region/zone/subzone`; trailing parts may be missing; empty if unknown. */
  readonly locality: string;
  readonly cluster: string;
  /** 0 if not set, equivalent to 1. */
  readonly weight: number;
  readonly tlsMode: string;
  readonly namespace: string;
  readonly workloadName: string;
  /** The pod's DNS name is `hostname.subdomain.namespace.svc.domain` if both are set. */
  readonly hostname: string;
  readonly subdomain: string;
  readonly nodeName: string;
  readonly health: Health;
  /** Sent only to clients in the same cluster, because the cluster does not export the service. */
  readonly sameClusterOnly?: true;
}
