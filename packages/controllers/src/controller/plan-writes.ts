import { Database } from "@istiod/incremental";
import { apiVersionOf, type KubernetesObject } from "@istiod/kubernetes";
import { allObserved, type Controller, type Watch } from "./controller.js";
import type { Write } from "./write.js";

/** A write that a controller needs for a key, or the reason why it cannot compute one. */
export type PlannedWrite =
  | { readonly key: string; readonly write: Write }
  | { readonly key: string; readonly error: Error };

/**
 * Returns the writes that a controller begins with if an API server has these objects, in order. Nothing is written.
 * Objects are of any kind, with `apiVersion` and `kind`; those that the controller does not watch are ignored, and
 * namespaces and selectors of watches do not count.
 */
export function planWrites(controller: Controller, objects: readonly KubernetesObject[]): readonly PlannedWrite[] {
  const database = new Database<void>();
  const end = controller.inputs?.(database);
  database.commit((tx) => {
    for (const watch of controller.watches) {
      for (const object of objects.filter((candidate) => isOf(candidate, watch))) {
        const { namespace = "", name = "", uid = "", resourceVersion = "" } = object.metadata ?? {};
        const value = watch.select(object, undefined);
        const key = watch.type.namespaced ? `${namespace}/${name}` : name;
        if (value !== undefined) tx.set(watch.collection, key, { uid, resourceVersion, value });
      }
    }
    tx.set(allObserved, "", true);
  });
  const view = database.view(undefined);
  try {
    return view.call(controller.targets).flatMap((key): readonly PlannedWrite[] => {
      try {
        const write = view.call(controller.write, key);
        return write === undefined ? [] : [{ key, write }];
      } catch (error) {
        return [{ key, error: error as Error }];
      }
    });
  } finally {
    view.release();
    end?.();
  }
}

function isOf({ apiVersion, kind }: KubernetesObject, { type }: Watch): boolean {
  return apiVersion === apiVersionOf(type) && kind === type.kind;
}
