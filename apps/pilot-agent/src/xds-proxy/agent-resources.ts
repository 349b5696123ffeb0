import type { Any } from "@bufbuild/protobuf/wkt";

/** What the xDS proxy counts; each is Istio's metric of the name that its comment gives. */
export interface XdsProxyEvents {
  /** `istiod_connection_failures` */
  connectionFailed?(): void;
  /** `istiod_connection_terminations` and `envoy_connection_terminations` */
  terminated?(side: "istiod" | "envoy", how: "cancelled" | "error"): void;
  /** `xds_proxy_requests` */
  request?(typeUrl: string): void;
  /** `xds_proxy_responses` */
  response?(typeUrl: string): void;
}

/** Takes a resource that is for the agent and not for Envoy; throws to refuse it. */
export type ResourceHandler = (resource: Any) => void;

/** The application's health, as it is reported to istiod. */
export type Health = { readonly healthy: true } | { readonly healthy: false; readonly reason: string };
