import { query, type QueryContext } from "@istiod/incremental";
import { EnvoyFilter_PatchContext as Context } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
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
import { listenersAdded, patchListeners } from "../patches/patched-listeners.js";
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
      return withTunnels(q, patched(q, Context.GATEWAY, [q.call(gatewayListeners)]));
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
  const captured: readonly NamedListener[] = [
    { name: `${localhosts[q.ask(ipMode)][0]}_`, match: "start", build: () => q.call(httpProxyListener) },
    { name: virtualOutboundListener, build: () => q.call(virtualOutbound) },
  ];
  const served: readonly NamedListener[] = [
    ...inbound,
    ...(terminatesTunnels(q)
      ? [
          { name: connectTerminate, build: () => q.call(connectTerminateListener) },
          { name: mainInternal, build: () => q.call(mainInternalListener) },
        ]
      : []),
  ];
  const built = (listeners: readonly NamedListener[]): ResourceSet =>
    resourcesOf(listeners, ({ build }) => build(), identityOf);
  return ResourceSet.union([
    patched(q, Context.SIDECAR_OUTBOUND, [...outbound, built(captured)]),
    patched(q, Context.SIDECAR_INBOUND, [built(served)]),
    ResourceSet.of([], failures),
    q.call(failedServiceListeners),
  ]);
}

/** Returns listeners with the client's patches in a context, and those that patches add. */
function patched(q: QueryContext, context: Context, listeners: readonly ResourceSet[]): ResourceSet {
  return ResourceSet.union([
    ...listeners.map((part) => patchListeners(q, context, part)),
    ResourceSet.of(listenersAdded(q, context)),
  ]);
}

function identityOf({ name, match }: NamedListener): Attempted {
  return { name, ...(match && { match }), objects: [] };
}

const byName = (name: string): Attempted => ({ name, objects: [] });

/** The identity of a failure of all listeners of a kind, whose names are not known. */
const allListeners = (): Attempted => ({ name: "", match: "start", objects: [] });
