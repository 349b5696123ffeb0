import { findIptables } from "./find-iptables.js";
import { installIptables } from "./install-iptables.js";

const USAGE =
  "usage: istiod-iptables find | install\n  find     say whether there is an iptables on this machine\n  install  fetch one, unless there is one\n";

async function run(command: string | undefined): Promise<number> {
  if (command !== "find" && command !== "install") {
    process.stderr.write(USAGE);
    return 2;
  }
  if (command === "install") await installIptables();
  if (await findIptables()) return 0;
  process.stderr.write("no iptables found: install it, or run `npx istiod-iptables install`\n");
  return 1;
}

try {
  process.exitCode = await run(process.argv[2]);
} catch (error) {
  process.stderr.write(`istiod-iptables: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
