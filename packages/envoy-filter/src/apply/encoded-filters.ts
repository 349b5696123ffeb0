import { type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { EnvoyFilter_Patch_Operation as Operation } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import type { Effects, Patch } from "../patch.js";
import { type AbsentFilter, withAbsentFilters } from "./absent-filters.js";
import { stringIn } from "./encoded-fields.js";
import { type Configured, mergeFilter } from "./merge-value.js";
import { encodedValueOf, patchList } from "./named-list.js";

/** An encoded filter. */
export interface EncodedFilter {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The number of the field for the name, of network and HTTP filters. */
const nameField = 1;

/** Applies patches to encoded filters of a kind. Those that patches merge into are decoded. */
export class EncodedFilters {
  readonly #schema: DescMessage;
  readonly #nameOf: (patch: Patch) => string | undefined;

  /** @param nameOf returns the name of the filter that a patch matches; undefined if it names none */
  constructor(schema: DescMessage, nameOf: (patch: Patch) => string | undefined) {
    this.#schema = schema;
    this.#nameOf = nameOf;
  }

  /**
   * Returns encoded filters with patches, all of which match the list.
   *
   * @param within applies patches within a filter, after those of the filter itself
   */
  patch(
    encoded: readonly Uint8Array[],
    patches: readonly Patch[],
    absent: readonly AbsentFilter[],
    effects: Effects,
    within: (filter: EncodedFilter) => EncodedFilter = (filter) => filter,
  ): readonly Uint8Array[] {
    const elements = encoded.map(withName);
    const newPlaceholder = (name: string): EncodedFilter => ({ name, bytes: noBytes });
    const newElement = (patch: Patch): EncodedFilter => withName(encodedValueOf(this.#schema, patch));
    withAbsentFilters(elements, absent, newPlaceholder, () => {
      for (const patch of patches) {
        const wanted = this.#nameOf(patch);
        const selects = wanted === undefined ? undefined : ({ name }: EncodedFilter) => name === wanted;
        effects.apply(patch, () => patchList({ elements, newElement, selects }, patch));
      }
      const merges = patches.filter(({ operation }) => operation === Operation.MERGE);
      for (const [at, filter] of elements.entries())
        if (filter.bytes !== noBytes) elements[at] = within(this.#merge(filter, merges, effects));
    });
    return elements.map(({ bytes }) => bytes);
  }

  #merge(encoded: EncodedFilter, merges: readonly Patch[], effects: Effects): EncodedFilter {
    let filter: (Message & Configured) | undefined;
    for (const patch of merges) {
      if (!isNamed(filter ?? encoded, this.#nameOf(patch))) continue;
      const decoded = (filter ??= fromBinary(this.#schema, encoded.bytes) as Message & Configured);
      effects.apply(patch, () => mergeFilter(decoded, patch, "rename"));
    }
    return filter === undefined ? encoded : { name: filter.name, bytes: toBinary(this.#schema, filter) };
  }
}

/** Reports whether a filter has the name that a patch matches; undefined: it matches any. */
export function isNamed({ name }: { readonly name: string }, wanted: string | undefined): boolean {
  return wanted === undefined || name === wanted;
}

/** The encoding of absent filters, which have nothing to merge into. */
const noBytes = new Uint8Array(0);

function withName(bytes: Uint8Array): EncodedFilter {
  return { name: stringIn(bytes, nameField), bytes };
}
