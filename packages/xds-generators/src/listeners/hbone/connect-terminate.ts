import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import type { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import {
  type HttpConnectionManager,
  HttpConnectionManagerSchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { DownstreamTlsContextSchema } from "@istiod/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls";
import { query, type QueryContext } from "@istiod/incremental";
import { ipMode } from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import { address } from "../../envoy/address.js";
import { packAny } from "../../envoy/any.js";
import { duration } from "../../envoy/duration.js";
import { networkFilter } from "../../envoy/filters.js";
import { transportSocket } from "../../envoy/transport-socket.js";
import { hbonePort } from "../../hbone.js";
import { connectTerminate, mainInternal } from "../../resource-names.js";
import { tunnelTlsContext } from "../../security/tls/tunnel-tls.js";
import { accessLogs } from "../../telemetry/access-log.js";
import { exactBalance } from "../connection-limits.js";
import { managerName } from "../http/http-connection-manager.js";
import { router, routerWithoutDebugHeaders } from "../http/http-filters.js";
import { proxyHeaders } from "../http/proxy-headers.js";
import { additionalAddresses, wildcards } from "../listener-address.js";
import { connectAuthority, tunnelDownstreamPeerMetadata } from "./hbone-filters.js";

/** Streams of one connection share a worker thread, so more would be unfair to other connections. */
const maxStreams = 100;
/** Milliseconds. Peers that stop responding are disconnected. */
const keepalive = { interval: 10_000, timeout: 20_000 };

/**
 * The listener that terminates HBONE tunnels. It requires mutual TLS whatever PeerAuthentication says, and forwards the
 * connection to the internal listener `main_internal`. Source: pilot/pkg/networking/core/listener_waypoint.go,
 * buildConnectTerminateListener.
 */
export const connectTerminateListener = query("connectTerminateListener", (q): Resource => {
  const [bind, ...others] = wildcards[q.ask(ipMode)];
  const tls = packAny(DownstreamTlsContextSchema, {
    commonTlsContext: tunnelTlsContext(q),
    requireClientCertificate: true,
  });
  const listener = create(ListenerSchema, {
    name: connectTerminate,
    address: address(bind, hbonePort),
    additionalAddresses: additionalAddresses(others, hbonePort),
    filterChains: [
      {
        name: "default",
        transportSocket: transportSocket("tls", tls),
        filters: [networkFilter(managerName, anyPack(HttpConnectionManagerSchema, manager(q)))],
      },
    ],
    // Tunnels are few and long-lived, so random distribution could overload a worker thread.
    connectionBalanceConfig: exactBalance,
    accessLog: [...accessLogs(q, "sidecar-inbound", "listener")],
  });
  return resource(connectTerminate, toBinary(ListenerSchema, listener));
});

function manager(q: QueryContext): HttpConnectionManager {
  const headers = proxyHeaders(q, "sidecar-inbound");
  return create(HttpConnectionManagerSchema, {
    statPrefix: connectTerminate,
    routeSpecifier: { case: "routeConfig", value: toMainInternal },
    forwardClientCertDetails: headers.forwardedClientCert,
    setCurrentClientCertDetails: { subject: true, uri: true, dns: true },
    serverName: headers.serverName,
    serverHeaderTransformation: headers.serverHeaderTransformation,
    ...(headers.generateRequestId === false && { generateRequestId: false }),
    useRemoteAddress: false,
    accessLog: [...accessLogs(q, "sidecar-inbound", "hbone-termination")],
    streamIdleTimeout: duration(0),
    upgradeConfigs: [{ upgradeType: "CONNECT" }],
    http2ProtocolOptions: {
      allowConnect: true,
      maxConcurrentStreams: maxStreams,
      connectionKeepalive: { interval: duration(keepalive.interval), timeout: duration(keepalive.timeout) },
    },
    httpFilters: [
      ...tunnelDownstreamPeerMetadata(q),
      connectAuthority(q),
      headers.suppressDebugHeaders ? routerWithoutDebugHeaders : router,
    ],
  });
}

const toMainInternal: MessageInitShape<typeof RouteConfigurationSchema> = {
  name: "default",
  virtualHosts: [
    {
      name: "default",
      domains: ["*"],
      routes: [
        {
          match: { pathSpecifier: { case: "connectMatcher", value: {} } },
          action: {
            case: "route",
            value: {
              clusterSpecifier: { case: "cluster", value: mainInternal },
              upgradeConfigs: [{ upgradeType: "CONNECT", connectConfig: {} }],
            },
          },
        },
      ],
    },
  ],
};
