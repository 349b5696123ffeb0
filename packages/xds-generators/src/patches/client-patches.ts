import { decodePatch, type Patch, PatchError, type Patches } from "@istiod/envoy-filter";
import { query, type QueryContext } from "@istiod/incremental";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  EnvoyFilter_PatchContext as Context,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { applicablePatches, configPatch, type PatchRef } from "@istiod/push-context";

const ofClusters: readonly ApplyTo[] = [ApplyTo.CLUSTER];
const ofRoutes: readonly ApplyTo[] = [ApplyTo.ROUTE_CONFIGURATION, ApplyTo.VIRTUAL_HOST, ApplyTo.HTTP_ROUTE];
const ofListeners: readonly ApplyTo[] = [
  ApplyTo.LISTENER,
  ApplyTo.LISTENER_FILTER,
  ApplyTo.FILTER_CHAIN,
  ApplyTo.NETWORK_FILTER,
  ApplyTo.HTTP_FILTER,
];

/** The patches that may apply to the client's clusters in a context; undefined if there are none. */
export const clusterPatches = query("clusterPatches", (q, context: Context) => patchesOf(q, context, ofClusters));

/** The patches that may apply to the client's route configurations in a context; undefined if there are none. */
export const routePatches = query("routePatches", (q, context: Context) => patchesOf(q, context, ofRoutes));

/**
 * The patches that may apply to the client's listeners in a context; undefined if there are none. Inbound listeners
 * contain their route configurations.
 */
export const listenerPatches = query("listenerPatches", (q, context: Context) =>
  patchesOf(q, context, context === Context.SIDECAR_INBOUND ? [...ofListeners, ...ofRoutes] : ofListeners),
);

/** The patches that add extension configurations; undefined if there are none. */
export const extensionPatches = query("extensionPatches", (q) => patchesOf(q, Context.ANY, [ApplyTo.EXTENSION_CONFIG]));

/** A patch, or the reason why it applies nowhere. */
export type DecodedPatch = { readonly patch: Patch } | { readonly failure: string };

/** The patch of an EnvoyFilter, decoded; undefined if there is none. */
export const decodedPatch = query("decodedPatch", (q, ref: PatchRef): DecodedPatch | undefined => {
  const patch = configPatch(q, ref);
  if (patch === undefined) return undefined;
  try {
    return { patch: decodePatch(patchId(ref), patch) };
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    return { failure: error.message };
  }
});

/** Returns the name of a patch: `namespace/name#index`. */
export function patchId({ filter, index }: PatchRef): string {
  return `${filter}#${index}`;
}

function patchesOf(q: QueryContext, context: Context, kinds: readonly ApplyTo[]): Patches | undefined {
  const found: Partial<Record<ApplyTo, Patch[]>> = {};
  for (const ref of q.call(applicablePatches)) {
    const decoded = q.call(decodedPatch, ref);
    if (decoded === undefined || !("patch" in decoded)) continue;
    const { patch } = decoded;
    const wanted = patch.match?.context ?? Context.ANY;
    const isIn = wanted === Context.ANY || context === Context.ANY || wanted === context;
    if (isIn && kinds.includes(patch.applyTo)) (found[patch.applyTo] ??= []).push(patch);
  }
  return Object.keys(found).length === 0 ? undefined : found;
}
