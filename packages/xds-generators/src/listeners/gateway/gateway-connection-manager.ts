import {
  HttpConnectionManager_CodecType as Codec,
  HttpConnectionManager_ForwardClientCertDetails as Forwarding,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { query, type QueryContext } from "@istiod/incremental";
import { type ChainExtensions, features, proxyConfig, routesToInferencePools } from "@istiod/push-context";
import type { HttpFilter } from "../../envoy/filters.js";
import { endpointPicking } from "../../extensions/endpoint-picker.js";
import { httpExtensionFilters } from "../../extensions/extension-filters.js";
import { hasIstioExtension } from "../../istio-extensions.js";
import { httpAuthorization } from "../../security/authorization/client-authorization.js";
import { jwtFilters } from "../../security/jwt-filters.js";
import { httpStatsFilters } from "../../telemetry/stats-filters.js";
import { acceptsHttp10, encodeManager } from "../http/http-connection-manager.js";
import {
  announceHttp,
  cors,
  fault,
  grpcStats,
  grpcWeb,
  outboundPeerMetadata,
  router,
  routerWithoutDebugHeaders,
  statefulSession,
} from "../http/http-filters.js";
import { outboundPeerExchange } from "../http/peer-exchange.js";
import { clientCertForwarding, proxyHeaders } from "../http/proxy-headers.js";

interface GatewayManagerOptions {
  readonly grpcWeb: boolean;
  readonly http3?: true;
  readonly extensions: ChainExtensions;
}

/**
 * The connection manager of a gateway's listeners without its name and routes, encoded. Source:
 * pilot/pkg/networking/core/gateway.go.
 */
export const gatewayManager = query("gatewayManager", (q, options: GatewayManagerOptions): Uint8Array => {
  const headers = proxyHeaders(q, "gateway");
  const topology = proxyConfig(q, "gatewayTopology");
  const forwarding = clientCertForwarding(topology?.forwardClientCertDetails) ?? Forwarding.SANITIZE_SET;
  const sets = forwarding === Forwarding.APPEND_FORWARD || forwarding === Forwarding.SANITIZE_SET;
  return encodeManager(q, {
    listener: "gateway",
    useRemoteAddress: true,
    filters: gatewayFilters(q, options),
    settings: {
      xffNumTrustedHops: topology?.numTrustedProxies ?? 0,
      forwardClientCertDetails: forwarding,
      ...(sets && { setCurrentClientCertDetails: { subject: true, cert: true, dns: true, uri: true } }),
      serverName: headers.serverName,
      serverHeaderTransformation: headers.serverHeaderTransformation,
      ...(headers.generateRequestId === false && { generateRequestId: false }),
      httpProtocolOptions: { acceptHttp10: acceptsHttp10(q) },
      ...(options.http3 && { codecType: Codec.HTTP3, http3ProtocolOptions: {} }),
    },
  });
});

/** Returns the HTTP filters, in the order of the request path. */
function gatewayFilters(q: QueryContext, { grpcWeb: web, extensions }: GatewayManagerOptions): readonly HttpFilter[] {
  const headers = proxyHeaders(q, "gateway");
  const exchanges = features.metadataExchange(q) && hasIstioExtension(q, "peerMetadata");
  const authorization = q.call(httpAuthorization, "certificate");
  return [
    ...(exchanges
      ? [outboundPeerMetadata(headers.metadataInMeshOnly, features.metadataExchangeAdditionalLabels(q))]
      : []),
    ...(headers.metadataInMeshOnly ? [] : outboundPeerExchange(q)),
    ...authorization.custom,
    ...httpExtensionFilters(q, extensions.beforeAuthentication),
    ...q.call(jwtFilters),
    ...httpExtensionFilters(q, extensions.beforeAuthorization),
    ...authorization.local,
    ...httpExtensionFilters(q, extensions.afterAuthorization),
    ...(routesToInferencePools(q) ? [endpointPicking] : []),
    ...(web ? [grpcWeb] : []),
    grpcStats,
    ...announceHttp(q),
    fault,
    cors,
    ...httpStatsFilters(q, "gateway"),
    ...(features.persistentSessionFilter(q) ? [statefulSession] : []),
    headers.suppressDebugHeaders ? routerWithoutDebugHeaders : router,
  ];
}
