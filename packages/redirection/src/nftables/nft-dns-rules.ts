import { AGENT_DNS_PORT, type CaptureConfig } from "../capture-config.js";
import { appendNftRule, type NftRule } from "./nft-rule.js";
import { type NftFamily, nftOwners } from "./nft-words.js";

/** Returns the rules that redirect DNS queries to the agent. */
export function nftDnsRedirectRules({ captureAllDns }: CaptureConfig, families: readonly NftFamily[]): NftRule[] {
  const servers = families.flatMap(({ ip, dnsServers }) => dnsServers.map((server) => `${ip} daddr ${server} `));
  const redirect = (match: string): NftRule =>
    appendNftRule("nat", "istio-output-dns", `${match} dport 53 counter redirect to :${AGENT_DNS_PORT}`);
  return [
    appendNftRule("raw", "output", "counter jump istio-output-dns"),
    ...(captureAllDns || servers.length > 0
      ? [appendNftRule("nat", "istio-output", "counter jump istio-output-dns")]
      : []),
    ...(captureAllDns
      ? ["meta l4proto tcp tcp", "udp"]
      : ["tcp", "udp"].flatMap((protocol) => servers.map((server) => `${server}${protocol}`))
    ).map(redirect),
  ];
}

/**
 * Returns the rules that separate the agent's and the application's queries in conntrack, where they would collide:
 * both go to the same server and port over UDP. Zone 1 is the agent's, zone 2 the application's.
 */
export function nftDnsConntrackRules(
  { captureAllDns, proxyUid, proxyGid }: CaptureConfig,
  families: readonly NftFamily[],
): NftRule[] {
  const servers = captureAllDns
    ? [{ query: "", response: "" }]
    : families.flatMap(({ ip, dnsServers }) =>
        dnsServers.map((server) => ({ query: ` ${ip} daddr ${server}`, response: ` ${ip} saddr ${server}` })),
      );
  return [
    ...nftOwners(proxyUid, proxyGid).flatMap(({ key, name }) => [
      zoneRule("istio-output-dns", `udp dport 53 meta ${key} ${name}`, 1),
      zoneRule("istio-output-dns", `udp sport ${AGENT_DNS_PORT} meta ${key} ${name}`, 2),
    ]),
    ...(servers.length > 0 ? [appendNftRule("raw", "prerouting", "counter jump istio-inbound")] : []),
    ...servers.flatMap(({ query, response }) => [
      zoneRule("istio-output-dns", `udp dport 53${query}`, 2),
      zoneRule("istio-inbound", `udp sport 53${response}`, 1),
    ]),
  ];
}

function zoneRule(chain: string, match: string, zone: 1 | 2): NftRule {
  return appendNftRule("raw", chain, `${match} counter ct zone set ${zone}`);
}
