import type { BlockList } from "node:net";
import { meshNetworks, meshNetworksKey, namespaces } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { NETWORK_LABEL } from "../labels.js";
import type { Labels } from "../model/service.js";
import { settings } from "../settings/features.js";
import { contains, parseCidr } from "./cidr.js";

/**
 * The network of a cluster: the label of its system namespace, else MeshNetworks (`fromRegistry`). Empty if unknown.
 */
const clusterNetwork = query("clusterNetwork", (q, cluster: string): string => {
  const label = q.read(namespaces, `${cluster}/${settings.systemNamespace(q)}`)?.labels[NETWORK_LABEL];
  return label || registryNetwork(q, cluster) || "";
});

function registryNetwork(q: QueryContext, cluster: string): string | undefined {
  const networks = q.read(meshNetworks, meshNetworksKey)?.networks ?? {};
  return Object.keys(networks)
    .sort()
    .find((name) => networks[name]?.endpoints.some(({ ne }) => ne.case === "fromRegistry" && ne.value === cluster));
}

interface AddressRange {
  readonly network: string;
  readonly cidr: string;
  readonly bits: number;
}

/** Address ranges in MeshNetworks, widest first: the widest match is used. */
const addressRanges = query("networkAddressRanges", (q): readonly AddressRange[] => {
  const networks = q.read(meshNetworks, meshNetworksKey)?.networks ?? {};
  return Object.keys(networks)
    .sort()
    .flatMap((network) =>
      (networks[network]?.endpoints ?? []).flatMap(({ ne }) =>
        ne.case === "fromCidr" && parseCidr(ne.value) !== undefined
          ? [{ network, cidr: ne.value, bits: Number(ne.value.slice(ne.value.indexOf("/") + 1)) }]
          : [],
      ),
    )
    .sort((a, b) => a.bits - b.bits);
});

/** The network of an address by the ranges in MeshNetworks; empty if none matches. */
const addressNetwork = query("addressNetwork", (q, address: string): string => {
  const range = q.call(addressRanges).find(({ cidr }) => {
    const set: BlockList | undefined = parseCidr(cidr);
    return set !== undefined && contains(set, address);
  });
  return range?.network ?? "";
});

/**
 * Returns the network of a workload: by its label, its cluster's network, or the address ranges in MeshNetworks; empty
 * if unknown.
 */
export function workloadNetwork(q: QueryContext, cluster: string, address: string, labels: Labels): string {
  return (
    labels[NETWORK_LABEL] ||
    q.call(clusterNetwork, cluster) ||
    (q.call(addressRanges).length > 0 ? q.call(addressNetwork, address) : "")
  );
}
