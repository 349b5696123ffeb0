import { type Capture, listed } from "./capture.js";
import type { Family } from "./family.js";
import { type Rule, rule } from "./rule.js";

/** Where the agent answers queries. */
const agentPort = "15053";

/** Leads queries of names to the agent. */
export function dnsRedirection({ captureAllDns }: Capture, { dnsServers }: Family): Rule[] {
  const to = captureAllDns ? [""] : dnsServers.map((server) => ` -d ${server}`);
  return [
    rule("raw", "OUTPUT", "-j ISTIO_OUTPUT_DNS"),
    ...(to.length > 0 ? [rule("nat", "ISTIO_OUTPUT", "-j ISTIO_OUTPUT_DNS")] : []),
    ...to.map((server) =>
      rule("nat", "ISTIO_OUTPUT_DNS", `-p tcp --dport 53${server} -j REDIRECT --to-ports ${agentPort}`),
    ),
    ...to.map((server) =>
      rule("nat", "ISTIO_OUTPUT_DNS", `-p udp --dport 53${server} -j REDIRECT --to-port ${agentPort}`),
    ),
  ];
}

/**
 * Keeps the agent's queries and the application's apart in the kernel's table of connections, where they would
 * otherwise meet: both go to the same server's port by UDP. Zone 1 is the agent's, zone 2 the application's.
 */
export function dnsConnectionZones({ captureAllDns, proxyUid, proxyGid }: Capture, { dnsServers }: Family): Rule[] {
  const owners = [
    ...listed(proxyUid).map((uid) => `--uid-owner ${uid}`),
    ...listed(proxyGid).map((gid) => `--gid-owner ${gid}`),
  ];
  const servers = captureAllDns ? [undefined] : dnsServers;
  return [
    ...owners.flatMap((owner) => [
      rule("raw", "ISTIO_OUTPUT_DNS", `-p udp --dport 53 -m owner ${owner} -j CT --zone 1`),
      rule("raw", "ISTIO_OUTPUT_DNS", `-p udp --sport ${agentPort} -m owner ${owner} -j CT --zone 2`),
    ]),
    ...(servers.length > 0 ? [rule("raw", "PREROUTING", "-j ISTIO_INBOUND")] : []),
    ...servers.flatMap((server) => [
      rule("raw", "ISTIO_OUTPUT_DNS", `-p udp --dport 53${server ? ` -d ${server}` : ""} -j CT --zone 2`),
      rule("raw", "ISTIO_INBOUND", `-p udp --sport 53${server ? ` -s ${server}` : ""} -j CT --zone 1`),
    ]),
  ];
}
