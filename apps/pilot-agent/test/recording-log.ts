import { pino } from "pino";
import type { Log } from "../src/index.js";

/** Creates a log that keeps its lines in memory. */
export function recordingLog(): { readonly log: Log; messages(): string[] } {
  const lines: { readonly msg: string }[] = [];
  const log = pino({ level: "debug" }, { write: (line: string) => lines.push(JSON.parse(line) as { msg: string }) });
  return { log, messages: () => lines.map(({ msg }) => msg) };
}
