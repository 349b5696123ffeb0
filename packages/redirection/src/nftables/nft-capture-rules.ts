import { type CaptureConfig, capturesDns, parseRanges } from "../capture-config.js";
import { validateCaptureConfig } from "../validation.js";
import { nftDnsConntrackRules, nftDnsRedirectRules } from "./nft-dns-rules.js";
import { nftInboundRules } from "./nft-inbound-rules.js";
import { appendNftRule, insertNftRule, type NftRule } from "./nft-rule.js";
import { nftTproxyMarkRules } from "./nft-tproxy-mark-rules.js";
import { type NftFamily, nftFamilies, nftInterfaces, nftOwners, nftPorts } from "./nft-words.js";

/**
 * Builds the nftables rules that capture a pod's traffic, for IPv4 and, if the configuration says so, IPv6. Chains,
 * rules and their order are those of Istio's `istio-iptables --native-nftables`.
 *
 * @throws RedirectionError `setting`
 */
export function buildNftCaptureRules(config: CaptureConfig): NftRule[] {
  validateCaptureConfig(config);
  const families = nftFamilies(config);
  return [
    ...excludedInterfaceRules(config),
    // Each rule is inserted before the previous one.
    ...nftInterfaces(config.virtualInterfaces).map((name) =>
      insertNftRule(0, "nat", "prerouting", `iifname ${name} counter return`),
    ),
    ...(config.dropInvalid ? invalidPacketRules : []),
    appendNftRule("nat", "istio-inbound", `meta l4proto tcp tcp dport ${tunnelPort(config)} counter return`),
    appendNftRule("nat", "istio-redirect", `meta l4proto tcp counter redirect to :${config.proxyPort}`),
    appendNftRule("nat", "istio-in-redirect", `meta l4proto tcp counter redirect to :${config.inboundCapturePort}`),
    ...nftInboundRules(config, families),
    appendNftRule("nat", "output", "counter jump istio-output"),
    ...nftPorts(config.outboundPortsExclude).flatMap((port) =>
      ["tcp", "udp"].map((protocol) => outputRule(`${protocol} dport ${port} counter return`)),
    ),
    // The proxy's passthrough connections to the application.
    ...families.map(({ ip, passthroughSource }) =>
      outputRule(`oifname lo ${ip} saddr ${passthroughSource} counter return`),
    ),
    ...proxyTrafficRules(config, families),
    ...ownerGroupRules(config),
    ...(capturesDns(config)
      ? [...nftDnsRedirectRules(config, families), ...nftDnsConntrackRules(config, families)]
      : []),
    ...families.map(({ ip, loopback }) => outputRule(`${ip} daddr ${loopback} counter return`)),
    ...families.flatMap((family) =>
      family
        .ranges(parseRanges(config.outboundRangesExclude))
        .map((range) => outputRule(`${family.ip} daddr ${range} counter return`)),
    ),
    ...nftPorts(config.outboundPorts).map((port) => outputRule(`tcp dport ${port} counter jump istio-redirect`)),
    ...outboundRangeRules(config, families),
    ...(config.inboundMode === "TPROXY" ? nftTproxyMarkRules(config, families) : []),
  ];
}

function outputRule(text: string): NftRule {
  return appendNftRule("nat", "istio-output", text);
}

function tunnelPort({ inboundTunnelPort }: CaptureConfig): string {
  return nftPorts(inboundTunnelPort).join();
}

function excludedInterfaceRules({ excludeInterfaces, inboundMode }: CaptureConfig): NftRule[] {
  const tables = inboundMode === "TPROXY" ? (["nat", "mangle"] as const) : (["nat"] as const);
  return tables.flatMap((table) =>
    nftInterfaces(excludeInterfaces).flatMap((name) => [
      appendNftRule(table, "prerouting", `iifname ${name} counter return`),
      appendNftRule(table, "output", `oifname ${name} counter return`),
    ]),
  );
}

const invalidPacketRules: readonly NftRule[] = [
  appendNftRule("mangle", "prerouting", "meta l4proto tcp ct state invalid counter jump istio-drop"),
  appendNftRule("mangle", "istio-drop", "counter drop"),
];

/**
 * Excludes the proxy's own traffic, except for calls of a pod to itself through its Service's address, which are
 * inbound as well.
 */
function proxyTrafficRules(config: CaptureConfig, families: readonly NftFamily[]): NftRule[] {
  const hasDns = capturesDns(config);
  const capturesLoopback = parseRanges(config.outboundRanges).loopback;
  const appTraffic = hasDns ? "oifname lo meta l4proto tcp tcp dport != 53" : "oifname lo";
  const port = tunnelPort(config);
  return nftOwners(config.proxyUid, config.proxyGid).flatMap(({ key, name }) => {
    const ports = hasDns && key === "skuid" ? `{ 53, ${port} }` : port;
    return [
      ...families.map(({ ip, loopback }) =>
        outputRule(
          `oifname lo meta l4proto tcp ${ip} daddr != ${loopback} tcp dport != ${ports} ${key} ${name} counter jump istio-in-redirect`,
        ),
      ),
      ...(capturesLoopback ? [] : [outputRule(`${appTraffic} ${key} != ${name} counter return`)]),
      outputRule(`${key} ${name} counter return`),
    ];
  });
}

function ownerGroupRules({ ownerGroups, ownerGroupsExclude }: CaptureConfig): NftRule[] {
  if (ownerGroups === "*")
    return nftOwners("", ownerGroupsExclude).map(({ name }) => outputRule(`skgid ${name} counter return`));
  const otherGroups = nftOwners("", ownerGroups).map(({ name }) => `skgid != ${name}`);
  return [outputRule([...otherGroups, "counter return"].join(" "))];
}

function outboundRangeRules(config: CaptureConfig, families: readonly NftFamily[]): NftRule[] {
  const ranges = parseRanges(config.outboundRanges);
  const fromInterfaces = (match: string): NftRule[] =>
    nftInterfaces(config.virtualInterfaces).map((name) =>
      insertNftRule(0, "nat", "prerouting", `iifname ${name} ${match}counter jump istio-redirect`),
    );
  if (ranges.all) return [outputRule("counter jump istio-redirect"), ...fromInterfaces("")];
  return families.flatMap((family) =>
    family
      .ranges(ranges)
      .map((range) => `${family.ip} daddr ${range} `)
      .flatMap((match) => [...fromInterfaces(match), outputRule(`${match}counter jump istio-redirect`)]),
  );
}
