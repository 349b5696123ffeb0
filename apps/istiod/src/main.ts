import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type LogScopes, openLog, serveControlZ } from "@istiod/logging";
import { reasonOf, systemClock } from "@istiod/runtime";
import { Command, CommanderError } from "commander";
import type { Logger } from "pino";
import {
  analyzeCommand,
  authzCommand,
  bugReportCommand,
  checkInjectCommand,
  completionCommand,
  createRemoteSecretCommand,
  describeCommand,
  diffCommand,
  explainCommand,
  injectorCommand,
  kubeInjectCommand,
  metricsCommand,
  type KubeInjectSettings,
  precheckCommand,
  proxyConfigCommand,
  proxyStatusCommand,
  remoteClustersCommand,
  replacementOf,
  replicasCommand,
  requestCommand,
  shortenHelp,
  statusCommand,
  tagCommand,
  tokenCommand,
  validateCommand,
  workloadCommand,
} from "@istiod/commands";
import { startDiscovery } from "./discovery.js";
import { offlineMeshes } from "./offline-mesh.js";
import { SettingsCommand } from "@istiod/settings/command";
import { flags, type FlagValues } from "./flags.js";
import { listening } from "./listening.js";
import { scopeDescriptions } from "@istiod/mesh-log";
import { startupWarnings } from "./startup-warnings.js";
import { variableGroups, variables } from "./variables.js";

/** Runs the command line. */
export async function run(argv: readonly string[]): Promise<void> {
  const program = istiodCommand();
  for (const command of [program, ...program.commands, ...program.commands.flatMap(({ commands }) => commands)])
    command.exitOverride();
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has already printed the error or the help.
      process.exitCode = error.exitCode === 0 ? 0 : 2;
      const commands = new Set(program.commands.map((command) => command.name()));
      const replacement =
        error.code === "commander.unknownCommand" ? replacementOf(argv.slice(2), commands) : undefined;
      if (replacement !== undefined)
        process.stderr.write(`istiod does not have this command of istioctl: ${replacement}\n`);
      return;
    }
    printError(error);
    process.exitCode = 2;
  }
}

/** Builds the command line. */
export function istiodCommand(): Command {
  const print = (text: string): void => void process.stdout.write(text);
  const warn = (text: string): void => void process.stderr.write(text);
  const exit = (status: number): void => void (process.exitCode = status);
  const { env } = process;
  const meshes = offlineMeshes(env);
  const program = new Command("istiod").description("Istio's control plane.").version(version());
  program.addCommand(discoveryCommand());
  program.addCommand(explainCommand(meshes, print, warn, exit));
  program.addCommand(diffCommand(meshes, { print, warn, exit }));
  program.addCommand(
    analyzeCommand(process.env, {
      print,
      warn,
      exit,
      stdin: () => text(process.stdin),
      isColorTerminal: process.stdout.isTTY === true && process.env["TERM"] !== "dumb" && !process.env["NO_COLOR"],
    }),
  );
  program.addCommand(authzCommand(meshes, { print, warn, exit }));
  program.addCommand(validateCommand({ print, exit, stdin: () => text(process.stdin) }));
  program.addCommand(statusCommand(meshes, { print, warn, exit }));
  program.addCommand(replicasCommand({ print, exit }));
  program.addCommand(proxyConfigCommand(meshes, print, warn));
  program.addCommand(proxyStatusCommand({ print, warn, exit }));
  program.addCommand(
    createRemoteSecretCommand({ env, multiClusterGroup: () => variables.mcsApiGroup.read(env) }, { print, warn }),
  );
  program.addCommand(
    kubeInjectCommand(
      { env, settings: () => injectionSettings(env) },
      { print, warn, stdin: () => text(process.stdin) },
    ),
  );
  program.addCommand(tokenCommand({ print }));
  for (const command of [tagCommand, describeCommand, checkInjectCommand, injectorCommand, precheckCommand])
    program.addCommand(command({ env, print, warn, exit }));
  program.addCommand(remoteClustersCommand({ print, warn, exit }));
  program.addCommand(metricsCommand({ env, print }));
  program.addCommand(workloadCommand({ env, print, warn, exit }));
  program.addCommand(requestCommand({ print }));
  program.addCommand(bugReportCommand({ env, print, warn, exit, version: version(), now: () => systemClock.now() }));
  program.addCommand(completionCommand(program, { print }));
  program
    .command("version")
    .description("Print the version.")
    .action(() => console.log(version()));
  shortenHelp(program);
  return program;
}

function injectionSettings(env: NodeJS.ProcessEnv): KubeInjectSettings {
  return {
    compliancePolicy: variables.compliancePolicy.read(env),
    nativeSidecars: variables.nativeSidecars.read(env),
  };
}

function discoveryCommand(): Command {
  const command = new SettingsCommand("discovery")
    .description("Serve configuration to proxies.")
    .addSettings(flags, process.env)
    .addVariablesHelp(variableGroups);
  return command.action(async (values: FlagValues) => {
    try {
      const { log, scopes } = openLog(values, scopeDescriptions);
      for (const warning of startupWarnings(command.givenFlags, process.env)) log.warn(warning);
      await openControlZ(values, log, scopes);
      const running = await startDiscovery(values, process.env, log, version());
      for (const signal of ["SIGINT", "SIGTERM"] as const)
        process.once(signal, () => void running.close().then(() => process.exit(0)));
    } catch (error) {
      printError(error);
      process.exit(1);
    }
  });
}

/** Serves ControlZ. A port that cannot be opened is logged, and does not stop istiod. */
async function openControlZ(values: FlagValues, log: Logger, scopes: LogScopes): Promise<void> {
  const address = { address: values.ctrlz_address, port: values.ctrlz_port };
  try {
    const server = await listening("ctrlz_port", `${address.address}:${address.port}`, serveControlZ(address, scopes));
    log.info({ port: (server.address() as AddressInfo).port }, "ControlZ available");
  } catch (error) {
    log.warn(`ControlZ is unavailable, log levels cannot be changed at runtime: ${(error as Error).message}`);
  }
}

function printError(error: unknown): void {
  process.stderr.write(`istiod: ${reasonOf(error)}\n`);
}

function version(): string {
  return (createRequire(import.meta.url)("../package.json") as { version: string }).version;
}
