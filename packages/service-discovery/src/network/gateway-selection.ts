import { isIP } from "node:net";
import { collection, query } from "@istiod/incremental";
import type { NetworkGateway } from "../model/workload.js";
import { settings } from "../settings/features.js";
import { networkGateways } from "./gateways.js";

/** Resolved addresses of gateway hostnames, by hostname. An input that a DNS resolver outside of queries updates. */
export const resolvedHosts = collection<readonly string[]>("ResolvedHost");

/** Network gateways with hostnames replaced by their resolved addresses; unresolved ones are omitted. */
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

/**
 * Form of gateway addresses: unresolved for DNS clusters, which resolve hostnames themselves, or resolved to IP
 * addresses.
 */
export type GatewayForm = "unresolved" | "resolved";

const gatewaysInForm = query("gatewaysInForm", (q, form: GatewayForm): readonly NetworkGateway[] =>
  form === "resolved" ? q.call(resolvedNetworkGateways) : q.call(networkGateways),
);

/** Reports whether any network has a gateway. Otherwise networks of endpoints are irrelevant. */
export const hasNetworkGateways = query(
  "hasNetworkGateways",
  (q, form: GatewayForm): boolean => q.call(gatewaysInForm, form).length > 0,
);

/**
 * The gateways to endpoints of a network in a cluster: the cluster's own, else all of the network. Sorted by address.
 */
export const gatewaysTo = query(
  "gatewaysTo",
  (
    q,
    to: { readonly network: string; readonly cluster: string; readonly form: GatewayForm },
  ): readonly NetworkGateway[] => {
    const inNetwork = q.call(gatewaysInForm, to.form).filter(({ network }) => network === to.network);
    const inCluster = inNetwork.filter(({ cluster }) => cluster === to.cluster);
    return inCluster.length > 0 ? inCluster : inNetwork;
  },
);

/**
 * Factor that makes endpoint weights divisible by the number of gateways of any network or cluster: the least common
 * multiple of their numbers. At least 1.
 */
export const gatewayWeightScale = query("gatewayWeightScale", (q, form: GatewayForm): number => {
  const counts = new Map<string, number>();
  for (const { network, cluster } of q.call(gatewaysInForm, form)) {
    for (const group of [JSON.stringify([network]), JSON.stringify([network, cluster])])
      counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  return [...counts.values()].reduce((a, b) => (a / greatestCommonDivisor(a, b)) * b, 1);
});

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
