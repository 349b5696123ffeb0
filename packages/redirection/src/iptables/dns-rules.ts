import type { AddressFamily } from "../address-family.js";
import { AGENT_DNS_PORT, type CaptureConfig, splitList } from "../capture-config.js";
import { appendRule, type Rule } from "./rule.js";

/** Returns the rules that redirect DNS queries to the agent. */
export function dnsRedirectRules({ captureAllDns }: CaptureConfig, { dnsServers }: AddressFamily): Rule[] {
  const destinations = captureAllDns ? [""] : dnsServers.map((server) => ` -d ${server}`);
  return [
    appendRule("raw", "OUTPUT", "-j ISTIO_OUTPUT_DNS"),
    ...(destinations.length > 0 ? [appendRule("nat", "ISTIO_OUTPUT", "-j ISTIO_OUTPUT_DNS")] : []),
    ...destinations.map((destination) =>
      appendRule("nat", "ISTIO_OUTPUT_DNS", `-p tcp --dport 53${destination} -j REDIRECT --to-ports ${AGENT_DNS_PORT}`),
    ),
    ...destinations.map((destination) =>
      appendRule("nat", "ISTIO_OUTPUT_DNS", `-p udp --dport 53${destination} -j REDIRECT --to-port ${AGENT_DNS_PORT}`),
    ),
  ];
}

/**
 * Returns the rules that separate the agent's and the application's queries in conntrack, where they would collide:
 * both go to the same server and port over UDP. Zone 1 is the agent's, zone 2 the application's.
 */
export function dnsConntrackRules({ captureAllDns, proxyUid, proxyGid }: CaptureConfig, family: AddressFamily): Rule[] {
  const owners = [
    ...splitList(proxyUid).map((uid) => `--uid-owner ${uid}`),
    ...splitList(proxyGid).map((gid) => `--gid-owner ${gid}`),
  ];
  const servers = captureAllDns ? [undefined] : family.dnsServers;
  return [
    ...owners.flatMap((owner) => [
      appendRule("raw", "ISTIO_OUTPUT_DNS", `-p udp --dport 53 -m owner ${owner} -j CT --zone 1`),
      appendRule("raw", "ISTIO_OUTPUT_DNS", `-p udp --sport ${AGENT_DNS_PORT} -m owner ${owner} -j CT --zone 2`),
    ]),
    ...(servers.length > 0 ? [appendRule("raw", "PREROUTING", "-j ISTIO_INBOUND")] : []),
    ...servers.flatMap((server) => [
      appendRule("raw", "ISTIO_OUTPUT_DNS", `-p udp --dport 53${server ? ` -d ${server}` : ""} -j CT --zone 2`),
      appendRule("raw", "ISTIO_INBOUND", `-p udp --sport 53${server ? ` -s ${server}` : ""} -j CT --zone 1`),
    ]),
  ];
}
