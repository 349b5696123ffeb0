import type { Exchange } from "../http/exchange.js";
import type { FaultInjector } from "../http/fault-injector.js";
import type { ListQuery } from "../storage/list.js";
import type { ServerState, Target } from "../storage/server-state.js";
import { resourceKey } from "../storage/store.js";
import { bookmark, eventOf, expired, planWatch, type WatchEvent } from "./watch-events.js";

export interface WatchOptions {
  readonly bookmarkIntervalMs: number;
  /** Events that wait for a client that does not read. More end the watch, as on the real server. */
  readonly queueLimit: number;
}

/** Timeout of watches without `timeoutSeconds`, in milliseconds. */
const defaultTimeoutMs = 30 * 60_000;

/** An open watch. Writes no faster than the client reads. */
export class WatchStream {
  readonly #exchange: Exchange;
  readonly #faults: FaultInjector;
  readonly #options: WatchOptions;
  readonly #cleanups: (() => void)[] = [];
  #queue: string[] = [];
  #isBlocked = false;
  #isEnding = false;
  #isClosed = false;

  constructor(exchange: Exchange, faults: FaultInjector, options: WatchOptions) {
    this.#exchange = exchange;
    this.#faults = faults;
    this.#options = options;
  }

  /** Answers the request and sends events until the watch ends. */
  start(state: ServerState, target: Target, query: ListQuery, encode: (object: unknown) => unknown): void {
    const plan = planWatch(state, target, query);
    const { response } = this.#exchange;
    this.#exchange.setHeaders();
    response.writeHead(200, { "Content-Type": "application/json", "Transfer-Encoding": "chunked" });
    response.flushHeaders();
    const send = ({ type, object }: WatchEvent): void =>
      this.#enqueue(JSON.stringify({ type, object: type === "ERROR" ? object : encode(object) }));
    this.#cleanups.push(this.#faults.onThaw(() => this.#flush()));
    response.on("drain", () => {
      this.#isBlocked = false;
      this.#flush();
    });
    response.on("close", () => this.#close());
    plan.initial.forEach(send);
    if (plan.isFailed) return this.end();
    this.#cleanups.push(
      state.store.subscribe(resourceKey(target.type), (change) => {
        const event = change.revision > plan.revision ? eventOf(change, plan.matches, target) : undefined;
        if (event !== undefined) send(event);
        if (this.#queue.length > this.#options.queueLimit) this.#overflow();
      }),
      state.types.onRemoved(target.type, () => this.end()),
      this.#faults.onExpire((message) => {
        send(expired(message));
        this.end();
      }),
    );
    const timeoutMs = plan.timeoutSeconds === undefined ? defaultTimeoutMs : plan.timeoutSeconds * 1000;
    this.#cleanups.push(state.clock.after(timeoutMs, () => this.end()));
    if (plan.hasBookmarks) this.#sendBookmarks(state, () => send(bookmark(target, state.store.revision, false)));
  }

  /** Ends the answer cleanly, after the events that wait. */
  end(): void {
    this.#isEnding = true;
    this.#flush();
  }

  /** Drops the queue of a client that does not read, and ends its watch. */
  #overflow(): void {
    this.#queue = [];
    this.end();
  }

  #sendBookmarks({ clock }: ServerState, send: () => void): void {
    let cancel = (): void => {};
    const schedule = (): void => {
      cancel = clock.after(this.#options.bookmarkIntervalMs, () => {
        send();
        schedule();
      });
    };
    schedule();
    this.#cleanups.push(() => cancel());
  }

  #enqueue(line: string): void {
    if (this.#isEnding) return;
    this.#queue.push(line);
    this.#flush();
  }

  #flush(): void {
    const { response } = this.#exchange;
    // A fault may have ended the answer, which closes a moment later.
    if (this.#isClosed || response.writableEnded || this.#faults.isFrozen) return;
    let at = 0;
    while (!this.#isBlocked && at < this.#queue.length) {
      this.#isBlocked = !response.write(`${this.#queue[at]}\n`);
      at += 1;
    }
    this.#queue.splice(0, at);
    if (this.#isEnding && this.#queue.length === 0) {
      this.#close();
      response.end();
    }
  }

  #close(): void {
    this.#isClosed = true;
    for (const cleanup of this.#cleanups.splice(0)) cleanup();
  }
}
