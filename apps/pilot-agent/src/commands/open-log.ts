import { invalidSetting } from "@istiod/settings";
import { type Log, stderrLog } from "../log.js";

/** Opens the log of a command. @throws SettingError if the level is unknown */
export function openLog(options: { readonly logLevel: string; readonly logAsJson: boolean }): Log {
  return stderrLog(parseLogLevel(options.logLevel), options.logAsJson);
}

/** Returns the level of the agent's only scope: `info`, or the default of Istio's `default:info,scope:debug`. */
function parseLogLevel(text: string): string {
  const parts = text.split(",");
  const level =
    parts.find((part) => part.startsWith("default:"))?.slice("default:".length) ??
    parts.find((part) => !part.includes(":")) ??
    "info";
  const known = ["debug", "info", "warn", "error", "silent"];
  const name = level === "none" ? "silent" : level;
  if (!known.includes(name)) throw invalidSetting("--log_output_level", text, `one of ${known.join(", ")}`);
  return name;
}
