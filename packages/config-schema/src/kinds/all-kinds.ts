import { customResourceDefinitionKind } from "./analysis/custom-resource-definition.js";
import { backendKind } from "./gateway-api/backend.js";
import { backendTlsPolicyKind } from "./gateway-api/backend-tls-policy.js";
import { backendTrafficPolicyKind } from "./gateway-api/backend-traffic-policy.js";
import { gatewayClassKind } from "./gateway-api/gateway-class.js";
import { inferencePoolKind } from "./gateway-api/inference-pool.js";
import { kubernetesGatewayKind } from "./gateway-api/kubernetes-gateway.js";
import { listenerSetKind } from "./gateway-api/listener-set.js";
import { experimentalListenerSetKind, udpRouteKind } from "./gateway-api/other-kinds.js";
import { referenceGrantKind } from "./gateway-api/reference-grant.js";
import { grpcRouteKind } from "./gateway-api/routes/grpc-route.js";
import { httpRouteKind } from "./gateway-api/routes/http-route.js";
import { tcpRouteKind, tlsRouteKind } from "./gateway-api/routes/l4-routes.js";
import {
  mutatingWebhookConfigurationKind,
  validatingWebhookConfigurationKind,
} from "./analysis/webhook-configuration.js";
import { workloadKinds } from "./analysis/workload-kinds.js";
import { authorizationPolicyKind } from "./istio/authorization-policy/authorization-policy.js";
import { configMapKind } from "./kubernetes/config-map.js";
import { destinationRuleKind } from "./istio/destination-rule/destination-rule.js";
import { endpointSliceKind } from "./kubernetes/endpoint-slice.js";
import { envoyFilterKind } from "./istio/envoy-filter/envoy-filter.js";
import { gatewayKind } from "./istio/gateway.js";
import { ingressClassKind } from "./kubernetes/ingress-class.js";
import { ingressKind } from "./kubernetes/ingress.js";
import type { Kind } from "./kind.js";
import { multiClusterKinds } from "./kubernetes/multi-cluster-services.js";
import { namespaceKind } from "./kubernetes/namespace.js";
import { nodeKind } from "./kubernetes/node.js";
import { peerAuthenticationKind } from "./istio/peer-authentication.js";
import { podKind } from "./kubernetes/pod.js";
import { proxyConfigKind } from "./istio/proxy-config.js";
import { requestAuthenticationKind } from "./istio/request-authentication.js";
import { secretKind } from "./kubernetes/secret.js";
import { serviceAccountKind } from "./kubernetes/service-account.js";
import { serviceEntryKind } from "./istio/service-entry/service-entry.js";
import { serviceKind } from "./kubernetes/service.js";
import { sidecarKind } from "./istio/sidecar/sidecar.js";
import { telemetryKind } from "./istio/telemetry.js";
import { trafficExtensionKind } from "./istio/traffic-extension.js";
import { virtualServiceKind } from "./istio/virtual-service/virtual-service.js";
import { wasmPluginKind } from "./istio/wasm-plugin.js";
import { workloadEntryKind } from "./istio/workload-entry.js";
import { workloadGroupKind } from "./istio/workload-group.js";

/** Kubernetes' kinds, which are read from every cluster of a mesh. */
export const kubernetesKinds: readonly Kind[] = [
  namespaceKind,
  nodeKind,
  serviceKind,
  endpointSliceKind,
  podKind,
  serviceAccountKind,
  secretKind,
  configMapKind,
  ...multiClusterKinds(),
];

/** Kubernetes' routing kinds, which are read from the config cluster only. */
export const ingressKinds: readonly Kind[] = [ingressKind, ingressClassKind];

/**
 * Istio's kinds, and others of the same nature, of any API group. They are read from the config cluster only, except
 * WorkloadEntries, which every cluster can have. The README lists everything that a kind gets by being here.
 */
export const istioKinds: readonly Kind[] = [
  virtualServiceKind,
  destinationRuleKind,
  gatewayKind,
  serviceEntryKind,
  workloadEntryKind,
  workloadGroupKind,
  sidecarKind,
  envoyFilterKind,
  proxyConfigKind,
  peerAuthenticationKind,
  requestAuthenticationKind,
  authorizationPolicyKind,
  telemetryKind,
  wasmPluginKind,
  trafficExtensionKind,
];

/** Kinds that are read from remote clusters (pilot/pkg/serviceregistry/kube/controller/multicluster.go). */
export const remoteKinds: readonly Kind[] = [...kubernetesKinds, workloadEntryKind];

/** The Gateway API's kinds, which are read from the config cluster only. */
export const gatewayApiKinds: readonly Kind[] = [
  gatewayClassKind,
  kubernetesGatewayKind,
  listenerSetKind,
  referenceGrantKind,
  httpRouteKind,
  grpcRouteKind,
  tcpRouteKind,
  tlsRouteKind,
  udpRouteKind,
  experimentalListenerSetKind,
  backendTlsPolicyKind,
  backendTrafficPolicyKind,
  backendKind,
  inferencePoolKind,
];

export const allKinds: readonly Kind[] = [...kubernetesKinds, ...ingressKinds, ...istioKinds, ...gatewayApiKinds];

const istioGroups: ReadonlySet<string> = new Set(istioKinds.map(({ group }) => group));

/** Reports whether a group is Istio's, also without a kind that is read, or the group of a kind among `istioKinds`. */
export function isIstioGroup(group: string): boolean {
  return group === "istio.io" || group.endsWith(".istio.io") || istioGroups.has(group);
}

/** Kinds that only analysis reads. They do not configure proxies. */
export const analysisKinds: readonly Kind[] = [
  ...workloadKinds,
  mutatingWebhookConfigurationKind,
  validatingWebhookConfigurationKind,
  customResourceDefinitionKind,
];
