import { monotonicClock } from "@istiod/runtime";
import { LoopTimers } from "@istiod/tls-admission";
import { RequestMemory } from "../limits/request-memory.js";
import { MessageReader } from "../transport/message-reader.js";

const maxMemory = 16 * 1024 * 1024;

/** Returns the reader of gRPC requests, for fuzzing, and the bytes of memory that it holds. */
export function requestReader(
  maxBytes: number,
  message: (message: Buffer) => void,
): { readonly reader: Pick<MessageReader, "push" | "end" | "close">; readonly bytes: () => number } {
  const memory = new RequestMemory({ maxBytes: maxMemory, timeoutMs: 60_000, timers });
  const begin = () =>
    memory.begin("fuzz", (error) => {
      throw error;
    });
  const reader = new MessageReader({ maxBytes, begin, message: (each) => void message(each) });
  return { reader, bytes: () => memory.bytes };
}

const timers = new LoopTimers(monotonicClock);
