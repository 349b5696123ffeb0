import type { AckEvent, NackEvent, PushEvent } from "@istiod/xds-server";
import type { ChangeReport } from "./change-report.js";
import type { ObjectName } from "./object-name.js";

const maxNamedObjects = 100;
const maxNacks = 20;

type ProxyCounts = Pick<ChangeReport, "proxies" | "proxiesAcknowledged">;
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A change whose report is still being updated. Times are milliseconds since the epoch. */
export class TrackedChange {
  readonly revision: number;
  readonly objects: readonly ObjectName[];
  readonly #objectCount: number;
  readonly #committedAt: number;
  /** Versions of rejected resources, and of others of their responses that were not acknowledged since, by node ID. */
  readonly #unaccepted = new Map<string, Map<string, string>>();
  /** Number of unanswered responses by node ID; only the counts of proxies once the change has settled. */
  #proxies: Map<string, number> | ProxyCounts = new Map();
  readonly #types = new Map<string, { responses: number; resources: number; bytes: number }>();
  readonly #nacks: ChangeReport["nacks"][number][] = [];
  readonly #counts = { responses: 0, resources: 0, removed: 0, bytes: 0, acks: 0, nackCount: 0, pending: 0 };
  readonly #times: Mutable<Pick<ChangeReport, "firstSentMs" | "lastSentMs" | "firstAckMs" | "lastAckMs">> = {};
  #lastEventAt: number;
  #hasSettled = false;

  constructor(revision: number, names: readonly ObjectName[], now: number) {
    this.revision = revision;
    this.objects = names.slice(0, maxNamedObjects);
    this.#objectCount = names.length;
    this.#committedAt = now;
    this.#lastEventAt = now;
  }

  /** Number of responses that were neither acknowledged nor rejected. */
  get pending(): number {
    return this.#counts.pending;
  }

  get hasSettled(): boolean {
    return this.#hasSettled;
  }

  get lastEventAt(): number {
    return this.#lastEventAt;
  }

  pushed({ nodeId, typeUrl, resources, removed, bytes }: PushEvent, now: number): void {
    const elapsed = this.#elapsed(now);
    this.#addUnacknowledged(nodeId, 1);
    this.#counts.pending++;
    this.#counts.responses++;
    this.#counts.resources += resources;
    this.#counts.removed += removed;
    this.#counts.bytes += bytes;
    this.#times.firstSentMs ??= elapsed;
    this.#times.lastSentMs = elapsed;
    const type = this.#types.get(typeUrl) ?? { responses: 0, resources: 0, bytes: 0 };
    this.#types.set(typeUrl, {
      responses: type.responses + 1,
      resources: type.resources + resources,
      bytes: type.bytes + bytes,
    });
  }

  acknowledged({ nodeId, typeUrl, carried }: AckEvent, now: number): void {
    const elapsed = this.#elapsed(now);
    this.#counts.acks++;
    this.#addUnacknowledged(nodeId, -1);
    const unaccepted = this.#unaccepted.get(nodeId);
    for (const { name, version } of unaccepted === undefined ? [] : carried.resources)
      if (unaccepted?.get(`${typeUrl} ${name}`) === version) unaccepted.delete(`${typeUrl} ${name}`);
    if (unaccepted?.size === 0) this.#unaccepted.delete(nodeId);
    this.#times.firstAckMs ??= elapsed;
    this.#times.lastAckMs = elapsed;
  }

  rejected({ nodeId, typeUrl, error, carried }: NackEvent, now: number): void {
    this.#elapsed(now);
    this.#counts.nackCount++;
    this.#addUnacknowledged(nodeId, -1);
    const unaccepted = this.#unaccepted.get(nodeId) ?? new Map<string, string>();
    const names = new Set([...error.resources, ...error.pending]);
    for (const { name, version } of carried?.resources ?? [])
      if (names.has(name)) unaccepted.set(`${typeUrl} ${name}`, version);
    if (unaccepted.size > 0) this.#unaccepted.set(nodeId, unaccepted);
    if (this.#nacks.length < maxNacks)
      this.#nacks.push({ proxy: nodeId, typeUrl, resources: error.resources, message: error.message });
  }

  /** Records that a response is no longer pending: it was answered, or its answer is not awaited any more. */
  responseDone(): void {
    this.#counts.pending--;
  }

  /** Releases the per-proxy state, because no more events are expected. */
  settle(): void {
    this.#hasSettled = true;
    this.#proxies = this.#proxyCounts();
    this.#unaccepted.clear();
  }

  report(): ChangeReport {
    return {
      revision: this.revision,
      at: this.#committedAt,
      objects: this.objects,
      objectCount: this.#objectCount,
      ...this.#counts,
      ...this.#proxyCounts(),
      ...this.#times,
      types: Object.fromEntries([...this.#types].sort(([a], [b]) => (a < b ? -1 : 1))),
      nacks: [...this.#nacks],
    };
  }

  /** Returns the milliseconds since the commit, and records the event. */
  #elapsed(now: number): number {
    this.#lastEventAt = now;
    return now - this.#committedAt;
  }

  #addUnacknowledged(nodeId: string, responses: 1 | -1): void {
    if (this.#proxies instanceof Map) this.#proxies.set(nodeId, (this.#proxies.get(nodeId) ?? 0) + responses);
  }

  #proxyCounts(): ProxyCounts {
    if (!(this.#proxies instanceof Map)) return this.#proxies;
    let proxiesAcknowledged = 0;
    for (const [nodeId, responses] of this.#proxies)
      if (responses === 0 && !this.#unaccepted.has(nodeId)) proxiesAcknowledged++;
    return { proxies: this.#proxies.size, proxiesAcknowledged };
  }
}
