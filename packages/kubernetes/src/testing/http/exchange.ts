import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { UserInfo } from "../storage/server-state.js";
import { parsePath, type RequestPath } from "./parse-path.js";
import { badRequest, type Status, StatusError } from "./status-error.js";

const compress = promisify(gzip);
/** Answers below this size are not compressed, as on the real server. */
const gzipThreshold = 128 * 1024;
const maxBodyBytes = 3 * 1024 * 1024;

/** A request and its answer. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly url: URL;
  readonly method: string;
  readonly target: RequestPath;
  readonly #warnings = new Set<string>();
  user: UserInfo | undefined;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.request = request;
    this.response = response;
    this.method = request.method ?? "GET";
    const [path = "/", query = ""] = (request.url ?? "/").split("?", 2);
    this.url = new URL("http://localhost/");
    this.url.pathname = path;
    this.url.search = query;
    this.target = parsePath(path);
  }

  get path(): string {
    return this.url.pathname;
  }

  get query(): URLSearchParams {
    return this.url.searchParams;
  }

  get isWatch(): boolean {
    const watch = this.query.get("watch");
    return this.method === "GET" && this.target.isResource && watch !== null && !["", "0", "false"].includes(watch);
  }

  /** Reports whether the client's connection is closed. */
  get isAbandoned(): boolean {
    return this.request.socket.destroyed;
  }

  /** Adds a header `Warning` to the answer. */
  warn(message: string): void {
    this.#warnings.add(message);
  }

  /** Sets the headers that every answer has. */
  setHeaders(): void {
    this.response.setHeader("Cache-Control", "no-cache, private");
    if (this.#warnings.size === 0) return;
    const quote = (text: string): string => `299 - "${text.replace(/[\\"]/g, "\\$&").replace(/[^\x20-\x7e]/g, "?")}"`;
    this.response.setHeader("Warning", [...this.#warnings].map(quote));
  }

  /**
   * Reads the body.
   *
   * @throws StatusError 413
   */
  async body(): Promise<string> {
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of this.request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBodyBytes) {
        throw new StatusError(413, "RequestEntityTooLarge", `Request entity too large: limit is ${maxBodyBytes}`);
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString("utf8");
  }

  /** @throws StatusError 400 */
  async json(): Promise<unknown> {
    const text = await this.body();
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw badRequest(`the object provided is unrecognized: ${(error as Error).message}`);
    }
  }

  async send(code: number, value: unknown): Promise<void> {
    await this.sendText(code, "application/json", `${JSON.stringify(value)}\n`);
  }

  async sendText(code: number, contentType: string, text: string): Promise<void> {
    const { response } = this;
    if (response.headersSent || this.isAbandoned) return;
    this.setHeaders();
    response.statusCode = code;
    response.setHeader("Content-Type", contentType);
    response.setHeader("Vary", "Accept-Encoding");
    const accepted = String(this.request.headers["accept-encoding"] ?? "");
    if (Buffer.byteLength(text) >= gzipThreshold && /\bgzip\b/.test(accepted)) {
      const body = await compress(text, { level: 1 });
      response.setHeader("Content-Encoding", "gzip");
      response.end(body);
      return;
    }
    response.setHeader("Content-Length", Buffer.byteLength(text));
    response.end(text);
  }

  async sendError(error: unknown): Promise<void> {
    const status = error instanceof StatusError ? error.body : internalError(error);
    const retryAfter = status.details?.retryAfterSeconds;
    if (retryAfter !== undefined && !this.response.headersSent) {
      this.response.setHeader("Retry-After", String(retryAfter));
    }
    await this.send(status.code ?? 500, status);
  }
}

function internalError(error: unknown): Status {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new StatusError(500, "InternalError", `Internal error occurred: ${text}`, {
    causes: [{ message: text }],
  }).body;
}
