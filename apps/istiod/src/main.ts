import { createRequire } from "node:module";
import { Command } from "commander";
import { pino } from "pino";
import { startDiscovery } from "./discovery.js";
import { type FlagValues, options } from "./flags.js";

/** Runs the command line. */
export async function run(argv: readonly string[]): Promise<void> {
  const program = new Command("istiod").description("Istio's control plane.").version(version());
  const discovery = program.command("discovery").description("Serve configuration to proxies.").allowUnknownOption(false);
  for (const option of options(process.env)) discovery.addOption(option);
  discovery.action(async (values: FlagValues) => {
    const log = pino({ level: values.log_output_level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (level) => ({ level }) } });
    try {
      const running = await startDiscovery(values, process.env, log, version());
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void running.close().then(() => process.exit(0)));
    } catch (error) {
      process.stderr.write(`istiod: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    }
  });
  program.command("version").description("Print the version.").action(() => console.log(version()));
  await program.parseAsync([...argv]);
}

function version(): string {
  return (createRequire(import.meta.url)("../package.json") as { version: string }).version;
}
