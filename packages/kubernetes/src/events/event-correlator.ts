import { randomBytes } from "node:crypto";
import { RecentMap } from "@istiod/runtime";

/** The object that an event is about. */
export interface EventObject {
  readonly apiVersion: string;
  readonly kind: string;
  /** Absent for cluster-scoped objects, whose events are in `default`. */
  readonly namespace?: string;
  readonly name: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** A message about an object for its owner, shown by `kubectl describe`. */
export interface EventDetails {
  readonly type: "Normal" | "Warning";
  /** Short reason in upper camel case, for example `AddressNotAssigned`. */
  readonly reason: string;
  readonly message: string;
}

/** An event to create, or to update if its count is over one. */
export interface CorrelatedEvent extends EventDetails {
  readonly object: EventObject;
  readonly name: string;
  readonly count: number;
  /** Milliseconds since the epoch. */
  readonly firstTime: number;
  readonly lastTime: number;
}

/** Different messages of one reason within the interval from which on they are combined. */
const maxSimilar = 10;
const similarIntervalMs = 600_000;
/** Events of one object at once, and the time after which one more is allowed. */
const burst = 25;
const refillMs = 300_000;
const maxEntries = 4096;

interface Similar {
  readonly messages: ReadonlySet<string>;
  readonly lastTime: number;
}

interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

/** Counts equal events, combines similar ones and limits their rate for each object, as client-go does. */
export class EventCorrelator {
  readonly #similar = new RecentMap<Similar>(maxEntries);
  readonly #counted = new RecentMap<CorrelatedEvent>(maxEntries);
  readonly #buckets = new RecentMap<Bucket>(maxEntries);

  /** Returns the event to write, or undefined if its object has too many. @param now milliseconds since the epoch */
  correlate(object: EventObject, details: EventDetails, now: number): CorrelatedEvent | undefined {
    const { resourceVersion: _changes, ...identity } = object;
    const objectKey = JSON.stringify(Object.entries(identity).toSorted());
    const similarKey = JSON.stringify([objectKey, details.type, details.reason]);
    const isCombined = this.#isCombined(similarKey, details.message, now);
    const message = isCombined ? `(combined from similar events): ${details.message}` : details.message;
    const key = isCombined ? similarKey : JSON.stringify([similarKey, details.message]);
    const known = this.#counted.get(key);
    const event: CorrelatedEvent = {
      ...details,
      message,
      object,
      name: known?.name ?? `${object.name}.${randomBytes(8).toString("hex")}`,
      count: (known?.count ?? 0) + 1,
      firstTime: known?.firstTime ?? now,
      lastTime: now,
    };
    this.#counted.set(key, event);
    return this.#takeToken(objectKey, now) ? event : undefined;
  }

  #isCombined(key: string, message: string, now: number): boolean {
    const known = this.#similar.get(key);
    const recent = known && now - known.lastTime <= similarIntervalMs ? known.messages : new Set<string>();
    const messages = recent.size < maxSimilar ? new Set([...recent, message]) : recent;
    this.#similar.set(key, { messages, lastTime: now });
    return messages.size >= maxSimilar;
  }

  #takeToken(key: string, now: number): boolean {
    const known = this.#buckets.get(key) ?? { tokens: burst, at: now };
    const tokens = Math.min(burst, known.tokens + Math.max(0, now - known.at) / refillMs);
    this.#buckets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: now });
    return tokens >= 1;
  }
}
