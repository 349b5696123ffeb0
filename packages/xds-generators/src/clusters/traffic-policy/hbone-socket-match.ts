import { create } from "@bufbuild/protobuf";
import {
  type Cluster_TransportSocketMatch,
  Cluster_TransportSocketMatchSchema,
} from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import type { TransportSocket } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { InternalUpstreamTransportSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/internal_upstream/v3/internal_upstream";
import type { QueryContext } from "@istiod/incremental";
import { features } from "@istiod/push-context";
import { packAny } from "../../envoy/any.js";
import { transportSocket } from "../../envoy/transport-socket.js";

/** The match for endpoints that are reached through HBONE, with the transport socket inside the tunnel. */
export function hboneSocketMatch(q: QueryContext, inner: TransportSocket): Cluster_TransportSocketMatch {
  return create(Cluster_TransportSocketMatchSchema, {
    name: "hbone",
    match: { tunnel: "http" },
    transportSocket: internalUpstreamSocket(q, inner),
  });
}

/** A transport socket to an internal listener, which passes on metadata of the endpoint and the cluster. */
function internalUpstreamSocket(q: QueryContext, inner: TransportSocket): TransportSocket {
  const kinds = [
    { name: "envoy.filters.listener.original_dst", kind: "host" },
    { name: "istio", kind: "cluster" },
    { name: "istio", kind: "host" },
    ...(features.ambientBaggage(q)
      ? [
          { name: "istio.peer_metadata", kind: "cluster" } as const,
          { name: "istio.peer_metadata", kind: "host" } as const,
        ]
      : []),
  ] as const;
  return transportSocket(
    "envoy.transport_sockets.internal_upstream",
    packAny(InternalUpstreamTransportSchema, {
      passthroughMetadata: kinds.map(({ name, kind }) => ({ name, kind: { kind: { case: kind, value: {} } } })),
      transportSocket: inner,
    }),
  );
}
