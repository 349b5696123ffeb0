import { SettingError } from "@istiod/settings";
import { CommanderError } from "commander";
import { program } from "./commands/program.js";
import { AgentError } from "./errors.js";

// A closed terminal or log pipe must not end the proxy.
for (const output of [process.stdout, process.stderr]) output.on("error", () => undefined);

try {
  await program(process.env, (code) => {
    process.exitCode = code;
    // A file watch or an idle connection would keep the process running.
    setImmediate(() => process.exit(code));
  }).parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exit(error.exitCode);
  if (!(error instanceof AgentError || error instanceof SettingError)) throw error;
  process.stderr.write(`pilot-agent: ${error.message}\n`);
  process.exit(1);
}
