import { backoffDelay, type Clock, monotonicClock } from "@istiod/runtime";
import { ApiError } from "../api-error.js";

export interface RetryOptions {
  /** Attempts in total. Default: 5. */
  readonly attempts?: number;
  /** Milliseconds before the second attempt, doubled for each further one. Default: 200. */
  readonly backoffMs?: number;
  /** Maximum of that delay in milliseconds. Default: 10,000. A longer `Retry-After` is obeyed. */
  readonly maxBackoffMs?: number;
  /** Milliseconds after which no further attempt starts. Default: 60,000. */
  readonly deadlineMs?: number;
  /** Ends the wait between attempts. Pass it to the requests too. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** Returns a number from 0 to 1 that spreads the delays from half of their length to all of it. */
  readonly random?: () => number;
}

/**
 * Reports whether the same request may succeed later: `too-many-requests`, `unavailable`, `network` and `timeout`.
 * After all but the first of them, the server may have executed the request.
 */
export function isRetriable(error: unknown): error is ApiError {
  return error instanceof ApiError && retriable.has(error.code);
}

const retriable: ReadonlySet<string> = new Set(["too-many-requests", "unavailable", "network", "timeout"]);

/**
 * Repeats an operation until it succeeds, fails for good, or its attempts or its time are used up. The operation must
 * be safe to repeat: an apply, an update with a resourceVersion, a delete with a UID. A repeated create may fail with
 * `already-exists` because of the first attempt.
 *
 * @throws ApiError of the last attempt, `aborted` if the signal was aborted
 */
export async function withRetries<T>(operation: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  return repeat(operation, isRetriable, options);
}

/** A change of an object that depends on its state. */
export interface ConditionalWrite<T, R> {
  /** Returns the current object. After a conflict it must read from the server, because a cache may be behind. */
  readonly read: () => Promise<T>;
  /** Writes a change of the object, with its resourceVersion. */
  readonly write: (current: T) => Promise<R>;
}

/**
 * Reads an object and writes a change of it. After a `conflict`, the object is read again; other temporary errors are
 * handled as by {@link withRetries}.
 *
 * @throws ApiError of the last attempt, `conflict` if others have changed the object in every one of them
 */
export async function retryOnConflict<T, R>(
  { read, write }: ConditionalWrite<T, R>,
  options: RetryOptions = {},
): Promise<R> {
  const isTemporary = (error: unknown): error is ApiError =>
    isRetriable(error) || (error instanceof ApiError && error.code === "conflict");
  return repeat(async () => write(await read()), isTemporary, options);
}

async function repeat<T>(
  operation: () => Promise<T>,
  isTemporary: (error: unknown) => error is ApiError,
  options: RetryOptions,
): Promise<T> {
  const { attempts = 5, deadlineMs = 60_000, clock = monotonicClock, signal } = options;
  const end = clock.now() + deadlineMs;
  for (let attempt = 1; ; attempt++) {
    if (signal?.aborted) throw abortError(signal);
    try {
      return await operation();
    } catch (error) {
      if (!isTemporary(error) || attempt >= attempts) throw error;
      const delay = delayBefore(attempt, error.retryAfterMs, options);
      if (clock.now() + delay > end) throw error;
      await sleep(clock, delay, signal);
    }
  }
}

function delayBefore(attempt: number, retryAfterMs = 0, options: RetryOptions): number {
  const { backoffMs = 200, maxBackoffMs = 10_000, random = Math.random } = options;
  return retryAfterMs + backoffDelay(attempt, { initialMs: backoffMs, maxMs: maxBackoffMs, random });
}

/** Waits for a time in milliseconds. @throws ApiError `aborted` */
export async function sleep(clock: Clock, delay: number, signal?: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    if (signal?.aborted) return reject(abortError(signal));
    const onAbort = (): void => {
      cancel();
      if (signal) reject(abortError(signal));
    };
    const cancel = clock.after(delay, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

function abortError(signal: AbortSignal): ApiError {
  return new ApiError("aborted", "aborted by the caller", { cause: signal.reason });
}

/**
 * Runs an operation for a limited time, and aborts it afterwards.
 *
 * @throws ApiError `timeout`, also if the operation does not react to its signal, or `aborted`
 */
export async function withTimeout<T>(
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  operation: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let cancel = (): void => undefined;
  let onAbort = (): void => undefined;
  const ended = new Promise<never>((_, reject) => {
    const end = (error: ApiError): void => {
      controller.abort(error);
      reject(error);
    };
    onAbort = () => signal && end(abortError(signal));
    if (signal?.aborted) return onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    cancel = clock.after(timeoutMs, () => end(new ApiError("timeout", `no result within ${timeoutMs} ms`)));
  });
  try {
    return await Promise.race([ended, operation(controller.signal)]);
  } finally {
    cancel();
    signal?.removeEventListener("abort", onAbort);
  }
}
