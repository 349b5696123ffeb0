import { plainLine } from "@istiod/logging";
import { destination, type Logger, pino } from "pino";

export type Log = Pick<Logger, "debug" | "info" | "warn" | "error">;

/** Creates a log on standard error. @param level pino's name, such as `info` */
export function stderrLog(level: string, asJson: boolean): Log {
  if (asJson) {
    const stderr = destination(2);
    stderr.on("error", () => undefined);
    return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stderr);
  }
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => process.stderr.write(plainLine(line)) },
  );
}

/** A log that discards everything. */
export const silentLog: Log = pino({ level: "silent" });
