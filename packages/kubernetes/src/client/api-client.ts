/** A request to an API server. */
export interface ApiRequest {
  /** Default `GET`. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path on the server, without its base path: see `resourcePath`. */
  readonly path: string;
  /** Undefined values are left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** Media types by preference. Default `application/json`. */
  readonly accept?: string;
  /** Media type of the body. Default `application/json`. */
  readonly contentType?: string;
  readonly body?: string | Uint8Array;
  /** Aborts the request, also while its body is read. */
  readonly signal?: AbortSignal;
  /** Milliseconds until the headers of the answer. Default 30,000. */
  readonly timeoutMs?: number;
  /**
   * Milliseconds without any data of the body after which the answer fails with `timeout`. Default 30,000; watches pass
   * more than the server's interval between bookmarks.
   */
  readonly idleTimeoutMs?: number;
  /**
   * Called after all waiting (for the rate limit, credentials and the connection), right before the request is sent. If
   * it throws, nothing is sent and the request fails with its error. Called again if the request is repeated.
   */
  readonly beforeSend?: () => void;
}

/** An answer with a status below 400. */
export interface ApiResponse {
  readonly status: number;
  /** By lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The decompressed body. Ending the iteration early closes the answer. Fails with `ApiError` only. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** A connection to one API server, with its credentials. */
export interface ApiClient {
  /** URL of the server, for messages. */
  readonly server: string;
  /**
   * Sends a request, after waiting for the client's rate limit.
   *
   * @throws ApiError for answers with a status of 400 or more, and without an answer
   */
  send(request: ApiRequest): Promise<ApiResponse>;
  /**
   * Sends a request and parses the answer's JSON.
   *
   * @throws ApiError
   */
  json<T>(request: ApiRequest): Promise<T>;
  /** Closes all connections. Requests in progress fail with `aborted`. */
  close(): void;
}
