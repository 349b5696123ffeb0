import { create } from "@bufbuild/protobuf";
import {
  type Cluster_TransportSocketMatch,
  Cluster_TransportSocketMatchSchema,
} from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import type { TransportSocket } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { InternalUpstreamTransportSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/internal_upstream/v3/internal_upstream";
import { query, type QueryContext } from "@istiod/incremental";
import { askMetadata, features, proxyType } from "@istiod/push-context";
import { packAny } from "./envoy/any.js";
import { hasIstioExtension } from "./istio-extensions.js";
import { transportSocket } from "./envoy/transport-socket.js";

/** The port on which workloads accept HBONE tunnels. */
export const hbonePort = 15008;

/** Reports whether the client can send through HBONE tunnels: where the mesh sends them at all, and always at waypoints. */
export function sendsHbone(q: QueryContext): boolean {
  return q.call(hboneEnabled);
}

const hboneEnabled = query(
  "sendsHbone",
  (q): boolean => features.sendHbone(q) || (features.ambient(q) && q.ask(proxyType) === "waypoint"),
);

/** Reports whether the client opens tunnels to endpoints that accept them. */
export function opensTunnels(q: QueryContext): boolean {
  return sendsHbone(q) && askMetadata(q, "DISABLE_HBONE_SEND") !== true;
}

/** Reports whether the client terminates tunnels to its workload. */
export function terminatesTunnels(q: QueryContext): boolean {
  return features.sidecarListensHbone(q) && askMetadata(q, "ENABLE_HBONE") === true;
}

/** Reports whether the ends of the client's tunnels tell each other who they are by the baggage header. */
export function exchangesBaggage(q: QueryContext): boolean {
  return features.ambientBaggage(q) && sendsHbone(q) && hasIstioExtension(q, "tunnelPeerMetadata");
}

/** Endpoints that are reached through a tunnel, with what goes inside of it. */
export function hboneSocketMatch(q: QueryContext, inner: TransportSocket): Cluster_TransportSocketMatch {
  return create(Cluster_TransportSocketMatchSchema, {
    name: "hbone",
    match: { tunnel: "http" },
    transportSocket: internalUpstreamSocket(q, inner),
  });
}

/** A transport to an internal listener that takes along what the endpoint and the cluster say of the destination. */
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
