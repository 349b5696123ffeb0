import { type Clock, monotonicClock, systemClock } from "@istiod/runtime";
import { ApiError } from "../api-error.js";
import type { ApiClient } from "../client/api-client.js";
import type { KubernetesObject } from "../object.js";
import type { ResourceType } from "../resource-type.js";
import { withRetries } from "../writers/retries.js";
import { createObject, patchObject } from "../writers/write-object.js";
import { type CorrelatedEvent, EventCorrelator, type EventDetails, type EventObject } from "./event-correlator.js";

export interface EventRecorderOptions {
  /** Name of the controller, shown as the source of its events. */
  readonly component: string;
  /** Events that wait to be written, at most. Default: 1,000. */
  readonly maxQueued?: number;
  /**
   * Called for each event that is not written: without an error if its object has too many events, the queue is full or
   * the recorder was stopped.
   */
  readonly onDropped?: (object: EventObject, details: EventDetails, error?: unknown) => void;
  /** Clock for the times in events. */
  readonly dates?: Clock;
  /** Clock for the delays between attempts. */
  readonly clock?: Clock;
}

const events: ResourceType = { group: "", version: "v1", kind: "Event", plural: "events", namespaced: true };

/**
 * Writes events about objects (core/v1), one at a time, in the background. Equal events are counted in one object, and
 * similar ones are combined. Recording never fails and never waits.
 */
export class EventRecorder {
  readonly #client: ApiClient;
  readonly #options: EventRecorderOptions;
  readonly #correlator = new EventCorrelator();
  readonly #stopping = new AbortController();
  #queue: CorrelatedEvent[] = [];
  #writing: Promise<void> = Promise.resolve();
  #isWriting = false;

  constructor(client: ApiClient, options: EventRecorderOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Records an event about an object. */
  record(object: EventObject, details: EventDetails): void {
    const { dates = systemClock, maxQueued = 1000 } = this.#options;
    const isFull = this.#queue.length >= maxQueued || this.#stopping.signal.aborted;
    const event = isFull ? undefined : this.#correlator.correlate(object, details, dates.now());
    if (!event) return this.#drop(object, details);
    this.#queue.push(event);
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#writing = this.#writeAll();
  }

  /** Waits until every event recorded so far is written or dropped. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  /** Drops the events that are not written yet, and waits for the one in progress to be aborted. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    for (let event = this.#queue.shift(); event; event = this.#queue.shift()) {
      try {
        if (this.#stopping.signal.aborted) this.#drop(event.object, event);
        else await this.#write(event);
      } catch (error) {
        this.#drop(event.object, event, error);
      }
    }
    this.#isWriting = false;
  }

  async #write(event: CorrelatedEvent): Promise<void> {
    const { clock = monotonicClock } = this.#options;
    const { signal } = this.#stopping;
    await withRetries(() => (event.count > 1 ? this.#update(event, signal) : this.#create(event, signal)), {
      signal,
      clock,
    });
  }

  async #create(event: CorrelatedEvent, signal: AbortSignal): Promise<void> {
    const { component } = this.#options;
    const { object, name, count, firstTime, lastTime, type, reason, message } = event;
    const created: KubernetesObject & Readonly<Record<string, unknown>> = {
      metadata: { namespace: namespaceOf(object), name },
      involvedObject: object,
      type,
      reason,
      message,
      count,
      firstTimestamp: timestamp(firstTime),
      lastTimestamp: timestamp(lastTime),
      source: { component },
      reportingComponent: component,
    };
    try {
      await createObject(this.#client, events, created, { signal });
    } catch (error) {
      // The name is random: an earlier attempt without an answer has succeeded.
      if (!(error instanceof ApiError && error.code === "already-exists")) throw error;
    }
  }

  async #update(event: CorrelatedEvent, signal: AbortSignal): Promise<void> {
    const { object, name, count, lastTime, message } = event;
    const merge = { count, message, lastTimestamp: timestamp(lastTime) };
    try {
      await patchObject(this.#client, events, { namespace: namespaceOf(object), name }, { merge }, { signal });
    } catch (error) {
      if (!(error instanceof ApiError && error.code === "not-found")) throw error;
      // Events expire after an hour by default.
      await this.#create(event, signal);
    }
  }

  /** Reports a dropped event. An exception of the callback must not reach the caller of `record`. */
  #drop(object: EventObject, { type, reason, message }: EventDetails, error?: unknown): void {
    try {
      this.#options.onDropped?.(object, { type, reason, message }, error);
    } catch {
      // There is nobody left to report it to.
    }
  }
}

function namespaceOf({ namespace }: EventObject): string {
  return namespace ?? "default";
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
