import { toBinary } from "@bufbuild/protobuf";
import { type AbsentFilter, addedListeners, ListenerPatcher, type PatchContext } from "@istiod/envoy-filter";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { query, type QueryContext } from "@istiod/incremental";
import { EnvoyFilter_PatchContext as Context } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { features } from "@istiod/push-context";
import { resource, ResourceSet } from "@istiod/resources";
import { hasIstioExtension } from "../istio-extensions.js";
import { inboundPassthroughCluster } from "../resource-names.js";
import { listenerPatches } from "./client-patches.js";
import { patchedResource, type PatchedPart, type Patcher, patcherOf } from "./patcher.js";

/** Returns listeners with the client's patches. */
export function patchListeners(q: QueryContext, part: PatchedPart): ResourceSet {
  return listenerPatcher(q, part)?.set(part.set) ?? part.set;
}

/** Returns what patches a part of the client's listeners; undefined if nothing does. */
export function listenerPatcher(q: QueryContext, { context }: PatchedPart): Patcher | undefined {
  if (context === undefined) return undefined;
  const patches = q.call(listenerPatches, context);
  if (patches === undefined) return undefined;
  const absent = q.call(absentFilters, context);
  const place = {
    context,
    ...absent,
    ...(context === Context.SIDECAR_INBOUND && { patchesInlineRoutes: isInboundRoute }),
  };
  return patcherOf(patches, JSON.stringify([context, absent]), () => {
    const patcher = new ListenerPatcher(patches, place);
    return (unpatched, effects) => {
      const patched = patcher.patch(unpatched, effects);
      if (patched === undefined) return undefined;
      return effects.changed ? patchedResource(patched.name, patched.bytes, unpatched) : unpatched;
    };
  });
}

/** Returns the listeners that the client's patches add in a context. */
export function listenersAdded(q: QueryContext, context: PatchContext): ResourceSet {
  const patches = q.call(listenerPatches, context);
  if (patches === undefined) return ResourceSet.empty;
  return ResourceSet.of(
    addedListeners(patches, context).map(({ listener }) => resource(listener.name, toBinary(ListenerSchema, listener))),
  );
}

/** Reports whether a route configuration within a connection manager is that of an inbound chain. */
function isInboundRoute(name: string): boolean {
  return name.startsWith("inbound|") || name === inboundPassthroughCluster;
}

interface AbsentFilters {
  readonly absentHttpFilters: readonly AbsentFilter[];
  readonly absentNetworkFilters: readonly AbsentFilter[];
}

/** HTTP filters before which the filter for metrics is. */
const afterStats = [
  "envoy.filters.http.stateful_session",
  "envoy.filters.http.dynamic_forward_proxy",
  "envoy.filters.http.router",
];
/** Network filters before which the filter for metrics is. */
const terminal = ["mongo_proxy", "redis_proxy", "mysql_proxy", "sni_dynamic_forward_proxy", "tcp_proxy"].map(
  (name) => `envoy.filters.network.${name}`,
);

/** The filters of Istio's build that the client's Envoy lacks, with their places, to which patches refer. */
const absentFilters = query("absentFilters", (q, context: Context): AbsentFilters => {
  const exchange = { name: "istio.metadata_exchange", before: ["*"] };
  const [stats, peers] = [!hasIstioExtension(q, "stats"), features.metadataExchange(q)];
  const isInbound = context === Context.SIDECAR_INBOUND;
  const alpn = !isInbound && features.alpnFilter(q) && !hasIstioExtension(q, "alpn");
  return {
    absentHttpFilters: [
      ...(peers && !hasIstioExtension(q, "peerMetadata") ? [exchange] : []),
      ...(alpn ? [{ name: "istio.alpn", before: ["envoy.filters.http.fault"] }] : []),
      ...(stats ? [{ name: "istio.stats", before: afterStats }] : []),
    ],
    absentNetworkFilters: [
      ...(isInbound && peers && !hasIstioExtension(q, "metadataExchange") ? [exchange] : []),
      ...(stats ? [{ name: "istio.stats", before: terminal }] : []),
    ],
  };
});
