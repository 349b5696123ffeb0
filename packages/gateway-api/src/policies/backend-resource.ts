import { backends } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import type { StatusFault } from "../status/conditions.js";
import { type BuiltBackendTls, buildBackendTls } from "./backend-tls.js";

/** The TLS settings of an XBackend, and the fault because of which it is not served as declared. */
export interface BackendResourceTls {
  /** Undefined without TLS. */
  readonly tls?: BuiltBackendTls;
  readonly fault?: StatusFault;
}

/** The TLS settings of an XBackend (`namespace/name`). Source: `backendResourceTLSSettings`. */
export const tlsOfBackend = query("gatewayApiTlsOfBackend", (q, key: string): BackendResourceTls => {
  const backend = q.read(backends, key);
  if (backend === undefined) return {};
  const { namespace, spec } = backend;
  if (spec.type !== "ExternalHostname" || spec.externalHostname === undefined)
    return { fault: { reason: "Invalid", message: `unsupported backend type: ${spec.type}` } };
  const { mode = "None", validation } = spec.tls ?? {};
  switch (mode) {
    case "None":
      return {};
    case "ServerOnly":
      return { tls: buildBackendTls(q, validation, { namespace, hostname: spec.externalHostname }) };
    case "ClientAndServer":
      return {
        fault: {
          reason: "Invalid",
          message: "unsupported ClientAndServer TLS mode: Istio does not support client certificates on backend",
        },
      };
    default:
      return { fault: { reason: "Invalid", message: `unsupported TLS mode: "${mode}"` } };
  }
});
