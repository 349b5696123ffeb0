import { isIP } from "node:net";
import { query } from "@istiod/incremental";
import { allEndpoints, keyOfId, networkGateways, service, serviceOrder } from "@istiod/service-discovery";
import { endpointForm, gatewayForm, serviceForm } from "./istio-forms.js";

/** All services in the order of their precedence. */
export const registry = query("debug.registry", (q): readonly object[] =>
  q
    .call(serviceOrder)
    .flatMap((id) => q.call(service, id) ?? [])
    .map(serviceForm),
);

/**
 * The endpoints of one service, in the form of Istio's index: by `registry/cluster`, and the identities of all of them.
 */
export interface Shards {
  readonly Shards: Readonly<Record<string, readonly object[]>>;
  readonly ServiceAccounts: Readonly<Record<string, Record<string, never>>>;
}

/** The endpoints of every service: host name, namespace, shards. */
export const endpointShards = query(
  "debug.endpointShards",
  (q): Readonly<Record<string, Readonly<Record<string, Shards>>>> => {
    const found: Record<string, Record<string, Shards>> = {};
    const registries = new Map(q.call(serviceOrder).map((id) => [keyOfId(id), q.call(service, id)?.registry ?? ""]));
    for (const [key, registry] of registries) {
      const [namespace = "", hostname = ""] = key.split("/");
      const endpoints = q.call(allEndpoints, { service: key });
      const shards: Record<string, object[]> = {};
      for (const endpoint of endpoints) (shards[`${registry}/${endpoint.cluster}`] ??= []).push(endpointForm(endpoint));
      const identities = [
        ...new Set(endpoints.map(({ identity }) => identity).filter((identity) => identity !== "")),
      ].sort();
      (found[hostname] ??= {})[namespace] = {
        Shards: shards,
        ServiceAccounts: Object.fromEntries(identities.map((identity) => [identity, {}])),
      };
    }
    return found;
  },
);

export const crossNetworkGateways = query("debug.networkGateways", (q) => q.call(networkGateways).map(gatewayForm));

/** Gateways whose address is a hostname. */
export const unresolvedGateways = query("debug.unresolvedGateways", (q) =>
  q
    .call(networkGateways)
    .filter(({ address }) => isIP(address) === 0)
    .map(gatewayForm),
);
