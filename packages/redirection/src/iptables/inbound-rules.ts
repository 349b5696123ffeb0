import type { AddressFamily } from "../address-family.js";
import { type CaptureConfig, splitList } from "../capture-config.js";
import { appendRule, type Rule } from "./rule.js";

/** Returns the rules that redirect inbound connections to the proxy, by NAT or by TPROXY. */
export function inboundRules(config: CaptureConfig, family: AddressFamily): Rule[] {
  const { inboundPorts, inboundPortsExclude, inboundMode } = config;
  if (inboundPorts === "") return [];
  const isTproxy = inboundMode === "TPROXY";
  const table = isTproxy ? "mangle" : "nat";
  const ports = inboundPorts === "*" ? [""] : splitList(inboundPorts).map((port) => ` --dport ${port}`);
  return [
    ...(isTproxy ? tproxyChains(config, family) : []),
    appendRule(table, "PREROUTING", "-p tcp -j ISTIO_INBOUND"),
    ...(inboundPorts === "*" ? splitList(inboundPortsExclude) : []).map((port) =>
      appendRule(table, "ISTIO_INBOUND", `-p tcp --dport ${port} -j RETURN`),
    ),
    ...ports.flatMap((port) => (isTproxy ? tproxyPortRules(port) : natPortRules(port))),
  ];
}

function tproxyChains({ tproxyMark, inboundCapturePort }: CaptureConfig, { loopback }: AddressFamily): Rule[] {
  return [
    appendRule("mangle", "ISTIO_DIVERT", `-j MARK --set-mark ${tproxyMark}`),
    appendRule("mangle", "ISTIO_DIVERT", "-j ACCEPT"),
    appendRule(
      "mangle",
      "ISTIO_TPROXY",
      `! -d ${loopback} -p tcp -j TPROXY --tproxy-mark ${tproxyMark}/0xffffffff --on-port ${inboundCapturePort}`,
    ),
  ];
}

function tproxyPortRules(port: string): Rule[] {
  return [
    appendRule("mangle", "ISTIO_INBOUND", `-p tcp${port} -m conntrack --ctstate RELATED,ESTABLISHED -j ISTIO_DIVERT`),
    appendRule("mangle", "ISTIO_INBOUND", `-p tcp${port} -j ISTIO_TPROXY`),
  ];
}

function natPortRules(port: string): Rule[] {
  return [appendRule("nat", "ISTIO_INBOUND", `-p tcp${port} -j ISTIO_IN_REDIRECT`)];
}
