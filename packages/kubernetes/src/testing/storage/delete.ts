import { conflict, forbidden, notFound, type Status } from "../http/status-error.js";
import { listObjects, type ListQuery } from "./list.js";
import { type ApiObject, formatTime } from "./object.js";
import type { ServerState, Target, WriteOptions } from "./server-state.js";
import { objectKey, resourceKey } from "./store.js";
import { gracePeriodOf } from "./strategy.js";
import { asVersion } from "./write.js";

/** Body and query parameters of a deletion. */
export interface DeleteOptions {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly gracePeriodSeconds?: number;
}

const returningObjects = new Set(["/pods", "/services", "/serviceaccounts", "/podtemplates", "/resourcequotas"]);
const protectedNamespaces = new Set(["default", "kube-system", "kube-public"]);

/**
 * Deletes an object, or marks it as being deleted while it has finalizers or a grace period.
 *
 * @returns the object, or for most types a Status if the object is gone
 * @throws StatusError
 */
export async function deleteObject(
  state: ServerState,
  target: Target & { readonly name: string },
  deletion: DeleteOptions,
  options: WriteOptions,
): Promise<ApiObject | Status> {
  const { type, namespace, name } = target;
  const [resource, key] = [resourceKey(type), objectKey(namespace, name)];
  const existing = state.store.get(resource, key);
  if (existing === undefined) throw notFound(type, name);
  if (resource === "/namespaces" && protectedNamespaces.has(name)) {
    throw forbidden(type, name, "this namespace may not be deleted");
  }
  checkPreconditions(target, existing, deletion);
  const oldObject = asVersion(existing, target);
  await state.admission.validate({ operation: "DELETE", target, object: null, oldObject, options });
  const current = state.store.get(resource, key);
  if (current === undefined) throw notFound(type, name);
  checkPreconditions(target, current, deletion);
  const grace = gracePeriodOf(type, current, deletion.gracePeriodSeconds);
  const mustWait = grace > 0 || (current.metadata.finalizers ?? []).length > 0 || resource === "/namespaces";
  if (mustWait) return asVersion(markDeleted(state, target, current, grace, options), target);
  // Types with a grace period are marked first: watches report pods as modified before they are deleted.
  const last = resource === "/pods" ? markDeleted(state, target, current, grace, options) : current;
  const removed = options.dryRun ? last : (state.store.remove(resource, key) ?? last);
  return returningObjects.has(resource) ? removed : success(target, current);
}

function success({ type }: Target, { metadata: { name = "", uid = "" } }: ApiObject): Status {
  const details = { name, ...(type.group !== "" && { group: type.group }), kind: type.plural, uid };
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details };
}

function markDeleted(
  { store, clock }: ServerState,
  { type, namespace, name }: Target & { readonly name: string },
  object: ApiObject,
  grace: number,
  { dryRun }: WriteOptions,
): ApiObject {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, generation } = object.metadata;
  // A second deletion can only shorten the grace period.
  if (deletionTimestamp !== undefined && grace >= deletionGracePeriodSeconds) return object;
  const start =
    deletionTimestamp === undefined ? clock.now() : Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  const metadata = {
    ...object.metadata,
    deletionTimestamp: formatTime(start + grace * 1000),
    deletionGracePeriodSeconds: grace,
    ...(generation !== undefined && deletionTimestamp === undefined && { generation: generation + 1 }),
  };
  const isNamespace = resourceKey(type) === "/namespaces";
  const { deletionGracePeriodSeconds: _, ...ofNamespace } = metadata;
  const next = isNamespace
    ? { ...object, metadata: ofNamespace, status: { phase: "Terminating" } }
    : { ...object, metadata };
  return dryRun ? next : store.put(resourceKey(type), objectKey(namespace, name), next);
}

function checkPreconditions({ type }: Target, { metadata }: ApiObject, { preconditions }: DeleteOptions): void {
  const { name = "", uid = "", resourceVersion = "" } = metadata;
  const expected = preconditions ?? {};
  if (expected.uid !== undefined && expected.uid !== uid) {
    throw conflict(type, name, `Precondition failed: UID in precondition: ${expected.uid}, UID in object meta: ${uid}`);
  }
  if (expected.resourceVersion !== undefined && expected.resourceVersion !== resourceVersion) {
    throw conflict(
      type,
      name,
      `Precondition failed: ResourceVersion in precondition: ${expected.resourceVersion}, ResourceVersion in object meta: ${resourceVersion}`,
    );
  }
}

/** Deletes the objects of a collection that match the selectors, and returns them as they were. */
export async function deleteCollection(
  state: ServerState,
  target: Target,
  query: ListQuery,
  deletion: DeleteOptions,
  options: WriteOptions,
): Promise<readonly ApiObject[]> {
  const { items } = listObjects(state, target, query);
  for (const { metadata } of items) {
    const { name = "", namespace } = metadata;
    const one = { type: target.type, version: target.version, name, ...(namespace !== undefined && { namespace }) };
    await deleteObject(state, one, deletion, options);
  }
  return items;
}
