import type { Message } from "@bufbuild/protobuf";
import type {
  EnvoyFilter_ApplyTo as ApplyTo,
  EnvoyFilter_EnvoyConfigObjectMatch as ObjectMatch,
  EnvoyFilter_Patch_Operation as Operation,
  EnvoyFilter_PatchContext as Context,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";

/** A decoded patch of Envoy configuration. Plain data. */
export interface Patch {
  /** A name of the patch for its owner, unique among the patches that are applied together. */
  readonly id: string;
  readonly applyTo: ApplyTo;
  readonly operation: Operation;
  /** Absent: matches everything of the kind. */
  readonly match?: ObjectMatch | undefined;
  /** A message of the type that `applyTo` patches. Absent only if the operation removes. */
  readonly value?: Message | undefined;
}

/** Patches in the order in which they are applied, by what they apply to. */
export type Patches = Readonly<Partial<Record<ApplyTo, readonly Patch[]>>>;

/** The direction of the traffic that a piece of configuration is for. */
export type PatchContext = Context;

/** The result of a patch on one resource. */
export interface PatchEffect {
  readonly patch: string;
  /** The reason why the patch was skipped where it matched. Absent: it was applied. */
  readonly failure?: string;
}

/** A patch that cannot be decoded or applied. The message says what is wrong and what is expected. */
export class PatchError extends Error {
  override readonly name = "PatchError";
}

/** Collects the effects of patches on one resource: each patch once, and failures before successes. */
export class Effects {
  readonly #byPatch = new Map<string, PatchEffect>();
  #changed = false;

  /** Applies a patch at a place that it matches. A patch that fails there is skipped; the place stays as it was. */
  apply({ id }: Patch, change: () => boolean | void): void {
    try {
      if (change() === false) return;
      this.#changed = true;
      this.#add({ patch: id });
    } catch (error) {
      if (!(error instanceof PatchError)) throw error;
      this.#add({ patch: id, failure: error.message });
    }
  }

  /** Adds the effects of patches on a part of the resource. */
  addAll(part: Effects): void {
    for (const effect of part.#byPatch.values()) this.#add(effect);
    this.#changed ||= part.#changed;
  }

  /** Reports whether a patch changed something, also if it failed elsewhere in the resource. */
  get changed(): boolean {
    return this.#changed;
  }

  toArray(): readonly PatchEffect[] {
    return [...this.#byPatch.values()];
  }

  #add(effect: PatchEffect): void {
    if (effect.failure !== undefined || !this.#byPatch.has(effect.patch)) this.#byPatch.set(effect.patch, effect);
  }
}
