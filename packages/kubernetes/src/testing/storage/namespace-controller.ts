import { formatTime } from "./object.js";
import type { ServerState } from "./server-state.js";
import { resourceKey, type StoredChange } from "./store.js";

/**
 * Deletes the content of terminating namespaces, and the namespaces when they are empty, as the namespace controller
 * does. Returns a function that stops it.
 */
export function startNamespaceController(state: ServerState): () => void {
  let pending: NodeJS.Immediate | undefined;
  const request = ({ resource, object, isDeleted }: StoredChange): void => {
    const isTermination = resource === "/namespaces" && object.metadata.deletionTimestamp !== undefined && !isDeleted;
    const namespace = state.store.get("/namespaces", object.metadata.namespace ?? "");
    const isContent = isDeleted && namespace?.metadata.deletionTimestamp !== undefined;
    if (!isTermination && !isContent) return;
    pending ??= setImmediate(() => {
      pending = undefined;
      for (const { metadata } of state.store.values("/namespaces")) {
        if (metadata.deletionTimestamp !== undefined) finalizeNamespace(state, metadata.name ?? "");
      }
    });
  };
  const stop = state.store.subscribeAll(request);
  return () => {
    stop();
    clearImmediate(pending);
  };
}

function finalizeNamespace({ store, types, clock }: ServerState, namespace: string): void {
  let isEmpty = true;
  for (const type of types.all.filter(({ namespaced }) => namespaced)) {
    const resource = resourceKey(type);
    for (const [key, object] of store.list(resource).items) {
      const { metadata } = object;
      if (metadata.namespace !== namespace) continue;
      if ((metadata.finalizers ?? []).length === 0) {
        store.remove(resource, key);
        continue;
      }
      isEmpty = false;
      if (metadata.deletionTimestamp !== undefined) continue;
      const deletion = { deletionTimestamp: formatTime(clock.now()), deletionGracePeriodSeconds: 0 };
      store.put(resource, key, { ...object, metadata: { ...metadata, ...deletion } });
    }
  }
  const found = store.get("/namespaces", namespace);
  if (!isEmpty || found === undefined || (found.metadata.finalizers ?? []).length > 0) return;
  store.remove("/namespaces", namespace);
}
