import type { ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import type { NodeMetadata } from "../node/metadata.js";

/** Everything that Envoy's bootstrap is made from. */
export interface BootstrapInputs {
  /** `<type>~<ip>~<pod>.<namespace>~<domain>` */
  readonly nodeId: string;
  readonly node: NodeMetadata;
  readonly proxyConfig: ProxyConfig;
  /** The workload's addresses, first the main one. */
  readonly addresses: readonly string[];
  readonly namespace: string;
  readonly workloadName: string;
  readonly statusPort: number;
  readonly prometheusPort: number;
  readonly secureMetricsPort?: number;
  readonly secureMergedMetricsPort?: number;
  /** In place of loopback and of all addresses, where many agents share a machine. */
  readonly bindAddress?: string;
  /** Socket of the workload's certificates, as Envoy is to open it. */
  readonly sdsSocket: string;
  /** Socket of certificates in files, where the former is somebody else's. */
  readonly filesSocket?: string;
  readonly xdsSocket: string;
  readonly outlierLogPath?: string;
  readonly logAsJson?: boolean;
  /** Default: true. */
  readonly deltaXds?: boolean;
  readonly dualStack?: boolean;
  readonly statusProxyProtocol?: boolean;
  readonly exitOnZeroConnections?: boolean;
  readonly compliancePolicy?: string;
  /** Where to find a Lightstep token; the caller writes the file. */
  readonly lightstepTokenFile?: string;
  /** What `$(HOST_IP)` stands for in addresses of collectors. */
  readonly hostIp?: string;
  /** Place for Envoy's profile. */
  readonly profilePath?: string;
  /** Told what is set aside, as an annotation that cannot be read. */
  readonly warn?: (message: string) => void;
}
