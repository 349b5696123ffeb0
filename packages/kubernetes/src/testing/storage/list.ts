import { badRequest, invalid, StatusError } from "../http/status-error.js";
import type { ServedType } from "../discovery/served-type.js";
import type { ApiObject, JsonObject } from "./object.js";
import { fieldSelector, labelSelector, type Predicate } from "./selectors.js";
import type { ServerState, Target } from "./server-state.js";
import { resourceKey, type StoredList } from "./store.js";

/** Query parameters of lists and watches. */
export type ListQuery = URLSearchParams;

export interface ObjectList {
  readonly metadata: JsonObject;
  readonly items: readonly ApiObject[];
}

/** Returns a predicate of the selectors in a query, in the namespace and with the name of the path. */
export function selectorOf(query: ListQuery, { type, namespace, name }: Target): Predicate {
  const labels = labelSelector(query.get("labelSelector") ?? "");
  const fields = fieldSelector(query.get("fieldSelector") ?? "", type);
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    (name === undefined || object.metadata.name === name) &&
    labels(object.metadata.labels ?? {}) &&
    fields(object);
}

/**
 * Lists objects as of a resource version, in pages with a consistent snapshot.
 *
 * @throws StatusError 410 for a snapshot that is compacted, 400 and 422 for invalid parameters
 */
export function listObjects(state: ServerState, target: Target, query: ListQuery): ObjectList {
  validateListQuery(query, false);
  const matches = selectorOf(query, target);
  const limit = nonNegative(query, "limit");
  const page = startOf(state, target.type, query);
  const found = page.list.items.filter(([key, object]) => key >= page.startKey && matches(object));
  const items = limit > 0 ? found.slice(0, limit) : found;
  const rest = found.length - items.length;
  const next = found[items.length];
  const hasSelector = query.has("labelSelector") || query.has("fieldSelector");
  return {
    metadata: {
      resourceVersion: String(page.list.revision),
      ...(next !== undefined && { continue: continueToken(page.isConsistent ? page.list.revision : -1, next[0]) }),
      ...(rest > 0 && !hasSelector && { remainingItemCount: rest }),
    },
    items: items.map(([, object]) => object),
  };
}

interface ListStart {
  readonly list: StoredList;
  readonly startKey: string;
  readonly isConsistent: boolean;
}

function startOf(state: ServerState, type: ServedType, query: ListQuery): ListStart {
  const { store } = state;
  const resource = resourceKey(type);
  const token = query.get("continue") ?? "";
  if (token !== "") {
    const { revision, start } = parseContinueToken(token);
    if (revision === -1) return { list: store.list(resource), startKey: start, isConsistent: false };
    if (revision < store.compactedRevision) throw expiredToken(start);
    return { list: store.list(resource, revision), startKey: start, isConsistent: true };
  }
  const requested = parseResourceVersion(query.get("resourceVersion") ?? "");
  if (requested > store.revision) throw tooLarge(requested, store.revision);
  const match = query.get("resourceVersionMatch") ?? "";
  // Before resourceVersionMatch existed, a limit with a resource version meant exactly this version.
  const isExact = match === "Exact" || (match === "" && requested > 0 && nonNegative(query, "limit") > 0);
  if (!isExact) return { list: store.list(resource), startKey: "", isConsistent: true };
  if (requested < store.compactedRevision) {
    throw new StatusError(410, "Expired", "The resourceVersion for the provided list is too old.");
  }
  return { list: store.list(resource, requested), startKey: "", isConsistent: true };
}

/** @throws StatusError 422 for combinations that the API forbids */
export function validateListQuery(query: ListQuery, isWatch: boolean): void {
  const version = query.get("resourceVersion") ?? "";
  const match = query.get("resourceVersionMatch") ?? "";
  const fail = (field: string, message: string): never => {
    throw invalid("ListOptions", "meta.k8s.io", "", [
      { field, reason: "FieldValueForbidden", message: `Forbidden: ${message}` },
    ]);
  };
  const sendInitialEvents = query.get("sendInitialEvents");
  if (!isWatch && sendInitialEvents !== null) fail("sendInitialEvents", "sendInitialEvents is forbidden for list");
  if (isWatch && match !== "" && sendInitialEvents === null) {
    fail("resourceVersionMatch", "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  }
  if (isWatch && sendInitialEvents !== null && match !== "NotOlderThan") {
    fail("resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  }
  if (isWatch || match === "") {
    if (!isWatch && version !== "" && version !== "0" && (query.get("continue") ?? "") !== "") {
      throw badRequest("specifying resource version is not allowed when using continue");
    }
    return;
  }
  if ((query.get("continue") ?? "") !== "") {
    fail("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
  }
  if (version === "")
    fail("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided");
  if (match !== "Exact" && match !== "NotOlderThan") {
    throw invalid("ListOptions", "meta.k8s.io", "", [
      {
        field: "resourceVersionMatch",
        reason: "FieldValueNotSupported",
        message: `Unsupported value: "${match}": supported values: "Exact", "NotOlderThan", ""`,
      },
    ]);
  }
  if (match === "Exact" && version === "0") {
    fail("resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
}

/** @throws StatusError 422 */
export function parseResourceVersion(text: string): number {
  if (text === "") return 0;
  if (/^\d+$/.test(text)) return Number(text);
  throw invalid("ListOptions", "meta.k8s.io", "", [
    {
      field: "resourceVersion",
      reason: "FieldValueInvalid",
      message: `Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`,
    },
  ]);
}

export function tooLarge(requested: number, current: number): StatusError {
  return new StatusError(504, "Timeout", `Too large resource version: ${requested}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });
}

/** Returns a number parameter, 0 if it is absent. */
export function nonNegative(query: ListQuery, name: string): number {
  const text = query.get(name) ?? "";
  if (text === "") return 0;
  if (!/^-?\d+$/.test(text)) {
    throw badRequest(`strconv.ParseInt: parsing "${text}": invalid syntax`);
  }
  return Math.max(0, Number(text));
}

function continueToken(revision: number, start: string): string {
  return Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: revision, start })).toString("base64url");
}

function parseContinueToken(token: string): { readonly revision: number; readonly start: string } {
  try {
    const { v, rv, start } = JSON.parse(Buffer.from(token, "base64url").toString()) as Record<string, unknown>;
    if (v === "meta.k8s.io/v1" && typeof rv === "number" && typeof start === "string") return { revision: rv, start };
  } catch {
    // Falls through to the answer for every token that is not one of this server.
  }
  throw badRequest("continue key is not valid: illegal base64 data or unknown version");
}

function expiredToken(start: string): StatusError {
  return new StatusError(
    410,
    "Expired",
    "The provided continue parameter is too old to display a consistent list result. You can start a new list " +
      "without the continue parameter, or use the continue token in this response to retrieve the remainder of the " +
      "results. Continuing with the provided token results in an inconsistent list - objects that were created, " +
      "modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    undefined,
    { continue: continueToken(-1, start) },
  );
}
