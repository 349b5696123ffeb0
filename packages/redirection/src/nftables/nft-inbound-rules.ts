import type { CaptureConfig } from "../capture-config.js";
import { appendNftRule, type NftRule } from "./nft-rule.js";
import { type NftFamily, nftPorts } from "./nft-words.js";

/** Returns the rules that redirect inbound connections to the proxy, by NAT or by TPROXY. */
export function nftInboundRules(config: CaptureConfig, families: readonly NftFamily[]): NftRule[] {
  const { inboundPorts, inboundPortsExclude, inboundMode } = config;
  if (inboundPorts === "") return [];
  const isTproxy = inboundMode === "TPROXY";
  const table = isTproxy ? "mangle" : "nat";
  const ports = inboundPorts === "*" ? [""] : nftPorts(inboundPorts).map((port) => ` tcp dport ${port}`);
  return [
    ...(isTproxy ? tproxyChains(config, families) : []),
    appendNftRule(table, "prerouting", "meta l4proto tcp counter jump istio-inbound"),
    ...(inboundPorts === "*" ? nftPorts(inboundPortsExclude) : []).map((port) =>
      appendNftRule(table, "istio-inbound", `meta l4proto tcp tcp dport ${port} counter return`),
    ),
    ...ports.flatMap((port) => (isTproxy ? tproxyPortRules(port) : natPortRules(port))),
  ];
}

function tproxyChains({ tproxyMark, inboundCapturePort }: CaptureConfig, families: readonly NftFamily[]): NftRule[] {
  return [
    appendNftRule("mangle", "istio-divert", `counter meta mark set ${tproxyMark}`),
    appendNftRule("mangle", "istio-divert", "counter accept"),
    ...families.map(({ ip, loopback }) =>
      appendNftRule(
        "mangle",
        "istio-tproxy",
        `meta l4proto tcp ${ip} daddr != ${loopback} tproxy ${ip} to :${inboundCapturePort} meta mark set ${tproxyMark} counter accept`,
      ),
    ),
  ];
}

function tproxyPortRules(port: string): NftRule[] {
  return [
    appendNftRule(
      "mangle",
      "istio-inbound",
      `meta l4proto tcp ct state related,established${port} counter jump istio-divert`,
    ),
    appendNftRule("mangle", "istio-inbound", `meta l4proto tcp${port} counter jump istio-tproxy`),
  ];
}

function natPortRules(port: string): NftRule[] {
  return [appendNftRule("nat", "istio-inbound", `meta l4proto tcp${port} counter jump istio-in-redirect`)];
}
