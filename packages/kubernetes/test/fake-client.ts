import { ApiError, type ApiClient, type ApiRequest, type ApiResponse } from "@istiod/kubernetes";

/** A request as a test reads it: with its body parsed. */
export interface SeenRequest extends Omit<ApiRequest, "body"> {
  readonly body?: unknown;
}

/** An API client whose requests a function answers, with a value or an error. Aborted requests fail with `aborted`. */
export class FakeApiClient implements ApiClient {
  readonly server = "https://fake";
  readonly requests: SeenRequest[] = [];
  readonly #answer: (request: SeenRequest, count: number) => unknown;

  constructor(answer: (request: SeenRequest, count: number) => unknown) {
    this.#answer = answer;
  }

  async send(request: ApiRequest): Promise<ApiResponse> {
    const value = await this.json<unknown>(request);
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(JSON.stringify(value));
    }
    return { status: 200, headers: {}, body: body() };
  }

  async json<T>(request: ApiRequest): Promise<T> {
    const { signal } = request;
    const aborted = (): ApiError => new ApiError("aborted", `${request.method ?? "GET"} ${request.path}: aborted`);
    if (signal?.aborted) throw aborted();
    const { body, ...rest } = request;
    const seen = { ...rest, ...(body !== undefined && { body: JSON.parse(String(body)) as unknown }) };
    this.requests.push(seen);
    return new Promise<T>((resolve, reject) => {
      const onAbort = (): void => reject(aborted());
      signal?.addEventListener("abort", onAbort, { once: true });
      Promise.resolve()
        .then(() => this.#answer(seen, this.requests.length))
        .then((value) => resolve(value as T), reject)
        .finally(() => signal?.removeEventListener("abort", onAbort));
    });
  }

  close(): void {}
}

/** Errors as an API server answers them. */
export const failure = {
  conflict: () => new ApiError("conflict", "conflict", { status: 409, reason: "Conflict" }),
  alreadyExists: () => new ApiError("already-exists", "exists", { status: 409, reason: "AlreadyExists" }),
  notFound: () => new ApiError("not-found", "not found", { status: 404, reason: "NotFound" }),
  forbidden: () => new ApiError("forbidden", "forbidden", { status: 403, reason: "Forbidden" }),
  tooMany: (retryAfterMs: number) => new ApiError("too-many-requests", "slow down", { status: 429, retryAfterMs }),
  unavailable: () => new ApiError("unavailable", "unavailable", { status: 503 }),
  network: () => new ApiError("network", "connection reset"),
};

/** Lets everything that waits for nothing but other promises proceed. */
export async function settle(turns = 50): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
