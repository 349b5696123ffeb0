import { EnvoyFilter_PatchContext as Context } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import type { Patch, PatchContext, Patches } from "../patch.js";
import type { EnvoyFilter_ApplyTo as ApplyTo } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";

/** Reports whether a patch is for configuration of this context. */
export function contextMatches({ match }: Patch, context: PatchContext): boolean {
  const wanted = match?.context ?? Context.ANY;
  return wanted === Context.ANY || wanted === context;
}

/** Returns the patches that apply to something in a context. */
export function patchesIn(patches: Patches, applyTo: ApplyTo, context: PatchContext): readonly Patch[] {
  return (patches[applyTo] ?? []).filter((patch) => contextMatches(patch, context));
}

/**
 * Reports whether a patch adds a whole listener or cluster in this context: without a context of its own only to
 * outbound configuration and gateways.
 */
export function addsIn(patch: Patch, context: PatchContext): boolean {
  const wanted = patch.match?.context ?? Context.ANY;
  return wanted === Context.ANY
    ? context === Context.SIDECAR_OUTBOUND || context === Context.GATEWAY
    : wanted === context;
}
