import { setMaxListeners } from "node:events";
import { type Agent, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { type Clock, monotonicClock } from "@istiod/runtime";
import { ApiError } from "../api-error.js";
import type { ApiClient, ApiRequest, ApiResponse } from "./api-client.js";
import type { ClusterAccess } from "./cluster-access.js";
import { connectionAgent } from "./connection-agent.js";
import { type Credentials, CredentialSource, type TlsOptions } from "./credentials.js";
import { RateLimit } from "./rate-limit.js";
import { sendWhenConnected } from "./send-when-connected.js";
import { networkError, readBody, responseBody } from "./response-body.js";
import { type FailureStatus, statusError } from "./status-error.js";

export interface ApiClientOptions {
  /** Header `User-Agent`. Default `istiod-kubernetes`. */
  readonly userAgent?: string;
  /** Requests per second on average. Default 80, as istiod's. */
  readonly qps?: number;
  /** Requests that may be sent at once. Default 160. */
  readonly burst?: number;
  /** Accepts compressed answers. Default true; false saves CPU where the server is near. */
  readonly compression?: boolean;
  /** Maximum bytes of an answer that `json` parses. Default 64 MiB. */
  readonly maxJsonBytes?: number;
  readonly clock?: Clock;
}

/**
 * Returns a client of one API server over HTTP/1.1.
 *
 * @throws ApiError `configuration` if the server's URL is invalid
 */
export function createApiClient(access: ClusterAccess, options: ApiClientOptions = {}): ApiClient {
  return new HttpApiClient(access, options);
}

const defaultTimeoutMs = 30_000;
/** Maximum bytes of an error's body that are read. */
const maxStatusBytes = 64 * 1024;

class HttpApiClient implements ApiClient {
  readonly server: string;
  readonly #access: ClusterAccess;
  readonly #base: URL;
  readonly #options: ApiClientOptions;
  readonly #clock: Clock;
  readonly #limit: RateLimit;
  readonly #credentials: CredentialSource;
  readonly #open = new Set<AbortController>();
  #isClosed = false;
  #agent: { readonly fingerprint: string; readonly agent: Promise<Agent> } | undefined;

  constructor(access: ClusterAccess, options: ApiClientOptions) {
    this.#access = access;
    this.#base = serverUrl(access.cluster.server);
    this.server = this.#base.origin + this.#base.pathname.replace(/\/$/, "");
    this.#options = options;
    this.#clock = options.clock ?? monotonicClock;
    this.#limit = new RateLimit(options.qps ?? 80, options.burst ?? 160, this.#clock);
    this.#credentials = new CredentialSource(access, this.#clock);
  }

  async send(request: ApiRequest): Promise<ApiResponse> {
    const action = actionOf(request);
    const first = this.#credentials.get();
    const response = await this.#exchange(request, first);
    if (response.status !== 401) return await this.#accept(response, action);
    // The credentials may have been rotated: read them again and try once more.
    this.#credentials.discard(first);
    await readBody(response.body, maxStatusBytes).catch(() => undefined);
    return await this.#accept(await this.#exchange(request, this.#credentials.get()), action);
  }

  async json<T>(request: ApiRequest): Promise<T> {
    const { body } = await this.send(request);
    const action = actionOf(request);
    const limit = this.#options.maxJsonBytes ?? 64 * 1024 * 1024;
    const bytes = await readBody(body, limit);
    if (bytes === undefined) throw new ApiError("malformed", `${action}: answer longer than ${limit} bytes`);
    try {
      return JSON.parse(bytes.toString("utf8")) as T;
    } catch {
      throw new ApiError("malformed", `${action}: the answer is not JSON`);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const controller of this.#open) controller.abort();
    this.#open.clear();
    this.#agent?.agent.then((agent) => agent.destroy()).catch(() => undefined);
  }

  /** Sends a request and returns the answer of any status. */
  async #exchange(request: ApiRequest, credentials: Promise<Credentials>): Promise<ApiResponse> {
    const action = actionOf(request);
    const exchange = this.#begin(request.signal);
    try {
      await this.#limit.take(exchange.signal);
      const { headers, tls } = await credentials;
      const agent = await this.#agentFor(tls);
      if (exchange.signal.aborted) throw new ApiError("aborted", `${action}: aborted`);
      const message = await this.#request(request, headers, agent, exchange.signal);
      const idleTimeoutMs = request.idleTimeoutMs ?? defaultTimeoutMs;
      const body = { action, idleTimeoutMs, clock: this.#clock, signal: exchange.signal, onClose: exchange.end };
      return { status: message.statusCode ?? 0, headers: headersOf(message), body: responseBody(message, body) };
    } catch (error) {
      exchange.end();
      throw error;
    }
  }

  /** Returns a signal for one exchange, aborted by the caller's signal and by `close`. */
  #begin(signal: AbortSignal | undefined): { readonly signal: AbortSignal; readonly end: () => void } {
    const controller = new AbortController();
    const abort = (): void => controller.abort();
    if (this.#isClosed || signal?.aborted === true) abort();
    if (signal !== undefined) {
      // A caller may have many requests at once, and Node.js warns of more than ten listeners.
      setMaxListeners(0, signal);
      signal.addEventListener("abort", abort, { once: true });
    }
    this.#open.add(controller);
    return {
      signal: controller.signal,
      end: () => {
        signal?.removeEventListener("abort", abort);
        this.#open.delete(controller);
      },
    };
  }

  #request(
    request: ApiRequest,
    credentials: Readonly<Record<string, string>>,
    agent: Agent,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const action = actionOf(request);
    const timeoutMs = request.timeoutMs ?? defaultTimeoutMs;
    const url = this.#urlOf(request);
    const headers = { ...this.#headersOf(request), ...credentials };
    return new Promise((resolve, reject) => {
      let isTimeout = false;
      const send = url.protocol === "https:" ? requestHttps : requestHttp;
      const outgoing = send(url, { method: request.method ?? "GET", headers, agent }, (message) => {
        cancel();
        signal.removeEventListener("abort", abort);
        // Without an error: it would also be raised on the connection, which may be idle by now.
        signal.addEventListener("abort", () => message.destroy(), { once: true });
        // The reader of the body receives the error. Between its reads, nobody else listens.
        message.on("error", () => undefined);
        resolve(message);
      });
      const abort = (): void => void outgoing.destroy();
      signal.addEventListener("abort", abort, { once: true });
      const cancel = this.#clock.after(timeoutMs, () => {
        isTimeout = true;
        outgoing.destroy();
      });
      outgoing.on("error", (error) => {
        cancel();
        signal.removeEventListener("abort", abort);
        if (error instanceof ApiError) reject(error);
        else if (signal.aborted) reject(new ApiError("aborted", `${action}: aborted`));
        else if (isTimeout) reject(new ApiError("timeout", `${action}: no answer within ${timeoutMs} ms`));
        else reject(networkError(action, error));
      });
      sendWhenConnected(outgoing, request);
    });
  }

  #urlOf({ path, query }: ApiRequest): URL {
    const url = new URL(this.#base);
    url.pathname = this.#base.pathname.replace(/\/$/, "") + path;
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    return url;
  }

  #headersOf({ accept, contentType, body }: ApiRequest): Record<string, string> {
    const length = typeof body === "string" ? Buffer.byteLength(body) : body?.length;
    return {
      accept: accept ?? "application/json",
      "user-agent": this.#options.userAgent ?? "istiod-kubernetes",
      ...(this.#options.compression === false ? {} : { "accept-encoding": "gzip" }),
      ...(length === undefined
        ? {}
        : { "content-type": contentType ?? "application/json", "content-length": String(length) }),
    };
  }

  async #accept(response: ApiResponse, action: string): Promise<ApiResponse> {
    const { status, headers, body } = response;
    if (status >= 200 && status < 300) return response;
    const bytes = await readBody(body, maxStatusBytes).catch(() => undefined);
    if (status < 400) throw new ApiError("malformed", `${action}: ${status}: redirects are not followed`, { status });
    throw statusError(action, status, statusOf(bytes), headers["retry-after"], Date.now());
  }

  /** Returns the agent for the current certificates. Connections with earlier ones end with their requests. */
  async #agentFor(tls: TlsOptions): Promise<Agent> {
    const fingerprint = JSON.stringify(tls);
    if (this.#agent === undefined || this.#agent.fingerprint !== fingerprint) {
      const agent = connectionAgent(this.#access.cluster, tls);
      this.#agent = { fingerprint, agent };
      agent.catch(() => (this.#agent = undefined));
    }
    return await this.#agent.agent;
  }
}

function actionOf({ method = "GET", path }: ApiRequest): string {
  return `${method} ${path}`;
}

function serverUrl(server: string): URL {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:") || url.username || url.password) {
    throw new ApiError("configuration", "the server's URL must be https://host or http://host, without credentials");
  }
  return url;
}

function headersOf(message: IncomingMessage): Record<string, string | undefined> {
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(message.headers)) {
    headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return headers;
}

function statusOf(bytes: Buffer | undefined): FailureStatus {
  try {
    const value: unknown = bytes === undefined ? {} : JSON.parse(bytes.toString("utf8"));
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return { message: bytes?.toString("utf8").slice(0, 200).trim() };
  }
}
