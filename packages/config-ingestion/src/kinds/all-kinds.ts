import { customResourceDefinitionKind } from "./analysis/custom-resource-definition.js";
import { deploymentKind } from "./analysis/deployment.js";
import { kubernetesGrpcRouteKind, kubernetesHttpRouteKind } from "./analysis/gateway-routes.js";
import { kubernetesGatewayKind } from "./analysis/kubernetes-gateway.js";
import {
  mutatingWebhookConfigurationKind,
  validatingWebhookConfigurationKind,
} from "./analysis/webhook-configuration.js";
import { authorizationPolicyKind } from "./authorization-policy.js";
import { configMapKind } from "./config-map.js";
import { destinationRuleKind } from "./destination-rule.js";
import { endpointSliceKind } from "./endpoint-slice.js";
import { envoyFilterKind } from "./envoy-filter.js";
import { gatewayKind } from "./gateway.js";
import { ingressClassKind } from "./ingress-class.js";
import { ingressKind } from "./ingress.js";
import type { Kind } from "./kind.js";
import { multiClusterKinds } from "./multi-cluster-services.js";
import { namespaceKind } from "./namespace.js";
import { nodeKind } from "./node.js";
import { peerAuthenticationKind } from "./peer-authentication.js";
import { podKind } from "./pod.js";
import { proxyConfigKind } from "./proxy-config.js";
import { requestAuthenticationKind } from "./request-authentication.js";
import { secretKind } from "./secret.js";
import { serviceAccountKind } from "./service-account.js";
import { serviceEntryKind } from "./service-entry.js";
import { serviceKind } from "./service.js";
import { sidecarKind } from "./sidecar.js";
import { telemetryKind } from "./telemetry.js";
import { trafficExtensionKind } from "./traffic-extension.js";
import { virtualServiceKind } from "./virtual-service.js";
import { wasmPluginKind } from "./wasm-plugin.js";
import { workloadEntryKind } from "./workload-entry.js";
import { workloadGroupKind } from "./workload-group.js";

/** The Kubernetes kinds, which every cluster of a mesh has of its own. */
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

/** Kubernetes' kinds of routing, which are read from the config cluster only. */
export const ingressKinds: readonly Kind[] = [ingressKind, ingressClassKind];

/** Istio's kinds, which are read from the config cluster only; but for WorkloadEntries, which any cluster has. */
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

/**
 * What is read of the clusters of a mesh that do not hold its configuration
 * (pilot/pkg/serviceregistry/kube/controller/multicluster.go).
 */
export const remoteKinds: readonly Kind[] = [...kubernetesKinds, workloadEntryKind];

export const allKinds: readonly Kind[] = [...kubernetesKinds, ...ingressKinds, ...istioKinds];

/** Kinds that only analysis reads. They configure no proxy. */
export const analysisKinds: readonly Kind[] = [
  deploymentKind,
  mutatingWebhookConfigurationKind,
  validatingWebhookConfigurationKind,
  customResourceDefinitionKind,
  kubernetesGatewayKind,
  kubernetesHttpRouteKind,
  kubernetesGrpcRouteKind,
];
