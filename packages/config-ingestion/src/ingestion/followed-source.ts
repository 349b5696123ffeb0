import type { Problem } from "@istiod/config-schema";
import { Backoff, type Clock, reasonOf } from "@istiod/runtime";
import { IngestionError } from "../errors.js";
import type { Source, SourceUpdate } from "./source.js";
import { reasonKindOf, type SyncReason, type SyncState } from "./sync-state.js";

/** Milliseconds after which a source that failed is tried again: doubled after each failure. */
const retryRange = { initialMs: 1000, maxMs: 60_000 };

export interface FollowOptions {
  /** Milliseconds in which the source should sync. Default: no deadline. */
  readonly syncTimeout?: number;
  readonly clock: Clock;
  /** Called when the source is to be read, or its sync state may have changed. */
  notify(): void;
  onMissedDeadline(): void;
}

interface Failure {
  readonly cause: unknown;
  readonly since: number;
}

/** One source: its start, its readings, and its failures, which are retried and end nothing else. */
export class FollowedSource {
  readonly source: Source;
  /** The problems that the last reading found. */
  problems: readonly Problem[] = [];
  readonly #options: FollowOptions;
  #isStarted = false;
  #isStopped = false;
  #isChanged = false;
  #hasRead = false;
  #failure: Failure | undefined;
  readonly #backoff = new Backoff(retryRange);
  #timedOutAt: number | undefined;
  #cancelDeadline: () => void = () => undefined;
  #cancelRetry: () => void = () => undefined;

  constructor(source: Source, options: FollowOptions) {
    this.source = source;
    this.#options = options;
  }

  /** True if the source has synced, and its content may differ from what was last read. */
  get isReadable(): boolean {
    return this.#isStarted && this.#isChanged;
  }

  /** True if the source may differ from what was last read. */
  get isChanged(): boolean {
    return this.#isChanged;
  }

  /** True if nothing waits for the source any more: it has synced, or its deadline has passed. */
  get isSettled(): boolean {
    return this.#isStarted || this.#timedOutAt !== undefined;
  }

  /** Starts the source, and retries until it is stopped. */
  start(): void {
    const { clock, notify, onMissedDeadline, syncTimeout = Infinity } = this.#options;
    if (syncTimeout !== Infinity)
      this.#cancelDeadline = clock.after(syncTimeout, () => {
        this.#timedOutAt = clock.now();
        onMissedDeadline();
        notify();
      });
    void this.#start();
  }

  /** Reads the source. Returns undefined if this failed; it is then retried after a while. */
  async read(): Promise<SourceUpdate | undefined> {
    this.#isChanged = false;
    try {
      const update = await this.source.read();
      this.#hasRead = true;
      this.#succeed();
      this.problems = update.problems;
      return update;
    } catch (cause) {
      this.#fail(cause, () => this.#onChange());
      return undefined;
    }
  }

  /** The error because of which the source cannot be read for the first time. */
  get startupFault(): unknown {
    if (this.#hasRead) return undefined;
    if (this.#failure !== undefined) return this.#failure.cause;
    const state = this.#isStarted ? undefined : this.source.syncState?.();
    return state?.state === "forbidden" ? new IngestionError("forbidden", state.reason) : undefined;
  }

  syncState(): SyncState {
    const own = this.source.syncState?.();
    if (this.#hasRead) {
      if (this.#failure !== undefined)
        return { state: "stale", since: this.#failure.since, ...described(this.#failure) };
      return own ?? { state: "synced" };
    }
    if (own?.state === "forbidden") return own;
    const reason = this.#failure === undefined ? delayReason(own) : described(this.#failure);
    if (this.#timedOutAt === undefined) return { state: "syncing", ...reason };
    return { state: "timeout", since: this.#timedOutAt, ...(reason ?? { reason: this.#missedDeadline() }) };
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelDeadline();
    this.#cancelRetry();
    this.source.stop();
  }

  async #start(): Promise<void> {
    try {
      await this.source.start(() => this.#onChange());
    } catch (cause) {
      if (this.#isStopped) return;
      this.#fail(cause, () => void this.#start());
      this.#options.notify();
      return;
    }
    if (this.#isStopped) return;
    this.#isStarted = true;
    this.#cancelDeadline();
    this.#succeed();
    this.#onChange();
  }

  #onChange(): void {
    if (this.#isStopped) return;
    this.#isChanged = true;
    this.#options.notify();
  }

  #succeed(): void {
    this.#failure = undefined;
    this.#backoff.reset();
    this.#cancelRetry();
  }

  #fail(cause: unknown, retry: () => void): void {
    if (this.#isStopped) return;
    const { clock } = this.#options;
    this.#failure = { cause, since: this.#failure?.since ?? clock.now() };
    this.#cancelRetry();
    this.#cancelRetry = clock.after(this.#backoff.next(), retry);
  }

  #missedDeadline(): string {
    return `it did not sync within ${this.#options.syncTimeout} ms`;
  }
}

function described({ cause }: Failure): SyncReason {
  return { reason: reasonOf(cause), reasonKind: reasonKindOf(cause) };
}

function delayReason(state: SyncState | undefined): SyncReason | undefined {
  if (state === undefined || state.state === "synced" || state.reason === undefined) return undefined;
  const { reason, reasonKind = reason } = state;
  return { reason, reasonKind };
}
