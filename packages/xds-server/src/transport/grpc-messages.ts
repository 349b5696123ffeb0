import { Code, ConnectError } from "@connectrpc/connect";
import type { LongMessages } from "./long-messages.js";

const prefixLength = 5;

/** From this length on, a message is put together in a buffer that others use after it. */
const long = 64 * 1024;

/**
 * Splits a gRPC request body into its messages. With `buffers`, the bytes of a message stand only until the next one is asked for.
 *
 * @throws ConnectError `ResourceExhausted` for a message longer than `maxBytes`, `Unimplemented` for a compressed one,
 *   `InvalidArgument` for a body that ends within a message
 */
export async function* readMessages(body: AsyncIterable<Uint8Array>, maxBytes: number, buffers?: LongMessages): AsyncGenerator<Buffer> {
  let chunks: Uint8Array[] = [];
  let available = 0;
  let length: number | undefined;
  let message: Buffer | undefined;
  let filled = 0;
  const take = (count: number): Buffer => {
    const joined = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
    chunks = joined.length > count ? [joined.subarray(count)] : [];
    available -= count;
    return Buffer.from(joined.buffer, joined.byteOffset, count);
  };
  const fill = (into: Buffer, upTo: number): void => {
    while (filled < upTo && chunks[0] !== undefined) {
      const part = chunks[0].subarray(0, upTo - filled);
      into.set(part, filled);
      filled += part.length;
      available -= part.length;
      if (part.length < chunks[0].length) chunks[0] = chunks[0].subarray(part.length);
      else chunks.shift();
    }
  };
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      available += chunk.length;
      for (;;) {
        if (length === undefined) {
          if (available < prefixLength) break;
          length = lengthIn(take(prefixLength), maxBytes);
          if (length >= long && buffers !== undefined) message = await buffers.take(length);
        }
        if (message !== undefined) {
          fill(message, length);
          if (filled < length) break;
          yield message.subarray(0, length);
          buffers?.give(message);
          message = undefined;
          filled = 0;
        } else {
          if (available < length) break;
          yield length === 0 ? Buffer.alloc(0) : take(length);
        }
        length = undefined;
      }
    }
  } finally {
    if (message !== undefined) buffers?.give(message);
  }
  if (available > 0 || length !== undefined) throw new ConnectError("the request ends within a message", Code.InvalidArgument);
}

function lengthIn(prefix: Buffer, maxBytes: number): number {
  if (prefix.readUInt8(0) !== 0) throw new ConnectError("compressed requests are not supported", Code.Unimplemented);
  const length = prefix.readUInt32BE(1);
  if (length > maxBytes) throw new ConnectError(`the request has ${length} bytes, more than ${maxBytes}`, Code.ResourceExhausted);
  return length;
}

/** The bytes that precede a message on the wire, together with its first part. */
export function prefixed(head: Uint8Array, messageLength: number): Buffer {
  const buffer = Buffer.allocUnsafe(prefixLength + head.length);
  buffer.writeUInt8(0, 0);
  buffer.writeUInt32BE(messageLength, 1);
  buffer.set(head, prefixLength);
  return buffer;
}
