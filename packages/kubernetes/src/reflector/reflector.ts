import { Backoff, type Clock, monotonicClock, reasonOf } from "@istiod/runtime";
import { ApiError } from "../api-error.js";
import { statusError } from "../client/status-error.js";
import type { WatchMessage } from "../decoding/decoder.js";
import type { TypeAvailability } from "../discovery/type-availability.js";
import { apiVersionOf } from "../resource-type.js";
import { sleep } from "../writers/retries.js";
import { Breaks } from "./breaks.js";
import { KnownObjects } from "./known-objects.js";
import { initialIdleMs, listObjects, openWatch, pageSize, type ReflectorTarget } from "./list-watch.js";
import { type DecodedEvent, Notifier } from "./notifier.js";
import type { ReflectorHandler, ReflectorState } from "./reflector-event.js";

export interface ReflectorOptions<T> extends ReflectorTarget {
  readonly handler: ReflectorHandler<T>;
  readonly clock?: Clock;
  /** Returns a number from 0 to 1, for jitter. Default `Math.random`. */
  readonly random?: () => number;
  /**
   * Tells when a type that the server does not serve is served. Default: nobody does, and the attempts continue.
   */
  readonly availability?: TypeAvailability | undefined;
  /** Receives failed attempts, and exceptions of the handler. Default: they are dropped; states tell the former. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Follows the objects of a type: lists them, and watches for changes. After a failure it continues where it ended, or
 * lists again and reports exactly what changed in the meantime. It keeps no objects, only their versions.
 */
export class Reflector<T = Record<string, unknown>> {
  readonly #options: ReflectorOptions<T>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #backoff: Backoff;
  readonly #known = new KnownObjects();
  readonly #stopping = new AbortController();
  readonly #notifier: Notifier<T>;
  readonly #breaks = new Breaks();
  readonly #path: string;
  #isStarted = false;
  /** Version that the next watch begins at; undefined: list again. */
  #resourceVersion: string | undefined;
  /** False after the server turned out not to send initial events in a watch. */
  #canWatchList = true;
  /** A watch was open: if it breaks, the first attempt to continue decides whether the objects are stale. */
  #wasWatching = false;
  /** Time on the clock when the watch was accepted. */
  #openedAt: number | undefined;
  /** The current watch reported a change after the initial events. */
  #hasProgressed = false;

  constructor(options: ReflectorOptions<T>) {
    const { resource, handler, onError, clock = monotonicClock, random = Math.random } = options;
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.#backoff = new Backoff({ random });
    this.#notifier = new Notifier({ resource, handler, onError, stopped: this.#stopping.signal });
    this.#path = `${apiVersionOf(resource)} ${resource.plural}`;
  }

  get state(): ReflectorState {
    return this.#notifier.state;
  }

  /** Starts listing and watching. Further calls have no effect. */
  start(): void {
    if (this.#isStarted || this.#isStopped) return;
    this.#isStarted = true;
    this.#notifier.begin();
    void this.#run();
  }

  /** Stops at once. The handler is not called again. */
  stop(): void {
    this.#stopping.abort();
  }

  get #isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        await this.#cycle();
      } catch (error) {
        if (this.#isStopped) return;
        await this.#recover(asApiError(error, this.#path));
      }
    }
  }

  /** Lists if needed, then watches until the watch ends. */
  async #cycle(): Promise<void> {
    if (this.#resourceVersion !== undefined) return await this.#watch(this.#resourceVersion);
    if (this.#canWatchList) return await this.#watchList();
    await this.#list();
  }

  async #recover(error: ApiError): Promise<void> {
    this.#notifier.report(error);
    this.#resetBackoff();
    const delayMs = this.#backoff.next(error.retryAfterMs);
    if (mustList(error)) this.#resourceVersion = undefined;
    else if (!this.#wasWatching || delayMs > unnoticedMs) this.#notifier.fail(error);
    this.#wasWatching = false;
    const { availability, resource } = this.#options;
    const served = error.code === "not-found" ? availability?.whenServed(resource, this.#stopping.signal) : undefined;
    if (served === undefined) return await this.#sleep(delayMs);
    this.#notifier.fail(error);
    await served;
    this.#backoff.reset();
  }

  /** Waits before the next watch, because the server ended one as soon as it began. */
  async #endedAtOnce(): Promise<void> {
    const delayMs = this.#backoff.next();
    if (delayMs > unnoticedMs)
      this.#notifier.fail(
        new ApiError("unavailable", `watch ${this.#path}: the server ends watches as soon as they begin`),
      );
    await this.#sleep(delayMs);
  }

  /** Lists all pages. If a page's token expired, lists without pages, which cannot expire. */
  async #list(): Promise<void> {
    try {
      await this.#listPages(pageSize);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "expired") throw error;
      await this.#listPages(undefined);
    }
  }

  async #listPages(limit: number | undefined): Promise<void> {
    this.#known.beginList();
    for await (const { objects, resourceVersion } of listObjects(this.#options, this.#stopping.signal, limit)) {
      if (this.#isStopped) return;
      this.#notifier.contact();
      const events: DecodedEvent[] = [];
      for (const object of objects) this.#known.set(object, events);
      this.#notifier.emit(events);
      if (resourceVersion !== undefined) this.#completeList(resourceVersion);
      await this.#breaks.take();
    }
  }

  #completeList(resourceVersion: string): void {
    const events: DecodedEvent[] = [];
    this.#known.endList(events);
    this.#resourceVersion = resourceVersion;
    this.#succeed(events);
  }

  /** Watches from the objects that exist. Falls back to lists where the server does not send these. */
  async #watchList(): Promise<void> {
    this.#known.beginList();
    const silence = new AbortController();
    const signal = AbortSignal.any([this.#stopping.signal, silence.signal]);
    let cancel = (): void => {};
    try {
      const { batches } = await openWatch(this.#options, signal, { timeoutSeconds: this.#timeoutSeconds() });
      this.#openedAt = this.#clock.now();
      cancel = this.#clock.after(initialIdleMs, () => silence.abort());
      for await (const batch of batches) {
        cancel();
        if (this.#isStopped) return;
        const isSupported = this.#apply(batch);
        if (!isSupported) break;
        if (this.#resourceVersion === undefined) cancel = this.#clock.after(initialIdleMs, () => silence.abort());
        await this.#breaks.take();
      }
      // Servers that do not know the parameter send objects, but not the bookmark that ends them.
      if (this.#resourceVersion === undefined) this.#canWatchList = false;
      else if (!this.#resetBackoff()) await this.#endedAtOnce();
    } catch (error) {
      const isRefused = error instanceof ApiError && error.code === "invalid";
      if (this.#resourceVersion !== undefined || !(isRefused || silence.signal.aborted)) throw error;
      this.#canWatchList = false;
    } finally {
      cancel();
    }
  }

  async #watch(resourceVersion: string): Promise<void> {
    const options = { resourceVersion, timeoutSeconds: this.#timeoutSeconds() };
    const { batches } = await openWatch(this.#options, this.#stopping.signal, options);
    this.#openedAt = this.#clock.now();
    this.#succeed();
    for await (const batch of batches) {
      if (this.#isStopped) return;
      this.#apply(batch);
      await this.#breaks.take();
    }
    // A server that ends watches as soon as they begin must not be asked continuously.
    if (!this.#resetBackoff()) await this.#endedAtOnce();
  }

  /**
   * Resets the backoff after a watch that lasted or reported a change. Returns whether it did. Otherwise changes would
   * be late by the longest delay while connections break often.
   */
  #resetBackoff(): boolean {
    const hasLasted = this.#openedAt !== undefined && this.#clock.now() - this.#openedAt >= minWatchMs;
    const hasWorked = hasLasted || this.#hasProgressed;
    this.#openedAt = undefined;
    this.#hasProgressed = false;
    if (hasWorked) this.#backoff.reset();
    return hasWorked;
  }

  /** Applies messages of a watch. Returns false if the server does not send the end of the initial events. */
  #apply(messages: readonly WatchMessage[]): boolean {
    this.#notifier.contact();
    const events: DecodedEvent[] = [];
    for (const message of messages) {
      if (message.type === "ERROR") {
        this.#notifier.emit(events);
        const code = typeof message.status.code === "number" ? message.status.code : 500;
        throw statusError(`watch ${this.#path}`, code, message.status, undefined, Date.now());
      }
      if (message.type === "BOOKMARK") {
        const isInitial = this.#resourceVersion === undefined;
        if (isInitial && !message.endsInitialEvents) {
          this.#notifier.emit(events);
          return false;
        }
        if (isInitial) this.#known.endList(events);
        this.#resourceVersion = message.resourceVersion;
        if (isInitial) this.#succeed(events.splice(0));
        continue;
      }
      if (message.type === "DELETED") this.#known.delete(message.object, events);
      else this.#known.set(message.object, events);
      if (this.#resourceVersion === undefined) continue;
      this.#hasProgressed = true;
      this.#resourceVersion = message.object.resourceVersion;
    }
    this.#notifier.emit(events);
    return true;
  }

  /** Emits the last events of a list, and reports the objects as synced. */
  #succeed(events: readonly DecodedEvent[] = []): void {
    this.#notifier.emit(events);
    this.#wasWatching = true;
    this.#notifier.succeed();
  }

  /** Random, so that the watches of all types and replicas do not end together. As client-go: 5 to 10 minutes. */
  #timeoutSeconds(): number {
    return Math.round(300 * (1 + this.#random()));
  }

  /** Waits, or until `stop`. */
  async #sleep(delayMs: number): Promise<void> {
    await sleep(this.#clock, delayMs, this.#stopping.signal).catch(() => undefined);
  }
}

/** A longer delay before the next attempt makes the objects stale. */
const unnoticedMs = 2000;
/** Duration of a watch after which the server is considered to work. */
const minWatchMs = 1000;

/** Reports whether a watch cannot continue from its resource version. */
function mustList({ code, message }: ApiError): boolean {
  // A version of the future: the server's data was restored from an earlier time.
  return code === "expired" || message.includes("Too large resource version");
}

function asApiError(error: unknown, path: string): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError("malformed", `${path}: ${reasonOf(error)}`, {
    cause: error,
  });
}
