// Loaded into istiod's process beside istiod; answers what is asked over the channel of the process that started it, and ends with that one.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes that istiod's process has. */
export interface HeapReport {
  readonly rss: number;
  /** On the heap and in buffers; after garbage was collected if that was asked for. */
  readonly heap: number;
  readonly external: number;
}

export type ProbeRequest = "report" | "collect";

if (process.send !== undefined) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  process.on("message", (request: ProbeRequest) => {
    const { rss } = process.memoryUsage();
    if (request === "collect") collect();
    const { heapUsed, external } = process.memoryUsage();
    process.send?.({ rss, heap: heapUsed, external } satisfies HeapReport);
  });
  process.on("disconnect", () => process.exit(1));
}
