import type { DescMessage } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { FilterSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener_components";
import { EnvoyFilter_Patch_Operation as Operation } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import type { Effects, Patch } from "../patch.js";
import { type AbsentFilter, withAbsentFilters } from "./absent-filters.js";
import { encodeStringField, joinEncoded, messageFieldParts } from "@istiod/protobuf-wire";
import { packedAddition } from "../merge.js";
import { splitAt, splitParts, stringIn } from "./encoded-fields.js";
import { typedConfigOf, valueOfMerge } from "./merge-value.js";
import { encodedValueOf, patchList } from "./named-list.js";

/** An encoded filter. */
export interface EncodedFilter {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The fields of network and HTTP filters. */
const { name, typedConfig } = FilterSchema.field;
const [nameField, typedConfigField] = [name.number, typedConfig.number];

/** Applies patches to encoded filters of a kind: network filters or HTTP filters, which have the same fields. */
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

  /** Merges patches by the type of the configuration. A filter without packed configuration stays as it is. */
  #merge(encoded: EncodedFilter, merges: readonly Patch[], effects: Effects): EncodedFilter {
    if (merges.every((patch) => !isNamed(encoded, this.#nameOf(patch)))) return encoded;
    const { rest, elements } = splitAt(encoded.bytes, typedConfigField);
    if (elements.length === 0) return encoded;
    const packed = joinEncoded(elements);
    const into = { typeUrl: stringIn(packed, AnySchema.field.typeUrl.number) };
    const added: Uint8Array[] = [];
    let { name } = encoded;
    for (const patch of merges) {
      if (!isNamed({ name }, this.#nameOf(patch))) continue;
      effects.apply(patch, () => {
        const from = valueOfMerge(patch);
        const config = typedConfigOf(from);
        if (config !== undefined) added.push(packedAddition(into, config));
        name = from.name || name;
      });
    }
    const { number: valueField } = AnySchema.field.value;
    const own = splitAt(packed, valueField);
    const value = messageFieldParts(valueField, [...own.elements, ...added]);
    const named = splitParts(rest, nameField).rest;
    const config = messageFieldParts(typedConfigField, [...own.rest, ...value]);
    return { name, bytes: joinEncoded([encodeStringField(nameField, name), ...named, ...config]) };
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
