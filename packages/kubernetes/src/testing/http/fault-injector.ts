import type { Socket } from "node:net";
import type { Clock } from "@istiod/runtime";
import type { ClusterFaults, DelayOptions, DropMode, FailOptions, RequestFilter } from "../faults.js";
import type { Store } from "../storage/store.js";
import type { Exchange } from "./exchange.js";
import { StatusError } from "./status-error.js";

interface Fault<Options extends RequestFilter> {
  readonly options: Options;
  left: number;
}

const reasons: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Expired",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/** The faults of the in-memory server. */
export class FaultInjector implements ClusterFaults {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #open = new Set<Exchange>();
  readonly #expireListeners = new Set<(message: string) => void>();
  readonly #thawListeners = new Set<() => void>();
  #fails: Fault<FailOptions>[] = [];
  #delays: Fault<DelayOptions>[] = [];
  #isFrozen = false;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  /** Calls `listener` when watches expire, until the returned function is called. */
  onExpire(listener: (message: string) => void): () => void {
    this.#expireListeners.add(listener);
    return () => void this.#expireListeners.delete(listener);
  }

  /** Calls `listener` after every `thaw`, until the returned function is called. */
  onThaw(listener: () => void): () => void {
    this.#thawListeners.add(listener);
    return () => void this.#thawListeners.delete(listener);
  }

  /**
   * Lets a request pass after the faults that apply to it.
   *
   * @throws StatusError of `failRequests`
   */
  async admit(exchange: Exchange): Promise<void> {
    this.#open.add(exchange);
    exchange.response.on("close", () => this.#open.delete(exchange));
    if (this.#isFrozen) await this.#untilThaw();
    const delay = take(this.#delays, exchange);
    if (delay !== undefined) {
      await new Promise<void>((resolve) => void this.#clock.after(delay.delayMs, resolve));
      if (this.#isFrozen) await this.#untilThaw();
    }
    // A client that is gone by now would not have reached a server that hangs.
    if (exchange.isAbandoned) throw new StatusError(503, "ServiceUnavailable", "the connection is closed");
    const failure = take(this.#fails, exchange);
    if (failure !== undefined) throw failureOf(failure);
  }

  #untilThaw(): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.onThaw(() => {
        stop();
        resolve();
      });
    });
  }

  compact(): Promise<void> {
    this.#store.compact();
    return Promise.resolve();
  }

  expireWatches(): Promise<void> {
    this.#store.compact();
    const message = "The resourceVersion for the provided watch is too old.";
    for (const listener of [...this.#expireListeners]) listener(message);
    return Promise.resolve();
  }

  dropConnections(mode: DropMode, filter: RequestFilter = {}): Promise<number> {
    const dropped = [...this.#open].filter((exchange) => matches(filter, exchange));
    for (const exchange of dropped) drop(exchange, mode);
    return Promise.resolve(dropped.length);
  }

  failRequests(options: FailOptions): Promise<void> {
    this.#fails.push({ options, left: options.times ?? 1 });
    return Promise.resolve();
  }

  delayRequests(options: DelayOptions): Promise<void> {
    this.#delays.push({ options, left: options.times ?? Infinity });
    return Promise.resolve();
  }

  freeze(): Promise<void> {
    this.#isFrozen = true;
    return Promise.resolve();
  }

  thaw(): Promise<void> {
    this.#isFrozen = false;
    for (const listener of [...this.#thawListeners]) listener();
    return Promise.resolve();
  }

  async clear(): Promise<void> {
    this.#fails = [];
    this.#delays = [];
    await this.thaw();
  }
}

function take<Options extends RequestFilter>(faults: Fault<Options>[], exchange: Exchange): Options | undefined {
  const fault = faults.find(({ options, left }) => left > 0 && matches(options, exchange));
  if (fault === undefined) return undefined;
  fault.left -= 1;
  return fault.options;
}

const matches = ({ pathPrefix = "", method, watch }: RequestFilter, exchange: Exchange): boolean =>
  exchange.path.startsWith(pathPrefix) &&
  (method === undefined || method === exchange.method) &&
  (watch === undefined || watch === exchange.isWatch);

function failureOf({ status, retryAfterSeconds }: FailOptions): StatusError {
  const retryAfter = retryAfterSeconds ?? (status === 429 ? 1 : undefined);
  const details = retryAfter === undefined ? undefined : { retryAfterSeconds: retryAfter };
  return new StatusError(status, reasons[status] ?? "InternalError", "this request was failed by the test", details);
}

function drop({ response, request }: Exchange, mode: DropMode): void {
  const socket: Socket = request.socket;
  if (mode === "reset") socket.resetAndDestroy();
  else if (mode === "end" && response.headersSent) response.end();
  else socket.end(() => socket.destroy());
}
