import { create, toBinary } from "@bufbuild/protobuf";
import { HeaderValueOption_HeaderAppendAction as AppendAction } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import {
  type TcpProxy_TunnelingConfig,
  TcpProxy_TunnelingConfigSchema,
  TcpProxySchema,
} from "@istiod/envoy-api/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy";
import { query, type QueryContext } from "@istiod/incremental";
import { type ListenerClass, proxyType } from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import { packAny } from "../../envoy/any.js";
import { networkFilter } from "../../envoy/filters.js";
import { exchangesBaggage } from "../../hbone.js";
import { connectOriginate } from "../../resource-names.js";
import { accessLogs } from "../../telemetry/access-log.js";
import { originalDestination } from "../listener-filters.js";
import { tunnelPeerMetadata } from "../tcp/network-filters.js";
import { tcpProxyName } from "../tcp/tcp-proxy.js";

/**
 * The internal listener that carries each connection through an HBONE tunnel. Endpoints that accept tunnels have its
 * name as their address, and the tunnel's destination in their metadata. Source:
 * pilot/pkg/networking/core/listener_waypoint.go, buildConnectOriginateListener.
 */
export const connectOriginateListener = query("connectOriginateListener", (q): Resource => {
  const listenerClass: ListenerClass = q.ask(proxyType) === "router" ? "gateway" : "sidecar-outbound";
  const proxy = packAny(TcpProxySchema, {
    statPrefix: connectOriginate,
    clusterSpecifier: { case: "cluster", value: connectOriginate },
    tunnelingConfig: tunnelingConfig(q),
    accessLog: [...accessLogs(q, listenerClass, "hbone-origination")],
  });
  const listener = create(ListenerSchema, {
    name: connectOriginate,
    useOriginalDst: false,
    listenerSpecifier: { case: "internalListener", value: {} },
    listenerFilters: [originalDestination],
    filterChains: [
      { filters: [...(exchangesBaggage(q) ? [tunnelPeerMetadata] : []), networkFilter(tcpProxyName, proxy)] },
    ],
    accessLog: [...accessLogs(q, listenerClass, "listener")],
  });
  return resource(connectOriginate, toBinary(ListenerSchema, listener));
});

function tunnelingConfig(q: QueryContext): TcpProxy_TunnelingConfig {
  const baggage = {
    appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
    header: { key: "baggage", value: "%FILTER_STATE(io.istio.baggage:PLAIN)%" },
  };
  return create(TcpProxy_TunnelingConfigSchema, {
    hostname: "%DOWNSTREAM_LOCAL_ADDRESS%",
    ...(exchangesBaggage(q) && { propagateResponseHeaders: true, headersToAdd: [baggage] }),
  });
}
