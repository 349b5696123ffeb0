import type { IncomingMessage, ServerResponse } from "node:http";
import { type Clock, FairQueue, monotonicClock } from "@istiod/runtime";
import { parseGoDuration } from "@istiod/settings";
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
  /** Maximum size in bytes of all bodies that are held at the same time. Default 32 MiB. */
  readonly maxHeldBytes?: number;
  /** Returns the group of a caller's address, such as its network; groups have equal shares. Default: the address. */
  readonly groupOf?: (address: string) => string;
  /**
   * Bodies from this size on, in bytes, are answered one after the other, each in a turn of the event loop of its own.
   * Smaller ones are answered for 20 milliseconds in a turn. Default 128 KiB.
   */
  readonly largeBytes?: number;
  /**
   * Answers large bodies instead of `admit`, such as in another thread. Returns the encoded review. Default: `admit`.
   */
  readonly answerLarge?: (body: Uint8Array, context: AdmissionContext) => Promise<string>;
  /** Maximum nesting of a body. Default 256. */
  readonly maxDepth?: number;
  /** Maximum number of members and elements in a body. Default: none. */
  readonly maxValues?: number;
  /** Milliseconds for a decision; the query `timeout` of the API server may shorten them. Default 30,000. */
  readonly deadlineMs?: number;
  /** Called with the error of each request that is answered without a verdict. */
  readonly onError?: (error: Error, status: number) => void;
  readonly clock?: Clock;
}

/** Answers one HTTP request. Never rejects. */
export type AdmissionHandler = (http: IncomingMessage, response: ServerResponse) => Promise<void>;

const defaultLargeBytes = 128 * 1024;
/** Time for small bodies in a turn of the event loop, in milliseconds. */
const smallBudgetMs = 20;

/** Returns the handler of a webhook, for requests to any path. */
export function admissionHandler(options: AdmissionHandlerOptions): AdmissionHandler {
  const { largeBytes = defaultLargeBytes, groupOf = (address) => address } = options;
  const { answerLarge = (body, context) => answerTo(body, context, options) } = options;
  const bodies = new BodyReader(options);
  const small = new FairQueue({ budgetMs: smallBudgetMs });
  const large = new FairQueue();
  return async (http, response) => {
    const { body: held, release } = bodies.read(http);
    try {
      checkHeaders(http);
      const body = await held;
      const group = groupOf(http.socket.remoteAddress ?? "");
      const answer = await inTime(http, response, options, (context) =>
        body.length < largeBytes
          ? small.run(group, context.signal, () => answerTo(body, context, options))
          : large.run(group, context.signal, () => answerLarge(body, context)),
      );
      write(response, 200, "application/json", answer);
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

async function answerTo(
  body: Uint8Array,
  context: AdmissionContext,
  { admit, ...limits }: AdmissionHandlerOptions,
): Promise<string> {
  const review = readReview(body, limits);
  return encodeReview(review, await admit(review.request, context));
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

/**
 * Passes the context of a request to a function.
 *
 * @throws AdmissionError `deadline` if the function has no result in time, also if it ignores its signal
 */
async function inTime<T>(
  http: IncomingMessage,
  response: ServerResponse,
  { deadlineMs = defaultDeadlineMs, clock = monotonicClock }: AdmissionHandlerOptions,
  decide: (context: AdmissionContext) => Promise<T>,
): Promise<T> {
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
    return await Promise.race([decide({ url, signal: controller.signal }), expired]);
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
