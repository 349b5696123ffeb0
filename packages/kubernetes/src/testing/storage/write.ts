import { randomInt } from "node:crypto";
import { schemaOf } from "../apply/schema-of.js";
import { trackUpdate, type Writer } from "../apply/managed-fields.js";
import { alreadyExists, badRequest, conflict, forbidden, invalid, modified, notFound } from "../http/status-error.js";
import { setBuiltInDefaults } from "./defaults.js";
import { validateMetadataUpdate } from "./metadata.js";
import { type ApiObject, copyJson, equalJson } from "./object.js";
import { applySchema } from "../schema/apply-schema.js";
import { type ServerState, type Target, timeOf, type WriteOptions } from "./server-state.js";
import { objectKey, resourceKey } from "./store.js";
import { prepareForCreate, prepareForUpdate, withoutSystemFields } from "./strategy.js";
import { validateObject } from "./validation.js";

/** Returns the apiVersion of a target's objects. */
export const apiVersionOfTarget = ({ type, version }: Target): string =>
  type.group === "" ? version.name : `${type.group}/${version.name}`;

/** Returns the writer that managed fields record for a request. */
export function writerOf(state: ServerState, target: Target, options: WriteOptions, isApply: boolean): Writer {
  return {
    manager: options.fieldManager,
    operation: isApply ? "Apply" : "Update",
    apiVersion: apiVersionOfTarget(target),
    ...(target.subresource !== undefined && { subresource: target.subresource }),
    time: timeOf(state),
  };
}

/** @throws StatusError 400 if the object is not one that the path can hold */
function checkIdentity(target: Target, object: ApiObject): void {
  const expected = apiVersionOfTarget(target);
  if (object.apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${object.apiVersion}) does not match the expected API version (${expected})`,
    );
  }
  if (object.kind !== target.type.kind) {
    throw badRequest(
      `${object.kind} in version "${target.version.name}" cannot be handled as a ${target.type.kind}: ` +
        `no kind "${object.kind}" is registered for the resource ${target.type.plural}`,
    );
  }
  const { namespace, name } = object.metadata;
  if (namespace !== undefined && namespace !== "" && namespace !== (target.namespace ?? "")) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (target.name !== undefined && name !== undefined && name !== target.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`);
  }
}

/**
 * Creates an object.
 *
 * @throws StatusError
 */
export async function createObject(
  state: ServerState,
  target: Target,
  sent: ApiObject,
  options: WriteOptions,
  track: (object: ApiObject) => ApiObject = (object) =>
    trackUpdate(undefined, object, writerOf(state, target, options, false), schemaOf(target)),
): Promise<ApiObject> {
  const { type } = target;
  checkIdentity(target, sent);
  if ((sent.metadata.resourceVersion ?? "") !== "" && sent.metadata.resourceVersion !== "0") {
    throw badRequest("resourceVersion should not be set on objects to be created");
  }
  const decoded = decodeObject(target, withoutSystemFields(copyJson(sent)), options);
  const tracked = track(decoded);
  checkNamespace(state, target);
  const request = { operation: "CREATE", target, oldObject: null, options } as const;
  const mutated = await state.admission.mutate({ ...request, object: tracked });
  const named = withGeneratedName(mutated ?? tracked);
  const object = decodeObject(target, prepareForCreate(state, target, named, options.user), options);
  validateObject(state, type, object);
  const name = object.metadata.name ?? "";
  const key = objectKey(target.namespace, name);
  const release = allocate(state, target, object);
  try {
    await state.admission.validate({ ...request, object });
    checkNamespace(state, target);
    if (state.store.get(resourceKey(type), key) !== undefined) throw alreadyExists(type, name);
    return options.dryRun ? object : state.store.put(resourceKey(type), key, object);
  } finally {
    release();
  }
}

/** Assigns what no two objects can have. The returned function is called when the object is stored or rejected. */
function allocate({ services }: ServerState, target: Target, object: ApiObject, previous?: ApiObject): () => void {
  const isService = resourceKey(target.type) === "/services" && target.subresource === undefined;
  return isService ? services.allocate(object, previous) : () => undefined;
}

/** Applies defaults and the schema, as at every decoding. */
function decodeObject(target: Target, object: ApiObject, options: WriteOptions): ApiObject {
  setBuiltInDefaults(target.type, object);
  return applySchema(target, object, options);
}

function withGeneratedName(object: ApiObject): ApiObject {
  const { name = "", generateName = "" } = object.metadata;
  if (name !== "" || generateName === "") return object;
  const alphabet = "bcdfghjklmnpqrstvwxz2456789";
  const suffix = Array.from({ length: 5 }, () => alphabet[randomInt(alphabet.length)]).join("");
  return { ...object, metadata: { ...object.metadata, name: generateName.slice(0, 58) + suffix } };
}

function checkNamespace({ store }: ServerState, { type, namespace, name }: Target): void {
  if (namespace === undefined) return;
  const found = store.get("/namespaces", namespace);
  if (found === undefined) throw notFound({ group: "", plural: "namespaces" }, namespace);
  if (found.metadata.deletionTimestamp !== undefined) {
    const message = `unable to create new content in namespace ${namespace} because it is being terminated`;
    const cause = {
      reason: "NamespaceTerminating",
      message: `namespace ${namespace} is being terminated`,
      field: "metadata.namespace",
    };
    throw forbidden(type, name, message, [cause]);
  }
}

export interface UpdateRequest {
  readonly target: Target & { readonly name: string };
  readonly options: WriteOptions;
  /** Returns the object to store for the current one. It is called again if another write intervened. */
  readonly build: (existing: ApiObject) => ApiObject;
  /** Records the owners of fields. Default: those of an update. */
  readonly track?: (existing: ApiObject, next: ApiObject) => ApiObject;
  /** Patches carry no resource version of their own unless they set one. */
  readonly isPatch: boolean;
}

const maxAttempts = 5;

/**
 * Updates an object. A write without any change keeps the resource version.
 *
 * @throws StatusError
 */
export async function updateObject(state: ServerState, request: UpdateRequest): Promise<ApiObject> {
  const { type, namespace, name } = request.target;
  const key = objectKey(namespace, name);
  for (let attempt = 1; ; attempt += 1) {
    const existing = state.store.get(resourceKey(type), key);
    if (existing === undefined) throw notFound(type, name);
    const built = request.build(copyJson(asVersion(existing, request.target)));
    const next = await mutateUpdate(state, request, existing, built);
    const release = allocate(state, request.target, next, existing);
    try {
      await validateUpdate(state, request, existing, next);
      if (state.store.get(resourceKey(type), key) === existing) return commitUpdate(state, request, existing, next);
    } finally {
      release();
    }
    const isConditional = (built.metadata.resourceVersion ?? "") !== "" && !request.isPatch;
    if (isConditional || attempt === maxAttempts) throw modified(type, name);
  }
}

/** Returns a stored object in the version of a target. Versions of custom resources have the same content. */
export function asVersion(object: ApiObject, target: Target): ApiObject {
  const apiVersion = apiVersionOfTarget(target);
  return object.apiVersion === apiVersion ? object : { ...object, apiVersion };
}

/** Returns the object after all mutating webhooks. */
async function mutateUpdate(
  state: ServerState,
  { target, options, track, isPatch }: UpdateRequest,
  existing: ApiObject,
  built: ApiObject,
): Promise<ApiObject> {
  checkIdentity(target, built);
  checkVersion(target, existing, built, isPatch);
  const current = asVersion(existing, target);
  const decoded = decodeObject(target, built, options);
  const prepared = prepareForUpdate(target, current, decoded);
  const writer = writerOf(state, target, options, false);
  // A status endpoint ignores everything else, which therefore changes no owners either.
  const base = { ...prepared, metadata: { ...prepared.metadata } };
  const tracked = track?.(current, base) ?? trackUpdate(current, withSentOwners(base, built), writer, schemaOf(target));
  const admission = { operation: "UPDATE", target, oldObject: current, options } as const;
  const mutated = await state.admission.mutate({ ...admission, object: tracked });
  return prepareForUpdate(target, current, decodeObject(target, mutated ?? tracked, options));
}

async function validateUpdate(
  state: ServerState,
  { target, options }: UpdateRequest,
  existing: ApiObject,
  next: ApiObject,
): Promise<void> {
  const oldObject = asVersion(existing, target);
  validateObject(state, target.type, next);
  validateMetadataUpdate(target.type, oldObject, next);
  await state.admission.validate({ operation: "UPDATE", target, oldObject, object: next, options });
}

function withSentOwners(object: ApiObject, built: ApiObject): ApiObject {
  const { managedFields: _, ...metadata } = object.metadata;
  const sent = built.metadata.managedFields;
  return { ...object, metadata: { ...metadata, ...(sent !== undefined && { managedFields: sent }) } };
}

function checkVersion({ type }: Target, existing: ApiObject, next: ApiObject, isPatch: boolean): void {
  const { name = "" } = existing.metadata;
  const { uid, resourceVersion = "" } = next.metadata;
  if (uid !== undefined && uid !== existing.metadata.uid) {
    throw conflict(
      type,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${existing.metadata.uid ?? ""}`,
    );
  }
  if (resourceVersion === "" && type.isCustom && !isPatch) {
    throw invalid(type.kind, type.group, name, [
      {
        field: "metadata.resourceVersion",
        reason: "FieldValueInvalid",
        message: "Invalid value: 0: must be specified for an update",
      },
    ]);
  }
  if (resourceVersion !== "" && resourceVersion !== existing.metadata.resourceVersion) throw modified(type, name);
}

function commitUpdate(
  { store }: ServerState,
  { target: { type, namespace, name }, options }: UpdateRequest,
  existing: ApiObject,
  next: ApiObject,
): ApiObject {
  const unchanged = { ...next, apiVersion: existing.apiVersion };
  if (equalJson(unchanged, existing) || options.dryRun) return next;
  const isReleased = (next.metadata.finalizers ?? []).length === 0 && next.metadata.deletionTimestamp !== undefined;
  if (isReleased && (next.metadata.deletionGracePeriodSeconds ?? 0) === 0 && !hasSpecFinalizers(next)) {
    store.remove(resourceKey(type), objectKey(namespace, name));
    return next;
  }
  return store.put(resourceKey(type), objectKey(namespace, name), next);
}

/** Namespaces wait for their content by a finalizer in the specification. */
function hasSpecFinalizers({ kind, apiVersion, spec }: ApiObject): boolean {
  const finalizers = (spec as { readonly finalizers?: readonly string[] } | undefined)?.finalizers ?? [];
  return kind === "Namespace" && apiVersion === "v1" && finalizers.length > 0;
}
