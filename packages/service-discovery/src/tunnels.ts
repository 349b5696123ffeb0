import { pods, serviceEntries, workloadEntries } from "@istiod/config-ingestion";
import { index, query } from "@istiod/incremental";
import { inlineEndpoints } from "./endpoints.js";
import type { Labels } from "./model/service.js";

const TUNNEL_LABEL = "networking.istio.io/tunnel";

/** Whether a workload with these labels takes connections through HTTP tunnels (HBONE): its label lists the protocols of tunnels that it takes. */
export function takesHttpTunnel(labels: Labels): boolean {
  return labels[TUNNEL_LABEL]?.split(",").includes("http") ?? false;
}

const bucket = (takes: boolean): readonly string[] => (takes ? ["http"] : []);

const tunnelledPods = index(pods, "byTunnel", ({ labels }) => bucket(takesHttpTunnel(labels)));
const tunnelledEntries = index(workloadEntries, "byTunnel", ({ labels, spec }) => bucket(takesHttpTunnel({ ...spec.labels, ...labels })));
const listingTunnelled = index(serviceEntries, "byTunnel", ({ spec }) => bucket(spec.endpoints.some(({ labels }) => takesHttpTunnel(labels))));

/** Whether any workload takes HTTP tunnels. Few meshes have one, and in others nothing needs to look at endpoints for it. */
export const hasTunnels = query(
  "hasTunnels",
  (q): boolean =>
    q.read(tunnelledPods, "http").length > 0 || q.read(tunnelledEntries, "http").length > 0 || q.read(listingTunnelled, "http").length > 0,
);

/** Whether a port of a service (`namespace/hostname`) has endpoints, and all of them take HTTP tunnels. */
export const everyEndpointTakesTunnels = query("everyEndpointTakesTunnels", (q, at: { readonly service: string; readonly port: { readonly name: string; readonly number: number } }): boolean => {
  const found = q.call(inlineEndpoints, at);
  return found.length > 0 && found.every(({ labels }) => takesHttpTunnel(labels));
});
