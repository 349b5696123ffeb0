import type { ServerResponse } from "node:http";
import { addressGroup } from "@istiod/peer-address";
import { type Clock, FairQueue, monotonicClock, UnreadBytes } from "@istiod/runtime";

/** Limits of answers that are large or take long to build. */
export interface AnswerLimits {
  /** Bytes that clients have not read, above which no further answer is built. Default 32 MiB. */
  readonly maxUnreadBytes?: number;
  /** Requests of one address that may wait. Default 32. */
  readonly maxWaiting?: number;
  /** Milliseconds for reading an answer while others wait for memory. Default 10,000. */
  readonly readMs?: number;
  readonly clock?: Clock;
}

/** The longest pause after an answer, and the shortest time of an answer after which there is one, in milliseconds. */
const maxPauseMs = 1000;
const minPausedMs = 20;

/**
 * Builds answers one after the other. Addresses take turns, and a pause as long as an answer took leaves half of the
 * time to everything else. Answers that clients do not read hold a bounded number of bytes: those that are read the
 * longest are cut off when others wait for their memory.
 */
export class AnswerQueue {
  readonly #maxWaiting: number;
  readonly #clock: Clock;
  readonly #queue = new FairQueue();
  /** Numbers of requests that wait, by the group of their address. */
  readonly #waiting = new Map<string, number>();
  readonly #unread: UnreadBytes;

  constructor({ maxUnreadBytes, maxWaiting = 32, readMs, clock = monotonicClock }: AnswerLimits = {}) {
    this.#maxWaiting = maxWaiting;
    this.#clock = clock;
    this.#unread = new UnreadBytes({
      ...(maxUnreadBytes !== undefined && { maxBytes: maxUnreadBytes }),
      ...(readMs !== undefined && { readMs }),
      clock,
    });
  }

  /**
   * Calls a function that writes a whole response, when it is its turn. Answers 503 instead if too many requests of the
   * address wait. Does nothing if the client goes away before. Rejects if the function fails.
   */
  async run(response: ServerResponse, answer: () => void | Promise<void>): Promise<void> {
    const group = addressGroup(response.socket?.remoteAddress ?? "");
    const waiting = this.#waiting.get(group) ?? 0;
    if (waiting >= this.#maxWaiting) {
      response.writeHead(503, { "content-type": "text/plain", "retry-after": "1" });
      response.end("too many requests at the same time, try again\n");
      return;
    }
    this.#waiting.set(group, waiting + 1);
    const gone = new AbortController();
    const leave = (): void => gone.abort(new ClientGone());
    response.once("close", leave);
    try {
      await this.#queue.run(group, gone.signal, () => this.#answer(response, gone.signal, answer));
    } catch (error) {
      if (!(error instanceof ClientGone)) throw error;
    } finally {
      response.off("close", leave);
      const left = (this.#waiting.get(group) ?? 1) - 1;
      if (left > 0) this.#waiting.set(group, left);
      else this.#waiting.delete(group);
    }
  }

  async #answer(response: ServerResponse, gone: AbortSignal, answer: () => void | Promise<void>): Promise<void> {
    await this.#unread.untilRoom();
    if (gone.aborted) return;
    const from = performance.now();
    await answer();
    this.#hold(response);
    const ms = Math.min(performance.now() - from, maxPauseMs);
    if (ms >= minPausedMs) await new Promise<void>((resolve) => void this.#clock.after(ms, resolve));
  }

  #hold(response: ServerResponse): void {
    const bytes = response.writableLength;
    if (bytes === 0 || response.destroyed) return;
    const release = this.#unread.hold(bytes, () => void response.destroy());
    response.once("finish", release).once("close", release);
  }
}

class ClientGone extends Error {}
