import type { JsonObject } from "@bufbuild/protobuf";
import type { IpMode } from "./ip-mode.js";
import type { IstioVersion } from "./istio-version.js";
import type { NodeMetadata } from "./node-metadata.js";

/** Type of a proxy. */
export type ProxyType = "sidecar" | "router" | "waypoint" | "ztunnel" | "agentgateway";

export const proxyTypes: readonly ProxyType[] = ["sidecar", "router", "waypoint", "ztunnel", "agentgateway"];

/** Locality of a workload; unknown parts are empty. */
export interface Locality {
  readonly region: string;
  readonly zone: string;
  readonly subzone: string;
}

/** Authenticated identity of a proxy. */
export interface VerifiedIdentity {
  readonly namespace: string;
  readonly serviceAccount: string;
}

/**
 * A client of the model: a proxy as described by its xDS node. Plain data; what the registry knows of it is found by
 * facts.
 */
export interface Proxy {
  readonly type: ProxyType;
  /** The node ID, `type~ip~name.namespace~domain`. */
  readonly nodeId: string;
  /** Third part of the node ID: `name.namespace` for a pod. */
  readonly id: string;
  /** At least one. */
  readonly ipAddresses: readonly string[];
  readonly ipMode: IpMode;
  /** DNS domain for short names, for example `shop.svc.cluster.local`. */
  readonly dnsDomain: string;
  /** The namespace whose configuration applies to it. */
  readonly namespace: string;
  /** The node's `cluster` field, its service cluster; not a Kubernetes cluster. */
  readonly nodeCluster: string;
  /** As reported by the node; the registry takes precedence. */
  readonly nodeLocality?: Locality;
  readonly version: IstioVersion;
  readonly metadata: NodeMetadata;
  /** All metadata of the node, for matches on arbitrary keys. */
  readonly rawMetadata: JsonObject;
  /**
   * Names of the extensions in the proxy's build; absent if it did not list them, in which case Istio's build is
   * assumed.
   */
  readonly extensions?: readonly string[];
  /** The version of Envoy that the proxy reports, major and minor; absent if it reports none. */
  readonly envoyVersion?: readonly [major: number, minor: number];
  /** The program that the node names, with its version as text; absent if it names none, as Envoy does. */
  readonly userAgent?: { readonly name: string; readonly version: string };
  /** Absent if the proxy was not authenticated, as on a plaintext port. It then receives no secrets. */
  readonly verifiedIdentity?: VerifiedIdentity;
}
