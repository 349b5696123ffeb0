import type { Commit } from "@istiod/incremental";
import type { AckEvent, Clock, NackEvent, PushEvent, XdsEvent } from "@istiod/xds-server";
import type { ChangeReport } from "./change-report.js";
import { LastChanges } from "./last-changes.js";
import { formatName, type ObjectName } from "./object-name.js";

export interface ChangeLogOptions {
  /** Changes that are remembered. Default 256. */
  readonly keep?: number;
  readonly clock: Clock;
  /**
   * Told of a change when nothing more is heard of it: all that was sent is answered, and nothing was sent for
   * `quietMs`.
   */
  readonly settled?: (report: ChangeReport) => void;
  /** Default 1,000 ms. */
  readonly quietMs?: number;
  /** Returns the oldest revision whose push is not complete; such changes are not settled. Default: none. */
  readonly pendingRevision?: () => number | undefined;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Open = Omit<Mutable<ChangeReport>, "proxies" | "proxiesAcknowledged" | "types" | "nacks"> & {
  /**
   * Responses that each proxy has not acknowledged, by node ID; only the counts of proxies once nothing more is
   * expected.
   */
  proxies: Map<string, number> | ProxyCounts;
  readonly types: Map<string, { responses: number; resources: number; bytes: number }>;
  readonly nacks: ChangeReport["nacks"][number][];
  heardAt: number;
  told: boolean;
};

type ProxyCounts = Pick<ChangeReport, "proxies" | "proxiesAcknowledged">;

const objectsNamed = 100;
const nacksKept = 20;
const unansweredKept = 16;

/** A response that is not answered, and the changes that it shows something of. */
interface Sent {
  readonly nonce: string;
  readonly changes: readonly number[];
}

/**
 * What became of each change, from the commits of the source and the events of the server. Changes that wait for the
 * same client are merged by the server: a response counts for each change that it shows something of.
 */
export class ChangeLog {
  readonly #options: ChangeLogOptions;
  readonly #changes = new Map<number, Open>();
  readonly #last = new LastChanges();
  /** By stream and type, oldest first. */
  readonly #unanswered = new Map<string, Map<string, Sent[]>>();
  #stopTimer: (() => void) | undefined;

  constructor(options: ChangeLogOptions) {
    this.#options = options;
  }

  /** To be called after each commit, before it is pushed. */
  committed(commit: Commit): void {
    const { revision } = commit;
    if (commit.changed.length === 0) return;
    const names = this.#last.note(commit);
    const at = this.#options.clock.now();
    this.#changes.set(revision, {
      revision,
      at,
      objects: [...names.values()].slice(0, objectsNamed),
      objectCount: names.size,
      proxies: new Map(),
      responses: 0,
      resources: 0,
      removed: 0,
      bytes: 0,
      types: new Map(),
      acks: 0,
      nackCount: 0,
      nacks: [],
      pending: 0,
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
      for (const type of this.#unanswered.get(event.connection)?.values() ?? [])
        for (const sent of type) this.#settle(sent);
      this.#unanswered.delete(event.connection);
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

  /**
   * The revision in which an object last changed, as far as commits told. Of objects that are gone, that of the last
   * thousand is known.
   */
  lastChangeOf(name: ObjectName): number | undefined {
    return this.#last.of(name);
  }

  /** Where something of a change was sent that is not answered: streams, by their IDs, and types. */
  *unanswered(revision: number): Iterable<{ readonly connection: string; readonly typeUrl: string }> {
    for (const [connection, types] of this.#unanswered) {
      for (const [typeUrl, sent] of types)
        if (sent.some(({ changes }) => changes.includes(revision))) yield { connection, typeUrl };
    }
  }

  /**
   * The objects of the changes that are remembered and of which nothing more is expected, or anything, newest first.
   */
  recentObjects(): readonly ObjectName[] {
    const names = new Map<string, ObjectName>();
    for (const { objects } of [...this.#changes.values()].reverse())
      for (const name of objects) names.set(formatName(name), name);
    return [...names.values()];
  }

  #pushed({ changes, connection, nodeId, nonce, typeUrl, resources, removed, bytes }: PushEvent): void {
    if (changes.length === 0) return;
    const types = this.#unanswered.get(connection) ?? new Map<string, Sent[]>();
    this.#unanswered.set(connection, types);
    const unanswered = types.get(typeUrl) ?? [];
    types.set(typeUrl, unanswered);
    unanswered.push({ nonce, changes });
    if (unanswered.length > unansweredKept) unanswered.splice(0, 1).forEach((oldest) => this.#settle(oldest));
    for (const change of this.#known(changes)) {
      const after = this.#heard(change);
      addUnacknowledged(change, nodeId, 1);
      change.pending++;
      change.responses++;
      change.resources += resources;
      change.removed += removed;
      change.bytes += bytes;
      change.firstSentMs ??= after;
      change.lastSentMs = after;
      const type = change.types.get(typeUrl) ?? { responses: 0, resources: 0, bytes: 0 };
      change.types.set(typeUrl, {
        responses: type.responses + 1,
        resources: type.resources + resources,
        bytes: type.bytes + bytes,
      });
    }
  }

  #acknowledged({ connection, nodeId, typeUrl, nonce }: AckEvent): void {
    for (const change of this.#answered(connection, typeUrl, nonce).flatMap(({ changes }) => this.#known(changes))) {
      const after = this.#heard(change);
      change.acks++;
      addUnacknowledged(change, nodeId, -1);
      change.firstAckMs ??= after;
      change.lastAckMs = after;
    }
  }

  #refused({ connection, nodeId, typeUrl, error }: NackEvent): void {
    for (const change of this.#known(this.#answered(connection, typeUrl, error.nonce).at(-1)?.changes ?? [])) {
      this.#heard(change);
      change.nackCount++;
      if (change.nacks.length < nacksKept)
        change.nacks.push({ proxy: nodeId, typeUrl, resources: error.resources, message: error.message });
    }
  }

  /**
   * The response that is answered, and what was sent before: clients answer in order, and who answers the last one has
   * them all.
   */
  #answered(connection: string, typeUrl: string, nonce: string): readonly Sent[] {
    const sent = this.#unanswered.get(connection)?.get(typeUrl) ?? [];
    const answered = sent.splice(0, sent.findIndex((response) => response.nonce === nonce) + 1);
    answered.forEach((response) => this.#settle(response));
    return answered;
  }

  #settle({ changes }: Sent): void {
    for (const change of this.#known(changes)) change.pending--;
  }

  #known(changes: readonly number[]): Open[] {
    return changes.flatMap((revision) => this.#changes.get(revision) ?? []);
  }

  #heard(change: Open): number {
    change.heardAt = this.#options.clock.now();
    return change.heardAt - change.at;
  }

  #watch(): void {
    const { clock, settled, quietMs = 1000, pendingRevision } = this.#options;
    if (settled === undefined || this.#stopTimer !== undefined) return;
    this.#stopTimer = clock.after(quietMs, () => {
      this.#stopTimer = undefined;
      let waiting = false;
      const pushedUntil = (pendingRevision?.() ?? Infinity) - 1;
      for (const change of this.#changes.values()) {
        if (change.told) continue;
        if (change.pending > 0 || change.revision > pushedUntil || clock.now() - change.heardAt < quietMs)
          waiting = true;
        else {
          change.told = true;
          change.proxies = proxyCounts(change);
          settled(report(change));
        }
      }
      if (waiting) this.#watch();
    });
  }
}

function addUnacknowledged({ proxies }: Open, nodeId: string, responses: 1 | -1): void {
  if (proxies instanceof Map) proxies.set(nodeId, (proxies.get(nodeId) ?? 0) + responses);
}

function proxyCounts({ proxies }: Open): ProxyCounts {
  if (!(proxies instanceof Map)) return proxies;
  let proxiesAcknowledged = 0;
  for (const responses of proxies.values()) if (responses === 0) proxiesAcknowledged++;
  return { proxies: proxies.size, proxiesAcknowledged };
}

function report(change: Open): ChangeReport {
  const { proxies: _proxies, types, nacks, heardAt: _heard, told: _told, ...rest } = change;
  return {
    ...rest,
    ...proxyCounts(change),
    types: Object.fromEntries([...types].sort(([a], [b]) => (a < b ? -1 : 1))),
    nacks: [...nacks],
  };
}
