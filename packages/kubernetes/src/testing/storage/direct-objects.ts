import { patchObject } from "../apply/patch.js";
import { badRequest, notFound } from "../http/status-error.js";
import { deleteObject } from "./delete.js";
import { type ApiObject, copyJson } from "./object.js";
import type { ServerState, Target, WriteOptions } from "./server-state.js";
import { objectKey, resourceKey } from "./store.js";
import { asVersion, createObject, updateObject } from "./write.js";

/** An object as tests write it. */
export interface ObjectInput {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name?: string; readonly namespace?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** The object that a test names. */
export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Default for namespaced types: `default`. */
  readonly namespace?: string;
}

/** Direct access to a server's objects. Namespaced objects without a namespace are in `default`. */
export interface DirectObjects {
  /** @throws ApiError, as all of these */
  create(object: ObjectInput): Promise<ApiObject>;
  /** Replaces an object, whatever its resource version is now, unless the given one has one. */
  update(object: ObjectInput): Promise<ApiObject>;
  /** Replaces the status of an object. */
  updateStatus(object: ObjectInput & { readonly status: unknown }): Promise<ApiObject>;
  /** Creates an object, or merges it into the existing one. */
  apply(object: ObjectInput): Promise<ApiObject>;
  delete(reference: ObjectReference): Promise<void>;
  /** Returns an object, undefined if there is none. */
  get(reference: ObjectReference): ApiObject | undefined;
  /** Returns all objects of a kind, sorted by namespace and name. */
  list(kind: { readonly apiVersion: string; readonly kind: string; readonly namespace?: string }): readonly ApiObject[];
}

const options: WriteOptions = {
  user: { username: "admin", groups: ["system:masters", "system:authenticated"] },
  fieldManager: "test",
  dryRun: false,
  fieldValidation: "Strict",
  warn: () => {},
};

type NamedTarget = Target & { readonly name: string };

/** Returns direct access to the objects of a server. */
export function directObjects(state: ServerState): DirectObjects {
  const get = (target: NamedTarget): ApiObject | undefined =>
    state.store.get(resourceKey(target.type), objectKey(target.namespace, target.name));
  const update = (input: ObjectInput, subresource?: string): Promise<ApiObject> => {
    const target = { ...targetOf(state, input), ...(subresource !== undefined && { subresource }) };
    // An update without a resource version is unconditional here for all types.
    const build = (existing: ApiObject): ApiObject => withVersion(input, existing);
    return updateObject(state, { target, options, build, isPatch: false });
  };
  return {
    create: (input) => createObject(state, targetOf(state, input), objectOf(input), options),
    update: (input) => update(input),
    updateStatus: (input) => update(input, "status"),
    apply: async (input) => {
      const target = targetOf(state, input);
      const mediaType = "application/apply-patch+yaml";
      return (await patchObject(state, { target, mediaType, patch: copyJson(input), force: true, options })).object;
    },
    delete: async (reference) => {
      await deleteObject(state, targetOfReference(state, reference), {}, options);
    },
    get: (reference) => {
      const target = targetOfReference(state, reference);
      const object = get(target);
      return object === undefined ? undefined : copyJson(asVersion(object, target));
    },
    list: ({ namespace, ...kind }) => {
      const found = typeOf(state, kind);
      const { items } = state.store.list(resourceKey(found.type));
      return items
        .filter(([, object]) => namespace === undefined || object.metadata.namespace === namespace)
        .map(([, object]) => copyJson(asVersion(object, found)));
    },
  };
}

const objectOf = (input: ObjectInput): ApiObject => copyJson(input) as unknown as ApiObject;

function withVersion(input: ObjectInput, { metadata }: ApiObject): ApiObject {
  const object = objectOf(input);
  const { resourceVersion } = metadata;
  return {
    ...object,
    metadata: { ...(resourceVersion !== undefined && { resourceVersion }), ...object.metadata },
  };
}

function typeOf({ types }: ServerState, { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }) {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const found = types.byKind(group, version, kind);
  if (found === undefined) throw badRequest(`no kind "${kind}" is served in version "${apiVersion}"`);
  return found;
}

function targetOf(state: ServerState, { metadata: { name, namespace }, ...kind }: ObjectInput): NamedTarget {
  return targetOfReference(state, { ...kind, name: name ?? "", ...(namespace !== undefined && { namespace }) });
}

function targetOfReference(state: ServerState, { namespace, name, ...kind }: ObjectReference): NamedTarget {
  const found = typeOf(state, kind);
  if (!found.type.namespaced && namespace !== undefined) {
    throw notFound(found.type, `${namespace}/${name}`);
  }
  return { ...found, name, ...(found.type.namespaced && { namespace: namespace ?? "default" }) };
}
