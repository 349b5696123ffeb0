import {
  HttpConnectionManager_ForwardClientCertDetails as Forwarding,
  HttpConnectionManager_ServerHeaderTransformation as ServerHeader,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import type { QueryContext } from "@istiod/incremental";
import {
  type ForwardClientCertDetails,
  ForwardClientCertDetails as MeshForwarding,
  ProxyConfig_ProxyHeaders_MetadataExchangeMode as ExchangeMode,
  type ProxyConfig_ProxyHeaders_SetCurrentClientCertDetails as CertDetails,
} from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { type ListenerClass, proxyConfig } from "@istiod/push-context";

/** The headers that a proxy adds. */
interface ProxyHeaders {
  /** Empty: Envoy's default, `envoy`. */
  readonly serverName: string;
  readonly serverHeaderTransformation: ServerHeader;
  readonly forwardedClientCert: Forwarding;
  readonly certDetails?: CertDetails;
  /** False: no request ids are generated. */
  readonly generateRequestId?: false;
  readonly suppressDebugHeaders: boolean;
  /** True if metadata headers are sent only to peers inside the mesh. */
  readonly metadataInMeshOnly: boolean;
}

/**
 * Returns the client's `proxyHeaders` configuration with Istio's defaults. Source:
 * pilot/pkg/networking/util/proxy_headers.go.
 */
export function proxyHeaders(q: QueryContext, listener: ListenerClass): ProxyHeaders {
  const settings = proxyConfig(q, "proxyHeaders");
  const noServer = settings?.server?.disabled === true;
  const named = settings?.server?.value || (listener === "sidecar-outbound" ? "" : "istio-envoy");
  return {
    serverName: noServer ? "" : named,
    serverHeaderTransformation: noServer ? ServerHeader.PASS_THROUGH : ServerHeader.OVERWRITE,
    forwardedClientCert: clientCertForwarding(settings?.forwardedClientCert) ?? Forwarding.APPEND_FORWARD,
    ...(settings?.setCurrentClientCertDetails && { certDetails: settings.setCurrentClientCertDetails }),
    ...(settings?.requestId?.disabled === true && { generateRequestId: false }),
    suppressDebugHeaders: settings?.envoyDebugHeaders?.disabled === true,
    metadataInMeshOnly: settings?.metadataExchangeHeaders?.mode === ExchangeMode.IN_MESH,
  };
}

/** Converts the mesh's value to Envoy's; undefined if unset. */
export function clientCertForwarding(details: ForwardClientCertDetails | undefined): Forwarding | undefined {
  switch (details) {
    case MeshForwarding.SANITIZE:
      return Forwarding.SANITIZE;
    case MeshForwarding.FORWARD_ONLY:
      return Forwarding.FORWARD_ONLY;
    case MeshForwarding.APPEND_FORWARD:
      return Forwarding.APPEND_FORWARD;
    case MeshForwarding.SANITIZE_SET:
      return Forwarding.SANITIZE_SET;
    case MeshForwarding.ALWAYS_FORWARD_ONLY:
      return Forwarding.ALWAYS_FORWARD_ONLY;
    default:
      return undefined;
  }
}
