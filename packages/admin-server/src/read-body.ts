import type { IncomingMessage } from "node:http";

/** A request body exceeds the limit. */
export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";
  /** Bytes. */
  readonly limit: number;

  constructor(limit: number) {
    super(`the request body is larger than ${limit} bytes`);
    this.limit = limit;
  }
}

/**
 * Reads a request body.
 *
 * @throws BodyTooLargeError before more than `limit` bytes are held
 */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > limit) throw new BodyTooLargeError(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
