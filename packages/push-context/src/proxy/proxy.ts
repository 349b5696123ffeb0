import type { JsonObject } from "@bufbuild/protobuf";
import type { IpMode } from "./ip-mode.js";
import type { IstioVersion } from "./istio-version.js";
import type { NodeMetadata } from "./node-metadata.js";

/** What a proxy does: beside a workload, at an edge, for a service, for a node. */
export type ProxyType = "sidecar" | "router" | "waypoint" | "ztunnel" | "agentgateway";

export const proxyTypes: readonly ProxyType[] = ["sidecar", "router", "waypoint", "ztunnel", "agentgateway"];

/** Where a workload runs; an absent part is the empty string. */
export interface Locality {
  readonly region: string;
  readonly zone: string;
  readonly subzone: string;
}

/** Who a proxy was authenticated as. */
export interface VerifiedIdentity {
  readonly namespace: string;
  readonly serviceAccount: string;
}

/**
 * A client of the model: one proxy, as its node describes it. Plain data; what the mesh knows of it is found by facts.
 */
export interface Proxy {
  readonly type: ProxyType;
  /** The whole id, `type~ip~name.namespace~domain`. */
  readonly nodeId: string;
  /** Third part of the id: for a pod `name.namespace`. */
  readonly id: string;
  /** Never empty. */
  readonly ipAddresses: readonly string[];
  readonly ipMode: IpMode;
  /** Suffix of short host names, for example `shop.svc.cluster.local`. */
  readonly dnsDomain: string;
  /** The namespace whose configuration it takes. */
  readonly namespace: string;
  /** The node's own `cluster`, its service cluster; not a Kubernetes cluster. */
  readonly nodeCluster: string;
  /** As the node says; the registry's knowledge takes precedence. */
  readonly nodeLocality?: Locality;
  readonly version: IstioVersion;
  readonly metadata: NodeMetadata;
  /** Everything that the node sent, for matches on arbitrary keys. */
  readonly rawMetadata: JsonObject;
  /** Names of the extensions that the proxy was built with; absent: Istio's own build is assumed. */
  readonly extensions?: readonly string[];
  /** Absent where nobody authenticated the proxy, as on a plaintext port: then it is given no secrets. */
  readonly verifiedIdentity?: VerifiedIdentity;
}
