import { pods, podsByAddress, type PodObject, serviceEntries, workloadEntries } from "@istiod/config-schema";
import { index, query, type QueryContext } from "@istiod/incremental";
import { inlineEndpoints } from "./endpoints.js";
import type { Endpoint } from "./model/endpoint.js";
import type { EndpointSource, Labels } from "./model/service.js";
import { workloadNetwork } from "./network/workload-network.js";
import { settings } from "./settings/features.js";

const TUNNEL_LABEL = "networking.istio.io/tunnel";
const REDIRECTION_ANNOTATION = "ambient.istio.io/redirection";

/**
 * Reports whether an endpoint accepts HTTP tunnels (HBONE): its workload declares so by label, or it is a pod captured
 * in ambient mode, whose node terminates tunnels for it. Source: pilot/pkg/xds/endpoints/endpoint_builder.go,
 * supportTunnel.
 */
export function acceptsTunnels(q: QueryContext, { labels, addresses, network }: Endpoint): boolean {
  return (
    acceptsHttpTunnels(labels) ||
    (q.call(hasCapturedPods) && addresses.some((address) => q.call(isCaptured, { address, network })))
  );
}

/** Reports whether any workload accepts HTTP tunnels. In most meshes none does, and endpoints need not be checked. */
export const hasTunnels = query(
  "hasTunnels",
  (q): boolean =>
    q.read(podsByTunnel, "http").length > 0 ||
    q.read(entriesByTunnel, "http").length > 0 ||
    q.read(serviceEntriesByTunnel, "http").length > 0 ||
    q.call(hasCapturedPods),
);

/** Reports whether a port of a service (`namespace/hostname`) has endpoints, all of which accept HTTP tunnels. */
export const everyEndpointAcceptsTunnels = query(
  "everyEndpointAcceptsTunnels",
  (q, at: EndpointSource & { readonly port: { readonly name: string; readonly number: number } }): boolean => {
    const found = q.call(inlineEndpoints, at);
    return found.length > 0 && found.every((endpoint) => acceptsTunnels(q, endpoint));
  },
);

/** The label lists the protocols of the tunnels that a workload accepts. */
function acceptsHttpTunnels(labels: Labels): boolean {
  return labels[TUNNEL_LABEL]?.split(",").includes("http") ?? false;
}

const http = (accepts: boolean): readonly string[] => (accepts ? ["http"] : []);

const podsByTunnel = index(pods, "byTunnel", (pod) => [
  ...http(acceptsHttpTunnels(pod.labels)),
  ...(captured(pod) ? ["captured"] : []),
]);
const entriesByTunnel = index(workloadEntries, "byTunnel", ({ labels, spec }) =>
  http(acceptsHttpTunnels({ ...spec.labels, ...labels })),
);
const serviceEntriesByTunnel = index(serviceEntries, "byTunnel", ({ spec }) =>
  http(spec.endpoints.some(({ labels }) => acceptsHttpTunnels(labels))),
);

/** Reports whether ambient mode captures the pod's traffic, as its agent has annotated. */
function captured({ annotations, spec, status }: PodObject): boolean {
  return (
    annotations[REDIRECTION_ANNOTATION] === "enabled" &&
    !spec.hostNetwork &&
    status?.phase !== "Failed" &&
    status?.phase !== "Succeeded"
  );
}

const hasCapturedPods = query(
  "hasCapturedPods",
  (q): boolean => settings.ambient(q) && q.read(podsByTunnel, "captured").length > 0,
);

/** Reports whether a captured pod of the configuration's cluster has an address in a network. */
const isCaptured = query(
  "isCaptured",
  (q, { address, network }: { readonly address: string; readonly network: string }): boolean => {
    const own = settings.configCluster(q);
    return q
      .read(podsByAddress, address)
      .some((pod) => pod.cluster === own && captured(pod) && workloadNetwork(q, own, address, pod.labels) === network);
  },
);
