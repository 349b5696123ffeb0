import { collection } from "@istiod/incremental";
import { MeshNetworksSchema, type MeshNetworks } from "@istiod/istio-api/mesh/v1alpha1/network";
import type { Report } from "../decoding/report.js";
import { checkPort } from "../validation/network/addresses.js";
import { checkSubnet } from "../validation/network/addresses.js";
import { isIpAddress } from "../validation/network/ip.js";
import { checkFqdn, fqdnFault, isDnsLabel } from "../validation/network/names.js";
import { each, Place } from "../validation/place.js";
import { decodeTolerantly } from "../decoding/decode-tolerantly.js";

/** The networks of the mesh, under `meshNetworksKey`. */
export const meshNetworks = collection<MeshNetworks>("MeshNetworks");

export const meshNetworksKey = "networks";

/**
 * Decodes the mesh networks of a document; an empty document has none. Unknown fields are warnings. Returns undefined
 * if it reported an error.
 */
export function readMeshNetworks(document: unknown, report: Report): MeshNetworks | undefined {
  const networks = decodeTolerantly(MeshNetworksSchema, document ?? {}, report);
  if (networks === undefined) return undefined;
  let rejected = false;
  const place = Place.of({ ...report, error: (path, message) => ((rejected = true), report.error(path, message)) }, []);
  for (const [name, network] of Object.entries(networks.networks)) {
    each(network.endpoints, place.at("networks", name, "endpoints"), ({ ne }, at) => {
      if (ne.case === "fromCidr") checkSubnet(ne.value, at.at("fromCidr"));
      else if (ne.case === "fromRegistry" && !isDnsLabel(ne.value))
        at.at("fromRegistry").error(
          `is ${JSON.stringify(ne.value)}, expected the ID of a cluster: letters, digits and inner hyphens`,
        );
    });
    each(network.gateways, place.at("networks", name, "gateways"), (gateway, at) => {
      const { gw } = gateway;
      if (gw.case === "registryServiceName") checkFqdn(gw.value, at.at("registryServiceName"));
      else if (gw.case === "address" && !isIpAddress(gw.value) && fqdnFault(gw.value) !== undefined)
        at.at("address").error(`is ${JSON.stringify(gw.value)}, expected an IP address or a domain name`);
      checkPort(gateway.port, at.at("port"));
    });
  }
  return rejected ? undefined : networks;
}
