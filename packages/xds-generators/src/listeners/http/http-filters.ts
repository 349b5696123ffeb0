import { create, type JsonObject } from "@bufbuild/protobuf";
import type { QueryContext } from "@istiod/incremental";
import {
  type DnsCacheConfig,
  DnsCacheConfigSchema,
} from "@istiod/envoy-api/envoy/extensions/common/dynamic_forward_proxy/v3/dns_cache";
import { CorsSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/cors/v3/cors";
import { FilterConfigSchema as DynamicForwardProxySchema } from "@istiod/envoy-api/envoy/extensions/filters/http/dynamic_forward_proxy/v3/dynamic_forward_proxy";
import { HTTPFaultSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/fault/v3/fault";
import { FilterConfigSchema as GrpcStatsSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/grpc_stats/v3/config";
import { GrpcWebSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/grpc_web/v3/grpc_web";
import { ConfigSchema as SetFilterStateSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/set_filter_state/v3/set_filter_state";
import { RouterSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/router/v3/router";
import { StatefulSessionSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/stateful_session/v3/stateful_session";
import {
  FilterConfig_Protocol as UpstreamProtocol,
  FilterConfigSchema as AlpnSchema,
} from "@istiod/istio-api/envoy/config/filter/http/alpn/v2alpha1/config";
import { packAny } from "../../envoy/any.js";
import { type HttpFilter, httpFilter } from "../../envoy/filters.js";
import { typedStruct } from "../../envoy/typed-struct.js";
import { httpAnnouncement } from "../../istio-extensions.js";
import { applicationProtocolsKey, istioMetadata } from "../../resource-names.js";

export const cors = httpFilter("envoy.filters.http.cors", packAny(CorsSchema));
export const fault = httpFilter("envoy.filters.http.fault", packAny(HTTPFaultSchema));
export const grpcWeb = httpFilter("envoy.filters.http.grpc_web", packAny(GrpcWebSchema));
export const grpcStats = httpFilter(
  "envoy.filters.http.grpc_stats",
  packAny(GrpcStatsSchema, {
    emitFilterState: true,
    perMethodStatSpecifier: { case: "statsForAllMethods", value: { value: false } },
  }),
);
/** Without a session state of its own; routes configure it. */
export const statefulSession = httpFilter("envoy.filters.http.stateful_session", packAny(StatefulSessionSchema));

/**
 * Sets the ALPN of the upstream connection to the request's protocol. The protocols without `istio` are for servers
 * outside the mesh.
 */
const alpn = httpFilter(
  "istio.alpn",
  packAny(AlpnSchema, {
    alpnOverride: [
      { upstreamProtocol: UpstreamProtocol.HTTP10, alpnOverride: ["istio-http/1.0", "istio", "http/1.0"] },
      { upstreamProtocol: UpstreamProtocol.HTTP11, alpnOverride: ["istio-http/1.1", "istio", "http/1.1"] },
      { upstreamProtocol: UpstreamProtocol.HTTP2, alpnOverride: ["istio-h2", "istio", "h2"] },
    ],
  }),
);

/**
 * Does the same with a stock Envoy: takes the ALPN of the upstream connection from the metadata of the cluster, if it
 * has one. Envoy's TLS offers the protocols in this filter state in place of its own.
 */
const alpnFromCluster = httpFilter(
  "envoy.filters.http.set_filter_state",
  packAny(SetFilterStateSchema, {
    onRequestHeaders: [
      {
        key: { case: "objectKey", value: "envoy.network.application_protocols" },
        value: {
          case: "formatString",
          value: {
            format: {
              case: "textFormatSource",
              value: {
                specifier: {
                  case: "inlineString",
                  value: `%CLUSTER_METADATA(${istioMetadata}:${applicationProtocolsKey})%`,
                },
              },
            },
            omitEmptyValues: true,
          },
        },
        skipIfEmpty: true,
      },
    ],
  }),
);

/** Returns the filter by which a proxy announces HTTP to mesh peers, if it has one. */
export function announceHttp(q: QueryContext): readonly HttpFilter[] {
  const by = httpAnnouncement(q);
  return by === "none" ? [] : [by === "alpn-filter" ? alpn : alpnFromCluster];
}

const routerFilter = (suppressEnvoyHeaders: boolean): HttpFilter =>
  httpFilter("envoy.filters.http.router", packAny(RouterSchema, { suppressEnvoyHeaders }));
export const router = routerFilter(false);
export const routerWithoutDebugHeaders = routerFilter(true);

/** Exchanges peer metadata in headers of outbound requests. `skipExternal` excludes servers outside the mesh. */
export function outboundPeerMetadata(skipExternal: boolean, additionalLabels: readonly string[]): HttpFilter {
  return peerMetadata({
    upstream_discovery: [{ istio_headers: {} }, { workload_discovery: {} }],
    upstream_propagation: [{ istio_headers: skipExternal ? { skip_external_clusters: true } : {} }],
    ...labels(additionalLabels),
  });
}

export function inboundPeerMetadata(additionalLabels: readonly string[]): HttpFilter {
  return peerMetadata({
    downstream_discovery: [{ istio_headers: {} }, { workload_discovery: {} }],
    downstream_propagation: [{ istio_headers: {} }],
    ...labels(additionalLabels),
  });
}

/** Resolves the request's host, with a DNS cache that the cluster shares by name. */
export function dynamicForwardProxy(cache: DnsCacheConfig): HttpFilter {
  return httpFilter(
    "envoy.filters.http.dynamic_forward_proxy",
    packAny(DynamicForwardProxySchema, { implementationSpecifier: { case: "dnsCacheConfig", value: cache } }),
  );
}

export function dnsCache(name: string, dnsLookupFamily: DnsCacheConfig["dnsLookupFamily"]): DnsCacheConfig {
  return create(DnsCacheConfigSchema, { name, dnsLookupFamily });
}

function peerMetadata(config: JsonObject): HttpFilter {
  return httpFilter(
    "istio.metadata_exchange",
    typedStruct("type.googleapis.com/io.istio.http.peer_metadata.Config", config),
  );
}

function labels(additional: readonly string[]): JsonObject {
  return additional.length === 0 ? {} : { additional_labels: [...additional] };
}
