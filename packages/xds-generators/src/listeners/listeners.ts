import { query, type QueryContext } from "@istiod/incremental";
import { EnvoyFilter_PatchContext as Context } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { features, ipMode, isProxylessGrpc, mesh, proxyType } from "@istiod/push-context";
import { type Failure, ResourceSet } from "@istiod/resources";
import { attempt, type Attempted, resourcesOf } from "../attempt.js";
import { failedServiceListeners } from "../failed-services.js";
import { grpcListeners } from "../grpc/listeners.js";
import { terminatesTunnels } from "../hbone.js";
import { gatewayListeners } from "./gateway/gateway-listeners.js";
import { connectOriginateListener } from "./hbone/connect-originate.js";
import { connectTerminateListener } from "./hbone/connect-terminate.js";
import { mainInternalListener } from "./hbone/main-internal.js";
import { inboundListeners, type NamedListener } from "./inbound/inbound-listeners.js";
import { connectOriginate, connectTerminate, mainInternal, virtualOutboundListener } from "../resource-names.js";
import { listenersAdded, patchListeners } from "../patches/patched-listeners.js";
import type { PatchedPart } from "../patches/patcher.js";
import { localhosts } from "./listener-address.js";
import { outboundListeners } from "./outbound/outbound-listeners.js";
import { httpProxyListener, virtualOutbound } from "./outbound/virtual-outbound.js";

/** All listeners of the client (LDS). */
export const listeners = query("listeners", (q): ResourceSet =>
  q.ask(isProxylessGrpc)
    ? q.call(grpcListeners)
    : ResourceSet.union(q.call(unpatchedListeners).map((part) => patchListeners(q, part))),
);

/** The listeners of the client as they are before patches, and those that patches add. */
export const unpatchedListeners = query("unpatchedListeners", (q): readonly PatchedPart[] => {
  if (q.ask(isProxylessGrpc)) return [];
  switch (q.ask(proxyType)) {
    case "sidecar":
      return [...sidecarListeners(q), ...tunnels(q)];
    case "router":
      return [
        { context: Context.GATEWAY, set: q.call(gatewayListeners) },
        { set: listenersAdded(q, Context.GATEWAY) },
        ...tunnels(q),
      ];
    default:
      return [];
  }
});

/** Returns the listener that opens HBONE tunnels, if the mesh sends through HBONE. */
function tunnels(q: QueryContext): readonly PatchedPart[] {
  return features.sendHbone(q)
    ? [{ set: resourcesOf([connectOriginate], () => q.call(connectOriginateListener), byName) }]
    : [];
}

function sidecarListeners(q: QueryContext): readonly PatchedPart[] {
  const failures: Failure[] = [];
  const isServed = mesh(q).proxyListenPort !== 0;
  const outbound = (isServed && attempt(() => outboundListeners(q), failures, allListeners)) || [];
  const inbound = (isServed && attempt(() => inboundListeners(q), failures, allListeners)) || [];
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
  const built = (own: readonly NamedListener[]): ResourceSet =>
    isServed ? resourcesOf(own, ({ build }) => build(), identityOf) : ResourceSet.empty;
  const [outwards, inwards] = [Context.SIDECAR_OUTBOUND, Context.SIDECAR_INBOUND];
  return [
    ...[...outbound, built(captured)].map((set) => ({ context: outwards, set })),
    { set: listenersAdded(q, outwards) },
    { context: inwards, set: built(served) },
    { set: listenersAdded(q, inwards) },
    { set: ResourceSet.of([], failures) },
    ...(isServed ? [{ set: q.call(failedServiceListeners) }] : []),
  ];
}

function identityOf({ name, match }: NamedListener): Attempted {
  return { name, ...(match && { match }), objects: [] };
}

const byName = (name: string): Attempted => ({ name, objects: [] });

/** The identity of a failure of all listeners of a kind, whose names are not known. */
const allListeners = (): Attempted => ({ name: "", match: "start", objects: [] });
