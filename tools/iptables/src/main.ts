import { findIptables, findNftables } from "./find-iptables.js";
import { installIptables } from "./install-iptables.js";

const USAGE =
  "usage: istiod-iptables find | install\n  find     say whether there are iptables and nftables on this machine\n  install  fetch them, unless they are there\n";

async function run(command: string | undefined): Promise<number> {
  if (command !== "find" && command !== "install") {
    process.stderr.write(USAGE);
    return 2;
  }
  if (command === "install") await installIptables();
  const missing = [...((await findIptables()) ? [] : ["iptables"]), ...((await findNftables()) ? [] : ["nftables"])];
  if (missing.length === 0) return 0;
  process.stderr.write(`no ${missing.join(" and no ")} found: install it, or run \`npx istiod-iptables install\`\n`);
  return 1;
}

try {
  process.exitCode = await run(process.argv[2]);
} catch (error) {
  process.stderr.write(`istiod-iptables: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
