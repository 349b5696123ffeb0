import type { Environment } from "@istiod/settings";
import { SettingsCommand } from "@istiod/settings/command";
import { type CaptureOptions, captureTable, ignoredCaptureFlags } from "../options/capture-table.js";
import { redirectTraffic } from "../redirection/redirect-traffic.js";
import { openLog } from "./open-log.js";

/** Builds the command `istio-iptables`, with Istio's flags. */
export function iptablesCommand(env: Environment, exit: (code: number) => void): SettingsCommand {
  const command = new SettingsCommand("istio-iptables")
    .description("Redirect the traffic of this network namespace through the proxy.")
    .addSettings(captureTable, env)
    .addSettings(ignoredCaptureFlags, env)
    .addVariablesHelp({ Redirection: captureTable })
    .tolerateUnknownFlags()
    .allowExcessArguments();
  return command.action(async (options: CaptureOptions) => {
    const log = openLog(options);
    for (const warning of command.settingWarnings()) log.warn(warning);
    exit(await redirectTraffic(options, env, log));
  });
}
