import { type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { EnvoyFilter_Patch_Operation as Operation } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { joinEncoded } from "@istiod/protobuf-wire";
import { mergeableBytes, mergeMessage, mergePacked } from "../merge.js";
import { type Patch, PatchError } from "../patch.js";

/** Merges the value of a patch into a message. */
export function mergeValue(schema: DescMessage, into: Message, { value, operation }: Patch): void {
  if (value === undefined) throw new PatchError("patch.value is missing, expected a value to merge");
  mergeMessage(schema, into, value, operation === Operation.MERGE_AND_REPLACE_LIST ? "replace" : "append");
}

/** Returns the encoding of a message with the value of a patch merged into it. Values that append are not decoded. */
export function mergeEncoded(schema: DescMessage, into: Uint8Array, patch: Patch): Uint8Array {
  const { value, operation } = patch;
  if (value === undefined || operation === Operation.MERGE_AND_REPLACE_LIST) {
    const message = fromBinary(schema, into);
    mergeValue(schema, message, patch);
    return toBinary(schema, message);
  }
  let added = mergeable.get(value);
  if (added === undefined) mergeable.set(value, (added = mergeableBytes(schema, value)));
  return joinEncoded([into, added]);
}

/** The mergeable bytes of values, which are merged into many resources. */
const mergeable = new WeakMap<Message, Uint8Array>();

/** A filter, by the fields that merging concerns. */
interface Configured {
  name: string;
  configType: { case: "typedConfig"; value: Any } | { case: string | undefined; value?: unknown };
}

/** Returns the packed configuration of a filter or transport socket; undefined if it has none. */
export function typedConfigOf({ configType }: Configured): Any | undefined {
  return configType.case === "typedConfig" ? (configType.value as Any) : undefined;
}

/**
 * Merges a patch of a listener filter into a listener filter, by the type of its configuration. Its name stays. Reports
 * whether it could: a filter without packed configuration stays as it is.
 *
 * @throws PatchError if the types differ
 */
export function mergeListenerFilter(into: Configured, patch: Patch): boolean {
  const own = typedConfigOf(into);
  if (own === undefined) return false;
  const added = typedConfigOf(valueOfMerge(patch));
  if (added !== undefined) into.configType = { case: "typedConfig", value: mergePacked(own, added) };
  return true;
}

/**
 * Returns the value of a patch that merges into a filter.
 *
 * @throws PatchError if it has none
 */
export function valueOfMerge({ value }: Patch): Message & Configured {
  if (value === undefined) throw new PatchError("patch.value is missing, expected a value to merge");
  return value as Message & Configured;
}
