import { create, toBinary } from "@bufbuild/protobuf";
import { TrafficDirection } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { query, type QueryContext } from "@istiod/incremental";
import { joinEncoded } from "@istiod/protobuf-wire";
import { askMetadata, features, interceptionMode, ipMode, mesh } from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import { address } from "../../envoy/address.js";
import { virtualInboundBlackHoleChain, virtualInboundListener } from "../../resource-names.js";
import { accessLogs } from "../../telemetry/access-log.js";
import { tcpStatsFilters } from "../../telemetry/stats-filters.js";
import { encodedTracing } from "../../telemetry/tracing.js";
import { exactBalance, maxConnectionsPerSocketEvent } from "../connection-limits.js";
import { encodeListenerChain } from "../filter-chain-template.js";
import { additionalAddresses, listenerName, wildcards } from "../listener-address.js";
import { blackHoleChain } from "../outbound/virtual-outbound.js";
import type { InboundChainTemplate } from "./inbound-chain-template.js";
import { passthroughChains, portChains } from "./inbound-chains.js";
import { inboundMetadataExchange } from "./inbound-filters.js";
import { inboundListenerFilters, type PortInspection } from "./inbound-listener-filters.js";
import { inboundPorts } from "./inbound-ports.js";

/** Returns the inbound listeners of the client. Source: pilot/pkg/networking/core/listener_inbound.go. */
export function inboundListeners(q: QueryContext): readonly NamedListener[] {
  const bound = q
    .call(inboundPorts)
    .filter(({ bindToPort }) => bindToPort)
    .map(({ binds, targetPort }) => ({
      name: listenerName(binds[0] ?? "", targetPort),
      build: () => q.call(boundInboundListener, targetPort),
    }));
  if (q.ask(interceptionMode) === "NONE") return bound;
  return [{ name: virtualInboundListener, build: () => q.call(virtualInbound) }, ...bound];
}

/** A listener that is built when all are known, so that it fails alone. */
export interface NamedListener {
  readonly name: string;
  /** Default: the name is the whole name. */
  readonly match?: "start";
  readonly build: () => Resource | undefined;
}

/** The listener for captured inbound connections, with chains for each declared port and for all others. */
const virtualInbound = query("virtualInbound", (q): Resource => {
  const ports = q.call(inboundPorts).filter(({ bindToPort }) => !bindToPort);
  const chains = [
    q.call(inboundBlackHoleChain),
    ...q.call(passthroughChains),
    ...ports.flatMap((port) => portChains(q, port)),
  ];
  const { proxyInboundListenPort: port } = mesh(q);
  return inboundListener(
    q,
    { name: virtualInboundListener, binds: wildcards[q.ask(ipMode)], port, bindToPort: false },
    chains,
  );
});

const inboundBlackHoleChain = query("inboundBlackHoleChain", (q): InboundChainTemplate => {
  const port = mesh(q).proxyInboundListenPort;
  const chain = blackHoleChain(virtualInboundBlackHoleChain, port, [
    ...inboundMetadataExchange(q),
    ...tcpStatsFilters(q, "sidecar-inbound"),
  ]);
  return { ...chain, inspected: { port, tls: false, http: false } };
});

/** The listener of a port that is bound rather than captured. */
const boundInboundListener = query("boundInboundListener", (q, targetPort: number): Resource => {
  const port = q.call(inboundPorts).find((candidate) => candidate.targetPort === targetPort);
  if (port === undefined) throw new Error(`the workload has no port ${targetPort}`);
  return inboundListener(
    q,
    { name: listenerName(port.binds[0] ?? "", targetPort), binds: port.binds, port: targetPort, bindToPort: true },
    portChains(q, port),
  );
});

interface InboundSocket {
  readonly name: string;
  readonly binds: readonly string[];
  readonly port: number;
  readonly bindToPort: boolean;
}

function inboundListener(q: QueryContext, listening: InboundSocket, chains: readonly InboundChainTemplate[]): Resource {
  const head = q.call(inboundListenerHead, { ...listening, inspected: chains.map(({ inspected }) => inspected) });
  const parts = chains.map((chain) => encodeListenerChain(chain, () => q.call(encodedTracing, "sidecar-inbound")));
  return resource(listening.name, joinEncoded([head, ...parts]));
}

/** A listener without its chains, encoded. Workloads with the same kinds of ports share it. */
const inboundListenerHead = query(
  "inboundListenerHead",
  (q, at: InboundSocket & { readonly inspected: readonly PortInspection[] }): Uint8Array => {
    const { name, binds, port, bindToPort, inspected } = at;
    const [bind = "", ...others] = binds;
    const limit = maxConnectionsPerSocketEvent(q);
    const transparent = !bindToPort && q.ask(interceptionMode) === "TPROXY";
    const { protocolDetectionTimeout } = mesh(q);
    const listener = create(ListenerSchema, {
      name,
      address: address(bind, port),
      additionalAddresses: features.dualStack(q) ? additionalAddresses(others, port) : [],
      trafficDirection: TrafficDirection.INBOUND,
      continueOnListenerFiltersTimeout: true,
      ...(limit !== undefined && { maxConnectionsToAcceptPerSocketEvent: limit }),
      ...(askMetadata(q, "INBOUND_LISTENER_EXACT_BALANCE") === true && { connectionBalanceConfig: exactBalance }),
      ...(transparent && { transparent: true }),
      accessLog: [...accessLogs(q, "sidecar-inbound", "listener")],
      listenerFilters: [
        ...inboundListenerFilters(inspected, { originalDestination: !bindToPort, originalSource: transparent }),
      ],
      ...(protocolDetectionTimeout && { listenerFiltersTimeout: protocolDetectionTimeout }),
    });
    return toBinary(ListenerSchema, listener);
  },
);
