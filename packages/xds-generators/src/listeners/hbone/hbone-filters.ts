import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import {
  FilterStateValue_SharedWithUpstream as Shared,
  type FilterStateValueSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/common/set_filter_state/v3/value";
import { ConfigSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/set_filter_state/v3/set_filter_state";
import type { QueryContext } from "@istiod/incremental";
import { features, hasExtension, versionAtLeast } from "@istiod/push-context";
import { packAny } from "../../envoy/any.js";
import { type HttpFilter, httpFilter } from "../../envoy/filters.js";
import { typedStruct } from "../../envoy/typed-struct.js";
import { hasIstioExtension } from "../../istio-extensions.js";
import { localPrincipalKey, peerPrincipalKey } from "../../security/authorization/principal.js";

/**
 * Passes the tunnel's metadata to the connection inside: the peer's address and authenticated identity, and the
 * destination. A destination that is not an IP address and port is left unset, and then matches no filter chain.
 * Source: pilot/pkg/xds/filters/filters.go, ConnectAuthorityFilter.
 */
export function connectAuthority(q: QueryContext): HttpFilter {
  const factory = stringFactory(q);
  return httpFilter(
    "connect_authority",
    packAny(ConfigSchema, {
      onRequestHeaders: [
        filterStateValue("envoy.filters.listener.original_dst.local_ip", "%REQ(:AUTHORITY)%"),
        filterStateValue("io.istio.connect_authority", "%REQ(:AUTHORITY)%", factory),
        filterStateValue("envoy.filters.listener.original_dst.remote_ip", "%DOWNSTREAM_REMOTE_ADDRESS%"),
        filterStateValue(peerPrincipalKey, "%DOWNSTREAM_PEER_URI_SAN%", factory),
        filterStateValue(localPrincipalKey, "%DOWNSTREAM_LOCAL_URI_SAN%", factory),
      ],
    }),
  );
}

function filterStateValue(
  key: string,
  format: string,
  factoryKey = "",
): MessageInitShape<typeof FilterStateValueSchema> {
  return {
    key: { case: "objectKey", value: key },
    factoryKey,
    value: {
      case: "formatString",
      value: { format: { case: "textFormatSource", value: { specifier: { case: "inlineString", value: format } } } },
    },
    sharedWithUpstream: Shared.ONCE,
  };
}

/**
 * Returns the factory for strings in filter state. Envoy separates connections of different peers only by hashable
 * filter state, so a hashable string is preferred: Istio's own from 1.29.2 on, or that of newer stock builds.
 */
function stringFactory(q: QueryContext): string {
  if (q.ask(hasExtension, "istio.hashable_string"))
    return q.ask(versionAtLeast, [1, 29, 2]) ? "istio.hashable_string" : "envoy.string";
  return q.ask(hasExtension, "envoy.hashable_string") ? "envoy.hashable_string" : "envoy.string";
}

/**
 * Returns the filter that discovers the peer for metrics and logs of the connection inside; none if the client lacks
 * it.
 */
export function tunnelDownstreamPeerMetadata(q: QueryContext): readonly HttpFilter[] {
  if (!hasIstioExtension(q, "peerMetadata")) return [];
  const config: JsonObject = features.ambientBaggage(q)
    ? {
        downstream_discovery: [{ workload_discovery: {} }, { baggage: {} }],
        downstream_propagation: [{ baggage: {} }],
        shared_with_upstream: true,
      }
    : { downstream_discovery: [{ workload_discovery: {} }], shared_with_upstream: true };
  return [
    httpFilter(
      "waypoint_downstream_peer_metadata",
      typedStruct("type.googleapis.com/io.istio.http.peer_metadata.Config", config),
    ),
  ];
}
