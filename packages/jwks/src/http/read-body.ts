import type { IncomingMessage } from "node:http";
import { JwksError } from "../jwks-error.js";

/** Reads a response as UTF-8. @throws JwksError if it is longer than the limit, or not UTF-8 */
export async function readBody(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    if (Number(response.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
  } finally {
    response.destroy();
  }
  if (!response.complete) throw new JwksError("connection", "the connection was closed within the answer");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks, length));
  } catch (cause) {
    throw new JwksError("document", "the answer is not UTF-8", { cause });
  }
}

function tooLarge(maxBytes: number): JwksError {
  return new JwksError("too-large", `the answer is longer than ${maxBytes} bytes`);
}
