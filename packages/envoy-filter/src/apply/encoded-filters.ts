import type { DescMessage } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { FilterSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { EnvoyFilter_Patch_Operation as Operation } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { Effects, type Patch } from "../patch.js";
import { type AbsentFilter, withAbsentFilters } from "./absent-filters.js";
import { encodeStringField, joinEncoded, messageFieldParts } from "@istiod/protobuf-wire";
import { RecentMap } from "@istiod/runtime";
import { packedAddition } from "../merge.js";
import { splitAt, splitParts, stringIn } from "./encoded-fields.js";
import { typedConfigOf, valueOfMerge } from "./merge-value.js";
import { encodedValueOf, patchList } from "./named-list.js";

/** An encoded filter. */
interface EncodedFilter {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** An encoded filter, split at its packed configuration. */
export interface PackedFilter {
  readonly name: string;
  /** Its other fields. */
  readonly rest: readonly Uint8Array[];
  readonly typeUrl: string;
  /** The fields of the `Any` other than the value. */
  readonly any: readonly Uint8Array[];
  /** Encodings that are the value, joined. */
  readonly values: readonly Uint8Array[];
}

/** The fields of network and HTTP filters. */
const { name, typedConfig } = FilterSchema.field;
const [nameField, typedConfigField] = [name.number, typedConfig.number];
const [typeUrlField, valueField] = [AnySchema.field.typeUrl.number, AnySchema.field.value.number];

/** The patches of filters of a kind: network filters or HTTP filters, which have the same fields. */
export interface FilterPatches {
  readonly schema: DescMessage;
  readonly patches: readonly Patch[];
  /** Returns the name of the filter that a patch matches; undefined if it names none. */
  readonly nameOf: (patch: Patch) => string | undefined;
  readonly absent: readonly AbsentFilter[];
}

/** The bytes that patches merge into a configuration. */
interface Addition {
  /** The name of the filter after merging. */
  readonly name: string;
  readonly values: readonly Uint8Array[];
  readonly effects: Effects;
}

/** The number of filters, by name and type, of which additions are kept. */
const maxAdditions = 100;

/** Applies the same patches to any number of lists of encoded filters, all of which they match. */
export class EncodedFilters {
  readonly #options: FilterPatches;
  readonly #merges: readonly Patch[];
  readonly #additions = new RecentMap<Addition>(maxAdditions);

  constructor(options: FilterPatches) {
    this.#options = options;
    this.#merges = options.patches.filter(({ operation }) => operation === Operation.MERGE);
  }

  /**
   * Returns the filters with the patches, each in parts.
   *
   * @param within applies patches within a filter, after those of the filter itself; undefined: there are none
   */
  patch(
    encoded: readonly Uint8Array[],
    effects: Effects,
    within: (filter: PackedFilter) => PackedFilter | undefined = () => undefined,
  ): readonly (readonly Uint8Array[])[] {
    const { schema, patches, nameOf, absent } = this.#options;
    const elements = encoded.map(withName);
    const newPlaceholder = (name: string): EncodedFilter => ({ name, bytes: noBytes });
    const newElement = (patch: Patch): EncodedFilter => withName(encodedValueOf(schema, patch));
    withAbsentFilters(elements, absent, newPlaceholder, () => {
      for (const patch of patches) {
        if (patch.operation === Operation.MERGE) continue;
        const wanted = nameOf(patch);
        const selects = wanted === undefined ? undefined : ({ name }: EncodedFilter) => name === wanted;
        effects.apply(patch, () => patchList({ elements, newElement, selects }, patch));
      }
    });
    return elements.map(({ name, bytes }) => {
      const merged = this.#merge(name, bytes, effects);
      const own = merged ?? splitFilter(name, bytes);
      const patched = (own && within(own)) ?? merged;
      return patched === undefined ? [bytes] : encodeFilter(patched);
    });
  }

  /**
   * Merges patches by the type of the configuration. Returns undefined if none does. A filter without packed
   * configuration stays as it is.
   */
  #merge(name: string, bytes: Uint8Array, effects: Effects): PackedFilter | undefined {
    if (this.#merges.every((patch) => !isNamed(name, this.#options.nameOf(patch)))) return undefined;
    const own = splitFilter(name, bytes);
    if (own === undefined) return undefined;
    const added = this.#additions.getOrCompute(JSON.stringify([name, own.typeUrl]), () => this.#additionTo(own));
    effects.addAll(added.effects);
    const named = [encodeStringField(nameField, added.name), ...splitParts(own.rest, nameField).rest];
    return { ...own, name: added.name, rest: named, values: [...own.values, ...added.values] };
  }

  #additionTo({ name, typeUrl }: PackedFilter): Addition {
    const effects = new Effects();
    const values: Uint8Array[] = [];
    let current = name;
    for (const patch of this.#merges) {
      if (!isNamed(current, this.#options.nameOf(patch))) continue;
      effects.apply(patch, () => {
        const from = valueOfMerge(patch);
        const config = typedConfigOf(from);
        if (config !== undefined) values.push(packedAddition({ typeUrl }, config));
        current = from.name || current;
      });
    }
    return { name: current, values: [joinEncoded(values)], effects };
  }
}

/** Reports whether a filter has the name that a patch matches; undefined: it matches any. */
export function isNamed(name: string, wanted: string | undefined): boolean {
  return wanted === undefined || name === wanted;
}

/** The encoding of absent filters. */
const noBytes = new Uint8Array(0);

function withName(bytes: Uint8Array): EncodedFilter {
  return { name: stringIn(bytes, nameField), bytes };
}

/** Splits a filter at its packed configuration; undefined if it has none. */
function splitFilter(name: string, bytes: Uint8Array): PackedFilter | undefined {
  const { rest, elements } = splitAt(bytes, typedConfigField);
  if (elements.length === 0) return undefined;
  const { rest: any, elements: values } = splitParts(elements, valueField);
  return { name, rest, typeUrl: any.map((each) => stringIn(each, typeUrlField)).findLast(Boolean) ?? "", any, values };
}

/** Returns the parts of an encoded filter. */
function encodeFilter({ rest, any, values }: PackedFilter): readonly Uint8Array[] {
  return [...rest, ...messageFieldParts(typedConfigField, [...any, ...messageFieldParts(valueField, values)])];
}
