import type { JsonValue } from "@bufbuild/protobuf";
import { statusKinds, type ObjectStatus } from "@istiod/gateway-api";
import type { Database, Query } from "@istiod/incremental";
import { noProxy, type Proxy, proxyFromNode } from "@istiod/push-context";
import type { StoredObject } from "./api-objects.js";
import { databaseOf, type JsonObject, resourcesOf, type Type, typeUrls } from "@istiod/parity";

/** The node of a proxy, as JSON. */
export interface ComparedNode {
  readonly id: string;
  readonly metadata: JsonObject;
}

/** The statuses and resources that this control plane computes from objects, in this process. */
export class OwnMesh {
  readonly #database: Database<Proxy>;
  /** The reasons for which objects are rejected. */
  readonly rejected: readonly string[];

  constructor(objects: readonly StoredObject[], env: Readonly<Record<string, string>>) {
    const rejected: string[] = [];
    this.#database = databaseOf(objects as unknown as readonly JsonObject[], {
      env,
      rejected: (why) => rejected.push(why),
    });
    this.rejected = rejected;
  }

  /** Returns the status of each object that has one, by `KIND namespace/name`. */
  statuses(): ReadonlyMap<string, ObjectStatus> {
    const view = this.#database.view(noProxy);
    const found = new Map<string, ObjectStatus>();
    for (const { kind, objects, status, argument } of statusKinds)
      for (const key of this.#database.keys(objects)) {
        const of = view.call(status as Query<unknown, ObjectStatus | undefined>, argument(key));
        if (of !== undefined) found.set(`${kind.kind} ${key}`, of);
      }
    view.release();
    return found;
  }

  /** Returns the encoded resources of a proxy by name, for each of some types. */
  resources({ id, metadata }: ComparedNode, types: readonly Type[]): readonly ReadonlyMap<string, Uint8Array>[] {
    const view = this.#database.view(proxyFromNode({ id, metadata: metadata as Record<string, JsonValue> }));
    const found = types.map((type) => resourcesOf(view, type));
    view.release();
    return found;
  }
}

export { typeUrls };
