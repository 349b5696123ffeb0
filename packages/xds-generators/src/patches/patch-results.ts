import { toBinary } from "@bufbuild/protobuf";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { addedClusters, addedListeners, type PatchEffect, type PatchContext } from "@istiod/envoy-filter";
import { query, type QueryContext } from "@istiod/incremental";
import { EnvoyFilter_PatchContext as Context } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { applicablePatches, type PatchRef, proxyType } from "@istiod/push-context";
import { type Resource, resource, type ResourceSet } from "@istiod/resources";
import { clusters, unpatchedClusters } from "../clusters/index.js";
import { extensionConfigs } from "../extensions/extension-configs.js";
import { listeners, unpatchedListeners } from "../listeners/index.js";
import { unpatchedRoutes } from "../routes/index.js";
import { clusterPatches, decodedPatch, listenerPatches, patchId } from "./client-patches.js";
import { extensionConfigsAdded } from "./extension-configs.js";
import { clusterPatcher } from "./patched-clusters.js";
import { listenerPatcher } from "./patched-listeners.js";
import { routePatcher } from "./patched-routes.js";

/** The effect of a patch on the resources of a client. */
export interface PatchResult extends PatchRef {
  /** Number of resources that it is applied to, or adds. */
  readonly resources: number;
  /** The reasons why it is skipped where it matches, each once. */
  readonly failures: readonly string[];
}

/** The results of all patches that apply to the client, in their order. */
export const patchResults = query("patchResults", (q): readonly PatchResult[] => {
  const refs = q.call(applicablePatches);
  if (refs.length === 0) return [];
  const tally = new Tally();
  for (const part of q.call(unpatchedClusters)) tally.addAll(clusterPatcher(q, part)?.effects(part.set));
  for (const part of q.call(unpatchedListeners)) tally.addAll(listenerPatcher(q, part)?.effects(part.set));
  const routes = routePatcher(q);
  if (routes !== undefined) tally.addAll(q.call(unpatchedRoutes).map((each) => routes.patched(each).effects));
  tally.addAll([additions(q)]);
  return refs.map((ref) => ({ ...ref, ...tally.of(q, ref) }));
});

/** Counts the effects of patches. */
class Tally {
  readonly #resources = new Map<string, number>();
  readonly #failures = new Map<string, Set<string>>();

  addAll(effects: Iterable<readonly PatchEffect[]> = []): void {
    for (const ofResource of effects) for (const effect of ofResource) this.#add(effect);
  }

  of(q: QueryContext, ref: PatchRef): Pick<PatchResult, "resources" | "failures"> {
    const decoded = q.call(decodedPatch, ref);
    if (decoded !== undefined && "failure" in decoded) return { resources: 0, failures: [decoded.failure] };
    const id = patchId(ref);
    return { resources: this.#resources.get(id) ?? 0, failures: [...(this.#failures.get(id) ?? [])] };
  }

  #add({ patch, failure }: PatchEffect): void {
    if (failure === undefined) return void this.#resources.set(patch, (this.#resources.get(patch) ?? 0) + 1);
    const known = this.#failures.get(patch);
    if (known === undefined) this.#failures.set(patch, new Set([failure]));
    else known.add(failure);
  }
}

/** A resource that a patch adds. */
interface Addition {
  /** Noun of its type. */
  readonly noun: "cluster" | "listener" | "extension configuration";
  readonly patch: string;
  readonly resource: Resource;
}

/** Returns the effects of the patches that add whole resources. Of several with one name, the first is sent. */
function additions(q: QueryContext): readonly PatchEffect[] {
  const contexts: readonly PatchContext[] =
    q.ask(proxyType) === "router" ? [Context.GATEWAY] : [Context.SIDECAR_OUTBOUND, Context.SIDECAR_INBOUND];
  const clustersOf = (context: PatchContext): readonly Addition[] =>
    addedClusters(q.call(clusterPatches, context) ?? {}, context).map(({ patch, cluster }) => ({
      noun: "cluster",
      patch: patch.id,
      resource: resource(cluster.name, toBinary(ClusterSchema, cluster)),
    }));
  const listenersOf = (context: PatchContext): readonly Addition[] =>
    addedListeners(q.call(listenerPatches, context) ?? {}, context).map(({ patch, listener }) => ({
      noun: "listener",
      patch: patch.id,
      resource: resource(listener.name, toBinary(ListenerSchema, listener)),
    }));
  const extensions = q.call(extensionConfigsAdded).map(({ patch, config }): Addition => ({
    noun: "extension configuration",
    patch,
    resource: config,
  }));
  return [
    ...effectsOf(contexts.flatMap(clustersOf), () => q.call(clusters)),
    ...effectsOf(contexts.flatMap(listenersOf), () => q.call(listeners)),
    ...effectsOf(extensions, () => q.call(extensionConfigs)),
  ];
}

/** Returns the effects of additions of one type, by the resources that the client is sent. */
function effectsOf(added: readonly Addition[], sent: () => ResourceSet): readonly PatchEffect[] {
  if (added.length === 0) return [];
  const set = sent();
  // A patch of both contexts of a sidecar adds one resource.
  const byPatch = new Map(added.map((addition) => [addition.patch, addition]));
  return Array.from(byPatch.values(), ({ noun, patch, resource: { name, version } }) =>
    set.get(name)?.version === version
      ? { patch }
      : { patch, failure: `another ${noun} has the name ${JSON.stringify(name)}` },
  );
}
