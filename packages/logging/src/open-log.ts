import { performance } from "node:perf_hooks";
import { type DestinationStream, type Logger, pino } from "pino";
import { levelRules } from "./levels.js";
import { logTime, plainLine } from "./log-format.js";
import { LogScopes } from "./log-scopes.js";

/** The flags of Istio's logging. */
export interface LogFlags {
  readonly log_output_level: string;
  readonly log_stacktrace_level: string;
  readonly log_caller: string;
  readonly log_as_json: boolean;
  readonly log_target: readonly string[];
}

/**
 * Opens the log that the flags ask for. Returns it with its scopes, whose levels can be changed later.
 *
 * @param descriptions of the program's scopes, by name
 * @throws Error that names the flag that cannot be used.
 */
export function openLog(
  flags: LogFlags,
  descriptions: Readonly<Record<string, string>> = {},
): { readonly log: Logger; readonly scopes: LogScopes } {
  const scopes = new LogScopes({
    output: levelRules("log_output_level", flags.log_output_level),
    stackTrace: levelRules("log_stacktrace_level", flags.log_stacktrace_level),
    callers: flags.log_caller.split(",").map((scope) => scope.trim()),
    descriptions,
  });
  const targets = flags.log_target.map(target);
  const [only] = targets;
  const sink: DestinationStream =
    flags.log_as_json && targets.length === 1 && only !== undefined
      ? only
      : {
          write(json) {
            const line = flags.log_as_json ? json : plainLine(json);
            for (const each of targets) each.write(line);
          },
        };
  const log = pino(
    {
      base: null,
      level: "trace",
      timestamp: () => `,"time":"${logTime(performance.timeOrigin + performance.now())}"`,
      formatters: { level: (level) => ({ level }) },
      ...scopes.options,
    },
    sink,
  );
  scopes.adopt(log);
  return { log, scopes };
}

/** Opens the destination of a target's lines. Writes are synchronous. */
function target(path: string): DestinationStream {
  if (path === "stdout") return pino.destination({ dest: 1, sync: true });
  if (path === "stderr") return pino.destination({ dest: 2, sync: true });
  try {
    return pino.destination({ dest: path, sync: true, append: true });
  } catch (error) {
    throw new Error(`--log_target ${path}: ${(error as Error).message}`, { cause: error });
  }
}
