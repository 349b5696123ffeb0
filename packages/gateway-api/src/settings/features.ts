import { booleanFeature, nameFeature } from "@istiod/config-schema";
import { discoveryFeatures } from "@istiod/service-discovery";

/**
 * The environment variables that affect the Gateway API, with istiod's defaults (pilot/pkg/features). Call one with the
 * query context to read it.
 */
export const features = {
  domain: discoveryFeatures.domain,
  ambient: discoveryFeatures.ambient,
  clusterSetHosts: discoveryFeatures.multiClusterHost,
  alpha: booleanFeature(
    "PILOT_ENABLE_ALPHA_GATEWAY_API",
    false,
    "enable the experimental kinds of the Gateway API: XBackend and XBackendTrafficPolicy",
  ),
  inferenceExtension: booleanFeature(
    "ENABLE_GATEWAY_API_INFERENCE_EXTENSION",
    false,
    "enable InferencePools as backends of routes of the Gateway API",
  ),
  controllerName: nameFeature(
    "PILOT_GATEWAY_API_CONTROLLER_NAME",
    "istio.io/gateway-controller",
    "controller name of the GatewayClasses whose Gateways istiod serves, which it also writes into statuses",
  ),
  multiClusterGroup: nameFeature(
    "MCS_API_GROUP",
    "multicluster.x-k8s.io",
    "API group of ServiceImport, as a backend of routes of the Gateway API",
  ),
} as const;
