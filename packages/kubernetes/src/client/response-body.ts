import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Clock } from "@istiod/runtime";
import { ApiError } from "../api-error.js";

export interface BodyOptions {
  /** For messages. */
  readonly action: string;
  readonly idleTimeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called once when the body has ended, failed, or is no longer read. */
  readonly onClose: () => void;
}

/** Returns the decompressed body of an answer, with backpressure to the connection. Fails with `ApiError` only. */
export async function* responseBody(message: IncomingMessage, options: BodyOptions): AsyncGenerator<Uint8Array> {
  const { action, idleTimeoutMs, clock, signal, onClose } = options;
  let timedOut = false;
  let cancel = (): void => {};
  // Runs only while the reader waits for data: a slow reader does not make the server idle.
  const watchIdle = (): void => {
    cancel();
    cancel = clock.after(idleTimeoutMs, () => {
      timedOut = true;
      message.destroy();
    });
  };
  try {
    const data = decompressed(message, action);
    const chunks = data[Symbol.asyncIterator]();
    for (;;) {
      watchIdle();
      const { done, value } = await chunks.next();
      cancel();
      if (done === true) break;
      yield value as Uint8Array;
    }
    if (!message.complete) throw new Error("connection closed before the end of the answer");
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (signal.aborted) throw new ApiError("aborted", `${action}: aborted`);
    if (timedOut) throw new ApiError("timeout", `${action}: no data for ${idleTimeoutMs} ms`);
    throw networkError(action, error);
  } finally {
    cancel();
    message.destroy();
    onClose();
  }
}

/** Returns the error for a connection that failed. */
export function networkError(action: string, cause: unknown): ApiError {
  const text = cause instanceof Error ? (cause.message === "" ? cause.name : cause.message) : String(cause);
  return new ApiError("network", `${action}: ${text}`, { cause });
}

function decompressed(message: IncomingMessage, action: string): Readable {
  const encoding = message.headers["content-encoding"];
  if (encoding === undefined || encoding === "identity") return message;
  if (encoding !== "gzip") {
    throw new ApiError("malformed", `${action}: content encoding ${encoding.slice(0, 40)} was not requested`);
  }
  const plain = createGunzip({ chunkSize: 64 * 1024 });
  plain.on("error", () => undefined);
  message.once("close", () => {
    if (!message.readableEnded) plain.destroy(new Error("connection closed before the end of the answer"));
  });
  return message.pipe(plain);
}

/** Reads a body into one buffer, at most `maxBytes` of it. */
export async function readBody(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}
