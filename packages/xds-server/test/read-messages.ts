import { FakeClock } from "@istiod/runtime/testing";
import { LoopTimers } from "@istiod/tls-admission";
import { RequestMemory } from "../src/limits/request-memory.js";
import { MessageReader } from "../src/transport/message-reader.js";

const mebibyte = 1024 * 1024;

/** Memory for unfinished requests, of which nobody runs out. */
export function ampleMemory(): RequestMemory {
  return new RequestMemory({ maxBytes: 64 * mebibyte, timeoutMs: 60_000, timers: new LoopTimers(new FakeClock()) });
}

/** Copies of the messages of a body that comes in these chunks; `busy` is how a message is taken. */
export async function readMessages(
  chunks: Iterable<Buffer>,
  maxBytes: number,
  memory = ampleMemory(),
  busy: (message: Buffer) => Promise<void> | undefined = () => undefined,
): Promise<Buffer[]> {
  const read: Buffer[] = [];
  const reader = new MessageReader({
    maxBytes,
    begin: () =>
      memory.begin("10.0.0.1", (error) => {
        throw error;
      }),
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
