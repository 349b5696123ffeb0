import { agentLogLevelFault } from "@istiod/settings";
import { type Log, stderrLog } from "../log.js";

/** Opens the log of a command. Levels that are not valid are left out with a warning. */
export function openLog(options: { readonly logLevel: string; readonly logAsJson: boolean }): Log {
  const faults: string[] = [];
  const sound = options.logLevel.split(",").filter((part) => {
    const fault = agentLogLevelFault(part);
    if (fault !== undefined) faults.push(`--log_output_level: ${fault}; leaving it out`);
    return fault === undefined;
  });
  const log = stderrLog(levelOf(sound), options.logAsJson);
  for (const fault of faults) log.warn(fault);
  return log;
}

/** Returns the level of the agent's only scope: `info`, or the default of Istio's `default:info,scope:debug`. */
function levelOf(parts: readonly string[]): string {
  const level =
    parts.find((part) => part.startsWith("default:"))?.slice("default:".length) ??
    parts.find((part) => !part.includes(":")) ??
    "info";
  return level === "none" ? "silent" : level;
}
