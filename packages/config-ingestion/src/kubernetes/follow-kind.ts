import { decode, fieldsOf, type Kind } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import { type ApiClient, type KubernetesObject, Reflector, type ReflectorEvent } from "@istiod/kubernetes";
import type { Clock } from "@istiod/runtime";

export interface FollowedKind {
  readonly client: ApiClient;
  /** ID of the client's cluster. */
  readonly cluster: string;
  /** A cluster-scoped kind whose type every API server has. */
  readonly kind: Kind;
  readonly plural: string;
  /** Selects the objects by their labels, in Kubernetes' syntax. */
  readonly labelSelector: string;
  readonly clock?: Clock;
}

/**
 * Keeps the objects of a kind in a database that only help, so that nothing waits for them: where they may not be read,
 * there are none. Returns a function that ends it.
 */
export function followKind<C>(database: Database<C>, options: FollowedKind): () => void {
  const { client, cluster, kind, plural, labelSelector, clock } = options;
  const keyOf = (name: string): string => kind.key({ cluster, namespace: "", name });
  const apply = (events: readonly ReflectorEvent<KubernetesObject>[]): void =>
    void database.commit((tx) => {
      for (const event of events) {
        const [decoded] = event.type === "set" ? decode(event.object, { cluster, kinds: [kind] }) : [];
        if (decoded?.outcome === "accepted") tx.set(kind.collection, decoded.key, decoded.object);
        else tx.delete(kind.collection, keyOf(event.name));
      }
    });
  const reflector = new Reflector<KubernetesObject>({
    client,
    resource: { group: kind.group, version: kind.versions[0] ?? "v1", kind: kind.kind, plural, namespaced: false },
    fields: { fields: fieldsOf(kind) },
    labelSelector,
    handler: { events: apply, state: () => undefined },
    ...(clock && { clock }),
  });
  reflector.start();
  return () => reflector.stop();
}
