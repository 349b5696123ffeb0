import type { View } from "@istiod/incremental";
import type { Connection } from "@istiod/xds-server";
import { formatName, type ObjectName } from "./object-name.js";
import { type ObjectStatus, statusOf, type StatusSources } from "./object-status.js";

/** So often several objects are asked for anew because something was committed between two of them. */
const mostBeginnings = 4;
const mostKept = 1000;

interface Known {
  readonly revision: number;
  readonly state: string;
  readonly value: ObjectStatus;
}

/**
 * The statuses of objects, each kept for as long as neither the mesh nor what proxies say changes. Who asks for what is
 * being made gets that.
 */
export class Statuses<C> {
  readonly #sources: StatusSources<C>;
  readonly #known = new Map<string, Known>();
  readonly #underWay = new Map<string, Promise<ObjectStatus>>();

  constructor(sources: StatusSources<C>) {
    this.#sources = sources;
  }

  /** The status of each, of one revision unless something is committed all the time. */
  async of(objects: readonly ObjectName[]): Promise<readonly ObjectStatus[]> {
    const { database } = this.#sources;
    for (let beginning = 1; ; beginning++) {
      const { revision } = database;
      const statuses: ObjectStatus[] = [];
      for (const object of objects) statuses.push(await this.#of(object));
      if (database.revision === revision || beginning === mostBeginnings) return statuses;
    }
  }

  async #of(object: ObjectName): Promise<ObjectStatus> {
    const name = formatName(object);
    const before = this.#known.get(name);
    if (before?.revision === this.#sources.database.revision && before.state === stateOf(this.#sources.connections()))
      return before.value;
    let promised = this.#underWay.get(name);
    if (promised === undefined) {
      promised = this.#make(name, object).finally(() => this.#underWay.delete(name));
      this.#underWay.set(name, promised);
    }
    return promised;
  }

  async #make(name: string, object: ObjectName): Promise<ObjectStatus> {
    // The connections that were looked at last are those of the moment that the status is of.
    let seen = { revision: this.#sources.database.revision, state: "" };
    const connections = (): readonly Connection[] => {
      const list = this.#sources.connections();
      seen = { revision: this.#sources.database.revision, state: stateOf(list) };
      return list;
    };
    const viewOf = (connection: Connection): View<C> | undefined => this.#sources.viewOf(connection);
    const value = await statusOf({ ...this.#sources, connections, viewOf }, object);
    if (this.#known.size > mostKept) this.#known.clear();
    this.#known.set(name, { ...seen, value });
    return value;
  }
}

/** Changes whenever a proxy comes or goes, subscribes, is sent something or answers. */
function stateOf(connections: readonly Connection[]): string {
  return connections
    .map(
      (c) =>
        `${c.id}:${c.pendingRevision ?? ""}:${c.subscriptions.map((s) => `${s.nonceSent}/${s.nonceAcked}/${s.names.size}/${s.lastError?.nonce ?? ""}`).join()}`,
    )
    .join(";");
}
