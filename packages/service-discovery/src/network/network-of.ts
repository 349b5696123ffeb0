import type { BlockList } from "node:net";
import { meshNetworks, meshNetworksKey, namespaces } from "@istiod/config-schema";
import { query, type QueryContext } from "@istiod/incremental";
import { NETWORK_LABEL } from "../labels.js";
import type { Labels } from "../model/service.js";
import { settings } from "../settings/environment.js";
import { contains, parseCidr } from "./cidr.js";

/**
 * The network that a cluster's workloads are in as a whole: as its system namespace is labelled, or as MeshNetworks
 * says (`fromRegistry`). Empty if neither does.
 */
const clusterNetwork = query("clusterNetwork", (q, cluster: string): string => {
  const labelled = q.read(namespaces, `${cluster}/${settings.systemNamespace(q)}`)?.labels[NETWORK_LABEL];
  return labelled || networkOfRegistry(q, cluster) || "";
});

function networkOfRegistry(q: QueryContext, cluster: string): string | undefined {
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

/** Address ranges that MeshNetworks assigns, the widest first, which wins where several match. */
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

/** The network that MeshNetworks gives to an address by its range; empty if none. */
const networkOfAddress = query("networkOfAddress", (q, address: string): string => {
  const range = q.call(addressRanges).find(({ cidr }) => {
    const set: BlockList | undefined = parseCidr(cidr);
    return set !== undefined && contains(set, address);
  });
  return range?.network ?? "";
});

/**
 * The network of a workload of a cluster: by its label, its cluster's system namespace, or MeshNetworks; empty if none
 * says.
 */
export function networkOf(q: QueryContext, cluster: string, address: string, labels: Labels): string {
  return (
    labels[NETWORK_LABEL] ||
    q.call(clusterNetwork, cluster) ||
    (q.call(addressRanges).length > 0 ? q.call(networkOfAddress, address) : "")
  );
}
