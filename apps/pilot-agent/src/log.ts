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
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line: string) => process.stderr.write(formatText(line)) },
  );
}

/** A log that discards everything. */
export const silentLog: Log = pino({ level: "silent" });

const LEVELS: Readonly<Record<number, string>> = { 20: "debug", 30: "info", 40: "warn", 50: "error" };

/** Formats a line as Istio's agent does: time, level, message and labels, separated by tabs. */
function formatText(line: string): string {
  const { time, level, msg, ...rest } = JSON.parse(line) as { time: string; level: number; msg?: string };
  const details = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return `${[time, LEVELS[level] ?? level, msg ?? "", ...details].join("\t")}\n`;
}
