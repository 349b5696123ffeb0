import type { Any } from "@bufbuild/protobuf/wkt";

/** Events of the xDS proxy, each counted by the Istio metric that its comment names. */
export interface XdsProxyEvents {
  /** `istiod_connection_failures` */
  connectionFailed?(): void;
  /** `istiod_connection_terminations` and `envoy_connection_terminations` */
  terminated?(side: "istiod" | "envoy", cause: "cancelled" | "error"): void;
  /** `xds_proxy_requests` */
  request?(typeUrl: string): void;
  /** `xds_proxy_responses` */
  response?(typeUrl: string): void;
  /** `xds_rejected_total` */
  rejected?(reason: XdsRejection): void;
}

/** Rejections: of a connection to the socket, of a message that is too large, and of a response to the agent itself. */
export type XdsRejection = "connections" | "message_size" | "agent_resource";

/** A resource for Envoy, and whether it is a substitute that istiod is to send again when Envoy reconnects. */
export interface Rewritten {
  readonly config: Any;
  readonly isSubstitute: boolean;
}

/** Rewrites a resource before it is forwarded to Envoy. */
export type ResourceRewriter = (resource: Any) => Promise<Rewritten>;

/** Handles a resource that is addressed to the agent instead of Envoy. Throws to reject it. */
export type ResourceHandler = (resource: Any) => void;

/** The application's health, which the agent reports to istiod. */
export type Health = { readonly healthy: true } | { readonly healthy: false; readonly reason: string };
