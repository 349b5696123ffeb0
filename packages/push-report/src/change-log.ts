import type { Commit } from "@istiod/incremental";
import type { AckEvent, Clock, NackEvent, PushEvent, XdsEvent } from "@istiod/xds-server";
import type { ChangeReport } from "./change-report.js";
import { formatName, nameOf, type ObjectName } from "./object-name.js";

export interface ChangeLogOptions {
  /** Changes that are remembered. Default 256. */
  readonly keep?: number;
  readonly clock: Clock;
  /** Told of a change when nothing more is heard of it: all that was sent is answered, and nothing was sent for `quietMs`. */
  readonly settled?: (report: ChangeReport) => void;
  /** Default 1,000 ms. */
  readonly quietMs?: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Open = Omit<Mutable<ChangeReport>, "proxies" | "types" | "nacks" | "pending"> & {
  readonly proxies: Set<string>;
  readonly types: Map<string, { responses: number; resources: number; bytes: number }>;
  readonly nacks: ChangeReport["nacks"][number][];
  /** `connection nonce` of what is not answered. */
  readonly pending: Set<string>;
  heardAt: number;
  told: boolean;
};

const objectsNamed = 100;
const nacksKept = 20;

/**
 * What became of each change, from the commits of the source and the events of the server. A response counts for the last change that it
 * shows: changes that wait for the same client are merged by the server, and are told apart no more.
 */
export class ChangeLog {
  readonly #options: ChangeLogOptions;
  readonly #changes = new Map<number, Open>();
  /** The revision in which an object last changed, by its name. */
  readonly #lastChange = new Map<string, number>();
  #stopTimer: (() => void) | undefined;

  constructor(options: ChangeLogOptions) {
    this.#options = options;
  }

  /** To be called after each commit, before it is pushed. */
  committed({ revision, changed }: Commit): void {
    if (changed.length === 0) return;
    const names = new Map<string, ObjectName>();
    for (const change of changed) {
      const name = nameOf(change);
      names.set(formatName(name), name);
    }
    for (const name of names.keys()) this.#lastChange.set(name, revision);
    const at = this.#options.clock.now();
    this.#changes.set(revision, {
      revision,
      at,
      objects: [...names.values()].slice(0, objectsNamed),
      objectCount: names.size,
      proxies: new Set(),
      responses: 0,
      resources: 0,
      removed: 0,
      bytes: 0,
      types: new Map(),
      acks: 0,
      nackCount: 0,
      nacks: [],
      pending: new Set(),
      heardAt: at,
      told: false,
    });
    for (const oldest of this.#changes.keys()) {
      if (this.#changes.size <= (this.#options.keep ?? 256)) break;
      this.#changes.delete(oldest);
    }
    this.#watch();
  }

  /** To be called with each event of the server. */
  observe(event: XdsEvent): void {
    if (event.kind === "push") this.#pushed(event);
    else if (event.kind === "ack") this.#acknowledged(event);
    else if (event.kind === "nack") this.#refused(event);
    else if (event.kind === "disconnect") {
      for (const change of this.#changes.values()) {
        for (const key of change.pending) if (key.startsWith(`${event.connection} `)) change.pending.delete(key);
      }
    }
  }

  /** The changes that are remembered, newest first. */
  reports(): readonly ChangeReport[] {
    return [...this.#changes.values()].reverse().map(report);
  }

  report(revision: number): ChangeReport | undefined {
    const change = this.#changes.get(revision);
    return change && report(change);
  }

  /** The revision in which an object last changed, as far as commits told. */
  lastChangeOf(name: ObjectName): number | undefined {
    return this.#lastChange.get(formatName(name));
  }

  /** The objects of the changes that are remembered and of which nothing more is expected, or anything, newest first. */
  recentObjects(): readonly ObjectName[] {
    const names = new Map<string, ObjectName>();
    for (const { objects } of [...this.#changes.values()].reverse()) for (const name of objects) names.set(formatName(name), name);
    return [...names.values()];
  }

  #pushed({ revision, reason, connection, nodeId, nonce, typeUrl, resources, removed, bytes }: PushEvent): void {
    const change = reason === "change" && revision !== undefined ? this.#changes.get(revision) : undefined;
    if (change === undefined) return;
    const after = this.#heard(change);
    change.proxies.add(nodeId);
    change.pending.add(`${connection} ${nonce}`);
    change.responses++;
    change.resources += resources;
    change.removed += removed;
    change.bytes += bytes;
    change.firstSentMs ??= after;
    change.lastSentMs = after;
    const type = change.types.get(typeUrl) ?? { responses: 0, resources: 0, bytes: 0 };
    change.types.set(typeUrl, { responses: type.responses + 1, resources: type.resources + resources, bytes: type.bytes + bytes });
  }

  #acknowledged({ revision, connection, nonce }: AckEvent): void {
    const change = this.#answered(revision, connection, nonce);
    if (change === undefined) return;
    const after = this.#heard(change);
    change.acks++;
    change.firstAckMs ??= after;
    change.lastAckMs = after;
  }

  #refused({ connection, nodeId, typeUrl, error }: NackEvent): void {
    const change = this.#answered(error.revision, connection, error.nonce);
    if (change === undefined) return;
    this.#heard(change);
    change.nackCount++;
    if (change.nacks.length < nacksKept) change.nacks.push({ proxy: nodeId, typeUrl, resources: error.resources, message: error.message });
  }

  #answered(revision: number | undefined, connection: string, nonce: string): Open | undefined {
    const change = revision === undefined ? undefined : this.#changes.get(revision);
    return change?.pending.delete(`${connection} ${nonce}`) ? change : undefined;
  }

  #heard(change: Open): number {
    change.heardAt = this.#options.clock.now();
    return change.heardAt - change.at;
  }

  #watch(): void {
    const { clock, settled, quietMs = 1000 } = this.#options;
    if (settled === undefined || this.#stopTimer !== undefined) return;
    this.#stopTimer = clock.after(quietMs, () => {
      this.#stopTimer = undefined;
      let waiting = false;
      for (const change of this.#changes.values()) {
        if (change.told) continue;
        if (change.pending.size > 0 || clock.now() - change.heardAt < quietMs) waiting = true;
        else {
          change.told = true;
          settled(report(change));
        }
      }
      if (waiting) this.#watch();
    });
  }
}

function report({ proxies, types, nacks, pending, heardAt: _heard, told: _told, ...rest }: Open): ChangeReport {
  return { ...rest, proxies: proxies.size, types: Object.fromEntries([...types].sort(([a], [b]) => (a < b ? -1 : 1))), nacks: [...nacks], pending: pending.size };
}
