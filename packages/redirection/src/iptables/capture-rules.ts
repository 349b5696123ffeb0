import { addressFamily, type AddressFamily } from "../address-family.js";
import { type CaptureConfig, capturesDns, parseRanges, splitList } from "../capture-config.js";
import { dnsConntrackRules, dnsRedirectRules } from "./dns-rules.js";
import { inboundRules } from "./inbound-rules.js";
import { appendRule, insertRule, type Rule } from "./rule.js";
import { tproxyMarkRules } from "./tproxy-mark-rules.js";
import { validateCaptureConfig } from "../validation.js";

/**
 * Builds the rules that capture a pod's traffic, for one IP family. Chains, rules and their order are those of Istio's
 * `istio-iptables`.
 *
 * @throws RedirectionError `setting`
 */
export function buildCaptureRules(config: CaptureConfig, version: 4 | 6): Rule[] {
  validateCaptureConfig(config);
  if (version === 6 && !config.ipv6) return [];
  const family = addressFamily(config, version);
  const hasDns = capturesDns(config);
  return [
    ...excludedInterfaceRules(config),
    // Each rule is inserted before the previous one.
    ...splitList(config.virtualInterfaces).map((name) => insertRule(1, "nat", "PREROUTING", `-i ${name} -j RETURN`)),
    ...invalidPacketRules(config),
    appendRule("nat", "ISTIO_INBOUND", `-p tcp --dport ${config.inboundTunnelPort} -j RETURN`),
    appendRule("nat", "ISTIO_REDIRECT", `-p tcp -j REDIRECT --to-ports ${config.proxyPort}`),
    appendRule("nat", "ISTIO_IN_REDIRECT", `-p tcp -j REDIRECT --to-ports ${config.inboundCapturePort}`),
    ...inboundRules(config, family),
    appendRule("nat", "OUTPUT", "-j ISTIO_OUTPUT"),
    ...splitList(config.outboundPortsExclude).flatMap((port) =>
      ["tcp", "udp"].map((protocol) => appendRule("nat", "ISTIO_OUTPUT", `-p ${protocol} --dport ${port} -j RETURN`)),
    ),
    // The proxy's passthrough connections to the application.
    appendRule("nat", "ISTIO_OUTPUT", `-o lo -s ${family.passthroughSource} -j RETURN`),
    ...proxyTrafficRules(config, family, hasDns),
    ...ownerGroupRules(config),
    ...(hasDns ? [...dnsRedirectRules(config, family), ...dnsConntrackRules(config, family)] : []),
    appendRule("nat", "ISTIO_OUTPUT", `-d ${family.loopback} -j RETURN`),
    ...family
      .ranges(parseRanges(config.outboundRangesExclude))
      .map((range) => appendRule("nat", "ISTIO_OUTPUT", `-d ${range} -j RETURN`)),
    ...splitList(config.outboundPorts).map((port) =>
      appendRule("nat", "ISTIO_OUTPUT", `-p tcp --dport ${port} -j ISTIO_REDIRECT`),
    ),
    ...outboundRangeRules(config, family),
    ...(config.inboundMode === "TPROXY" ? tproxyMarkRules(config, family) : []),
  ];
}

function excludedInterfaceRules({ excludeInterfaces, inboundMode }: CaptureConfig): Rule[] {
  const tables = inboundMode === "TPROXY" ? (["nat", "mangle"] as const) : (["nat"] as const);
  return tables.flatMap((table) =>
    splitList(excludeInterfaces).flatMap((name) => [
      appendRule(table, "PREROUTING", `-i ${name} -j RETURN`),
      appendRule(table, "OUTPUT", `-o ${name} -j RETURN`),
    ]),
  );
}

function invalidPacketRules({ dropInvalid }: CaptureConfig): Rule[] {
  if (!dropInvalid) return [];
  return [
    appendRule("mangle", "PREROUTING", "-m conntrack --ctstate INVALID -j ISTIO_DROP"),
    appendRule("mangle", "ISTIO_DROP", "-j DROP"),
  ];
}

/**
 * Excludes the proxy's own traffic, except for calls of a pod to itself through its Service's address, which are
 * inbound as well.
 */
function proxyTrafficRules(config: CaptureConfig, { loopback }: AddressFamily, hasDns: boolean): Rule[] {
  const { proxyUid, proxyGid, inboundTunnelPort } = config;
  const capturesLoopback = parseRanges(config.outboundRanges).loopback;
  const appTraffic = hasDns ? "-o lo -p tcp ! --dport 53" : "-o lo";
  const ownerRules = (owner: string, ports: string): Rule[] => [
    appendRule("nat", "ISTIO_OUTPUT", `-o lo ! -d ${loopback} -p tcp ${ports} -m owner ${owner} -j ISTIO_IN_REDIRECT`),
    ...(capturesLoopback ? [] : [appendRule("nat", "ISTIO_OUTPUT", `${appTraffic} -m owner ! ${owner} -j RETURN`)]),
    appendRule("nat", "ISTIO_OUTPUT", `-m owner ${owner} -j RETURN`),
  ];
  const noTunnel = `! --dport ${inboundTunnelPort}`;
  const noTunnelOrDns = hasDns ? `-m multiport ! --dports 53,${inboundTunnelPort}` : noTunnel;
  return [
    ...splitList(proxyUid).flatMap((uid) => ownerRules(`--uid-owner ${uid}`, noTunnelOrDns)),
    ...splitList(proxyGid).flatMap((gid) => ownerRules(`--gid-owner ${gid}`, noTunnel)),
  ];
}

function ownerGroupRules({ ownerGroups, ownerGroupsExclude }: CaptureConfig): Rule[] {
  if (ownerGroups === "*")
    return splitList(ownerGroupsExclude).map((group) =>
      appendRule("nat", "ISTIO_OUTPUT", `-m owner --gid-owner ${group} -j RETURN`),
    );
  const otherGroups = splitList(ownerGroups).map((group) => `-m owner ! --gid-owner ${group}`);
  return [appendRule("nat", "ISTIO_OUTPUT", [...otherGroups, "-j RETURN"].join(" "))];
}

function outboundRangeRules(config: CaptureConfig, family: AddressFamily): Rule[] {
  const ranges = parseRanges(config.outboundRanges);
  const interfaces = splitList(config.virtualInterfaces);
  if (ranges.all)
    return [
      appendRule("nat", "ISTIO_OUTPUT", "-j ISTIO_REDIRECT"),
      ...interfaces.map((name) => insertRule(1, "nat", "PREROUTING", `-i ${name} -j ISTIO_REDIRECT`)),
    ];
  return family
    .ranges(ranges)
    .flatMap((range) => [
      ...interfaces.map((name) => insertRule(1, "nat", "PREROUTING", `-i ${name} -d ${range} -j ISTIO_REDIRECT`)),
      appendRule("nat", "ISTIO_OUTPUT", `-d ${range} -j ISTIO_REDIRECT`),
    ]);
}
