import { findEnvoy } from "./find-envoy.js";
import { installEnvoy } from "./install-envoy.js";

const USAGE =
  "usage: istiod-envoy find | install\n  find     print the path of an Envoy on this machine\n  install  fetch one, unless there is one, and print its path\n";

/** Shows progress on a terminal, in place; in a log it would be noise. */
function report(progress: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[Kfetching Envoy: ${progress}`);
}

async function run(command: string | undefined): Promise<number> {
  if (command !== "find" && command !== "install") {
    process.stderr.write(USAGE);
    return 2;
  }
  const found = (await findEnvoy()) ?? (command === "install" ? await installEnvoy({ report }) : undefined);
  if (found === undefined) {
    process.stderr.write("no Envoy found: set ENVOY_PATH, put envoy on PATH, or run `npx istiod-envoy install`\n");
    return 1;
  }
  if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
  process.stdout.write(`${found}\n`);
  return 0;
}

try {
  process.exitCode = await run(process.argv[2]);
} catch (error) {
  process.stderr.write(`istiod-envoy: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
