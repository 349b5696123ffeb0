import { type CaptureConfig, PROXY_TO_PROXY_MARK } from "../capture-config.js";
import { appendNftRule, insertNftRule, type NftRule } from "./nft-rule.js";
import { type NftFamily, nftOwners } from "./nft-words.js";

/**
 * Returns the rules that mark connections, by which packets between a transparent proxy and the application are routed.
 */
export function nftTproxyMarkRules(config: CaptureConfig, families: readonly NftFamily[]): NftRule[] {
  const { tproxyMark: mark, proxyUid, proxyGid } = config;
  const output = (text: string): NftRule => appendNftRule("mangle", "output", text);
  const inbound = (index: number, text: string): NftRule => insertNftRule(index, "mangle", "istio-inbound", text);
  return [
    appendNftRule("mangle", "prerouting", `meta l4proto tcp mark ${mark} counter ct mark set mark`),
    output(`oifname lo meta l4proto tcp mark ${mark} counter return`),
    ...nftOwners(proxyUid, proxyGid).flatMap(({ key, name }) =>
      families.map(({ ip, loopback }) =>
        output(
          `oifname lo meta l4proto tcp ${ip} daddr != ${loopback} ${key} ${name} counter meta mark set ${PROXY_TO_PROXY_MARK}`,
        ),
      ),
    ),
    output(`meta l4proto tcp ct mark ${mark} counter meta mark set ct mark`),
    inbound(0, `meta l4proto tcp mark ${mark} counter return`),
    ...families.map(({ ip, passthroughSource }) =>
      inbound(1, `iifname lo meta l4proto tcp ${ip} saddr ${passthroughSource} counter return`),
    ),
    inbound(2, `iifname lo meta l4proto tcp mark != ${PROXY_TO_PROXY_MARK} counter return`),
  ];
}
