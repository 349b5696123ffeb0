import { isIP } from "node:net";
import { collection, query } from "@istiod/incremental";
import type { NetworkGateway } from "../model/workload.js";
import { settings } from "../settings/environment.js";
import { networkGateways } from "./gateways.js";

/** Addresses that host names of gateways resolve to, by name: an input, kept up to date by whoever resolves names. */
export const resolvedHosts = collection<readonly string[]>("ResolvedHost");

/**
 * Gateways with IP addresses only: host names are replaced by what they resolve to, and left out while that is unknown.
 */
const resolvedNetworkGateways = query("resolvedNetworkGateways", (q): readonly NetworkGateway[] => {
  const resolves = settings.resolveHostnameGateways(q);
  return q
    .call(networkGateways)
    .flatMap((gateway) => {
      if (isIP(gateway.address) !== 0) return [gateway];
      return resolves ? (q.read(resolvedHosts, gateway.address) ?? []).map((address) => ({ ...gateway, address })) : [];
    })
    .sort((a, b) => (a.address < b.address ? -1 : a.address > b.address ? 1 : a.port - b.port));
});

/** Whether gateways are given as they are stated (for DNS clusters, which resolve names) or by IP. */
export type GatewayForm = "stated" | "resolved";

const gatewaysIn = query("gatewaysIn", (q, form: GatewayForm): readonly NetworkGateway[] =>
  form === "resolved" ? q.call(resolvedNetworkGateways) : q.call(networkGateways),
);

/** Whether any network has a gateway, so that it matters which network an endpoint is in. */
export const hasNetworkGateways = query(
  "hasNetworkGateways",
  (q, form: GatewayForm): boolean => q.call(gatewaysIn, form).length > 0,
);

/**
 * The gateways that lead to endpoints of a network in a cluster: that cluster's own, else all of the network. Sorted by
 * address.
 */
export const gatewaysTo = query(
  "gatewaysTo",
  (
    q,
    to: { readonly network: string; readonly cluster: string; readonly form: GatewayForm },
  ): readonly NetworkGateway[] => {
    const ofNetwork = q.call(gatewaysIn, to.form).filter(({ network }) => network === to.network);
    const ofCluster = ofNetwork.filter(({ cluster }) => cluster === to.cluster);
    return ofCluster.length > 0 ? ofCluster : ofNetwork;
  },
);

/**
 * A factor by which weights must be multiplied to be divisible among any network's or cluster's gateways: the least
 * common multiple of their numbers. At least 1.
 */
export const gatewayWeightScale = query("gatewayWeightScale", (q, form: GatewayForm): number => {
  const counts = new Map<string, number>();
  for (const { network, cluster } of q.call(gatewaysIn, form)) {
    for (const group of [JSON.stringify([network]), JSON.stringify([network, cluster])])
      counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  return [...counts.values()].reduce((a, b) => (a / divisor(a, b)) * b, 1);
});

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}
