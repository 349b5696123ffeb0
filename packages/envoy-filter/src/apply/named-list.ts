import { clone, type DescMessage, type Message, toBinary } from "@bufbuild/protobuf";
import { EnvoyFilter_Patch_Operation as Operation } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { type Patch, PatchError } from "../patch.js";

/** An ordered list of elements that patches select, such as the filters of a chain. */
export interface PatchedList<T> {
  readonly elements: T[];
  /** Returns a new element with the value of a patch. Throws a PatchError if it has none. */
  readonly newElement: (patch: Patch) => T;
  /** Selects elements; undefined: the patch names no element. */
  readonly selects: ((element: T) => boolean) | undefined;
}

/**
 * Applies a patch that adds, inserts, replaces or removes an element, to a list in place. Reports whether it did.
 * If the patch selects no element, inserting after adds to the end and inserting before to the start; replacing and
 * removing do nothing.
 */
export function patchList<T>(list: PatchedList<T>, patch: Patch): boolean {
  const { elements, selects } = list;
  const position = selects === undefined ? -1 : elements.findIndex(selects);
  switch (patch.operation) {
    case Operation.ADD:
      return insert(list, patch, elements.length);
    case Operation.INSERT_FIRST:
      return insert(list, patch, 0);
    case Operation.INSERT_AFTER:
      if (selects === undefined) return insert(list, patch, elements.length);
      return position >= 0 && insert(list, patch, position + 1);
    case Operation.INSERT_BEFORE:
      if (selects === undefined) return insert(list, patch, 0);
      return position >= 0 && insert(list, patch, position);
    case Operation.REPLACE:
      if (position >= 0) elements.splice(position, 1, list.newElement(patch));
      return position >= 0;
    case Operation.REMOVE: {
      if (selects === undefined) return false;
      const kept = elements.filter((element) => !selects(element));
      return elements.splice(0, elements.length, ...kept).length > kept.length;
    }
    default:
      return false;
  }
}

function insert<T>({ elements, newElement }: PatchedList<T>, patch: Patch, at: number): boolean {
  elements.splice(at, 0, newElement(patch));
  return true;
}

/**
 * Returns a copy of the value of a patch.
 *
 * @throws PatchError if it has none
 */
export function valueOf(schema: DescMessage, { value, operation }: Patch): Message {
  if (value === undefined) throw missingValue(operation);
  return clone(schema, value);
}

/**
 * Returns the encoded value of a patch, which is encoded once.
 *
 * @throws PatchError if it has none
 */
export function encodedValueOf(schema: DescMessage, { value, operation }: Patch): Uint8Array {
  if (value === undefined) throw missingValue(operation);
  let bytes = encodedValues.get(value);
  if (bytes === undefined) encodedValues.set(value, (bytes = toBinary(schema, value)));
  return bytes;
}

const encodedValues = new WeakMap<Message, Uint8Array>();

function missingValue(operation: Operation): PatchError {
  return new PatchError(`patch.value is missing, expected a value with ${Operation[operation]}`);
}

/** Reports whether a patch merges its value into configuration. */
export function isMerge({ operation }: Patch): boolean {
  return operation === Operation.MERGE || operation === Operation.MERGE_AND_REPLACE_LIST;
}
