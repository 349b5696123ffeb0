import { readFile } from "node:fs/promises";
import { isIPv6 } from "node:net";
import type { CaptureConfig } from "@istiod/redirection";
import { readResolvConf } from "../dns/resolv-conf.js";
import type { CaptureOptions } from "../options/capture-table.js";

/** Istio's user ID for the proxy. */
const DEFAULT_PROXY_UID = "1337";

/**
 * Completes the options of `istio-iptables` with the proxy's user, DNS servers and IP families.
 *
 * @param addresses the Pod's addresses, the primary one first
 * @throws AgentError `file` if DNS servers are needed and resolv.conf cannot be read
 */
export async function captureConfig(options: CaptureOptions, addresses: readonly string[]): Promise<CaptureConfig> {
  const proxyUid = options.proxyUid || (await userId(options.envoyUser)) || DEFAULT_PROXY_UID;
  const needsServers = options.redirectDns && !options.captureAllDns;
  const { servers } = needsServers ? await readResolvConf("/etc/resolv.conf") : { servers: [] };
  return {
    ...options,
    proxyUid,
    proxyGid: options.proxyGid || proxyUid,
    inboundMode: options.mode || "REDIRECT",
    dnsServers: servers.map(({ address }) => address),
    ipv6: options.dualStack ? addresses.some((address) => isIPv6(address)) : isIPv6(addresses[0] ?? ""),
  };
}

/** Returns the ID of a user of this machine (passwd(5)). */
async function userId(name: string): Promise<string | undefined> {
  const lines = await readFile("/etc/passwd", "utf8").catch(() => "");
  return lines
    .split("\n")
    .map((line) => line.split(":"))
    .find(([user]) => user === name)?.[2];
}
