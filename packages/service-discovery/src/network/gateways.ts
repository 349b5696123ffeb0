import { meshNetworks, meshNetworksKey, services } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { kubernetesHostname } from "../kubernetes/hostname.js";
import { kubernetesServiceInCluster } from "../kubernetes/kubernetes-service.js";
import { gatewaysOfResources } from "./gateway-resources.js";
import { NETWORK_LABEL } from "../labels.js";
import { portNumbered, type Service } from "../model/service.js";
import type { NetworkGateway } from "../model/workload.js";
import { mayHaveNetworkGateways } from "../settings/mesh.js";

const PORT_LABEL = "networking.istio.io/gatewayPort";
const MTLS_PORT = 15443;
const HBONE_PORT = 15008;

/** Services labeled as gateways of a network. */
const gatewayServices = index(services, "networkGateways", ({ labels }) =>
  (labels[NETWORK_LABEL] ?? "") === "" ? [] : ["gateway"],
);

/**
 * All network gateways, sorted and deduplicated: those of MeshNetworks, Services named there, and labeled Services and
 * Gateways of the Gateway API, of the root namespace and of ISTIOD_NETWORK_GATEWAY_NAMESPACES. Hostnames are not
 * resolved. Source: `kube/controller/network.go`, `pilot/pkg/model/network.go`.
 */
export const networkGateways = query("networkGateways", (q): readonly NetworkGateway[] => {
  const all = [...gatewaysByAddress(q), ...gatewaysByLabel(q), ...gatewaysByServiceName(q), ...gatewaysOfResources(q)];
  const distinct = new Map(all.map((gateway) => [JSON.stringify(gateway), gateway]));
  return [...distinct.values()].sort(byAddress);
});

/** Returns gateways with an address in MeshNetworks. */
function gatewaysByAddress(q: QueryContext): readonly NetworkGateway[] {
  return Object.entries(q.read(meshNetworks, meshNetworksKey)?.networks ?? {}).flatMap(([network, { gateways }]) =>
    gateways.flatMap(({ gw, port }) =>
      gw.case === "address" && gw.value !== "" ? [gateway(network, "", gw.value, port, 0)] : [],
    ),
  );
}

function gatewaysByLabel(q: QueryContext): readonly NetworkGateway[] {
  return q.read(gatewayServices, "gateway").flatMap(({ cluster, namespace, name, labels }) => {
    if (!mayHaveNetworkGateways(q, namespace)) return [];
    const service = q.call(kubernetesServiceInCluster, { cluster, namespace, name });
    const network = labels[NETWORK_LABEL] ?? "";
    const annotated = labels[PORT_LABEL] ?? "";
    const requestedPort = /^[+-]?\d+$/.test(annotated) ? Number(annotated) : MTLS_PORT;
    const hasPort = (number: number): boolean => service !== undefined && portNumbered(service, number) !== undefined;
    const port = hasPort(requestedPort) ? requestedPort : 0;
    const hbonePort = hasPort(HBONE_PORT) ? HBONE_PORT : 0;
    return service === undefined || (port === 0 && hbonePort === 0)
      ? []
      : gatewaysAt(service, cluster, { network, port, hbonePort });
  });
}

/**
 * Returns gateways by service name in MeshNetworks (`registryServiceName`), for clusters in the network
 * (`fromRegistry`).
 */
function gatewaysByServiceName(q: QueryContext): readonly NetworkGateway[] {
  return Object.entries(q.read(meshNetworks, meshNetworksKey)?.networks ?? {}).flatMap(
    ([network, { endpoints, gateways }]) => {
      const clusters = new Set(endpoints.flatMap(({ ne }) => (ne.case === "fromRegistry" ? [ne.value] : [])));
      return gateways.flatMap(({ gw, port }) => {
        if (gw.case !== "registryServiceName" || gw.value === "") return [];
        const [name = "", namespace = ""] = gw.value.split(".");
        if (kubernetesHostname(q, namespace, name) !== gw.value) return [];
        return [...clusters].flatMap((cluster) => {
          const service = q.call(kubernetesServiceInCluster, { cluster, namespace, name });
          if (service === undefined || (service.labels[NETWORK_LABEL] ?? "") !== "") return [];
          return gatewaysAt(service, cluster, { network, port, hbonePort: 0 });
        });
      });
    },
  );
}

/** Returns a gateway for each external address of a service; for node ports, with the node port. */
function gatewaysAt(
  service: Service,
  cluster: string,
  at: { readonly network: string; readonly port: number; readonly hbonePort: number },
): readonly NetworkGateway[] {
  const port = service.externalPorts[cluster]?.[at.port] ?? at.port;
  return (service.externalAddresses[cluster] ?? []).map((address) =>
    gateway(at.network, cluster, address, port, at.hbonePort),
  );
}

function gateway(network: string, cluster: string, address: string, port: number, hbonePort: number): NetworkGateway {
  return { network, cluster, address, port, hbonePort };
}

function byAddress(a: NetworkGateway, b: NetworkGateway): number {
  if (a.address !== b.address) return a.address < b.address ? -1 : 1;
  return (
    a.port - b.port ||
    a.hbonePort - b.hbonePort ||
    (a.network < b.network ? -1 : a.network > b.network ? 1 : a.cluster < b.cluster ? -1 : 1)
  );
}
