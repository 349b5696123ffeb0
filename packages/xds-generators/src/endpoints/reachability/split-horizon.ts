import { isIPv4, isIPv6 } from "node:net";
import type { QueryContext } from "@istiod/incremental";
import { ipMode, network, proxyType, supportsIPv4, supportsIPv6 } from "@istiod/push-context";
import {
  type GatewayForm,
  gatewaysTo,
  gatewayWeightScale,
  hasNetworkGateways,
  ISTIO_MUTUAL_TLS_MODE,
  type NetworkGateway,
  withTopology,
} from "@istiod/service-discovery";
import { type LocalityGroup, maxWeight, type Member, totalWeight } from "../locality/locality-group.js";
import { transportSocketMatch } from "./endpoint-metadata.js";
import { gatewayEndpoint } from "./lb-endpoint.js";

/**
 * Replaces endpoints of other networks by the gateways to those networks, with the sum of their weights. Endpoints
 * without mutual TLS cannot be reached through a gateway and are omitted. So are endpoints without an address or with
 * the path of a socket. If no network has a gateway, all endpoints are considered reachable.
 * Source: pilot/pkg/xds/endpoints/ep_filters.go.
 */
export function applySplitHorizon(
  q: QueryContext,
  groups: readonly LocalityGroup[],
  form: GatewayForm,
): readonly LocalityGroup[] {
  if (groups.length === 0 || !q.call(hasNetworkGateways, form)) return groups;
  const scale = q.call(gatewayWeightScale, form);
  return groups.map((group) => {
    const members: Member[] = [];
    const gateways = new Map<string, { readonly gateway: NetworkGateway; weight: number }>();
    for (const member of group.members) {
      const scaled = { ...member, weight: member.weight < maxWeight / scale ? member.weight * scale : maxWeight };
      const leading = gatewaysFor(q, member, form);
      if (leading === undefined) {
        if (hasAddress(member)) members.push(scaled);
      } else if (leading.length > 0 && hasMutualTls(member)) {
        const share = Math.floor(scaled.weight / leading.length);
        for (const gateway of leading) {
          const key = JSON.stringify(gateway);
          const entry = gateways.get(key) ?? { gateway, weight: 0 };
          gateways.set(key, { gateway, weight: entry.weight + share });
        }
      }
    }
    const sorted = [...gateways.values()].sort((a, b) => byAddress(a.gateway, b.gateway));
    for (const { gateway, weight } of sorted) {
      const labels = withTopology(
        {},
        { cluster: gateway.cluster, locality: "", nodeName: "", network: gateway.network },
      );
      const counted = Math.max(1, weight);
      members.push({ labels, lb: gatewayEndpoint(q, gateway), weight: counted });
    }
    return { ...group, members, weight: members.length === 0 ? undefined : totalWeight(members) };
  });
}

function hasAddress({ endpoint }: Member): boolean {
  return endpoint !== undefined && endpoint.port !== 0 && (endpoint.addresses[0] ?? "") !== "";
}

/**
 * Returns the gateways through which the client reaches a member, in the client's address family; undefined if it
 * reaches the member directly.
 */
function gatewaysFor(q: QueryContext, { endpoint }: Member, form: GatewayForm): readonly NetworkGateway[] | undefined {
  if (endpoint === undefined || endpoint.network === "") return undefined;
  const own = q.ask(network);
  if (own === endpoint.network) return undefined;
  const all = q.call(gatewaysTo, { network: endpoint.network, cluster: endpoint.cluster, form });
  const usable = q.ask(proxyType) === "sidecar" ? all.filter(({ port }) => port !== 0) : all;
  return usable.length === 0 ? undefined : usable.filter((gateway) => isReachable(q, gateway));
}

function isReachable(q: QueryContext, { address }: NetworkGateway): boolean {
  const mode = q.ask(ipMode);
  if (mode === "Dual") return true;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
  return (isIPv4(mapped) && supportsIPv4(mode)) || (isIPv6(mapped) && supportsIPv6(mode));
}

/** Reports whether connections to a member use mutual TLS, by its transport socket metadata. */
export function hasMutualTls({ lb }: Member): boolean {
  return lb.metadata[transportSocketMatch]?.["tlsMode"] === ISTIO_MUTUAL_TLS_MODE;
}

function byAddress(a: NetworkGateway, b: NetworkGateway): number {
  return a.address < b.address ? -1 : a.address > b.address ? 1 : a.port - b.port;
}
