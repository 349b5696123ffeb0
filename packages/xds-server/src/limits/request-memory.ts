import { Code, ConnectError } from "@connectrpc/connect";
import type { LoopTimers } from "@istiod/tls-admission";
import type { LimitReason } from "./limit-reason.js";
import { newest, PeerGroups } from "./peer-groups.js";
import type { PeerKey } from "./peer-key.js";

/** Flow-control window for requests: the bytes that a client may send while its request waits for memory. */
export const requestWindowBytes = 64 * 1024;

/** Buffers of at least this length are kept for reuse, and have lengths that are multiples of the step. */
const longBuffer = 64 * 1024;
const sizeStep = 256 * 1024;
const maxFree = 4;
/** While others wait, a request that holds memory must make progress at this rate after the grace period. */
const graceSeconds = 5;
const minBytesPerSecond = 64 * 1024;

export interface RequestMemoryOptions {
  /** Bytes of all unfinished requests together. A peer has at most half of them. */
  readonly maxBytes: number;
  /** Time in which a request must be complete once it has memory, and time that it waits for memory. */
  readonly timeoutMs: number;
  readonly timers: LoopTimers;
}

/** Called once if an unfinished request exceeds a limit. */
export type RequestFailed = (error: ConnectError, reason: LimitReason) => void;

/**
 * The memory of requests that have begun and are not complete. Each reserves its whole length before its bytes are
 * read, so that granted requests can always be completed; flow control holds back the others, which are served in turn,
 * one peer after the other. When a fleet reconnects, each proxy sends hundreds of kilobytes of initial versions at
 * once: only a few of these requests are in memory at a time.
 */
export class RequestMemory {
  readonly #options: RequestMemoryOptions;
  readonly #waiting = new PeerGroups<UnfinishedRequest>();
  readonly #granted = new Set<UnfinishedRequest>();
  readonly #heldBytes = new Map<PeerKey, number>();
  readonly #free: Buffer[] = [];
  #bytes = 0;
  #stopChecking: (() => void) | undefined;

  constructor(options: RequestMemoryOptions) {
    this.#options = options;
  }

  /** Bytes that unfinished requests hold. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of requests that wait for memory. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Starts the time of a request whose first byte has arrived. */
  begin(peer: PeerKey, failed: RequestFailed): UnfinishedRequest {
    const request = new UnfinishedRequest(this, peer, failed);
    this.#restart(request);
    return request;
  }

  /** Reserves memory for a request. The promise stays pending if the request fails meanwhile. */
  reserve(request: UnfinishedRequest, length: number): Buffer | Promise<Buffer> {
    request.size = sizeOf(length);
    if (this.#waiting.size === 0 && this.#fits(request)) return this.#grant(request);
    return new Promise((resolve) => {
      request.resolve = resolve;
      this.#waiting.add(request.peer, request);
      this.#restart(request);
      this.#serve();
      if (this.#waiting.size > this.#maxWaiting) this.#fail(newest(this.#waiting.of(this.#heaviest())), tooMany());
      this.#check();
    });
  }

  /** Releases everything that a request holds. */
  release(request: UnfinishedRequest): void {
    request.stopTimer();
    this.#waiting.delete(request.peer, request);
    if (!this.#granted.delete(request)) return;
    this.#bytes -= request.size;
    const held = (this.#heldBytes.get(request.peer) ?? 0) - request.size;
    if (held > 0) this.#heldBytes.set(request.peer, held);
    else this.#heldBytes.delete(request.peer);
    if (request.buffer !== undefined && request.buffer.length >= longBuffer) {
      if (this.#free.length >= maxFree) this.#free.shift();
      this.#free.push(request.buffer);
    }
    request.buffer = undefined;
    this.#serve();
  }

  get #maxWaiting(): number {
    return Math.max(1, Math.floor((2 * this.#options.maxBytes) / requestWindowBytes));
  }

  #heaviest(): PeerKey {
    return this.#waiting.heaviest() ?? "";
  }

  #fits({ peer, size }: UnfinishedRequest): boolean {
    if (this.#bytes === 0) return true;
    const held = this.#heldBytes.get(peer) ?? 0;
    return this.#bytes + size <= this.#options.maxBytes && (held === 0 || held + size <= this.#options.maxBytes / 2);
  }

  /** Grants memory to the first request of each peer in turn, as long as it fits. */
  #serve(): void {
    for (let progressed = true; progressed;) {
      progressed = false;
      for (const peer of [...this.#waiting.peers]) {
        const request = this.#waiting.of(peer).values().next().value;
        if (request === undefined || !this.#fits(request)) continue;
        this.#waiting.delete(peer, request);
        this.#waiting.moveToEnd(peer);
        request.resolve?.(this.#grant(request));
        progressed = true;
      }
    }
  }

  #grant(request: UnfinishedRequest): Buffer {
    this.#granted.add(request);
    this.#bytes += request.size;
    this.#heldBytes.set(request.peer, (this.#heldBytes.get(request.peer) ?? 0) + request.size);
    this.#restart(request);
    const fitting = request.size < longBuffer ? -1 : this.#free.findIndex(({ length }) => length === request.size);
    request.buffer = fitting < 0 ? Buffer.allocUnsafeSlow(request.size) : (this.#free.splice(fitting, 1)[0] as Buffer);
    return request.buffer;
  }

  #restart(request: UnfinishedRequest): void {
    request.stopTimer();
    request.stopTimer = this.#options.timers.after(this.#options.timeoutMs, () =>
      this.#fail(request, request.buffer === undefined && request.size > 0 ? tooMany() : tooSlow()),
    );
  }

  /** Ends granted requests that stall while others wait, every second until nobody waits. */
  #check(): void {
    this.#stopChecking ??= this.#options.timers.after(0, () => {
      this.#stopChecking = undefined;
      for (const request of [...this.#granted]) {
        request.seconds++;
        const isStalled = request.seconds > graceSeconds && request.filled < request.seconds * minBytesPerSecond;
        if (isStalled && this.#waiting.size > 0) this.#fail(request, tooSlow());
      }
      if (this.#waiting.size > 0) this.#check();
    });
  }

  #fail(request: UnfinishedRequest | undefined, error: ConnectError): void {
    if (request === undefined) return;
    this.release(request);
    request.failed(error, error.code === Code.DeadlineExceeded ? "request_timeout" : "request_memory");
  }
}

/** A request of which some bytes have arrived. */
export class UnfinishedRequest {
  readonly peer: PeerKey;
  readonly failed: RequestFailed;
  /** Reserved bytes; 0 before the length is known. */
  size = 0;
  /** Bytes of the buffer that were received. */
  filled = 0;
  /** Seconds that the request has held its buffer while others waited. */
  seconds = 0;
  buffer: Buffer | undefined;
  resolve: ((buffer: Buffer) => void) | undefined;
  stopTimer: () => void = () => undefined;
  readonly #memory: RequestMemory;

  constructor(memory: RequestMemory, peer: PeerKey, failed: RequestFailed) {
    this.#memory = memory;
    this.peer = peer;
    this.failed = failed;
  }

  /** Returns a buffer of at least this length, at once if memory is available. */
  reserve(length: number): Buffer | Promise<Buffer> {
    return this.#memory.reserve(this, length);
  }

  /** Stops the time of the request: all of its bytes were received. */
  completed(): void {
    this.stopTimer();
    this.filled = Number.POSITIVE_INFINITY;
  }

  /** Releases the memory: the request was handled, or its stream has ended. */
  release(): void {
    this.#memory.release(this);
  }
}

function sizeOf(length: number): number {
  return length < longBuffer ? Math.max(1, length) : Math.ceil(length / sizeStep) * sizeStep;
}

function tooMany(): ConnectError {
  return new ConnectError("too many unfinished requests", Code.ResourceExhausted);
}

function tooSlow(): ConnectError {
  return new ConnectError("request not complete in time", Code.DeadlineExceeded);
}
