import { isDeepStrictEqual } from "node:util";
import type { ApiClient } from "../client/api-client.js";
import type { KubernetesObject } from "../object.js";
import type { ResourceType } from "../resource-type.js";
import { type ApplyOptions, applyObject } from "./write-object.js";

/**
 * Applies an object unless the observed one shows that nothing would change: the manager's fields are exactly those of
 * the object, with equal values. Without `metadata.managedFields` in the observed object, it always applies.
 *
 * @returns the applied object, or undefined if nothing was written
 * @throws ApiError as `applyObject`
 */
export async function applyIfChanged<T extends KubernetesObject>(
  client: ApiClient,
  type: ResourceType,
  object: T,
  observed: KubernetesObject | undefined,
  options: ApplyOptions,
): Promise<T | undefined> {
  if (observed && isApplied(object, observed, options)) return undefined;
  return applyObject(client, type, object, options);
}

/** Reports whether an observed object already has exactly the applied fields of a manager. */
export function isApplied(
  object: KubernetesObject,
  observed: KubernetesObject,
  { fieldManager, subresource }: Pick<ApplyOptions, "fieldManager" | "subresource">,
): boolean {
  const entry = observed.metadata?.managedFields?.find(
    (fields) =>
      fields.manager === fieldManager &&
      fields.operation === "Apply" &&
      (fields.subresource ?? "") === (subresource ?? ""),
  );
  return entry?.fieldsV1 !== undefined && isEqualIn(entry.fieldsV1, managedPart(object), observed);
}

/** Returns an object without the fields that no manager owns. */
function managedPart({ metadata = {}, ...object }: KubernetesObject): object {
  const { name: _name, namespace: _namespace, uid: _uid, resourceVersion: _version, ...managed } = metadata;
  const { apiVersion: _apiVersion, kind: _kind, ...fields } = object;
  return Object.keys(managed).length === 0 ? fields : { ...fields, metadata: managed };
}

/** Compares values in a set of fields (`fieldsV1`), where no value may have further fields. */
function isEqualIn(fields: object, desired: unknown, observed: unknown): boolean {
  const members = Object.entries(fields).filter(([key]) => key !== ".");
  // With ".", only the map or list itself is owned, and others may own its members.
  if (members.length === 0 && "." in fields)
    return desired !== undefined && observed !== undefined && sizeOf(desired) === 0;
  if (members.length === 0)
    return isDeepStrictEqual(plainJson(desired), plainJson(observed)) || isOmitted(desired, observed);
  const matched = new Set<unknown>();
  return (
    sizeOf(desired) === members.length &&
    members.every(([key, inner]) => {
      const wanted = key.startsWith("k:") ? desiredItem(desired, key) : memberOf(desired, key);
      const seen = memberOf(observed, key);
      // Keys are distinct, so each needs an item of its own.
      if (key.startsWith("k:") && matched.size === matched.add(wanted).size) return false;
      return wanted !== undefined && isEqualIn(inner as object, wanted, seen);
    })
  );
}

/** Reports whether an absent value is an empty one that was applied, which servers of built-in types omit. */
function isOmitted(desired: unknown, observed: unknown): boolean {
  if (observed !== undefined) return false;
  return (
    desired === "" ||
    desired === 0 ||
    desired === false ||
    (desired !== null && typeof desired === "object" && sizeOf(desired) === 0)
  );
}

function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).filter((member) => member !== undefined).length;
}

/** Returns a member by its key in a set of fields: `f:<name>`, `k:<keys in JSON>`, `v:<value in JSON>`, `i:<index>`. */
function memberOf(value: unknown, key: string): unknown {
  const name = key.slice(2);
  if (key.startsWith("f:")) return (value as Readonly<Record<string, unknown>> | null)?.[name];
  if (!Array.isArray(value)) return undefined;
  if (key.startsWith("i:")) return value[Number(name)] as unknown;
  const wanted = JSON.parse(name) as unknown;
  if (key.startsWith("v:")) return value.find((item) => isDeepStrictEqual(plainJson(item), wanted)) as unknown;
  const keys = Object.entries(wanted as object);
  return value.find((item) =>
    keys.every(([field, expected]) => (item as Readonly<Record<string, unknown>>)[field] === expected),
  ) as unknown;
}

/**
 * Returns the item of a desired list with a key, of which the item may lack fields: the server has defaulted these, as
 * the protocol of a Service's port. If the item had them earlier, the manager owns them, which differs.
 */
function desiredItem(list: unknown, key: string): unknown {
  const exact = memberOf(list, key);
  if (exact !== undefined || !Array.isArray(list)) return exact;
  const fields = Object.entries(JSON.parse(key.slice(2)) as object);
  return list.find((item: Readonly<Record<string, unknown>>) =>
    fields.every(([field, expected]) => item[field] === undefined || item[field] === expected),
  ) as unknown;
}

/** Returns JSON without undefined members, and with the usual prototypes. */
function plainJson(value: unknown): unknown {
  return typeof value === "object" && value !== null ? JSON.parse(JSON.stringify(value)) : value;
}
