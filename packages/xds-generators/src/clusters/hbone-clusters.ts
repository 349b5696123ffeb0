import { create } from "@bufbuild/protobuf";
import { type CircuitBreakers, CircuitBreakersSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/circuit_breaker";
import { Cluster_DiscoveryType, Cluster_LbPolicy } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { InternalUpstreamTransportSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/internal_upstream/v3/internal_upstream";
import { UpstreamTlsContextSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import { HttpProtocolOptionsSchema } from "@istiod/envoy-api/envoy/extensions/upstreams/http/v3/http_protocol_options";
import { query, type QueryContext } from "@istiod/incremental";
import { features, mesh } from "@istiod/push-context";
import type { Resource } from "@istiod/resources";
import { packAny } from "../envoy/any.js";
import { duration } from "../envoy/duration.js";
import { rawBuffer, transportSocket } from "../envoy/transport-socket.js";
import { hbonePort } from "../hbone.js";
import { connectOriginate, mainInternal } from "../resource-names.js";
import { tunnelTlsContext } from "../security/tls/tunnel-tls.js";
import { clusterResource, httpProtocolOptionsKey, newClusterDraft } from "./cluster-draft.js";
import { defaultThresholds } from "./traffic-policy/connection-pool.js";
import { passthroughProtocolOptions } from "./traffic-policy/upstream-protocol.js";

const originalDestination = "envoy.filters.listener.original_dst";
/** Idle timeout of a tunnel unless the mesh sets one, in milliseconds. */
const defaultIdleTimeoutMs = 3_600_000;

/** The cluster of HBONE tunnels: HTTP/2 over mutual TLS to the original destination or its waypoint. */
export const connectOriginateCluster = query("connectOriginateCluster", (q): Resource => {
  const { connectTimeout, hboneIdleTimeout } = mesh(q);
  const streamWindow = features.hboneInitialStreamWindow(q);
  const connectionWindow = features.hboneInitialConnectionWindow(q);
  return clusterResource(
    newClusterDraft({
      name: connectOriginate,
      clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.ORIGINAL_DST },
      lbPolicy: Cluster_LbPolicy.CLUSTER_PROVIDED,
      ...(connectTimeout && { connectTimeout }),
      cleanupInterval: duration(60_000),
      circuitBreakers: unlimitedCircuitBreakers(q),
      typedExtensionProtocolOptions: {
        [httpProtocolOptionsKey]: packAny(HttpProtocolOptionsSchema, {
          commonHttpProtocolOptions: { idleTimeout: hboneIdleTimeout ?? duration(defaultIdleTimeoutMs) },
          upstreamProtocolOptions: {
            case: "explicitHttpConfig",
            value: {
              protocolConfig: {
                case: "http2ProtocolOptions",
                value: {
                  allowConnect: true,
                  ...(streamWindow > 0 && { initialStreamWindowSize: streamWindow }),
                  ...(connectionWindow > 0 && { initialConnectionWindowSize: connectionWindow }),
                },
              },
            },
          },
        }),
      },
      lbConfig: {
        case: "originalDstLbConfig",
        value: {
          upstreamPortOverride: hbonePort,
          metadataKey: { key: originalDestination, path: [{ segment: { case: "key", value: "waypoint" } }] },
        },
      },
      transportSocket: transportSocket(
        "tls",
        packAny(UpstreamTlsContextSchema, { commonTlsContext: tunnelTlsContext(q) }),
      ),
    }).cluster,
  );
});

/** The cluster that leads from a terminated tunnel to the internal listener `main_internal`. */
export const mainInternalCluster = query("mainInternalCluster", (q): Resource => {
  return clusterResource(
    newClusterDraft({
      name: mainInternal,
      clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STATIC },
      circuitBreakers: unlimitedCircuitBreakers(q),
      loadAssignment: {
        clusterName: mainInternal,
        endpoints: [
          {
            lbEndpoints: [
              {
                hostIdentifier: {
                  case: "endpoint",
                  value: { address: { address: { case: "envoyInternalAddress", value: mainInternalAddress } } },
                },
              },
            ],
          },
        ],
      },
      transportSocket: transportSocket(
        "internal_upstream",
        packAny(InternalUpstreamTransportSchema, { transportSocket: rawBuffer("raw_buffer") }),
      ),
      typedExtensionProtocolOptions: { [httpProtocolOptionsKey]: passthroughProtocolOptions(q) },
    }).cluster,
  );
});

const mainInternalAddress = { addressNameSpecifier: { case: "serverListenerName" as const, value: mainInternal } };

function unlimitedCircuitBreakers(q: QueryContext): CircuitBreakers {
  return create(CircuitBreakersSchema, { thresholds: [defaultThresholds(q)] });
}
