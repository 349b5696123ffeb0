import { ApiError } from "../api-error.js";
import type { ApiClient, ApiRequest, ApiResponse } from "../client/api-client.js";

/** Ends of requests, as a term sees them. */
export interface RequestObserver {
  /** Called once per request, when nothing of it is in flight any more. */
  readonly onSettled: (request: GuardedRequest) => void;
  /** Called right before the request is sent. @throws ApiError if the term has ended */
  readonly check: (request: ApiRequest) => void;
  /** Called if a write may be executed without the client learning of it. */
  readonly onUncertain: () => void;
  /** Returns the error for requests that the term aborts. */
  readonly error: (request: ApiRequest, cause: unknown) => ApiError;
}

/** A request that is aborted either by its caller or by the end of a term. */
export class GuardedRequest {
  readonly isWrite: boolean;
  readonly #request: ApiRequest;
  readonly #observer: RequestObserver;
  readonly #controller = new AbortController();
  readonly #onCallerAbort = (): void => this.#controller.abort(this.#request.signal?.reason);
  #isAnswered = false;
  #isSettled = false;
  #isFenced = false;

  constructor(request: ApiRequest, observer: RequestObserver) {
    this.#request = request;
    this.#observer = observer;
    this.isWrite = (request.method ?? "GET") !== "GET";
    const { signal } = request;
    if (signal?.aborted) this.#onCallerAbort();
    signal?.addEventListener("abort", this.#onCallerAbort, { once: true });
  }

  /** Sends the request and parses the answer. @throws ApiError */
  async json<T>(client: ApiClient): Promise<T> {
    try {
      return await client.json<T>(this.#guarded());
    } catch (error) {
      throw this.#failed(error);
    } finally {
      this.#settle();
    }
  }

  /** Sends the request. It is settled when the body of the answer has been read or closed. @throws ApiError */
  async send(client: ApiClient): Promise<ApiResponse> {
    try {
      const response = await client.send(this.#guarded());
      this.#isAnswered = true;
      return { ...response, body: this.#body(response.body) };
    } catch (error) {
      const failure = this.#failed(error);
      this.#settle();
      throw failure;
    }
  }

  /** Aborts the request because the term has ended. */
  abort(): void {
    if (this.#isSettled) return;
    this.#isFenced = true;
    if (this.isWrite && !this.#isAnswered) this.#observer.onUncertain();
    this.#controller.abort();
    this.#settle();
  }

  async *#body(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } catch (error) {
      throw this.#failed(error);
    } finally {
      this.#settle();
    }
  }

  #guarded(): ApiRequest {
    const beforeSend = (): void => {
      this.#observer.check(this.#request);
      this.#request.beforeSend?.();
    };
    return { ...this.#request, signal: this.#controller.signal, beforeSend };
  }

  #failed(error: unknown): unknown {
    if (this.#isFenced) return this.#observer.error(this.#request, error);
    const isRejected = error instanceof ApiError && rejected.has(error.code);
    if (this.isWrite && !this.#isAnswered && !isRejected) this.#observer.onUncertain();
    return error;
  }

  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#request.signal?.removeEventListener("abort", this.#onCallerAbort);
    this.#observer.onSettled(this);
  }
}

/** Codes of answers that show that the server has rejected a request without executing it. */
const rejected: ReadonlySet<string> = new Set([
  "unauthorized",
  "forbidden",
  "not-found",
  "already-exists",
  "conflict",
  "expired",
  "invalid",
  "too-many-requests",
  "not-acceptable",
]);
