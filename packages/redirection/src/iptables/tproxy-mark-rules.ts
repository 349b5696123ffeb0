import type { AddressFamily } from "../address-family.js";
import { type CaptureConfig, PROXY_TO_PROXY_MARK, splitList } from "../capture-config.js";
import { appendRule, insertRule, type Rule } from "./rule.js";

/**
 * Returns the rules that mark connections, by which packets between a transparent proxy and the application are routed.
 */
export function tproxyMarkRules(config: CaptureConfig, { loopback, passthroughSource }: AddressFamily): Rule[] {
  const { tproxyMark: mark, proxyUid, proxyGid } = config;
  const owners = [
    ...splitList(proxyUid).map((uid) => `--uid-owner ${uid}`),
    ...splitList(proxyGid).map((gid) => `--gid-owner ${gid}`),
  ];
  return [
    appendRule("mangle", "PREROUTING", `-p tcp -m mark --mark ${mark} -j CONNMARK --save-mark`),
    appendRule("mangle", "OUTPUT", `-p tcp -o lo -m mark --mark ${mark} -j RETURN`),
    ...owners.map((owner) =>
      appendRule(
        "mangle",
        "OUTPUT",
        `! -d ${loopback} -p tcp -o lo -m owner ${owner} -j MARK --set-mark ${PROXY_TO_PROXY_MARK}`,
      ),
    ),
    appendRule("mangle", "OUTPUT", `-p tcp -m connmark --mark ${mark} -j CONNMARK --restore-mark`),
    insertRule(1, "mangle", "ISTIO_INBOUND", `-p tcp -m mark --mark ${mark} -j RETURN`),
    insertRule(2, "mangle", "ISTIO_INBOUND", `-p tcp -s ${passthroughSource} -i lo -j RETURN`),
    insertRule(3, "mangle", "ISTIO_INBOUND", `-p tcp -i lo -m mark ! --mark ${PROXY_TO_PROXY_MARK} -j RETURN`),
  ];
}
