import { type Capture, checkCapture, listed, rangesOf } from "./capture.js";
import { dnsConnectionZones, dnsRedirection } from "./dns-rules.js";
import { familyOf, type Family } from "./family.js";
import { type Rule, rule, ruleAt } from "./rule.js";

/**
 * The rules that capture a pod's traffic, for one family of addresses, in the order in which they are made. Chains,
 * rules and their order are those of Istio's `istio-iptables`.
 *
 * @throws RedirectionError `setting`
 */
export function captureRules(capture: Capture, version: 4 | 6): Rule[] {
  checkCapture(capture);
  if (version === 6 && !capture.ipv6) return [];
  const family = familyOf(capture, version);
  const captureDns = capture.redirectDns && (capture.captureAllDns || capture.dnsServers.length > 0);
  return [
    ...excludedInterfaces(capture),
    // Each is put before the last.
    ...listed(capture.virtualInterfaces).map((name) => ruleAt(1, "nat", "PREROUTING", `-i ${name} -j RETURN`)),
    ...(capture.dropInvalid
      ? [
          rule("mangle", "PREROUTING", "-m conntrack --ctstate INVALID -j ISTIO_DROP"),
          rule("mangle", "ISTIO_DROP", "-j DROP"),
        ]
      : []),
    rule("nat", "ISTIO_INBOUND", `-p tcp --dport ${capture.inboundTunnelPort} -j RETURN`),
    rule("nat", "ISTIO_REDIRECT", `-p tcp -j REDIRECT --to-ports ${capture.proxyPort}`),
    rule("nat", "ISTIO_IN_REDIRECT", `-p tcp -j REDIRECT --to-ports ${capture.inboundCapturePort}`),
    ...inbound(capture, family),
    rule("nat", "OUTPUT", "-j ISTIO_OUTPUT"),
    ...listed(capture.outboundPortsExclude).flatMap((port) =>
      ["tcp", "udp"].map((protocol) => rule("nat", "ISTIO_OUTPUT", `-p ${protocol} --dport ${port} -j RETURN`)),
    ),
    // The proxy's own connections to the application, where nothing says to which port of it.
    rule("nat", "ISTIO_OUTPUT", `-o lo -s ${family.passthroughSource} -j RETURN`),
    ...listed(capture.proxyUid).flatMap((uid) =>
      proxyOwned(
        capture,
        family,
        `--uid-owner ${uid}`,
        captureDns,
        captureDns ? `-m multiport ! --dports 53,${capture.inboundTunnelPort}` : undefined,
      ),
    ),
    ...listed(capture.proxyGid).flatMap((gid) =>
      proxyOwned(capture, family, `--gid-owner ${gid}`, captureDns, undefined),
    ),
    ...ownerGroups(capture),
    ...(captureDns ? [...dnsRedirection(capture, family), ...dnsConnectionZones(capture, family)] : []),
    rule("nat", "ISTIO_OUTPUT", `-d ${family.loopback} -j RETURN`),
    ...family
      .ranges(rangesOf(capture.outboundRangesExclude))
      .map((range) => rule("nat", "ISTIO_OUTPUT", `-d ${range} -j RETURN`)),
    ...listed(capture.outboundPorts).map((port) =>
      rule("nat", "ISTIO_OUTPUT", `-p tcp --dport ${port} -j ISTIO_REDIRECT`),
    ),
    ...outbound(capture, family),
    ...(capture.inboundMode === "TPROXY" ? marks(capture, family) : []),
  ];
}

function excludedInterfaces({ excludeInterfaces, inboundMode }: Capture): Rule[] {
  const tables = inboundMode === "TPROXY" ? (["nat", "mangle"] as const) : (["nat"] as const);
  return tables.flatMap((table) =>
    listed(excludeInterfaces).flatMap((name) => [
      rule(table, "PREROUTING", `-i ${name} -j RETURN`),
      rule(table, "OUTPUT", `-o ${name} -j RETURN`),
    ]),
  );
}

function inbound(capture: Capture, { loopback }: Family): Rule[] {
  const { inboundPorts, inboundPortsExclude, inboundMode, tproxyMark, inboundCapturePort } = capture;
  if (inboundPorts === "") return [];
  const transparent = inboundMode === "TPROXY";
  const table = transparent ? "mangle" : "nat";
  const ports = inboundPorts === "*" ? [""] : listed(inboundPorts).map((port) => ` --dport ${port}`);
  return [
    ...(transparent
      ? [
          rule("mangle", "ISTIO_DIVERT", `-j MARK --set-mark ${tproxyMark}`),
          rule("mangle", "ISTIO_DIVERT", "-j ACCEPT"),
          rule(
            "mangle",
            "ISTIO_TPROXY",
            `! -d ${loopback} -p tcp -j TPROXY --tproxy-mark ${tproxyMark}/0xffffffff --on-port ${inboundCapturePort}`,
          ),
        ]
      : []),
    rule(table, "PREROUTING", "-p tcp -j ISTIO_INBOUND"),
    ...(inboundPorts === "*" ? listed(inboundPortsExclude) : []).map((port) =>
      rule(table, "ISTIO_INBOUND", `-p tcp --dport ${port} -j RETURN`),
    ),
    ...ports.flatMap((port) =>
      transparent
        ? [
            rule("mangle", "ISTIO_INBOUND", `-p tcp${port} -m conntrack --ctstate RELATED,ESTABLISHED -j ISTIO_DIVERT`),
            rule("mangle", "ISTIO_INBOUND", `-p tcp${port} -j ISTIO_TPROXY`),
          ]
        : [rule("nat", "ISTIO_INBOUND", `-p tcp${port} -j ISTIO_IN_REDIRECT`)],
    ),
  ];
}

/**
 * The proxy's own traffic is left alone, but for calls of a pod to itself by its service's address, which are inbound
 * too.
 */
function proxyOwned(
  capture: Capture,
  { loopback }: Family,
  owner: string,
  captureDns: boolean,
  ports: string | undefined,
): Rule[] {
  const toSelf = ports ?? `! --dport ${capture.inboundTunnelPort}`;
  const own = captureDns ? "-o lo -p tcp ! --dport 53" : "-o lo";
  return [
    rule("nat", "ISTIO_OUTPUT", `-o lo ! -d ${loopback} -p tcp ${toSelf} -m owner ${owner} -j ISTIO_IN_REDIRECT`),
    ...(rangesOf(capture.outboundRanges).loopback
      ? []
      : [rule("nat", "ISTIO_OUTPUT", `${own} -m owner ! ${owner} -j RETURN`)]),
    rule("nat", "ISTIO_OUTPUT", `-m owner ${owner} -j RETURN`),
  ];
}

function ownerGroups({ ownerGroups, ownerGroupsExclude }: Capture): Rule[] {
  if (ownerGroups === "*")
    return listed(ownerGroupsExclude).map((group) =>
      rule("nat", "ISTIO_OUTPUT", `-m owner --gid-owner ${group} -j RETURN`),
    );
  return [
    rule(
      "nat",
      "ISTIO_OUTPUT",
      [...listed(ownerGroups).map((group) => `-m owner ! --gid-owner ${group}`), "-j RETURN"].join(" "),
    ),
  ];
}

function outbound(capture: Capture, family: Family): Rule[] {
  const ranges = rangesOf(capture.outboundRanges);
  const interfaces = listed(capture.virtualInterfaces);
  if (ranges.all)
    return [
      rule("nat", "ISTIO_OUTPUT", "-j ISTIO_REDIRECT"),
      ...interfaces.map((name) => ruleAt(1, "nat", "PREROUTING", `-i ${name} -j ISTIO_REDIRECT`)),
    ];
  return family
    .ranges(ranges)
    .flatMap((range) => [
      ...interfaces.map((name) => ruleAt(1, "nat", "PREROUTING", `-i ${name} -d ${range} -j ISTIO_REDIRECT`)),
      rule("nat", "ISTIO_OUTPUT", `-d ${range} -j ISTIO_REDIRECT`),
    ]);
}

/** Marks what the proxy sends to itself, so that it is not told from what the proxy sends to the application. */
const toSelfMark = "1338";

/** By marks, packets between a transparent proxy and its application find their way. */
function marks({ tproxyMark: mark, proxyUid, proxyGid }: Capture, { loopback, passthroughSource }: Family): Rule[] {
  const owners = [
    ...listed(proxyUid).map((uid) => `--uid-owner ${uid}`),
    ...listed(proxyGid).map((gid) => `--gid-owner ${gid}`),
  ];
  return [
    rule("mangle", "PREROUTING", `-p tcp -m mark --mark ${mark} -j CONNMARK --save-mark`),
    rule("mangle", "OUTPUT", `-p tcp -o lo -m mark --mark ${mark} -j RETURN`),
    ...owners.map((owner) =>
      rule("mangle", "OUTPUT", `! -d ${loopback} -p tcp -o lo -m owner ${owner} -j MARK --set-mark ${toSelfMark}`),
    ),
    rule("mangle", "OUTPUT", `-p tcp -m connmark --mark ${mark} -j CONNMARK --restore-mark`),
    ruleAt(1, "mangle", "ISTIO_INBOUND", `-p tcp -m mark --mark ${mark} -j RETURN`),
    ruleAt(2, "mangle", "ISTIO_INBOUND", `-p tcp -s ${passthroughSource} -i lo -j RETURN`),
    ruleAt(3, "mangle", "ISTIO_INBOUND", `-p tcp -i lo -m mark ! --mark ${toSelfMark} -j RETURN`),
  ];
}
