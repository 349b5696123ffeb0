import { Code, ConnectError } from "@connectrpc/connect";
import { type Clock, maxOpenFiles } from "@istiod/runtime";
import { LoopTimers } from "@istiod/tls-admission";
import type { XdsServerOptions } from "../api.js";
import { type Admission, rejected, StreamAdmission } from "../connection/admission.js";
import type { Call } from "../transport/call.js";
import type { ListenContext } from "../transport/listen.js";
import { fitConnections } from "./connection-fit.js";
import { type ConnectionLimits, ConnectionTable } from "./connection-table.js";
import { MemoryPressure, processMemory } from "./memory-pressure.js";
import { identifyPeer } from "./peer-key.js";
import { RequestMemory } from "./request-memory.js";

const defaultConnectionLimits: ConnectionLimits = {
  total: 20_000,
  unauthenticated: 10_000,
  perAddress: 5000,
  perIdentity: 10_000,
};
const defaultRequestBytes = 64 * 1024 * 1024;
const defaultRequestTimeoutMs = 60_000;

/** The limits that all listeners of a server share. */
export interface ServerLimits {
  readonly listening: ListenContext;
  /** Queues a new stream for admission. */
  admit(call: Call): Admission;
  stop(): void;
}

/** Returns the limits of a server with their defaults. */
export function serverLimits(options: XdsServerOptions, clock: Clock): ServerLimits {
  const observe = options.observe ?? (() => undefined);
  const timers = new LoopTimers(clock);
  const wanted = { ...defaultConnectionLimits, ...options.connectionLimits };
  const table = new ConnectionTable(fitConnections(wanted, options.maxOpenFiles ?? maxOpenFiles()));
  const pressure = memoryPressure(options, clock, table);
  const limited: ListenContext["limited"] = (reason, peer) => observe({ kind: "limit", reason, peer });
  const memory = new RequestMemory({
    maxBytes: options.unfinishedRequestBytes ?? defaultRequestBytes,
    timeoutMs: options.requestTimeoutMs ?? defaultRequestTimeoutMs,
    timers,
  });
  const streams = new StreamAdmission(options.streamsPerSecond, clock);
  return {
    listening: { clock, timers, table, memory, limited, isMemoryShort: () => pressure?.isHigh === true },
    admit(call) {
      const identity = call.identity ?? identifyPeer(call.peer);
      if (pressure?.isHigh === true) {
        limited("memory_pressure", identity.key);
        return rejected(new ConnectError("the server is short of memory", Code.ResourceExhausted));
      }
      const admission = streams.queue(identity);
      admission.admitted.catch(() => limited("stream_rate", identity.key));
      return admission;
    },
    stop: () => pressure?.stop(),
  };
}

function memoryPressure(
  { memoryThreshold, memoryMeter, observe }: XdsServerOptions,
  clock: Clock,
  table: ConnectionTable,
): MemoryPressure | undefined {
  if (memoryThreshold === undefined) return undefined;
  return new MemoryPressure({
    meter: memoryMeter ?? processMemory(),
    clock,
    threshold: memoryThreshold,
    connections: () => table.size,
    shed: (count) => table.shedNewest(count),
    changed: (isHigh, used, limit) => observe?.({ kind: "memoryPressure", isHigh, used, limit }),
  });
}
