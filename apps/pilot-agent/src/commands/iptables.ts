import type { Environment } from "@istiod/settings";
import { SettingsCommand } from "@istiod/settings/command";
import { type CaptureOptions, captureTable, ignoredCaptureFlags } from "../options/capture-table.js";
import { redirectTraffic } from "../redirection/redirect-traffic.js";
import { openLog } from "./open-log.js";

/** Builds the command `istio-iptables`, with Istio's flags. */
export function iptablesCommand(env: Environment, exit: (code: number) => void): SettingsCommand {
  const command = captureCommand("istio-iptables", env, redirectTraffic, exit);
  return command.description("Redirect the traffic of this network namespace through the proxy.");
}

/** Builds the command `istio-clean-iptables` of former Istio releases: `istio-iptables --cleanup-only`. */
export function cleanIptablesCommand(env: Environment, exit: (code: number) => void): SettingsCommand {
  const clean: typeof redirectTraffic = (options, ...rest) =>
    redirectTraffic({ ...options, cleanupOnly: true }, ...rest);
  const command = captureCommand("istio-clean-iptables", env, clean, exit);
  return command.description("Remove the rules of istio-iptables, as istio-iptables --cleanup-only does.");
}

function captureCommand(
  name: string,
  env: Environment,
  run: typeof redirectTraffic,
  exit: (code: number) => void,
): SettingsCommand {
  const command = new SettingsCommand(name)
    .addSettings(captureTable, env)
    .addSettings(ignoredCaptureFlags, env)
    .addVariablesHelp({ Redirection: captureTable })
    .tolerateUnknownFlags()
    .allowExcessArguments();
  return command.action(async (options: CaptureOptions) => {
    const log = openLog(options);
    for (const warning of command.settingWarnings()) log.warn(warning);
    exit(await run(options, env, log));
  });
}
