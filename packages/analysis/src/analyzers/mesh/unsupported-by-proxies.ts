import {
  gatewayKind,
  type GatewayObject,
  gateways,
  serviceEntries,
  serviceEntryKind,
  type ServiceEntryObject,
  virtualServiceKind,
  type VirtualServiceObject,
  virtualServices,
} from "@istiod/config-schema";
import { isPartialWildcard } from "@istiod/push-context";
import { isTls, parseProtocol } from "@istiod/service-discovery";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { productRules } from "./products.js";

export const unsupportedByProxiesAnalyzer: Analyzer = {
  name: "mesh.UnsupportedByProxiesAnalyzer",
  description:
    "Checks for parts that are left out of proxies' configuration, because proxies would reject it or would run out of memory",
  codes: ["MESH0020"],
  rules: [
    rule(gatewayKind, gateways, checkGateway),
    rule(virtualServiceKind, virtualServices, checkTlsRoutes),
    rule(serviceEntryKind, serviceEntries, checkTlsHosts),
    ...productRules,
  ],
};

function checkGateway({ spec }: GatewayObject, context: AnalysisContext): void {
  for (const [i, { tls, hosts }] of spec.servers.entries()) {
    if (tls === undefined) continue;
    for (const [j, host] of hosts.entries())
      checkSni(host.slice(host.indexOf("/") + 1), ["spec", "servers", i, "hosts", j], context);
    const named = [
      { name: tls.credentialName, path: ["credentialName"] },
      ...tls.credentialNames.map((name, j) => ({ name, path: ["credentialNames", j] })),
    ];
    for (const { name, path } of named.filter(({ name: credential }) => credential === "sds://"))
      context.report(
        "MESH0020",
        ["spec", "servers", i, "tls", ...path],
        `${name} names no secret, so no certificate is served and TLS handshakes fail; write sds:// with the name of a secret`,
      );
  }
}

function checkTlsRoutes({ spec }: VirtualServiceObject, context: AnalysisContext): void {
  for (const [i, { match }] of spec.tls.entries())
    for (const [j, { sniHosts }] of match.entries())
      for (const [k, host] of sniHosts.entries())
        checkSni(host, ["spec", "tls", i, "match", j, "sniHosts", k], context);
}

function checkTlsHosts({ spec }: ServiceEntryObject, context: AnalysisContext): void {
  if (!spec.ports.some(({ protocol }) => isTls(parseProtocol(protocol)))) return;
  for (const [i, host] of spec.hosts.entries()) checkSni(host, ["spec", "hosts", i], context);
}

function checkSni(host: string, path: readonly (string | number)[], { report }: AnalysisContext): void {
  if (!isPartialWildcard(host)) return;
  report(
    "MESH0020",
    path,
    `TLS connections to ${host} are not matched: proxies do not support an SNI whose wildcard is a part of a label; write *${host.slice(host.indexOf("."))}, or list the hosts`,
  );
}
