import { StatusError, type StatusCause } from "../http/status-error.js";
import { copyJson, equalJson, type ApiObject, type ManagedFieldsEntry } from "../storage/object.js";
import {
  decodeFields,
  describePaths,
  difference,
  encodeFields,
  equalSets,
  type FieldSet,
  fieldSet,
  intersection,
  isEmptySet,
  memberOnly,
  pathSet,
  recursiveDifference,
  union,
} from "./field-set.js";
import type { FieldSchema } from "./field-schema.js";
import { compareFields, fieldsOf, mergeConfig, removeFields, writtenFields } from "./fields.js";

/** The writer of a change, as managed fields record it. */
export interface Writer {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  readonly apiVersion: string;
  readonly subresource?: string;
  readonly time: string;
}

interface Owner extends Writer {
  readonly fields: FieldSet;
}

/** Fields that no writer owns: the server sets them, or they identify the object. */
const unowned: FieldSet = [
  pathSet("f:apiVersion"),
  pathSet("f:kind"),
  ...[
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "selfLink",
    "managedFields",
  ].map((name) => pathSet("f:metadata", `f:${name}`)),
].reduce(union, fieldSet(false, [["f:metadata", memberOnly]]));

const ownersOf = (object: ApiObject | undefined): readonly Owner[] =>
  (object?.metadata.managedFields ?? []).map(
    ({ fieldsV1, time = "", manager, operation, apiVersion, subresource }) => ({
      manager,
      operation,
      apiVersion,
      time,
      ...(subresource !== undefined && { subresource }),
      fields: decodeFields(fieldsV1),
    }),
  );

const isSameOwner = (a: Writer, b: Writer): boolean =>
  a.manager === b.manager &&
  a.operation === b.operation &&
  a.subresource === b.subresource &&
  (a.operation === "Apply" || a.apiVersion === b.apiVersion);

/** Returns the object with the owners of its fields, in the order of the API: appliers first, then by time. */
function withOwners(object: ApiObject, owners: readonly Owner[]): ApiObject {
  const entries = owners
    .filter(({ fields }) => !isEmptySet(fields))
    .map(({ manager, operation, apiVersion, time, fields, subresource }): ManagedFieldsEntry => ({
      manager,
      operation,
      apiVersion,
      time,
      fieldsType: "FieldsV1",
      fieldsV1: encodeFields(fields),
      ...(subresource !== undefined && { subresource }),
    }))
    .sort((a, b) => compareText(sortKey(a), sortKey(b)));
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, ...(entries.length > 0 && { managedFields: entries }) } };
}

const sortKey = ({ operation, time = "", manager, apiVersion, subresource = "" }: ManagedFieldsEntry): string =>
  [operation, time, manager, apiVersion, subresource].join("\0");

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const contentOf = (object: ApiObject | undefined): unknown => {
  if (object === undefined) return undefined;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
};

/**
 * Returns the object of a write other than apply with its managed fields: the writer owns what it changed, everybody
 * else loses it.
 */
export function trackUpdate(
  live: ApiObject | undefined,
  next: ApiObject,
  writer: Writer,
  schema: FieldSchema,
): ApiObject {
  const sent = next.metadata.managedFields;
  const isReset = sent !== undefined && sent.every((entry) => Object.keys(entry).length === 0);
  const known = isReset ? [] : sent === undefined ? ownersOf(live) : ownersOf(next);
  const comparison = compareFields(contentOf(live) ?? {}, contentOf(next), schema);
  const written = difference(writtenFields(comparison), unowned);
  const removed = comparison.removed;
  if (isReset && isEmptySet(written)) return withOwners(next, []);
  const own = known.find((owner) => isSameOwner(owner, writer));
  const fields = union(recursiveDifference(own?.fields ?? fieldSet(false, []), removed), written);
  const others = known
    .filter((owner) => owner !== own)
    .map((owner) => ({ ...owner, fields: recursiveDifference(difference(owner.fields, written), removed) }));
  const time = own !== undefined && equalSets(own.fields, fields) && isEmptySet(written) ? own.time : writer.time;
  return withOwners(next, [...others, { ...writer, time, fields }]);
}

/**
 * Returns the live object after applying a configuration.
 *
 * @throws StatusError 409 if the configuration changes fields of other managers and `force` is false
 */
export function applyConfig(
  live: ApiObject | undefined,
  config: ApiObject,
  writer: Writer,
  force: boolean,
  schema: FieldSchema,
): ApiObject {
  const applied = difference(fieldsOf(contentOf(config), schema), unowned);
  const owners = ownersOf(live);
  const own = owners.find((owner) => isSameOwner(owner, writer));
  const others = owners.filter((owner) => owner !== own);
  const merged = mergeConfig(contentOf(live) ?? {}, contentOf(config), schema);
  const kept = others.reduce((sum, { fields }) => union(sum, fields), union(applied, unowned));
  const pruned = removeFields(merged, own?.fields ?? fieldSet(false, []), kept, schema) as ApiObject;
  const comparison = compareFields(contentOf(live) ?? {}, pruned, schema);
  const written = difference(writtenFields(comparison), unowned);
  if (!force) rejectConflicts(others, written);
  const remaining = others.map((owner) => ({
    ...owner,
    fields: recursiveDifference(difference(owner.fields, written), comparison.removed),
  }));
  const isNoop = own !== undefined && equalSets(own.fields, applied) && equalJson(contentOf(live), pruned);
  const time = isNoop ? own.time : writer.time;
  return withOwners(copyJson(pruned), [...remaining, { ...writer, time, fields: applied }]);
}

function rejectConflicts(others: readonly Owner[], written: FieldSet): void {
  const conflicts = others
    .map((owner) => ({
      manager: describeOwner(owner),
      fields: describePaths(intersection(owner.fields, written)),
    }))
    .filter(({ fields }) => fields.length > 0)
    .sort((a, b) => compareText(a.manager, b.manager));
  const causes = conflicts.flatMap(({ manager, fields }): StatusCause[] =>
    fields.map((field) => ({ reason: "FieldManagerConflict", message: `conflict with ${manager}`, field })),
  );
  const [first] = causes;
  if (first === undefined) return;
  const message =
    causes.length === 1
      ? `Apply failed with 1 conflict: ${first.message}: ${first.field}`
      : `Apply failed with ${causes.length} conflicts: ${conflicts
          .map(({ manager, fields }) =>
            [`conflicts with ${manager}:`, ...fields.map((field) => `- ${field}`)].join("\n"),
          )
          .join("\n")}`;
  throw new StatusError(409, "Conflict", message, { causes });
}

function describeOwner({ manager, operation, apiVersion, subresource }: Owner): string {
  const name = `"${manager}"${subresource === undefined ? "" : ` with subresource "${subresource}"`}`;
  return operation === "Apply" ? name : `${name} using ${apiVersion}`;
}
