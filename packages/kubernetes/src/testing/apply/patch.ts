import { badRequest, notFound, unsupportedMediaType } from "../http/status-error.js";
import { type ApiObject, isJsonObject } from "../storage/object.js";
import type { ServerState, Target, WriteOptions } from "../storage/server-state.js";
import { objectKey, resourceKey } from "../storage/store.js";
import { createObject, updateObject, writerOf } from "../storage/write.js";
import { applyConfig } from "./managed-fields.js";
import { jsonPatch } from "./json-patch.js";
import { mergePatch, strategicMergePatch } from "./merge-patch.js";
import { schemaOf } from "./schema-of.js";

export interface PatchRequest {
  readonly target: Target & { readonly name: string };
  readonly mediaType: string;
  readonly patch: unknown;
  readonly force: boolean;
  readonly options: WriteOptions;
}

const applyTypes = ["application/apply-patch+yaml", "application/apply-patch+json"];

/** Returns the media types of patches of a type. */
export function patchTypes({ type }: Target): readonly string[] {
  const strategic = type.isCustom ? [] : ["application/strategic-merge-patch+json"];
  return ["application/json-patch+json", "application/merge-patch+json", ...strategic, ...applyTypes.slice(0, 1)];
}

export interface Patched {
  readonly object: ApiObject;
  readonly isCreated: boolean;
}

/**
 * Patches an object, or creates it by server-side apply.
 *
 * @throws StatusError
 */
export async function patchObject(state: ServerState, request: PatchRequest): Promise<Patched> {
  const { target, mediaType } = request;
  if (applyTypes.includes(mediaType)) return applyObject(state, request);
  if (!patchTypes(target).includes(mediaType)) throw unsupportedMediaType(patchTypes(target));
  const build = (existing: ApiObject): ApiObject => patched(existing, request);
  return {
    object: await updateObject(state, { target, options: request.options, build, isPatch: true }),
    isCreated: false,
  };
}

function patched(existing: ApiObject, { target, mediaType, patch }: PatchRequest): ApiObject {
  let result: unknown;
  if (mediaType === "application/json-patch+json") result = jsonPatch(existing, patch);
  else if (!isJsonObject(patch)) throw badRequest("the patch is not an object");
  else if (mediaType === "application/merge-patch+json") result = mergePatch(existing, patch);
  else result = strategicMergePatch(existing, patch, schemaOf(target));
  if (!isJsonObject(result) || !isJsonObject(result.metadata)) throw badRequest("the patch removes the metadata");
  return result as ApiObject;
}

async function applyObject(state: ServerState, request: PatchRequest): Promise<Patched> {
  const { target, options, force } = request;
  const config = configOf(request);
  const writer = writerOf(state, target, options, true);
  const schema = schemaOf(target);
  const existing = state.store.get(resourceKey(target.type), objectKey(target.namespace, target.name));
  if (existing === undefined) {
    if (target.subresource !== undefined || config.metadata.uid !== undefined) throw notFound(target.type, target.name);
    // The applier owns what it sent, without the defaults of the server.
    const applied = applyConfig(undefined, reducedConfig(config, target), writer, force, schema);
    const track = (object: ApiObject): ApiObject => withManagedFields(object, applied);
    return { object: await createObject(state, target, config, options, track), isCreated: true };
  }
  let applied: ApiObject | undefined;
  const object = await updateObject(state, {
    target,
    options,
    build: (current) => (applied = applyConfig(current, reducedConfig(config, target), writer, force, schema)),
    track: (_, next) => withManagedFields(next, applied),
    isPatch: true,
  });
  return { object, isCreated: false };
}

function configOf({ target, patch }: PatchRequest): ApiObject {
  if (!isJsonObject(patch)) throw badRequest("the applied configuration is not an object");
  const metadata = isJsonObject(patch.metadata) ? patch.metadata : {};
  if (metadata.managedFields !== undefined) throw badRequest("metadata.managedFields must be nil");
  if (typeof patch.apiVersion !== "string" || typeof patch.kind !== "string") {
    throw badRequest("the applied configuration needs apiVersion and kind");
  }
  const namespace = target.namespace === undefined ? {} : { namespace: target.namespace };
  const { apiVersion, kind } = patch;
  return { ...patch, apiVersion, kind, metadata: { name: target.name, ...namespace, ...metadata } };
}

/** Leaves out what the endpoint ignores, so that the applier does not own it. */
function reducedConfig(config: ApiObject, { version, subresource }: Target): ApiObject {
  if (subresource !== undefined) {
    const { apiVersion, kind, metadata, status } = config;
    const { name, namespace, uid, resourceVersion } = metadata;
    const kept = Object.fromEntries(
      Object.entries({ name, namespace, uid, resourceVersion }).filter(([, value]) => value !== undefined),
    );
    return { apiVersion, kind, metadata: kept, ...(status !== undefined && { status }) };
  }
  if (!version.hasStatus) return config;
  const { status: _, ...rest } = config;
  return rest as ApiObject;
}

function withManagedFields(object: ApiObject, applied: ApiObject | undefined): ApiObject {
  const { managedFields: _, ...metadata } = object.metadata;
  const managedFields = applied?.metadata.managedFields;
  return { ...object, metadata: { ...metadata, ...(managedFields !== undefined && { managedFields }) } };
}
