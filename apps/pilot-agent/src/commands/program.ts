import { isIPv6 } from "node:net";
import { type Environment, integerSetting, type SettingValues, stringSetting } from "@istiod/settings";
import { SettingsCommand } from "@istiod/settings/command";
import { Command, type CommanderError } from "commander";
import { startAgent } from "../agent.js";
import { proxyEnvironmentWarnings } from "../options/environment-warnings.js";
import { checkOptions } from "../options/read-options.js";
import { type Options, optionTable } from "../options/table.js";
import { parseProxyType } from "../proxy.js";
import { ISTIO_VERSION } from "../version.js";
import { cleanIptablesCommand, iptablesCommand } from "./iptables.js";
import { openLog } from "./open-log.js";
import { handleUnexpectedErrors } from "../startup/unexpected-errors.js";
import { requestAdmin } from "./request.js";
import { waitUntilReady } from "./wait.js";

/**
 * Builds the command line of pilot-agent. `proxy`, `istio-iptables` and `istio-clean-iptables` call `exit` with the
 * exit code of the process.
 */
export function program(env: Environment, exit: (code: number) => void): Command {
  const command = new Command("pilot-agent")
    .description("Node agent of Envoy: bootstrap, certificates, discovery and readiness.")
    .exitOverride(rethrow);
  command.addCommand(proxyCommand(env, exit).exitOverride(rethrow));
  command.addCommand(iptablesCommand(env, exit).exitOverride(rethrow));
  command.addCommand(cleanIptablesCommand(env, exit).exitOverride(rethrow));
  command.addCommand(waitCommand(env).exitOverride(rethrow));
  command.addCommand(requestCommand(env).exitOverride(rethrow));
  command
    .command("version")
    .description("Print the version of Istio with the same behavior.")
    .action(() => void process.stdout.write(`${ISTIO_VERSION}\n`));
  return command;
}

function proxyCommand(env: Environment, exit: (code: number) => void): SettingsCommand {
  const command = new SettingsCommand("proxy")
    .description("Start Envoy and the node agent.")
    .argument("[type]", "sidecar or router", "sidecar")
    // Istio's agent ignores unknown flags, and injection templates rely on it.
    .tolerateUnknownFlags()
    .allowExcessArguments();
  for (const table of Object.values(optionTable)) command.addSettings(table, env);
  command.addVariablesHelp(optionTable);
  command.addHelpText(
    "after",
    "ISTIO_META_<NAME> and ISTIO_METAJSON_<ANY> become node metadata; XDS_HEADER_<NAME> and CA_HEADER_<NAME> become request headers.",
  );
  return command.action(async (type: string, options: Options) => {
    checkOptions(options);
    const log = openLog(options);
    for (const warning of [...command.settingWarnings(), ...proxyEnvironmentWarnings(env)]) log.warn(warning);
    const agent = await startAgent({ type: parseProxyType(type), options, env, log });
    handleUnexpectedErrors(process, agent.onUnexpectedError);
    const terminate = (signal: string): void => {
      log.info(`received ${signal}, shutting down`);
      agent.terminate().catch((error: unknown) => log.error(String(error)));
    };
    process.once("SIGTERM", terminate).once("SIGINT", terminate).once("SIGHUP", terminate);
    const end = await agent.ended;
    exit(end === undefined || end.code === 0 ? 0 : 1);
  });
}

function waitCommand(env: Environment): SettingsCommand {
  const table = {
    timeoutSeconds: integerSetting({ flag: "timeoutSeconds", default: 60, help: "timeout in seconds" }, { min: 0 }),
    requestTimeoutMillis: integerSetting(
      { flag: "requestTimeoutMillis", default: 500, help: "timeout of a request in milliseconds" },
      { min: 0 },
    ),
    periodMillis: integerSetting(
      { flag: "periodMillis", default: 500, help: "interval between requests in milliseconds" },
      { min: 0 },
    ),
    url: stringSetting({
      flag: "url",
      placeholder: "url",
      default: `http://${urlHost(env["AGENT_BIND_ADDRESS"])}:15021/healthz/ready`,
      help: "URL of the readiness endpoint, on AGENT_BIND_ADDRESS or localhost",
    }),
  };
  return new SettingsCommand("wait")
    .description("Wait until the proxy is ready.")
    .addSettings(table, env)
    .action(async ({ url, timeoutSeconds, requestTimeoutMillis, periodMillis }: SettingValues<typeof table>) =>
      waitUntilReady({
        url,
        timeout: timeoutSeconds * 1000,
        requestTimeout: requestTimeoutMillis,
        period: periodMillis,
      }),
    );
}

function requestCommand(env: Environment): SettingsCommand {
  const table = {
    debugPort: integerSetting(
      { flag: "debug-port", placeholder: "port", default: 15000, help: "admin port of Envoy" },
      { min: 0, max: 65535 },
    ),
  };
  return new SettingsCommand("request")
    .description("Send a request to Envoy's admin interface or the agent's status port and print the response.")
    .argument("<method>", "GET or POST")
    .argument("<path>", "path, or URL of a port of the agent or Envoy")
    .addSettings(table, env)
    .action(async (method: string, path: string, { debugPort }: SettingValues<typeof table>) => {
      process.stdout.write(await requestAdmin(method, path, debugPort, env["AGENT_BIND_ADDRESS"] || undefined));
    });
}

/** Returns the host of URLs for the address that Envoy's own ports listen on. */
function urlHost(bindAddress: string | undefined): string {
  return bindAddress ? (isIPv6(bindAddress) ? `[${bindAddress}]` : bindAddress) : "localhost";
}

function rethrow(error: CommanderError): never {
  throw error;
}
