import type { CaptureConfig } from "./capture-config.js";
import { type CommandRunner, runChecked } from "./command-runner.js";

/**
 * Applies the routes that capture needs in addition to iptables rules. For TPROXY, packets with the proxy's mark are
 * routed to this host, whatever their destination. For IPv6, the proxy's passthrough source address is added to
 * loopback.
 *
 * @throws RedirectionError `command`
 */
export async function applyRoutes(
  { inboundMode, inboundPorts, tproxyMark, tproxyRouteTable, ipv6 }: CaptureConfig,
  run: CommandRunner,
): Promise<void> {
  if (ipv6) await runChecked(run, "ip", ["-6", "addr", "replace", "::6/128", "dev", "lo"]);
  if (inboundMode !== "TPROXY" || inboundPorts === "") return;
  for (const family of ipv6 ? ["-4", "-6"] : ["-4"]) {
    const rule = ["fwmark", tproxyMark, "lookup", tproxyRouteTable];
    // `ip rule add` would duplicate an existing rule.
    await run("ip", [family, "rule", "del", ...rule]);
    await runChecked(run, "ip", [family, "rule", "add", ...rule]);
    const route = ["local", "default", "dev", "lo", "table", tproxyRouteTable];
    await runChecked(run, "ip", [family, "route", "replace", ...route]);
  }
}
