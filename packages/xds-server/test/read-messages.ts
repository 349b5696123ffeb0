import { MessageReader } from "../src/transport/message-reader.js";
import type { MessageBuffers } from "../src/transport/message-buffers.js";

/** Copies of the messages of a body that comes in these chunks; `busy` is how a message is taken. */
export async function readMessages(
  chunks: Iterable<Buffer>,
  maxBytes: number,
  buffers?: MessageBuffers,
  busy: (message: Buffer) => Promise<void> | undefined = () => undefined,
): Promise<Buffer[]> {
  const read: Buffer[] = [];
  const reader = new MessageReader({
    maxBytes,
    ...(buffers !== undefined && { buffers }),
    message: (message) => {
      read.push(Buffer.from(message));
      return busy(message);
    },
  });
  try {
    for (const chunk of chunks) await reader.push(chunk);
    reader.end();
  } finally {
    reader.close();
  }
  return read;
}
