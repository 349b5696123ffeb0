import { create, toBinary } from "@bufbuild/protobuf";
import { TrafficDirection } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { TcpProxySchema } from "@istiod/envoy-api/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy";
import { query, type QueryContext } from "@istiod/incremental";
import { joinEncoded } from "@istiod/protobuf-wire";
import { ipAddresses } from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import { packAny } from "../../envoy/any.js";
import { networkFilter } from "../../envoy/filters.js";
import { blackHoleCluster, mainInternal, virtualInboundBlackHoleChain } from "../../resource-names.js";
import { accessLogs } from "../../telemetry/access-log.js";
import { encodedTracing } from "../../telemetry/tracing.js";
import { encodeChain, encodeListenerChain } from "../filter-chain-template.js";
import type { InboundChainTemplate } from "../inbound/inbound-chain-template.js";
import { hbonePassthroughChains, hbonePortChains } from "../inbound/inbound-chains.js";
import { inboundListenerFilters, type PortInspection } from "../inbound/inbound-listener-filters.js";
import { inboundPorts } from "../inbound/inbound-ports.js";
import { originalDestination } from "../listener-filters.js";
import { tcpProxyName } from "../tcp/tcp-proxy.js";

/**
 * The internal listener for connections from terminated HBONE tunnels. It has the chains of `virtualInbound` without
 * TLS, for the client's own addresses only: tunnels to other addresses match no chain. Source:
 * pilot/pkg/networking/core/listener_inbound.go, buildInboundHBONEListeners.
 */
export const mainInternalListener = query("mainInternalListener", (q): Resource => {
  const addresses = q.ask(ipAddresses).filter((address) => !isLoopback(address));
  const chains = addresses.length === 0 ? [blackHoleChain] : chainsForAddresses(q, addresses);
  const head = q.call(
    mainInternalHead,
    chains.map(({ inspected }) => inspected),
  );
  const parts = chains.map((chain) => encodeListenerChain(chain, () => q.call(encodedTracing, "sidecar-inbound")));
  return resource(mainInternal, joinEncoded([head, ...parts]));
});

/**
 * Reports whether an address is loopback, where Envoy's admin interface and the agent listen without authentication.
 */
function isLoopback(address: string): boolean {
  return address === "127.0.0.1" || address === "::1";
}

function chainsForAddresses(q: QueryContext, addresses: readonly string[]): readonly InboundChainTemplate[] {
  const declared = q.call(inboundPorts).flatMap((port) => hbonePortChains(q, port, addresses));
  return [...declared, ...hbonePassthroughChains(q, addresses)];
}

/** The chain of a client without an address that tunnels may lead to, since Envoy requires at least one chain. */
const blackHoleChain: InboundChainTemplate = {
  chain: encodeChain({
    name: virtualInboundBlackHoleChain,
    filters: [
      networkFilter(
        tcpProxyName,
        packAny(TcpProxySchema, {
          statPrefix: blackHoleCluster,
          clusterSpecifier: { case: "cluster", value: blackHoleCluster },
        }),
      ),
    ],
  }),
  inspected: { port: 0, tls: false, http: false },
};

/** The listener without its chains, encoded. */
const mainInternalHead = query("mainInternalHead", (q, inspected: readonly PortInspection[]): Uint8Array => {
  const listener = create(ListenerSchema, {
    name: mainInternal,
    listenerSpecifier: { case: "internalListener", value: {} },
    trafficDirection: TrafficDirection.INBOUND,
    continueOnListenerFiltersTimeout: true,
    accessLog: [...accessLogs(q, "sidecar-inbound", "listener")],
    listenerFilters: [
      originalDestination,
      ...inboundListenerFilters(inspected, { originalDestination: false, originalSource: false }),
    ],
  });
  return toBinary(ListenerSchema, listener);
});
