import { isIPv6 } from "node:net";
import { Command, type CommanderError } from "commander";
import { startAgent } from "../agent.js";
import { AgentError } from "../errors.js";
import { stderrLog } from "../log.js";
import { nameOf, type Option } from "../options/option.js";
import { readOptions } from "../options/read-options.js";
import { allOptions, type Options, optionTable } from "../options/table.js";
import { environmentWarningsOfProxy, flagWarnings, ineffectiveProxyFlags } from "../options/without-effect.js";
import { parseProxyType } from "../proxy.js";
import { ISTIO_VERSION } from "../version.js";
import { displayDefault, environmentHelp } from "./help.js";
import { iptablesCommand } from "./iptables.js";
import { requestAdmin } from "./request.js";
import { waitUntilReady } from "./wait.js";

type Env = Readonly<Record<string, string | undefined>>;

/** The command line of pilot-agent. Each command resolves to the process's exit code. */
export function program(env: Env, exit: (code: number) => void): Command {
  const command = new Command("pilot-agent")
    .description("Runs beside an Envoy: bootstrap, certificates, discovery, readiness.")
    .exitOverride(rethrow);
  command.addCommand(proxyCommand(env, exit));
  command.addCommand(iptablesCommand(env, exit).exitOverride(rethrow));
  command
    .command("wait")
    .description("Wait until the proxy is ready.")
    .option("--timeoutSeconds <seconds>", "how long in all", "60")
    .option("--requestTimeoutMillis <ms>", "how long for each request", "500")
    .option("--periodMillis <ms>", "time between requests", "500")
    .option(
      "--url <url>",
      "what to ask; AGENT_BIND_ADDRESS stands for localhost where it is set",
      `http://${urlHost(env["AGENT_BIND_ADDRESS"])}:15021/healthz/ready`,
    )
    .action(
      async (given: { timeoutSeconds: string; requestTimeoutMillis: string; periodMillis: string; url: string }) => {
        await waitUntilReady({
          url: given.url,
          timeout: Number(given.timeoutSeconds) * 1000,
          requestTimeout: Number(given.requestTimeoutMillis),
          period: Number(given.periodMillis),
        });
      },
    );
  command
    .command("request")
    .description("Ask Envoy's administration or the agent's status port on this machine and print the answer.")
    .argument("<method>", "GET or POST")
    .argument("<path>", "path, or URL of a port that is the agent's or Envoy's")
    .option("--debug-port <port>", "Envoy's administration port", "15000")
    .action(async (method: string, path: string, given: { debugPort: string }) => {
      process.stdout.write(
        await requestAdmin(method, path, Number(given.debugPort), env["AGENT_BIND_ADDRESS"] || undefined),
      );
    });
  command
    .command("version")
    .description("Print the version of Istio whose behaviour this agent has.")
    .action(() => void process.stdout.write(`${ISTIO_VERSION}\n`));
  return command;
}

/** The host of a URL for the address that the proxy's own ports are on. */
function urlHost(bindAddress: string | undefined): string {
  return bindAddress ? (isIPv6(bindAddress) ? `[${bindAddress}]` : bindAddress) : "localhost";
}

function proxyCommand(env: Env, exit: (code: number) => void): Command {
  const command = new Command("proxy")
    .description("Start an Envoy and everything that it needs beside it.")
    .argument("[type]", "sidecar or router", "sidecar")
    // Istio's agent ignores flags that it does not know, and injection templates rely on that.
    .allowUnknownOption()
    .allowExcessArguments()
    .exitOverride(rethrow)
    .addHelpText("after", `\n${environmentHelp()}`);
  for (const option of Object.values(optionTable).flatMap((group) => Object.values<Option<unknown>>(group))) {
    if (option.flag === undefined) continue;
    const value = option.kind === "switch" ? "[true|false]" : `<${option.kind}>`;
    command.option(`--${option.flag} ${value}`, `${option.help} (default: ${displayDefault(option)})`);
  }
  for (const { flag, kind, why } of ineffectiveProxyFlags)
    command.option(`--${flag} ${kind === "switch" ? "[true|false]" : "<text>"}`, `No effect: ${why}.`);
  return command.action(async (type: string, _given: unknown, self: Command) =>
    runProxy(type, readFlags(self), self.args, env, exit),
  );
}

/** Commander turns names such as `meshConfig` and `log_as_json` into properties of the same name. */
function readFlags(command: Command): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(command.opts()).map(([name, value]) => [name, value === true ? "true" : String(value)]),
  );
}

async function runProxy(
  type: string,
  flags: Record<string, string | undefined>,
  args: readonly string[],
  env: Env,
  exit: (code: number) => void,
): Promise<void> {
  const options: Options = readOptions(flags, env);
  const log = stderrLog(logLevel(options.logLevel), options.logAsJson);
  const warnings = [
    ...flagWarnings({ flags, unknown: args }, ineffectiveProxyFlags, Object.values<Option<unknown>>(allOptions)),
    ...environmentWarningsOfProxy(env),
  ];
  for (const warning of warnings) log.warn(warning);
  const agent = await startAgent({ type: parseProxyType(type), options, env, log });
  const terminate = (signal: string): void => {
    log.info(`${signal}: ending`);
    agent.terminate().catch((error: unknown) => log.error(String(error)));
  };
  process.once("SIGTERM", terminate).once("SIGINT", terminate).once("SIGHUP", terminate);
  const end = await agent.ended;
  exit(end === undefined || end.code === 0 ? 0 : 1);
}

/** `info`, or Istio's `default:info,scope:debug`, of which the default counts. */
function logLevel(text: string): string {
  const parts = text.split(",");
  const level =
    parts.find((part) => part.startsWith("default:"))?.slice("default:".length) ??
    parts.find((part) => !part.includes(":")) ??
    "info";
  const known = ["debug", "info", "warn", "error", "silent"];
  const name = level === "none" ? "silent" : level;
  if (!known.includes(name))
    throw new AgentError(
      "option",
      `${nameOf({ flag: "log_output_level" })}: ${JSON.stringify(text)} is not a level; expected one of ${known.join(", ")}`,
    );
  return name;
}

function rethrow(error: CommanderError): never {
  throw error;
}
