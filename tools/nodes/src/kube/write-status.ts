import { isDeepStrictEqual } from "node:util";
import { type ApiClient, patchObject, type ResourceType } from "@istiod/kubernetes";
import type { Stored } from "./objects.js";
import type { Store } from "./store.js";

/** Writes fields of an object's status unless they are equal, and puts the answer into its store. */
export async function writeStatus<T extends Stored>(
  client: ApiClient,
  store: Store<T>,
  object: T & { readonly status?: object | undefined },
  status: Readonly<Record<string, unknown>>,
): Promise<void> {
  const current = (object.status ?? {}) as Readonly<Record<string, unknown>>;
  const isEqual = Object.entries(status).every(([field, value]) =>
    isDeepStrictEqual(current[field], value ?? undefined),
  );
  if (isEqual) return;
  store.put(await patchStatus(client, store.type, object, status));
}

/** Merges fields into an object's status, if it is still the same object. */
export async function patchStatus<T extends Stored>(
  client: ApiClient,
  type: ResourceType,
  object: T,
  status: object,
): Promise<T> {
  const { name, namespace, uid } = object.metadata;
  const merge = { metadata: { uid }, status };
  const target = type.namespaced ? { name, namespace } : { name };
  return await patchObject<T>(client, type, target, { merge }, { subresource: "status" });
}
