import type { Readable } from "node:stream";
import { Code, ConnectError } from "@connectrpc/connect";
import { framePrefixLength, readFrameLength, WireError } from "@istiod/protobuf-wire";

export interface UnaryMessageOptions {
  /** A longer message fails as soon as its length is known. */
  readonly maxBytes: number;
  /** Called before bytes are held. Throws if they may not be. */
  readonly reserve: (bytes: number) => void;
  /** Ends reading and releases the bytes. */
  readonly signal: AbortSignal;
}

/**
 * Reads the single message of a unary gRPC request.
 *
 * @throws ConnectError `ResourceExhausted` if it is too long, `Unimplemented` if it is compressed or not the only one,
 *   `InvalidArgument` if the body ends within it, and errors of `reserve`. The rest of the body is discarded.
 */
export function readUnaryMessage(body: Readable, { maxBytes, reserve, signal }: UnaryMessageOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let received = 0;
    let expected: number | undefined;
    const stop = (): void => {
      body.off("data", read).off("end", end);
      signal.removeEventListener("abort", aborted);
      // Discards what is still arriving. Node keeps a connection for as long as one of its streams holds data.
      body.resume();
    };
    const fail = (error: unknown): void => {
      stop();
      reject(error as Error);
    };
    const read = (chunk: Buffer): void => {
      try {
        reserve(chunk.length);
        chunks.push(chunk);
        received += chunk.length;
        if (expected === undefined && received >= framePrefixLength)
          expected = framePrefixLength + messageLength(Buffer.concat(chunks), maxBytes);
        if (received > (expected ?? Number.POSITIVE_INFINITY))
          throw new ConnectError("the request has more than one message", Code.Unimplemented);
      } catch (error) {
        fail(error);
      }
    };
    const end = (): void => {
      if (received !== expected) return fail(incomplete());
      stop();
      resolve(Buffer.concat(chunks).subarray(framePrefixLength));
    };
    const aborted = (): void => fail(incomplete());
    signal.addEventListener("abort", aborted);
    body.on("data", read).once("end", end);
  });
}

function incomplete(): ConnectError {
  return new ConnectError("request body ended within the message", Code.InvalidArgument);
}

function messageLength(prefix: Buffer, maxBytes: number): number {
  try {
    return readFrameLength(prefix, maxBytes);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new ConnectError(error.message, error.code === "compressed" ? Code.Unimplemented : Code.ResourceExhausted);
  }
}
