import type { IncomingMessage, ServerResponse } from "node:http";
import { type Clock, monotonicClock, parseGoDuration } from "@istiod/settings";
import { BodyReader } from "./body.js";
import { AdmissionError } from "./errors.js";
import { type AdmissionResponse, encodeReview } from "./response.js";
import { type AdmissionRequest, readReview } from "./review.js";

/** The request of a webhook, in addition to the review. */
export interface AdmissionContext {
  /** Path and query of the webhook. */
  readonly url: URL;
  /** Aborted at the deadline, and when the caller has gone. */
  readonly signal: AbortSignal;
}

/** Decides about a write. An error that it throws is answered with status 500. */
export type Admit = (
  request: AdmissionRequest,
  context: AdmissionContext,
) => AdmissionResponse | Promise<AdmissionResponse>;

export interface AdmissionHandlerOptions {
  readonly admit: Admit;
  /**
   * Maximum size of a body in bytes. Default 6 MiB: an update holds two objects, and a request to the API server is at
   * most 3 MiB.
   */
  readonly maxBodyBytes?: number;
  /** Maximum size in bytes of all bodies that are held at the same time. Default 64 MiB. */
  readonly maxHeldBytes?: number;
  /** Returns the group of a caller's address, such as its network; groups have equal shares. Default: the address. */
  readonly groupOf?: (address: string) => string;
  /** Maximum nesting of a body. Default 256. */
  readonly maxDepth?: number;
  /** Milliseconds for a decision; the query `timeout` of the API server may shorten them. Default 30,000. */
  readonly deadlineMs?: number;
  /** Called with the error of each request that is answered without a verdict. */
  readonly onError?: (error: Error, status: number) => void;
  readonly clock?: Clock;
}

/** Answers one HTTP request. Never rejects. */
export type AdmissionHandler = (http: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Returns the handler of a webhook, for requests to any path. */
export function admissionHandler(options: AdmissionHandlerOptions): AdmissionHandler {
  const bodies = new BodyReader(options);
  return async (http, response) => {
    const { body: held, release } = bodies.read(http);
    try {
      checkHeaders(http);
      const review = readReview(await held, options);
      const answer = await decide(review.request, http, response, options);
      write(response, 200, "application/json", encodeReview(review, answer));
    } catch (error) {
      held.catch(() => undefined);
      const status = error instanceof AdmissionError ? error.status : 500;
      options.onError?.(error instanceof Error ? error : new Error(String(error)), status);
      const text = error instanceof AdmissionError ? error.message : "the webhook failed";
      if (!http.complete) response.setHeader("connection", "close");
      write(response, status, "text/plain; charset=utf-8", `${text}\n`);
    } finally {
      release();
    }
  };
}

function write(response: ServerResponse, status: number, type: string, text: string): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(status, {
    "content-type": type,
    "content-length": Buffer.byteLength(text),
    ...(status === 405 && { allow: "POST" }),
  });
  response.end(text);
}

function checkHeaders({ method, headers }: IncomingMessage): void {
  if (method !== "POST") throw new AdmissionError("method", `method ${method} is not allowed, expected POST`);
  const type = headers["content-type"] ?? "";
  if (!/^application\/json *(;|$)/i.test(type))
    throw new AdmissionError("media-type", `invalid Content-Type ${JSON.stringify(type)}, expected application/json`);
}

const defaultDeadlineMs = 30_000;

/** @throws AdmissionError `deadline` if there is no decision in time, also if `admit` ignores its signal */
async function decide(
  request: AdmissionRequest,
  http: IncomingMessage,
  response: ServerResponse,
  { admit, deadlineMs = defaultDeadlineMs, clock = monotonicClock }: AdmissionHandlerOptions,
): Promise<AdmissionResponse> {
  const url = new URL(`http://localhost${http.url?.startsWith("/") ? http.url : "/"}`);
  const ms = Math.min(deadlineMs, timeoutOf(url) ?? deadlineMs);
  const controller = new AbortController();
  const onClose = (): void => controller.abort();
  response.once("close", onClose);
  let cancel = (): void => undefined;
  try {
    const expired = new Promise<never>((_, reject) => {
      cancel = clock.after(ms, () => {
        const error = new AdmissionError("deadline", `no decision within ${ms} ms`);
        controller.abort(error);
        reject(error);
      });
    });
    const decision = Promise.resolve(admit(request, { url, signal: controller.signal }));
    return await Promise.race([decision, expired]);
  } finally {
    cancel();
    response.off("close", onClose);
  }
}

/** Returns the timeout that the API server has for the webhook, in milliseconds. */
function timeoutOf(url: URL): number | undefined {
  const nanoseconds = parseGoDuration(url.searchParams.get("timeout") ?? "");
  return nanoseconds === undefined || nanoseconds <= 0n ? undefined : Number(nanoseconds) / 1e6;
}
