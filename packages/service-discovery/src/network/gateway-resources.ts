import {
  configCluster,
  type KubernetesGatewayListener,
  type KubernetesGatewayObject,
  kubernetesGateways,
} from "@istiod/config-schema";
import { index, type QueryContext } from "@istiod/incremental";
import { NETWORK_LABEL } from "../labels.js";
import type { NetworkGateway } from "../model/workload.js";
import { settings } from "../settings/features.js";
import { mayHaveNetworkGateways } from "../settings/mesh.js";

type Labels = Readonly<Record<string, string>>;

const listenerMode = "gateway.istio.io/listener-protocol";
const portLabel = "networking.istio.io/gatewayPort";
const mtlsPort = "15443";

/** Gateways of the Gateway API that are labeled as gateways of a network. */
const labeledGateways = index(kubernetesGateways, "networkGateways", ({ labels }) =>
  (labels[NETWORK_LABEL] ?? "") === "" ? [] : ["gateway"],
);

/**
 * Returns the gateways of networks that Gateways of the Gateway API declare by label: one for each of their addresses
 * and listeners for other networks. Like Services, only those of the root namespace and of
 * ISTIOD_NETWORK_GATEWAY_NAMESPACES are. Source: `handleGatewayResource` in kube/controller/network.go.
 */
export function gatewaysOfResources(q: QueryContext): readonly NetworkGateway[] {
  if (!settings.gatewayResources(q)) return [];
  return q
    .read(labeledGateways, "gateway")
    .filter(({ namespace }) => mayHaveNetworkGateways(q, namespace))
    .flatMap((gateway) => gatewaysOf(gateway, configCluster(q)));
}

function gatewaysOf({ labels, spec }: KubernetesGatewayObject, cluster: string): readonly NetworkGateway[] {
  const network = labels[NETWORK_LABEL] ?? "";
  return spec.addresses
    .filter(({ type = "IPAddress" }) => type === "IPAddress" || type === "Hostname")
    .flatMap(({ value: address }) => [
      ...spec.listeners
        .filter((listener) => isAutoPassthrough(labels, listener))
        .map(({ port = 0 }) => ({ network, cluster, address, port, hbonePort: 0 })),
      ...spec.listeners
        .filter(({ protocol }) => protocol === "HBONE")
        .map(({ port = 0 }) => ({ network, cluster, address, port, hbonePort: port })),
    ]);
}

/**
 * Reports whether a listener of a Gateway with labels passes connections of other networks to where their SNI says.
 * Source: `IsAutoPassthrough`.
 */
export function isAutoPassthrough(
  labels: Labels,
  { tls, port }: Pick<KubernetesGatewayListener, "tls" | "port">,
): boolean {
  if (tls === undefined) return false;
  if (tls.options[listenerMode] === "auto-passthrough") return true;
  return labels[NETWORK_LABEL] !== undefined && String(port) === (labels[portLabel] ?? mtlsPort);
}
