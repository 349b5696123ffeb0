import { create } from "@bufbuild/protobuf";
import { HeaderValueOption_HeaderAppendAction } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { TypedExtensionConfigSchema } from "@istiod/envoy-api/envoy/config/core/v3/extension";
import { HeaderMutationSchema } from "@istiod/envoy-api/envoy/extensions/http/early_header_mutation/header_mutation/v3/header_mutation";
import { query, type QueryContext } from "@istiod/incremental";
import { type ChainExtensions, features, ipMode, outboundTraffic, scopeOf } from "@istiod/push-context";
import { dnsLookupFamily } from "../../clusters/dns-lookup.js";
import { allowAnyDnsCacheConfig } from "../../clusters/dynamic-forward-proxy.js";
import { destinationHeader } from "../../cluster-ip-matching.js";
import { packAny } from "../../envoy/any.js";
import type { HttpFilter } from "../../envoy/filters.js";
import { allExtensions, httpExtensionFilters } from "../../extensions/extension-filters.js";
import { hasIstioExtension } from "../../istio-extensions.js";
import { dnsCacheName } from "../../resource-names.js";
import { httpStatsFilters } from "../../telemetry/stats-filters.js";
import { acceptsHttp10, encodeManager } from "../http/http-connection-manager.js";
import {
  announceHttp,
  cors,
  dnsCache,
  dynamicForwardProxy,
  fault,
  grpcStats,
  grpcWeb,
  outboundPeerMetadata,
  router,
  routerWithoutDebugHeaders,
  statefulSession,
} from "../http/http-filters.js";
import { outboundPeerExchange } from "../http/peer-exchange.js";
import { proxyHeaders } from "../http/proxy-headers.js";

/** The options of outbound connection managers, apart from names and routes. */
interface OutboundManagerOptions {
  readonly grpcWeb: boolean;
  /** A wildcard host that is resolved on demand. */
  readonly dynamicHost: string | null;
  /** True if it belongs to the mesh's generic HTTP proxy, whose requests have absolute URLs. */
  readonly isHttpProxy: boolean;
  /** True if the routes of requests are selected by the address that they were sent to. */
  readonly byClusterIp?: boolean;
  readonly extensions: ChainExtensions;
}

/** The connection manager of outbound listeners without its name and routes, encoded. */
export const outboundManager = query("outboundManager", (q, options: OutboundManagerOptions): Uint8Array => {
  const headers = proxyHeaders(q, "sidecar-outbound");
  const http1 = {
    ...(acceptsHttp10(q) && { acceptHttp10: true }),
    ...(options.isHttpProxy && { allowAbsoluteUrl: true }),
  };
  return encodeManager(q, {
    listener: "sidecar-outbound",
    useRemoteAddress: !options.isHttpProxy && features.useRemoteAddress(q),
    filters: outboundFilters(q, options),
    settings: {
      serverName: headers.serverName,
      serverHeaderTransformation: headers.serverHeaderTransformation,
      ...(headers.generateRequestId === false && { generateRequestId: false }),
      ...(Object.keys(http1).length > 0 && { httpProtocolOptions: http1 }),
      ...(options.byClusterIp === true && { earlyHeaderMutationExtensions: [destinationMutation] }),
    },
  });
});

/** Sets the header by which virtual hosts are selected, before they are. */
const destinationMutation = create(TypedExtensionConfigSchema, {
  name: "envoy.http.early_header_mutation.header_mutation",
  typedConfig: packAny(HeaderMutationSchema, {
    mutations: [
      {
        action: {
          case: "append",
          value: {
            header: { key: destinationHeader, value: "%DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT%" },
            appendAction: HeaderValueOption_HeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
          },
        },
      },
    ],
  }),
});

/**
 * Returns the HTTP filters, in the order of the request path. Source: pilot/pkg/networking/core/listener_builder.go,
 * buildHTTPConnectionManager.
 */
function outboundFilters(q: QueryContext, options: OutboundManagerOptions): readonly HttpFilter[] {
  const headers = proxyHeaders(q, "sidecar-outbound");
  const inMeshOnly = headers.metadataInMeshOnly && !options.isHttpProxy;
  const exchanges = features.metadataExchange(q) && hasIstioExtension(q, "peerMetadata");
  const family = dnsLookupFamily(q, q.ask(ipMode));
  return [
    ...(exchanges ? [outboundPeerMetadata(inMeshOnly, features.metadataExchangeAdditionalLabels(q))] : []),
    ...(inMeshOnly ? [] : outboundPeerExchange(q)),
    ...httpExtensionFilters(q, allExtensions(options.extensions)),
    ...(options.grpcWeb ? [grpcWeb] : []),
    grpcStats,
    ...announceHttp(q),
    fault,
    cors,
    ...httpStatsFilters(q, "sidecar-outbound"),
    ...(features.persistentSessionFilter(q) ? [statefulSession] : []),
    ...(options.dynamicHost === null ? [] : [dynamicForwardProxy(dnsCache(dnsCacheName(options.dynamicHost), family))]),
    ...(q.call(outboundTraffic, scopeOf(q)).mode === "ALLOW_ANY_DYNAMIC_DNS"
      ? [dynamicForwardProxy(allowAnyDnsCacheConfig(q))]
      : []),
    headers.suppressDebugHeaders ? routerWithoutDebugHeaders : router,
  ];
}
