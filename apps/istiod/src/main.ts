import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Command, CommanderError } from "commander";
import { analyzeCommand } from "./commands/analyze.js";
import { diffCommand } from "./commands/diff.js";
import { explainCommand } from "./commands/explain.js";
import { proxyConfigCommand } from "./commands/proxy-config.js";
import { proxyStatusCommand } from "./commands/proxy-status.js";
import { statusCommand } from "./commands/status.js";
import { startDiscovery } from "./discovery.js";
import { SettingsCommand } from "@istiod/settings/command";
import { flags, type FlagValues } from "./flags.js";
import { listening } from "./listening.js";
import { serveControlZ } from "./logging/control-z.js";
import { openLog } from "./logging/open-log.js";
import { startupWarnings } from "./startup-warnings.js";
import { variableGroups } from "./variables.js";

/** Runs the command line. */
export async function run(argv: readonly string[]): Promise<void> {
  const program = new Command("istiod").description("Istio's control plane.").version(version());
  const discovery = new SettingsCommand("discovery")
    .description("Serve configuration to proxies.")
    .addSettings(flags, process.env)
    .addVariablesHelp(variableGroups);
  program.addCommand(discovery);
  discovery.action(async (values: FlagValues) => {
    try {
      const { log, scopes } = openLog(values);
      for (const warning of startupWarnings(discovery.givenFlags, process.env)) log.warn(warning);
      await listening(
        "ctrlz_port",
        `${values.ctrlz_address}:${values.ctrlz_port}`,
        serveControlZ({ address: values.ctrlz_address, port: values.ctrlz_port }, scopes),
      ).then(
        (server) => log.info({ port: (server.address() as AddressInfo).port }, "ControlZ is served"),
        (error: Error) =>
          log.warn(`ControlZ is not served, so that logs cannot be switched while this runs: ${error.message}`),
      );
      const running = await startDiscovery(values, process.env, log, version());
      for (const signal of ["SIGINT", "SIGTERM"] as const)
        process.once(signal, () => void running.close().then(() => process.exit(0)));
    } catch (error) {
      process.stderr.write(`istiod: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    }
  });
  const print = (text: string): void => void process.stdout.write(text);
  const warn = (text: string): void => void process.stderr.write(text);
  program.addCommand(explainCommand(process.env, print, warn));
  program.addCommand(diffCommand(process.env, { print, warn, exit: (status) => void (process.exitCode = status) }));
  program.addCommand(
    analyzeCommand(process.env, {
      print,
      warn,
      exit: (status) => void (process.exitCode = status),
      stdin: () => text(process.stdin),
      isColorTerminal: process.stdout.isTTY === true && process.env["TERM"] !== "dumb" && !process.env["NO_COLOR"],
    }),
  );
  program.addCommand(statusCommand({ print, warn, exit: (status) => void (process.exitCode = status) }));
  program.addCommand(proxyConfigCommand(process.env, print, warn));
  program.addCommand(proxyStatusCommand(print));
  program
    .command("version")
    .description("Print the version.")
    .action(() => console.log(version()));
  for (const command of [program, ...program.commands, ...program.commands.flatMap(({ commands }) => commands)])
    command.exitOverride();
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    if (error instanceof CommanderError) {
      // The parser has said what is wrong, or shown the help that was asked for.
      process.exitCode = error.exitCode === 0 ? 0 : 2;
      return;
    }
    process.stderr.write(`istiod: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  }
}

function version(): string {
  return (createRequire(import.meta.url)("../package.json") as { version: string }).version;
}
