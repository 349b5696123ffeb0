import { toBinary } from "@bufbuild/protobuf";
import { type RouteConfiguration, RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { type VirtualHost, VirtualHostSchema } from "@istiod/envoy-api/envoy/config/route/v3/route_components";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  EnvoyFilter_Patch_Operation as Operation,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { encodeMessageField, joinEncoded } from "@istiod/protobuf-wire";
import { patchesIn } from "../match/match.js";
import { routeConfigurationMatches, type RoutePlace } from "../match/route-match.js";
import { Effects, type Patch, type Patches } from "../patch.js";
import { splitAt } from "./encoded-fields.js";
import { mergeEncoded } from "./merge-value.js";
import { isMerge, valueOf } from "./named-list.js";
import { type HostPatches, identifyHost, patchEncodedHost } from "./virtual-host.js";

/** A part of an encoded route configuration: pieces of one or more whole fields, which together are its encoding. */
export type RoutesPart = readonly Uint8Array[];

/** The patches of a route configuration, its virtual hosts and their routes. */
export interface RoutePatches extends HostPatches {
  readonly ofConfiguration: readonly Patch[];
}

/** A part after its patches. */
interface PatchedPart {
  readonly part: RoutesPart;
  /** Names of virtual hosts that are to be removed from all parts. */
  readonly removed: readonly string[];
  readonly effects: Effects;
}

/** A part, split into virtual hosts and the fields of the configuration itself. */
interface SplitPart {
  readonly fields: RoutesPart;
  readonly hosts: RoutesPart;
}

const { number: virtualHosts } = RouteConfigurationSchema.field.virtualHosts;

/**
 * Applies patches to an encoded route configuration, its virtual hosts and their routes.
 *
 * @param name the name of the configuration
 */
export function patchEncodedRoutes(
  bytes: Uint8Array,
  name: string,
  patches: Patches,
  place: RoutePlace,
  effects: Effects,
): Uint8Array {
  const matching = routePatchesOf(patches, name, place);
  return matching === undefined ? bytes : joinEncoded(new RoutesPatcher(matching).patch([[bytes]], effects).flat());
}

/** Returns the patches that may change a route configuration with this name; undefined if there are none. */
export function routePatchesOf(patches: Patches, name: string, place: RoutePlace): RoutePatches | undefined {
  const ofConfiguration: Patch[] = [];
  let current = name;
  for (const patch of patchesIn(patches, ApplyTo.ROUTE_CONFIGURATION, place.context)) {
    if (!isMerge(patch) || !routeConfigurationMatches(patch, current, place)) continue;
    ofConfiguration.push(patch);
    current = (patch.value as RouteConfiguration | undefined)?.name || current;
  }
  const matching = (kind: ApplyTo): readonly Patch[] =>
    patchesIn(patches, kind, place.context).filter((patch) => routeConfigurationMatches(patch, current, place));
  const [ofHosts, ofRoutes] = [matching(ApplyTo.VIRTUAL_HOST), matching(ApplyTo.HTTP_ROUTE)];
  const isEmpty = ofConfiguration.length + ofHosts.length + ofRoutes.length === 0;
  return isEmpty ? undefined : { ofConfiguration, ofHosts, ofRoutes };
}

/**
 * Applies the same patches to any number of encoded route configurations. Results are kept with the parts
 * and their pieces, so that only changed pieces of a configuration are patched again.
 * Source: pilot/pkg/networking/core/envoyfilter/rc_patch.go.
 */
export class RoutesPatcher {
  readonly #ofConfiguration: readonly Patch[];
  readonly #patches: HostPatches;
  readonly #parts = new WeakMap<RoutesPart, PatchedPart>();
  readonly #pieces = new WeakMap<Uint8Array, PatchedPart>();
  readonly #splits = new WeakMap<RoutesPart, SplitPart>();

  constructor({ ofConfiguration, ...patches }: RoutePatches) {
    this.#ofConfiguration = ofConfiguration;
    this.#patches = patches;
  }

  /**
   * Returns the parts of a route configuration with the patches. A part is the same object as long as it
   * changes neither here nor in the configuration; fields of the configuration itself are a part of their own.
   */
  patch(parts: readonly RoutesPart[], effects: Effects): readonly RoutesPart[] {
    const merged = this.#mergeIntoConfiguration(parts, effects);
    const patched = merged.map((part) => this.#patchPart(part));
    for (const part of patched) effects.addAll(part.effects);
    const removed = patched.flatMap((part) => part.removed);
    return [...patched.map(({ part }) => part), this.#addedHosts(effects)]
      .map((part) => withoutHosts(part, removed))
      .filter((part) => part.length > 0);
  }

  #mergeIntoConfiguration(parts: readonly RoutesPart[], effects: Effects): readonly RoutesPart[] {
    if (this.#ofConfiguration.length === 0) return parts;
    const split = parts.map((part) => this.#split(part));
    let hosts = split.map((part) => part.hosts);
    let merged = joinEncoded(split.flatMap(({ fields }) => fields));
    for (const patch of this.#ofConfiguration)
      effects.apply(patch, () => {
        merged = mergeEncoded(RouteConfigurationSchema, merged, patch);
        if (replacesHosts(patch)) hosts = [];
      });
    const own = splitPart([merged]);
    return [own.fields, ...hosts, own.hosts];
  }

  #split(part: RoutesPart): SplitPart {
    let split = this.#splits.get(part);
    if (split === undefined) this.#splits.set(part, (split = splitPart(part)));
    return split;
  }

  #patchPart(part: RoutesPart): PatchedPart {
    let patched = this.#parts.get(part);
    if (patched === undefined) {
      const pieces = part.map((piece) => this.#patchPiece(piece));
      const effects = new Effects();
      for (const piece of pieces) effects.addAll(piece.effects);
      const isSame = pieces.every((piece, at) => piece.part.length === 1 && piece.part[0] === part[at]);
      patched = {
        part: isSame ? part : pieces.flatMap((piece) => piece.part),
        removed: pieces.flatMap(({ removed }) => removed),
        effects,
      };
      this.#parts.set(part, patched);
    }
    return patched;
  }

  #patchPiece(piece: Uint8Array): PatchedPart {
    let patched = this.#pieces.get(piece);
    if (patched === undefined) this.#pieces.set(piece, (patched = patchHosts(piece, this.#patches)));
    return patched;
  }

  #addedHosts(effects: Effects): RoutesPart {
    const added: Uint8Array[] = [];
    for (const patch of this.#patches.ofHosts)
      if (patch.operation === Operation.ADD)
        effects.apply(
          patch,
          () =>
            void added.push(encodeHost(toBinary(VirtualHostSchema, valueOf(VirtualHostSchema, patch) as VirtualHost))),
        );
    return added;
  }
}

function patchHosts(piece: Uint8Array, patches: HostPatches): PatchedPart {
  const { rest, elements } = splitAt(piece, virtualHosts);
  const effects = new Effects();
  const hosts = elements.map((bytes) => ({ bytes, patched: patchEncodedHost(bytes, patches, effects) }));
  const isSame = hosts.every(({ bytes, patched }) => patched.remains && patched.bytes === bytes);
  const kept = hosts.filter(({ patched }) => patched.remains);
  const removed = hosts.filter(({ patched }) => !patched.remains);
  return {
    part: isSame ? [piece] : [...rest, ...kept.map(({ patched }) => encodeHost(patched.bytes))],
    removed: removed.map(({ patched }) => identifyHost(patched.bytes).name),
    effects,
  };
}

function replacesHosts({ operation, value }: Patch): boolean {
  const configuration = value as RouteConfiguration | undefined;
  return operation === Operation.MERGE_AND_REPLACE_LIST && (configuration?.virtualHosts.length ?? 0) > 0;
}

function splitPart(part: RoutesPart): SplitPart {
  const split = part.map((piece) => splitAt(piece, virtualHosts));
  const hasFields = split.some(({ rest }) => rest.length > 0);
  return {
    fields: split.flatMap(({ rest }) => rest),
    hosts: hasFields ? split.flatMap(({ elements }) => elements.map(encodeHost)) : part,
  };
}

/** Returns a part without the virtual hosts of some names: the same part if it has none of them. */
function withoutHosts(part: RoutesPart, names: readonly string[]): RoutesPart {
  if (!names.some((name) => hostNames(part).has(name))) return part;
  return part.flatMap((piece) => {
    const { rest, elements } = splitAt(piece, virtualHosts);
    const kept = elements.filter((host) => !names.includes(identifyHost(host).name));
    return [...rest, ...kept.map(encodeHost)];
  });
}

/** The names of virtual hosts, which are asked for if patches remove some. */
const namesByPart = new WeakMap<RoutesPart, ReadonlySet<string>>();

function hostNames(part: RoutesPart): ReadonlySet<string> {
  let names = namesByPart.get(part);
  if (names === undefined) {
    const hosts = part.flatMap((piece) => splitAt(piece, virtualHosts).elements);
    namesByPart.set(part, (names = new Set(hosts.map((host) => identifyHost(host).name))));
  }
  return names;
}

function encodeHost(host: Uint8Array): Uint8Array {
  return encodeMessageField(virtualHosts, [host]);
}
