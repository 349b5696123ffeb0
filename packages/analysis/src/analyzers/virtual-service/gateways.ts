import {
  gateways,
  kubernetesGateways,
  virtualServiceKind,
  type VirtualServiceObject,
  virtualServices,
} from "@istiod/config-schema";
import { gatewayApiSuffix } from "@istiod/gateway-api";
import { nearestNames } from "@istiod/settings";
import { query, type QueryContext } from "@istiod/incremental";
import { explicitHosts, hostsForNamespace, hostsOverlap, meshGateway } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { listNames, quotedNearest } from "../../suggestions.js";

export const gatewayAnalyzer: Analyzer = {
  name: "virtualservice.GatewayAnalyzer",
  description: "Checks that the gateways of VirtualServices exist and have one of their hosts",
  codes: ["IST0101", "IST0132", "IST0165", "MESH0042"],
  rules: [rule(virtualServiceKind, virtualServices, checkGateways)],
};

/** Part of the names of the Gateways that istiod generates for Gateways of the Gateway API. */
const internalInfix = `~${gatewayApiSuffix}~`;

function checkGateways({ namespace, spec }: VirtualServiceObject, { q, report }: AnalysisContext): void {
  for (const [i, name] of spec.gateways.entries()) {
    if (name === meshGateway) continue;
    const path = ["spec", "gateways", i];
    if (name.slice(name.indexOf("/") + 1).includes(internalInfix)) {
      report(
        "IST0165",
        path,
        `gateway ${JSON.stringify(name)} is internal: istiod generates it from a Gateway of the Gateway API, which an HTTPRoute attaches to`,
      );
      continue;
    }
    const key = gatewayKey(name, namespace);
    const hosts = q.call(hostsOfGateway, key);
    if (hosts === undefined)
      report(
        "IST0101",
        path,
        `referenced gateway ${JSON.stringify(name)} not found: there is no Gateway ${key}${nearestGateways(q, name, namespace)}`,
      );
    else if (q.read(gateways, key) === undefined)
      report(
        "MESH0042",
        path,
        `the routes have no effect at gateway ${JSON.stringify(name)}: it is a Gateway of the Gateway API, to which VirtualServices do not attach; write an HTTPRoute`,
      );
    const served = q.call(servedHosts, { key, namespace });
    if (spec.hosts.some((host) => served.has(host))) continue;
    if (spec.hosts.some((host) => [...served].some((pattern) => hostsOverlap(pattern, host)))) continue;
    const offered =
      hosts === undefined ? "which does not exist" : `which has ${hosts.length === 0 ? "no hosts" : listNames(hosts)}`;
    report(
      "IST0132",
      path,
      `none of the hosts ${JSON.stringify(spec.hosts)} is found in gateway ${JSON.stringify(key)}, ${offered}; add one to a server of the gateway`,
    );
  }
}

/** Returns `namespace/name` of a gateway other than `mesh`. */
export function gatewayKey(name: string, namespace: string): string {
  return name.includes("/") ? name : `${namespace}/${name}`;
}

/**
 * The hosts of a gateway's servers, prefixed with `namespace/` if they are for one, or of its listeners if it is a
 * Gateway of the Gateway API; undefined if there is no such gateway.
 */
const hostsOfGateway = query("hostsOfGateway", (q, key: string): readonly string[] | undefined => {
  const gateway = q.read(gateways, key);
  if (gateway !== undefined)
    return gateway.spec.servers.flatMap(({ hosts }) => explicitHosts(hosts, gateway.namespace));
  const listeners = q.read(kubernetesGateways, key)?.spec.listeners;
  return listeners?.map(({ hostname = "*" }) => hostname);
});

/** The hosts of a gateway's servers for VirtualServices of a namespace. */
const servedHosts = query(
  "servedHostsOfGateway",
  (q, { key, namespace }: { readonly key: string; readonly namespace: string }): ReadonlySet<string> =>
    new Set(hostsForNamespace(q.call(hostsOfGateway, key) ?? [], namespace)),
);

function nearestGateways(q: QueryContext, name: string, namespace: string): string {
  const own = q
    .keys(gateways)
    .filter((key) => key.startsWith(`${namespace}/`))
    .map((key) => key.slice(namespace.length + 1));
  return quotedNearest(nearestNames(name, name.includes("/") ? q.keys(gateways) : [...own, ...q.keys(gateways)]));
}
