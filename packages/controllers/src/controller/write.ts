import {
  type ApiClient,
  applyObject,
  createObject,
  deleteObject,
  type JsonPatchOperation,
  type KubernetesObject,
  type ObjectName,
  patchObject,
  readObject,
  type ResourceType,
  retryOnConflict,
  updateObject,
} from "@istiod/kubernetes";

/** A write that brings an object to its desired state. Plain data, so that queries can return it. */
export type Write = ApplyWrite | CreateWrite | UpdateWrite | PatchWrite | MergeWrite | DeleteWrite;

interface WriteTarget {
  readonly type: ResourceType;
  /**
   * The `resourceVersion` of the observed object that the write was computed from; undefined if there is none. A new
   * observation thereby makes a new write.
   */
  readonly base: string | undefined;
  /** For example `status`. Default: the object itself. */
  readonly subresource?: string;
}

/** Server-side apply, which takes over the fields from other managers. */
interface ApplyWrite extends WriteTarget {
  readonly action: "apply";
  readonly object: KubernetesObject;
}

/** Creates an object. One that exists by now is success: its observation follows. */
interface CreateWrite extends WriteTarget {
  readonly action: "create";
  readonly object: KubernetesObject;
}

/**
 * Sets fields of an object that others write too: reads it, and replaces the version that was read. For types that
 * Istio's roles permit to update but not to patch.
 */
interface UpdateWrite extends WriteTarget {
  readonly action: "update";
  readonly name: ObjectName;
  /** Fields to set, merged into those of the object. */
  readonly fields: object;
}

/** A JSON patch. Its `test` operations guard against changes since the observation. */
interface PatchWrite extends WriteTarget {
  readonly action: "patch";
  readonly name: ObjectName;
  readonly operations: readonly JsonPatchOperation[];
}

/** A merge patch, where null removes. With `metadata.resourceVersion` it fails if the object has changed. */
interface MergeWrite extends WriteTarget {
  readonly action: "merge";
  readonly name: ObjectName;
  readonly fields: object;
  /** `true`: conditions without `lastTransitionTime` get the time of the write. Default: false. */
  readonly stampsTransitions?: boolean;
  /** Treatment of fields that the type does not have. Default: `Strict`, an error. */
  readonly fieldValidation?: "Strict" | "Ignore";
}

/** Deletes the observed object. One that does not exist any more is success. */
interface DeleteWrite extends WriteTarget {
  readonly action: "delete";
  readonly name: ObjectName;
  readonly uid: string;
  /** Deletes only this version. Default: any. */
  readonly resourceVersion?: string;
}

export interface ExecuteOptions {
  readonly fieldManager: string;
  readonly signal: AbortSignal;
  /** Returns the time in milliseconds since the Unix epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

/**
 * Executes a write.
 *
 * @returns the object as the server answers; undefined after a deletion, and if another party was faster
 * @throws ApiError
 */
export async function executeWrite(
  client: ApiClient,
  write: Write,
  { fieldManager, signal, now = Date.now }: ExecuteOptions,
): Promise<KubernetesObject | undefined> {
  const subresource = write.subresource === undefined ? {} : { subresource: write.subresource };
  const options = { fieldManager, signal, ...subresource };
  switch (write.action) {
    case "apply":
      return applyObject(client, write.type, write.object, { ...options, force: true });
    case "create":
      return unlessCode("already-exists", createObject(client, write.type, write.object, { fieldManager, signal }));
    case "update":
      return retryOnConflict({
        read: async () => readObject(client, write.type, write.name, signal),
        write: async (object) => updateObject(client, write.type, merged(object, write.fields), options),
      });
    case "patch":
      return patchObject(client, write.type, write.name, { json: write.operations }, options);
    case "merge": {
      const merge = write.stampsTransitions === true ? stamped(write.fields, now()) : write.fields;
      const validation = write.fieldValidation && { fieldValidation: write.fieldValidation };
      return patchObject(client, write.type, write.name, { merge }, { ...options, ...validation });
    }
    case "delete":
      await unlessCode("not-found", deleteObject(client, write.type, write.name, preconditions(write, signal)));
      return undefined;
  }
}

function preconditions({ uid, resourceVersion }: DeleteWrite, signal: AbortSignal) {
  return { uid, signal, ...(resourceVersion !== undefined && { resourceVersion }) };
}

/** Returns a value whose conditions all have a `lastTransitionTime`. @param now milliseconds since the Unix epoch */
function stamped(value: object, now: number): object {
  const lastTransitionTime = `${new Date(now).toISOString().slice(0, 19)}Z`;
  const stamp = (part: unknown, name?: string): unknown => {
    if (Array.isArray(part)) return part.map((item) => stamp(item, name));
    if (!isRecord(part)) return part;
    if (name === "conditions") return { lastTransitionTime, ...part };
    return Object.fromEntries(Object.entries(part).map(([key, item]) => [key, stamp(item, key)]));
  };
  return stamp(value) as object;
}

/** Returns an object with some fields set. Objects are merged, and all other values replaced. */
function merged<T extends object>(object: T, fields: object): T {
  const result: Record<string, unknown> = { ...(object as Readonly<Record<string, unknown>>) };
  for (const [name, value] of Object.entries(fields)) {
    const former = result[name];
    result[name] = isRecord(former) && isRecord(value) ? merged(former, value) : (value as unknown);
  }
  return result as T;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

async function unlessCode<T>(code: string, result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === code) return undefined;
    throw error;
  }
}

/** Names the object of a write for messages, such as `ConfigMap shop/istio-ca-root-cert`. */
export function describeWrite(write: Write): string {
  const { namespace, name } = "name" in write ? write.name : (write.object.metadata ?? {});
  return `${write.type.kind} ${namespace === undefined ? "" : `${namespace}/`}${name ?? ""}`;
}
