import { create, toBinary } from "@bufbuild/protobuf";
import { TrafficDirection } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { query } from "@istiod/incremental";
import { ipAddresses } from "@istiod/push-context";
import { type Resource, resource } from "@istiod/resources";
import { joinEncoded } from "../envoy/encode.js";
import { mainInternal } from "../resource-names.js";
import { accessLogs } from "../telemetry/access-log.js";
import { encodedTracing } from "../telemetry/tracing.js";
import { listenerPart } from "./filter-chain-template.js";
import { tunnelledPassthroughChains, tunnelledPortChains } from "./inbound-chains.js";
import { type InspectedPort, inboundListenerFilters } from "./inbound-inspectors.js";
import { inboundPorts } from "./inbound-plan.js";
import { originalDestination } from "./listener-filters.js";

/**
 * The internal listener for connections from terminated HBONE tunnels. It has the chains of `virtualInbound` without TLS, for the client's own
 * addresses alone: a tunnel to any other address leads nowhere. Source: pilot/pkg/networking/core/listener_inbound.go, buildInboundHBONEListeners.
 */
export const mainInternalListener = query("mainInternalListener", (q): Resource => {
  const own = q.ask(ipAddresses);
  const declared = q.call(inboundPorts).flatMap((port) => tunnelledPortChains(q, port, own));
  const chains = [...declared, ...tunnelledPassthroughChains(q, own)];
  const head = q.call(mainInternalHead, chains.map(({ inspected }) => inspected));
  const parts = chains.map((chain) => listenerPart(chain, () => q.call(encodedTracing, "sidecar-inbound")));
  return resource(mainInternal, joinEncoded([head, ...parts]));
});

/** The listener without its chains, encoded. */
const mainInternalHead = query("mainInternalHead", (q, inspected: readonly InspectedPort[]): Uint8Array => {
  const listener = create(ListenerSchema, {
    name: mainInternal,
    listenerSpecifier: { case: "internalListener", value: {} },
    trafficDirection: TrafficDirection.INBOUND,
    continueOnListenerFiltersTimeout: true,
    accessLog: [...accessLogs(q, "sidecar-inbound", "listener")],
    listenerFilters: [originalDestination, ...inboundListenerFilters(inspected, { originalDestination: false, originalSource: false })],
  });
  return toBinary(ListenerSchema, listener);
});
