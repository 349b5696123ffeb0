import { Code, ConnectError } from "@connectrpc/connect";

const prefixLength = 5;

/**
 * Splits a gRPC request body into its messages.
 *
 * @throws ConnectError `ResourceExhausted` for a message longer than `maxBytes`, `Unimplemented` for a compressed one,
 *   `InvalidArgument` for a body that ends within a message
 */
export async function* readMessages(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Buffer> {
  let chunks: Uint8Array[] = [];
  let available = 0;
  let length: number | undefined;
  const take = (count: number): Buffer => {
    const joined = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
    chunks = joined.length > count ? [joined.subarray(count)] : [];
    available -= count;
    return Buffer.from(joined.buffer, joined.byteOffset, count);
  };
  for await (const chunk of body) {
    chunks.push(chunk);
    available += chunk.length;
    for (;;) {
      if (length === undefined) {
        if (available < prefixLength) break;
        const prefix = take(prefixLength);
        if (prefix.readUInt8(0) !== 0) throw new ConnectError("compressed requests are not supported", Code.Unimplemented);
        length = prefix.readUInt32BE(1);
        if (length > maxBytes) {
          throw new ConnectError(`the request has ${length} bytes, more than ${maxBytes}`, Code.ResourceExhausted);
        }
      }
      if (available < length) break;
      const message: Buffer = length === 0 ? Buffer.alloc(0) : take(length);
      length = undefined;
      yield message;
    }
  }
  if (available > 0 || length !== undefined) throw new ConnectError("the request ends within a message", Code.InvalidArgument);
}

/** The bytes that precede a message on the wire, together with its first part. */
export function prefixed(head: Uint8Array, messageLength: number): Buffer {
  const buffer = Buffer.allocUnsafe(prefixLength + head.length);
  buffer.writeUInt8(0, 0);
  buffer.writeUInt32BE(messageLength, 1);
  buffer.set(head, prefixLength);
  return buffer;
}
