import type { QueryContext } from "@istiod/incremental";
import {
  type BoundServer,
  chainExtensions,
  destinationRuleFor,
  isSubsetOfHost,
  scopedService,
  scopeOf,
  scopeServices,
  servedSubsets,
} from "@istiod/push-context";
import { allExtensions, networkExtensionFilters } from "../../extensions/extension-filters.js";
import { sniDnatClusterName } from "../../resource-names.js";
import { tcpStatsFilters } from "../../telemetry/stats-filters.js";
import { outboundStatPrefix, type TcpProxyPlan } from "../tcp/tcp-proxy-plan.js";
import { tcpProxyFromPlan, terminalFilters } from "../tcp/tcp-proxy.js";
import { type GatewayChain, serverSource } from "./gateway-chain.js";

/**
 * Returns a chain for each service and subset that matches the server's hosts, by the SNI of mesh peers. Only mutual
 * TLS matches and only endpoints with mutual TLS are sent, so nothing is reachable without it. Policies are enforced by
 * the workload.
 */
export function autoPassthroughChains(q: QueryContext, server: BoundServer): readonly GatewayChain[] {
  return q.call(scopeServices, scopeOf(q)).flatMap((scoped) => {
    const service = q.call(scopedService, scoped);
    if (
      service === undefined ||
      service.meshExternal ||
      !server.sniHosts.some((host) => isSubsetOfHost(service.hostname, host))
    )
      return [];
    const rule = { host: service.hostname, serviceNamespace: service.namespace };
    const ports = service.ports.filter(({ protocol }) => protocol !== "UDP");
    const { reasonWithoutClusters, served } = servedSubsets(
      q,
      { ports: ports.length, namespace: service.namespace },
      q.call(destinationRuleFor, rule),
    );
    if (reasonWithoutClusters !== undefined) return [];
    const subsets = ["", ...served.map(({ name }) => name)];
    return ports.flatMap((port) => {
      return subsets.map((subset): GatewayChain => {
        const name = sniDnatClusterName(service.hostname, port.number, subset);
        const plan: TcpProxyPlan = {
          statPrefix: outboundStatPrefix(q, name, service, port, subset),
          clusters: [{ name, weight: 0 }],
          subset,
          rule,
          hashTargets: [{ ...rule, port: port.number, subset }],
          tunnels: false,
          protocol: port.protocol,
          port: port.number,
        };
        const extensions = chainExtensions(q, { type: "network", listener: "gateway", port: port.number });
        const filters = [
          ...networkExtensionFilters(allExtensions(extensions)),
          ...tcpStatsFilters(q, "gateway"),
          ...terminalFilters(q, tcpProxyFromPlan(q, "gateway", plan), plan.protocol),
        ];
        return {
          match: { sniHosts: [name], applicationProtocols: meshAlpn },
          sources: [serverSource(server)],
          filters: () => filters,
        };
      });
    });
  });
}

/** ALPN protocols of the mesh's mutual TLS. */
const meshAlpn = ["istio", "istio-peer-exchange", "istio-http/1.0", "istio-http/1.1", "istio-h2"];
