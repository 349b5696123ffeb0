import type { Problem } from "@istiod/config-schema";
import type { Clock } from "@istiod/runtime";
import { IngestionError } from "../errors.js";
import { FollowedSource } from "./followed-source.js";
import { type CurrentValue, type Owner, Ownership } from "./ownership.js";
import type { Source, SourceUpdate } from "./source.js";
import type { TrackedProblem } from "./problem-tracker.js";
import { conflicts, syncProblems } from "./source-problems.js";
import type { SyncState } from "./sync-state.js";
import { recordWrites, type Write } from "./write.js";

export interface SourceOptions {
  /**
   * Milliseconds in which the source should sync, for example `PILOT_REMOTE_CLUSTER_TIMEOUT`. After that, the first
   * commit no longer waits for it. Default: the first commit waits for as long as it takes.
   */
  readonly syncTimeout?: number;
  /**
   * Makes `Ingestion.ready` reject if the source cannot be read at startup. Default: true for the sources that an
   * ingestion is created with, false for those that are added.
   */
  readonly isRequired?: boolean;
}

/** State of one source. */
export interface SourceState {
  readonly source: Source;
  readonly sync: SyncState;
  /** Number of deadlines that the source and those that it replaced missed. */
  readonly missedDeadlines: number;
  /** True if the source changed since it was last read. */
  readonly changed: boolean;
  /** Problems that were found when it was last read. */
  readonly problems: readonly Problem[];
  /** The source that replaces this one once it has synced. */
  readonly replacement?: { readonly source: Source; readonly sync: SyncState };
}

/** Result of reading several sources. */
export interface ReadResult {
  /** Milliseconds that reading took. */
  readonly readMs: number;
  /** Milliseconds since the newest content that was read was written; Infinity if no source knows. */
  readonly contentAge: number;
}

export interface SourceSetOptions {
  readonly clock: Clock;
  readonly currentValue: CurrentValue;
  /** Called when a source is to be read or was removed, or a sync state may have changed. */
  notify(): void;
}

/** The place of a source, which its replacements take over. */
interface Slot extends Owner {
  followed: FollowedSource;
  replacement: FollowedSource | undefined;
  missedDeadlines: number;
  readonly isRequired: boolean;
  readonly source: Source;
}

/** The sources of an ingestion, with their changes and problems. Their content is the union, where the first counts. */
export class SourceSet {
  readonly #slots = new Set<Slot>();
  /** Slots that were removed, with entries that are not. */
  readonly #removed = new Set<Slot>();
  readonly #known = new WeakSet<Source>();
  readonly #ownership: Ownership<Slot>;
  readonly #options: SourceSetOptions;
  #nextOrder = 0;
  #isStopped = false;

  constructor(options: SourceSetOptions) {
    this.#options = options;
    this.#ownership = new Ownership(options.currentValue);
  }

  /** Starts a source after the others. @throws IngestionError if the set has it already */
  add(source: Source, { isRequired = false, ...options }: SourceOptions): void {
    this.#requireNew(source);
    const slot: Slot = {
      order: this.#nextOrder++,
      followed: this.#follow(source, options, () => slot.missedDeadlines++),
      replacement: undefined,
      missedDeadlines: 0,
      isRequired,
      get source() {
        return this.followed.source;
      },
    };
    this.#slots.add(slot);
    slot.followed.start();
  }

  /**
   * Starts a source that replaces another, or its replacement, once it has synced.
   *
   * @throws IngestionError if the set lacks the other
   */
  replace(current: Source, next: Source, options: Pick<SourceOptions, "syncTimeout">): void {
    const slot = this.#slotOf(current);
    this.#requireNew(next);
    slot.replacement?.stop();
    slot.replacement = this.#follow(next, options, () => slot.missedDeadlines++);
    slot.replacement.start();
  }

  /** Stops a source and its replacement. Its entries are removed by the next reading. @throws IngestionError */
  remove(source: Source): void {
    const slot = this.#slotOf(source);
    this.#slots.delete(slot);
    this.#removed.add(slot);
    stopSlot(slot);
    this.#options.notify();
  }

  /** Stops watching. */
  stop(): void {
    this.#isStopped = true;
    for (const slot of this.#slots) stopSlot(slot);
  }

  /** Number of sources that changed and are not read yet. */
  get changedCount(): number {
    let count = this.#removed.size;
    for (const { followed, replacement } of this.#slots)
      if (followed.isReadable || replacement?.isReadable === true) count++;
    return count;
  }

  /** True if every source has synced, or its deadline has passed. */
  get isSettled(): boolean {
    return [...this.#slots].every(
      ({ followed, replacement }) => followed.isSettled || replacement?.isReadable === true,
    );
  }

  /** The error because of which a required source cannot be read for the first time. */
  get startupFault(): unknown {
    for (const { isRequired, followed } of this.#slots) {
      const fault = isRequired ? followed.startupFault : undefined;
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  /** Returns the current problems of the content of all sources. */
  problems(): readonly Problem[] {
    const ofSources = [...this.#slots].flatMap(({ followed }) => followed.problems);
    return [...ofSources, ...conflicts(this.#ownership.shared())];
  }

  /** Returns the problems of the sources that are not current. */
  syncProblems(): readonly TrackedProblem[] {
    return [...this.#slots]
      .flatMap(({ followed, replacement }) => (replacement === undefined ? [followed] : [followed, replacement]))
      .flatMap((followed) => syncProblems(followed.source, followed.syncState()));
  }

  /** Returns the state of each source, in their order. */
  states(): readonly SourceState[] {
    return [...this.#slots].map(({ followed, replacement, missedDeadlines }) => ({
      source: followed.source,
      sync: followed.syncState(),
      missedDeadlines,
      changed: followed.isChanged,
      problems: followed.problems,
      ...(replacement !== undefined && { replacement: { source: replacement.source, sync: replacement.syncState() } }),
    }));
  }

  /**
   * Reads the sources that changed, in their order, and removes the entries of those that were removed.
   *
   * @param add receives the writes
   */
  async readChanged(add: (write: Write) => void): Promise<ReadResult> {
    const start = this.#options.clock.now();
    const readings = await Promise.all([...this.#slots].map(readSlot));
    for (const slot of this.#removed) for (const write of this.#ownership.replace(slot, [])) add(write);
    this.#removed.clear();
    const applied = readings.flatMap((reading) => (reading !== undefined && this.#isCurrent(reading) ? reading : []));
    for (const reading of applied) for (const write of this.#apply(reading)) add(write);
    return {
      readMs: this.#options.clock.now() - start,
      contentAge: Math.min(...applied.map(({ update }) => update.age ?? Infinity)),
    };
  }

  /** Records the writes of a reading, and returns what they mean for the union. */
  #apply({ slot, source, update }: Reading): Iterable<Write> {
    const writes = recordWrites((tx) => update.apply(tx));
    if (source !== slot.replacement) return writes.flatMap((write) => this.#ownership.write(slot, write) ?? []);
    slot.followed.stop();
    slot.followed = source;
    slot.replacement = undefined;
    return this.#ownership.replace(slot, writes);
  }

  /** Reports whether a source that was read is still the one that its slot follows. */
  #isCurrent({ slot, source }: Reading): boolean {
    return !this.#isStopped && this.#slots.has(slot) && (source === slot.followed || source === slot.replacement);
  }

  #follow(
    source: Source,
    { syncTimeout }: Pick<SourceOptions, "syncTimeout">,
    onMissedDeadline: () => void,
  ): FollowedSource {
    const { clock, notify } = this.#options;
    return new FollowedSource(source, {
      clock,
      notify,
      onMissedDeadline,
      ...(syncTimeout !== undefined && { syncTimeout }),
    });
  }

  #slotOf(source: Source): Slot {
    for (const slot of this.#slots) if (slot.source === source || slot.replacement?.source === source) return slot;
    throw new IngestionError("unknown-source", `${source.name ?? "the source"} is not a source of this ingestion`);
  }

  /** Registers a source. A source tells differences, so it cannot be used again after it was stopped. */
  #requireNew(source: Source): void {
    if (this.#known.has(source))
      throw new IngestionError("duplicate-source", `${source.name ?? "the source"} is or was a source already`);
    this.#known.add(source);
  }
}

interface Reading {
  readonly slot: Slot;
  readonly source: FollowedSource;
  readonly update: SourceUpdate;
}

/** Reads a slot's replacement if it has synced, else its source. Undefined if there is nothing to read. */
async function readSlot(slot: Slot): Promise<Reading | undefined> {
  const { followed, replacement } = slot;
  const source = replacement?.isReadable === true ? replacement : followed;
  const update = source.isReadable ? await source.read() : undefined;
  return update && { slot, source, update };
}

function stopSlot({ followed, replacement }: Slot): void {
  followed.stop();
  replacement?.stop();
}
