import type { Column } from "../fleet/table.js";

/** Memory and load of istiod at one moment, in bytes. */
export interface Sample {
  readonly minute: number;
  readonly rss: number;
  readonly heap: number;
  readonly external: number;
  /** The part of the heap that holds machine code and bytecode. */
  readonly code: number;
  readonly cpuSeconds: number;
  readonly changes: number;
  readonly responses: number;
  readonly bytesSent: number;
  readonly load: number;
}

export const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
export const sampleColumns: readonly Column<Sample>[] = [
  { head: "minute", of: ({ minute }) => minute.toFixed(1), width: 6 },
  { head: "RSS MiB", of: ({ rss }) => mib(rss), width: 7 },
  { head: "heap MiB", of: ({ heap }) => mib(heap), width: 8 },
  { head: "code MiB", of: ({ code }) => mib(code), width: 8 },
  { head: "external MiB", of: ({ external }) => mib(external), width: 12 },
  { head: "CPU s", of: ({ cpuSeconds }) => cpuSeconds.toFixed(0), width: 5 },
  { head: "changes", of: ({ changes }) => String(changes), width: 7 },
  { head: "responses", of: ({ responses }) => String(responses), width: 9 },
  { head: "MiB sent", of: ({ bytesSent }) => mib(bytesSent), width: 8 },
  { head: "load", of: ({ load }) => load.toFixed(1), width: 5 },
];
