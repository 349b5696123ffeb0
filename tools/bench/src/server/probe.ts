// Loaded into istiod's process; answers what is asked over the channel of the process that started it, and ends with
// that one.
import { getHeapCodeStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { longTurnsVariable, recordLongTurns } from "./long-turns.js";

/** Bytes that istiod's process has. */
export interface HeapReport {
  readonly rss: number;
  /** On the heap, and in buffers outside of it; after garbage was collected if that was asked for. */
  readonly heap: number;
  readonly external: number;
  /** Of the heap, what V8 made of functions: machine code and bytecode, with what belongs to them. */
  readonly code: number;
}

export type ProbeRequest = "report" | "collect";

if (process.send !== undefined) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const longTurns = process.env[longTurnsVariable] === undefined ? () => [] : recordLongTurns();
  process.on("message", (request: ProbeRequest | "turns") => {
    if (request === "turns") return void process.send?.(longTurns());
    const { rss } = process.memoryUsage();
    if (request === "collect") collect();
    const { heapUsed, external } = process.memoryUsage();
    const { code_and_metadata_size, bytecode_and_metadata_size } = getHeapCodeStatistics();
    process.send?.({
      rss,
      heap: heapUsed,
      external,
      code: code_and_metadata_size + bytecode_and_metadata_size,
    } satisfies HeapReport);
  });
  process.on("disconnect", () => process.exit(1));
}
