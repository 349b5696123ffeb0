import { formatTime } from "./object.js";
import { newUid, type ServerState, timeOf } from "./server-state.js";
import { objectKey, resourceKey, type StoredChange } from "./store.js";

const defaultAccount = "default";

/**
 * Creates the service account `default` of namespaces. Deletes the content of terminating namespaces, and the
 * namespaces when they are empty, as the controllers of Kubernetes do. Returns a function that stops it.
 */
export function startNamespaceController(state: ServerState): () => void {
  let pending: NodeJS.Immediate | undefined;
  const request = ({ resource, object, isDeleted }: StoredChange): void => {
    const isAccount = resource === "/serviceaccounts" && object.metadata.name === defaultAccount && isDeleted;
    if (isAccount) createDefaultAccount(state, object.metadata.namespace ?? "");
    if (resource === "/namespaces" && !isDeleted) createDefaultAccount(state, object.metadata.name ?? "");
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

function createDefaultAccount(state: ServerState, namespace: string): void {
  const { store } = state;
  const found = store.get("/namespaces", namespace);
  const key = objectKey(namespace, defaultAccount);
  if (found === undefined || found.metadata.deletionTimestamp !== undefined) return;
  if (store.get("/serviceaccounts", key) !== undefined) return;
  const metadata = { name: defaultAccount, namespace, uid: newUid(), creationTimestamp: timeOf(state) };
  store.put("/serviceaccounts", key, { apiVersion: "v1", kind: "ServiceAccount", metadata });
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
