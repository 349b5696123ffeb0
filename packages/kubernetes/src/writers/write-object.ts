import { ApiError } from "../api-error.js";
import type { ApiClient } from "../client/api-client.js";
import { checkNamespace, describeObject, type KubernetesObject, nameOf, type ObjectName } from "../object.js";
import { apiVersionOf, resourcePath, type ResourceType } from "../resource-type.js";

/** Options of all requests that write. */
export interface WriteOptions {
  /** Name under which the server records the written fields. Default: derived by the server from the user agent. */
  readonly fieldManager?: string;
  /** `true`: the server validates and answers as for a write, but stores nothing. Default: false. */
  readonly dryRun?: boolean;
  /** Treatment of unknown and duplicate fields. Default: `Strict`, an error. */
  readonly fieldValidation?: "Strict" | "Warn" | "Ignore";
  readonly signal?: AbortSignal;
}

/** Options of requests that may write a subresource. */
export interface SubresourceOptions extends WriteOptions {
  /** For example `status`. Default: the object itself. */
  readonly subresource?: string;
}

export interface ApplyOptions extends SubresourceOptions {
  /** Owner of the applied fields. Fields that it applied earlier and leaves out now are removed. */
  readonly fieldManager: string;
  /** `true`: takes fields over that other managers own with other values. Default: false, a `conflict`. */
  readonly force?: boolean;
}

/** An operation of a JSON patch (RFC 6902). */
export type JsonPatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly from: string; readonly path: string };

/** Changes of an object: operations (RFC 6902), or fields to merge, where null removes (RFC 7386). */
export type Patch = { readonly json: readonly JsonPatchOperation[] } | { readonly merge: object };

export interface DeleteOptions {
  /** Deletes only the object of this UID; `conflict` if another one has the name now. */
  readonly uid?: string;
  /** Deletes only this version; `conflict` if the object has changed. */
  readonly resourceVersion?: string;
  /** Treatment of dependents. Default: the type's, mostly `Background`. */
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
  /** Default: the object's. */
  readonly gracePeriodSeconds?: number;
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Reads an object from the server, not from a cache.
 *
 * @throws ApiError, `not-found` if it does not exist
 */
export async function readObject<T extends KubernetesObject>(
  client: ApiClient,
  type: ResourceType,
  name: ObjectName,
  signal?: AbortSignal,
): Promise<T> {
  checkNamespace(type, name);
  return client.json<T>({ path: resourcePath(type, name), ...(signal && { signal }) });
}

/**
 * Creates an object. With `metadata.generateName` instead of a name, the server chooses the name.
 *
 * @throws ApiError, `already-exists` if the name is taken, `invalid`, `forbidden`
 */
export async function createObject<T extends KubernetesObject>(
  client: ApiClient,
  type: ResourceType,
  object: T,
  options: WriteOptions = {},
): Promise<T> {
  const { namespace } = object.metadata?.generateName ? generatedName(type, object) : nameOf(type, object);
  const path = resourcePath(type, namespace === undefined ? {} : { namespace });
  return client.json<T>({ method: "POST", path, ...request(options), body: bodyOf(type, object) });
}

/**
 * Replaces an object or a subresource, if it still has the version of `metadata.resourceVersion`.
 *
 * @throws ApiError, `conflict` if the object has changed since, `not-found`, `invalid` also without a resourceVersion
 */
export async function updateObject<T extends KubernetesObject>(
  client: ApiClient,
  type: ResourceType,
  object: T,
  { subresource, ...options }: SubresourceOptions = {},
): Promise<T> {
  const name = nameOf(type, object);
  if (!object.metadata?.resourceVersion) {
    const reason = "metadata.resourceVersion is required, because an update without it overwrites concurrent changes";
    throw new ApiError("invalid", `${describeObject(type, name)}: ${reason}`);
  }
  const path = resourcePath(type, { ...name, ...(subresource !== undefined && { subresource }) });
  return client.json<T>({ method: "PUT", path, ...request(options), body: bodyOf(type, object) });
}

/**
 * Creates or changes an object by server-side apply: it gets the given fields, and loses those that the same manager
 * applied earlier.
 *
 * @throws ApiError, `conflict` if another manager owns a field with another value and `force` is not set; the message
 *   names the fields
 */
export async function applyObject<T extends KubernetesObject>(
  client: ApiClient,
  type: ResourceType,
  object: T,
  { force = false, subresource, ...options }: ApplyOptions,
): Promise<T> {
  const path = resourcePath(type, { ...nameOf(type, object), ...(subresource !== undefined && { subresource }) });
  const { query, ...rest } = request(options);
  return client.json<T>({
    method: "PATCH",
    path,
    ...rest,
    query: { ...query, force },
    // JSON is YAML, and every version of the server accepts this media type.
    contentType: "application/apply-patch+yaml",
    body: bodyOf(type, object),
  });
}

/**
 * Changes an existing object or subresource.
 *
 * @throws ApiError, `not-found`, `invalid` if an operation cannot be executed, also if its `test` fails
 */
export async function patchObject<T extends KubernetesObject>(
  client: ApiClient,
  type: ResourceType,
  name: ObjectName,
  patch: Patch,
  { subresource, ...options }: SubresourceOptions = {},
): Promise<T> {
  checkNamespace(type, name);
  const [contentType, body] =
    "json" in patch ? ["application/json-patch+json", patch.json] : ["application/merge-patch+json", patch.merge];
  const path = resourcePath(type, { ...name, ...(subresource !== undefined && { subresource }) });
  return client.json<T>({ method: "PATCH", path, ...request(options), contentType, body: JSON.stringify(body) });
}

/**
 * Deletes an object. An object with finalizers exists until these are removed.
 *
 * @throws ApiError, `not-found`, `conflict` if a precondition does not hold
 */
export async function deleteObject(
  client: ApiClient,
  type: ResourceType,
  name: ObjectName,
  options: DeleteOptions = {},
): Promise<void> {
  checkNamespace(type, name);
  const { uid, resourceVersion, propagationPolicy, gracePeriodSeconds, dryRun = false, signal } = options;
  const hasPreconditions = uid !== undefined || resourceVersion !== undefined;
  const body = JSON.stringify({
    apiVersion: "v1",
    kind: "DeleteOptions",
    ...(hasPreconditions && { preconditions: { uid, resourceVersion } }),
    ...(dryRun && { dryRun: ["All"] }),
    propagationPolicy,
    gracePeriodSeconds,
  });
  await client.json<unknown>({ method: "DELETE", path: resourcePath(type, name), body, ...(signal && { signal }) });
}

function request({ fieldManager, dryRun = false, fieldValidation = "Strict", signal }: WriteOptions) {
  return {
    query: { fieldManager, dryRun: dryRun ? "All" : undefined, fieldValidation },
    ...(signal && { signal }),
  };
}

function generatedName(type: ResourceType, { metadata }: KubernetesObject): { readonly namespace?: string } {
  const namespace = metadata?.namespace;
  const name = { name: `${metadata?.generateName}…`, ...(namespace !== undefined && { namespace }) };
  checkNamespace(type, name);
  return name;
}

function bodyOf(type: ResourceType, object: KubernetesObject): string {
  return JSON.stringify({ ...object, apiVersion: apiVersionOf(type), kind: type.kind });
}
