import { query, type QueryContext } from "@istiod/incremental";
import { features, ipMode, isProxylessGrpc, mesh, proxyType } from "@istiod/push-context";
import { type Failure, ResourceSet } from "@istiod/resources";
import { attempt, type Attempted, resourcesOf } from "../attempt.js";
import { failedServiceListeners } from "../failed-services.js";
import { terminatesTunnels } from "../hbone.js";
import { gatewayListeners } from "./gateway/gateway-listeners.js";
import { connectOriginateListener } from "./hbone/connect-originate.js";
import { connectTerminateListener } from "./hbone/connect-terminate.js";
import { mainInternalListener } from "./hbone/main-internal.js";
import { inboundListeners, type NamedListener } from "./inbound/inbound-listeners.js";
import { connectOriginate, connectTerminate, mainInternal, virtualOutboundListener } from "../resource-names.js";
import { localhosts } from "./listener-address.js";
import { outboundListeners } from "./outbound/outbound-listeners.js";
import { httpProxyListener, virtualOutbound } from "./outbound/virtual-outbound.js";

/** All listeners of the client (LDS). */
export const listeners = query("listeners", (q): ResourceSet => {
  // Proxyless gRPC applications request listeners by name.
  if (q.ask(isProxylessGrpc)) return ResourceSet.empty;
  switch (q.ask(proxyType)) {
    case "sidecar":
      return withTunnels(q, mesh(q).proxyListenPort === 0 ? ResourceSet.empty : sidecarListeners(q));
    case "router":
      return withTunnels(q, q.call(gatewayListeners));
    default:
      return ResourceSet.empty;
  }
});

/** Adds the listener that opens HBONE tunnels, if the mesh sends through HBONE. */
function withTunnels(q: QueryContext, own: ResourceSet): ResourceSet {
  return features.sendHbone(q)
    ? ResourceSet.union([own, resourcesOf([connectOriginate], () => q.call(connectOriginateListener), byName)])
    : own;
}

function sidecarListeners(q: QueryContext): ResourceSet {
  const failures: Failure[] = [];
  const outbound = attempt(() => outboundListeners(q), failures, allListeners) ?? [];
  const inbound = attempt(() => inboundListeners(q), failures, allListeners) ?? [];
  const own: readonly NamedListener[] = [
    { name: `${localhosts[q.ask(ipMode)][0]}_`, match: "start", build: () => q.call(httpProxyListener) },
    { name: virtualOutboundListener, build: () => q.call(virtualOutbound) },
    ...inbound,
    ...(terminatesTunnels(q)
      ? [
          { name: connectTerminate, build: () => q.call(connectTerminateListener) },
          { name: mainInternal, build: () => q.call(mainInternalListener) },
        ]
      : []),
  ];
  return ResourceSet.union([
    ...outbound,
    resourcesOf(own, ({ build }) => build(), identityOf),
    ResourceSet.of([], failures),
    q.call(failedServiceListeners),
  ]);
}

function identityOf({ name, match }: NamedListener): Attempted {
  return { name, ...(match && { match }), objects: [] };
}

const byName = (name: string): Attempted => ({ name, objects: [] });

/** The identity of a failure of all listeners of a kind, whose names are not known. */
const allListeners = (): Attempted => ({ name: "", match: "start", objects: [] });
