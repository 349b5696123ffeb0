import type { Capture } from "./capture.js";
import { RedirectionError } from "./errors.js";
import type { Run } from "./run.js";

/**
 * What rules alone cannot do. For TPROXY, packets with the proxy's mark are taken in by this machine, whatever address
 * they are for. On IPv6, the address from which the proxy calls the application must first be given to loopback.
 */
export async function applyRoutes(
  { inboundMode, inboundPorts, tproxyMark, tproxyRouteTable, ipv6 }: Capture,
  run: Run,
): Promise<void> {
  if (ipv6) await must(run, "-6", "addr", "replace", "::6/128", "dev", "lo");
  if (inboundMode !== "TPROXY" || inboundPorts === "") return;
  for (const version of ipv6 ? ["-4", "-6"] : ["-4"]) {
    const rule = ["fwmark", tproxyMark, "lookup", tproxyRouteTable];
    // A rule that is there already would be added a second time.
    await run("ip", [version, "rule", "del", ...rule]);
    await must(run, version, "rule", "add", ...rule);
    await must(run, version, "route", "replace", "local", "default", "dev", "lo", "table", tproxyRouteTable);
  }
}

async function must(run: Run, ...args: string[]): Promise<void> {
  const { code, stderr } = await run("ip", args);
  if (code !== 0)
    throw new RedirectionError("command", `ip ${args.join(" ")}: ${stderr.trim() || `exit code ${code}`}`);
}
