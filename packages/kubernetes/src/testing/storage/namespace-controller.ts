import { resourceKey } from "./store.js";
import type { ServerState } from "./server-state.js";

/**
 * Deletes the content of terminating namespaces, and the namespaces when they are empty, as the namespace controller
 * does. Returns a function that stops it.
 */
export function startNamespaceController(state: ServerState): () => void {
  const { store, types } = state;
  const sweep = (): void => {
    const terminating = store.values("/namespaces").filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
    for (const { metadata } of terminating) finalize(metadata.name ?? "");
  };
  const finalize = (namespace: string): void => {
    let isEmpty = true;
    for (const type of types.all.filter(({ namespaced }) => namespaced)) {
      const resource = resourceKey(type);
      for (const [key, { metadata }] of store.list(resource).items) {
        if (metadata.namespace !== namespace) continue;
        if ((metadata.finalizers ?? []).length === 0) store.remove(resource, key);
        else isEmpty = false;
      }
    }
    const object = store.get("/namespaces", namespace);
    if (isEmpty && (object?.metadata.finalizers ?? []).length === 0) store.remove("/namespaces", namespace);
  };
  const timer = schedule(sweep);
  const stop = store.subscribe("/namespaces", ({ object, isDeleted }) => {
    if (!isDeleted && object.metadata.deletionTimestamp !== undefined) timer.request();
  });
  return () => {
    stop();
    timer.cancel();
  };
}

function schedule(run: () => void): { readonly request: () => void; readonly cancel: () => void } {
  let pending: NodeJS.Immediate | undefined;
  return {
    request: () => {
      pending ??= setImmediate(() => {
        pending = undefined;
        run();
      });
    },
    cancel: () => clearImmediate(pending),
  };
}
