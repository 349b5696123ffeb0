import type { ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import type { CompliancePolicy } from "@istiod/settings";
import type { NodeMetadata } from "../node/metadata.js";

/** Inputs of Envoy's bootstrap. */
export interface BootstrapInputs {
  /** `<type>~<ip>~<pod>.<namespace>~<domain>` */
  readonly nodeId: string;
  readonly node: NodeMetadata;
  readonly proxyConfig: ProxyConfig;
  /** The workload's addresses, the primary one first. */
  readonly addresses: readonly string[];
  readonly namespace: string;
  readonly workloadName: string;
  readonly statusPort: number;
  readonly prometheusPort: number;
  readonly secureMetricsPort?: number;
  readonly secureMergedMetricsPort?: number;
  /** Replaces loopback and wildcard addresses, if several agents share a machine. */
  readonly bindAddress?: string;
  /** Path of the SDS socket for the workload's certificates, as Envoy opens it. */
  readonly sdsSocket: string;
  /** Path of the agent's SDS socket for certificate files, if another process (SPIRE) serves `sdsSocket`. */
  readonly filesSocket?: string;
  readonly xdsSocket: string;
  readonly outlierLogPath?: string;
  readonly logAsJson?: boolean;
  /** Default: true. */
  readonly deltaXds?: boolean;
  readonly dualStack?: boolean;
  readonly statusProxyProtocol?: boolean;
  readonly exitOnZeroConnections?: boolean;
  readonly compliancePolicy?: "" | CompliancePolicy;
  /** Path of the Lightstep access token; the caller writes the file. */
  readonly lightstepTokenFile?: string;
  /** Value of `$(HOST_IP)` in collector addresses. */
  readonly hostIp?: string;
  /** Path of Envoy's CPU profile. Default: /var/lib/istio/data/envoy.prof. */
  readonly profilePath?: string;
  /** Called for settings that are ignored, such as an annotation that cannot be parsed. */
  readonly warn?: (message: string) => void;
}
