import { create, type JsonObject } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import {
  type Cluster,
  Cluster_DiscoveryType,
  type Cluster_TransportSocketMatch,
  Cluster_TransportSocketMatchSchema,
} from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import type { TransportSocket } from "@istiod/envoy-api/envoy/config/core/v3/base";
import {
  ProxyProtocolConfig_Version,
  ProxyProtocolConfigSchema,
} from "@istiod/envoy-api/envoy/config/core/v3/proxy_protocol";
import { ProxyProtocolUpstreamTransportSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/proxy_protocol/v3/upstream_proxy_protocol";
import { UpstreamTlsContextSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import type { QueryContext } from "@istiod/incremental";
import {
  ClientTLSSettings_TLSmode as Mode,
  type TrafficPolicy_ProxyProtocol,
  TrafficPolicy_ProxyProtocol_VERSION,
} from "@istiod/istio-api/networking/v1alpha3/destination_rule";
import { packAny } from "../../envoy/any.js";
import { rawBuffer, tlsTransportSocket, transportSocket } from "../../envoy/transport-socket.js";
import { sendsHbone } from "../../hbone.js";
import type { ClusterDraft } from "../cluster-draft.js";
import { addHttpAnnouncement, disableBaggageDiscovery } from "../cluster-metadata.js";
import { hboneSocketMatch } from "./hbone-socket-match.js";
import { isHttp2Only } from "./upstream-protocol.js";
import { upstreamTlsContext, type UpstreamTlsOptions } from "./upstream-tls-context.js";
import type { UpstreamTlsChoice } from "./upstream-tls-settings.js";

/** The endpoint metadata that selects the transport socket for Istio's mutual TLS. */
const istioMutualMatch: JsonObject = { tlsMode: "istio" };

/**
 * Sets the transport sockets of the cluster. With automatic mutual TLS and with HBONE, endpoint metadata selects one
 * per endpoint. Original destinations have no endpoints, so they share one. Source:
 * pilot/pkg/networking/core/cluster_tls.go.
 */
export function applyTransportSockets(
  q: QueryContext,
  draft: ClusterDraft,
  { settings, automatic }: UpstreamTlsChoice,
  options: UpstreamTlsOptions,
): void {
  const { cluster } = draft;
  const context = settings === undefined ? undefined : upstreamTlsContext(q, draft, settings, options);
  const tls =
    context === undefined ? undefined : transportSocket(tlsTransportSocket, anyPack(UpstreamTlsContextSchema, context));
  if (tls !== undefined) cluster.transportSocket = tls;
  if (settings?.mode === Mode.ISTIO_MUTUAL) addHttpAnnouncement(q, cluster, isHttp2Only(draft));
  const perEndpoint = automatic && settings?.mode === Mode.ISTIO_MUTUAL;
  if (sendsHbone(q)) {
    applyHboneMatches(q, cluster, settings?.mode, tls, perEndpoint);
  } else if (!isOriginalDestination(cluster) && perEndpoint && tls !== undefined) {
    delete cluster.transportSocket;
    cluster.transportSocketMatches = [socketMatch("tlsMode-istio", istioMutualMatch, tls), plaintextMatch()];
  }
}

function applyHboneMatches(
  q: QueryContext,
  cluster: Cluster,
  mode: Mode | undefined,
  tls: TransportSocket | undefined,
  perEndpoint: boolean,
): void {
  if (mode === undefined) {
    cluster.transportSocketMatches = [hboneSocketMatch(q, rawBuffer()), plaintextMatch()];
    return;
  }
  if (isOriginalDestination(cluster)) return;
  delete cluster.transportSocket;
  if (tls === undefined) {
    cluster.transportSocketMatches = [hboneSocketMatch(q, rawBuffer()), plaintextMatch()];
  } else if (perEndpoint) {
    cluster.transportSocketMatches = [
      hboneSocketMatch(q, rawBuffer()),
      socketMatch("tlsMode-istio", istioMutualMatch, tls),
      plaintextMatch(),
    ];
  } else if (mode === Mode.ISTIO_MUTUAL) {
    cluster.transportSocketMatches = [hboneSocketMatch(q, rawBuffer()), socketMatch("tlsMode-istio", undefined, tls)];
  } else {
    // The policy's TLS is meant for the server itself, so it is used inside the tunnel too.
    cluster.transportSocketMatches = [hboneSocketMatch(q, tls), socketMatch("user", undefined, tls)];
    disableBaggageDiscovery(q, cluster);
  }
}

/** Wraps each transport socket so that it sends a PROXY protocol header. */
export function applyProxyProtocol(
  q: QueryContext,
  cluster: Cluster,
  settings: TrafficPolicy_ProxyProtocol | undefined,
): void {
  if (settings === undefined) return;
  disableBaggageDiscovery(q, cluster);
  const config = create(ProxyProtocolConfigSchema, {
    version:
      settings.version === TrafficPolicy_ProxyProtocol_VERSION.V2
        ? ProxyProtocolConfig_Version.V2
        : ProxyProtocolConfig_Version.V1,
  });
  const wrapped = (inner: TransportSocket): TransportSocket =>
    transportSocket(
      "envoy.transport_sockets.upstream_proxy_protocol",
      packAny(ProxyProtocolUpstreamTransportSchema, { config, transportSocket: inner }),
    );
  if (cluster.transportSocket === undefined && cluster.transportSocketMatches.length === 0) {
    cluster.transportSocket = wrapped(rawBuffer("raw_buffer"));
    return;
  }
  if (cluster.transportSocket !== undefined) cluster.transportSocket = wrapped(cluster.transportSocket);
  for (const match of cluster.transportSocketMatches) {
    if (match.transportSocket !== undefined) match.transportSocket = wrapped(match.transportSocket);
  }
}

function isOriginalDestination({ clusterDiscoveryType: type }: Cluster): boolean {
  return type.case === "type" && type.value === Cluster_DiscoveryType.ORIGINAL_DST;
}

function plaintextMatch(): Cluster_TransportSocketMatch {
  return socketMatch("tlsMode-disabled", {}, rawBuffer());
}

function socketMatch(
  name: string,
  match: JsonObject | undefined,
  transport: TransportSocket,
): Cluster_TransportSocketMatch {
  return create(Cluster_TransportSocketMatchSchema, { name, ...(match && { match }), transportSocket: transport });
}
