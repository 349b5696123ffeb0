import type { View } from "@istiod/incremental";
import type { Connection } from "@istiod/xds-server";
import { formatName, type ObjectName } from "./object-name.js";
import type { ObjectStatus, StatusSources } from "./object-status.js";
import { statusOf } from "./status-of.js";

/** Number of attempts to compute several statuses at one revision. */
const maxAttempts = 4;
const maxCached = 1000;

interface CachedStatus {
  readonly revision: number;
  /** State of the connections, as in `connectionState`. */
  readonly state: string;
  /** The reason for which the object's kind is not read. No commit reports that it changes. */
  readonly unread: string | undefined;
  readonly status: ObjectStatus;
}

/**
 * A cache of object statuses, valid while neither the mesh, the state of a connection, nor the reason for which a kind
 * is not read changes.
 */
export class StatusCache<C> {
  readonly #sources: StatusSources<C>;
  readonly #cached = new Map<string, CachedStatus>();
  readonly #inProgress = new Map<string, Promise<ObjectStatus>>();

  constructor(sources: StatusSources<C>) {
    this.#sources = sources;
  }

  /** Returns the statuses of objects, all at the same revision unless commits arrive continuously. */
  async statusesOf(objects: readonly ObjectName[]): Promise<readonly ObjectStatus[]> {
    const { database } = this.#sources;
    for (let attempt = 1; ; attempt++) {
      const { revision } = database;
      const statuses: ObjectStatus[] = [];
      for (const object of objects) statuses.push(await this.#statusOf(object));
      if (database.revision === revision || attempt === maxAttempts) return statuses;
    }
  }

  async #statusOf(object: ObjectName): Promise<ObjectStatus> {
    const { database } = this.#sources;
    const name = formatName(object);
    const cached = this.#cached.get(name);
    if (
      cached?.revision === database.revision &&
      cached.unread === this.#sources.reasonUnread?.(object) &&
      cached.state === connectionState(this.#sources.connections())
    )
      return cached.status;
    let computation = this.#inProgress.get(name);
    if (computation === undefined) {
      computation = this.#compute(name, object).finally(() => this.#inProgress.delete(name));
      this.#inProgress.set(name, computation);
    }
    return computation;
  }

  async #compute(name: string, object: ObjectName): Promise<ObjectStatus> {
    // The connections that statusOf reads last are those that the status is based on.
    let basis = { revision: this.#sources.database.revision, state: "" };
    const connections = (): readonly Connection[] => {
      const current = this.#sources.connections();
      basis = { revision: this.#sources.database.revision, state: connectionState(current) };
      return current;
    };
    const viewOf = (connection: Connection): View<C> | undefined => this.#sources.viewOf(connection);
    const unread = this.#sources.reasonUnread?.(object);
    const status = await statusOf({ ...this.#sources, connections, viewOf }, object);
    if (this.#cached.size > maxCached) this.#cached.clear();
    this.#cached.set(name, { ...basis, unread, status });
    return status;
  }
}

/** Returns a text that changes when a proxy connects, disconnects, subscribes, or a response is sent or answered. */
function connectionState(connections: readonly Connection[]): string {
  return connections
    .map(({ id, pendingRevision, subscriptions }) => {
      const types = subscriptions.map(
        ({ nonceSent, nonceAcked, names, lastError, unaccepted, unremoved }) =>
          `${nonceSent}/${nonceAcked}/${names.size}/${lastError?.nonce ?? ""}/${unremoved.length}/${unaccepted.map(({ state }) => state).join("")}`,
      );
      return `${id}:${pendingRevision ?? ""}:${types.join()}`;
    })
    .join(";");
}
