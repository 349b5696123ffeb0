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
  return `${[time, LEVELS[level] ?? level, msg ?? "", ...details].map(escapeControls).join("\t")}\n`;
}

/** Escapes control characters, which could forge lines or command a terminal. */
function escapeControls(text: string | number): string {
  return String(text).replace(
    /[\0-\x1f\x7f-\x9f\u2028\u2029]/g,
    (char) => ESCAPES[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

const ESCAPES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
