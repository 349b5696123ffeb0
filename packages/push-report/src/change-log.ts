import type { Commit } from "@istiod/incremental";
import type { Clock } from "@istiod/runtime";
import type { AckEvent, NackEvent, PushEvent, XdsEvent } from "@istiod/xds-server";
import type { ChangeReport } from "./change-report.js";
import { LastChanges } from "./last-changes.js";
import { formatName, type ObjectName } from "./object-name.js";
import { TrackedChange } from "./tracked-change.js";
import { UnansweredResponses } from "./unanswered-responses.js";

export interface ChangeLogOptions {
  /** Maximum number of changes that are kept. Default 256. */
  readonly keep?: number;
  readonly clock: Clock;
  /** Called once per change, when all its responses are answered and no event has occurred for `quietMs`. */
  readonly settled?: (report: ChangeReport) => void;
  /** Default 1,000 ms. */
  readonly quietMs?: number;
  /** Returns the oldest revision whose push is not complete; such changes are not settled. Default: none. */
  readonly pendingRevision?: () => number | undefined;
}

/**
 * Reports on the latest changes, from the commits of the source and the events of the xDS server. The server merges
 * changes that wait for the same client, so a response counts for each change that it shows.
 */
export class ChangeLog {
  readonly #options: ChangeLogOptions;
  readonly #changes = new Map<number, TrackedChange>();
  readonly #lastChanges = new LastChanges();
  readonly #unanswered = new UnansweredResponses();
  #stopTimer: (() => void) | undefined;

  constructor(options: ChangeLogOptions) {
    this.#options = options;
  }

  /** Must be called after each commit, before it is pushed. */
  committed(commit: Commit): void {
    const { revision } = commit;
    if (commit.changed.length === 0) return;
    const names = this.#lastChanges.add(commit);
    this.#changes.set(revision, new TrackedChange(revision, [...names.values()], this.#options.clock.now()));
    for (const oldest of this.#changes.keys()) {
      if (this.#changes.size <= (this.#options.keep ?? 256)) break;
      this.#changes.delete(oldest);
    }
    this.#scheduleSettling();
  }

  /** Must be called with each event of the server. */
  observe(event: XdsEvent): void {
    switch (event.kind) {
      case "push":
        return this.#pushed(event);
      case "ack":
        return this.#acknowledged(event);
      case "nack":
        return this.#rejected(event);
      case "disconnect":
        for (const { changes } of this.#unanswered.close(event.connection)) this.#responseDone(changes);
    }
  }

  /** Returns reports on the changes that are kept, newest first. */
  reports(): readonly ChangeReport[] {
    return [...this.#changes.values()].reverse().map((change) => change.report());
  }

  /** Returns the report on a change; undefined if it is not kept. */
  report(revision: number): ChangeReport | undefined {
    return this.#changes.get(revision)?.report();
  }

  /**
   * Returns the revision in which an object last changed; undefined if it has not changed since the start. Of deleted
   * objects, the last 1,000 are known.
   */
  lastChangeOf(name: ObjectName): number | undefined {
    return this.#lastChanges.of(name);
  }

  /** Yields the streams, by ID, and types with an unanswered response that shows a change. */
  unanswered(revision: number): Iterable<{ readonly connection: string; readonly typeUrl: string }> {
    return this.#unanswered.showing(revision);
  }

  /** Returns the distinct objects of the changes that are kept, most recently changed first. */
  recentObjects(): readonly ObjectName[] {
    const names = new Map<string, ObjectName>();
    for (const { objects } of [...this.#changes.values()].reverse())
      for (const name of objects) names.set(formatName(name), name);
    return [...names.values()];
  }

  #pushed(event: PushEvent): void {
    const { changes, connection, nonce, typeUrl } = event;
    if (changes.length === 0) return;
    const dropped = this.#unanswered.add(connection, typeUrl, { nonce, changes });
    if (dropped !== undefined) this.#responseDone(dropped.changes);
    for (const change of this.#kept(changes)) change.pushed(event, this.#options.clock.now());
  }

  #acknowledged(event: AckEvent): void {
    for (const { changes } of this.#unanswered.answer(event.connection, event.typeUrl, event.nonce)) {
      this.#responseDone(changes);
      for (const change of this.#kept(changes)) change.acknowledged(event, this.#options.clock.now());
    }
  }

  #rejected(event: NackEvent): void {
    const answered = this.#unanswered.answer(event.connection, event.typeUrl, event.error.nonce);
    for (const { changes } of answered) this.#responseDone(changes);
    for (const change of this.#kept(answered.at(-1)?.changes ?? [])) change.rejected(event, this.#options.clock.now());
  }

  #responseDone(changes: readonly number[]): void {
    for (const change of this.#kept(changes)) change.responseDone();
  }

  #kept(revisions: readonly number[]): TrackedChange[] {
    return revisions.flatMap((revision) => this.#changes.get(revision) ?? []);
  }

  #scheduleSettling(): void {
    const { clock, settled, quietMs = 1000 } = this.#options;
    if (settled === undefined || this.#stopTimer !== undefined) return;
    this.#stopTimer = clock.after(quietMs, () => {
      this.#stopTimer = undefined;
      if (this.#settleQuietChanges(settled, quietMs)) this.#scheduleSettling();
    });
  }

  /** Settles the changes without recent events. Returns true if others remain. */
  #settleQuietChanges(settled: (report: ChangeReport) => void, quietMs: number): boolean {
    const { clock, pendingRevision } = this.#options;
    const firstPending = pendingRevision?.() ?? Infinity;
    let remaining = false;
    for (const change of this.#changes.values()) {
      if (change.hasSettled) continue;
      if (change.pending > 0 || change.revision >= firstPending || clock.now() - change.lastEventAt < quietMs) {
        remaining = true;
      } else {
        change.settle();
        settled(change.report());
      }
    }
    return remaining;
  }
}
