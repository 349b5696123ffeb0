import { booleanFeature, featureWhen, nameFeature, productBounds } from "@istiod/config-schema";
import { discoveryFeatures } from "@istiod/service-discovery";

const { ambient } = discoveryFeatures;

/**
 * The environment variables that affect the Gateway API, with istiod's defaults (pilot/pkg/features). Call one with the
 * query context to read it.
 */
export const features = {
  domain: discoveryFeatures.domain,
  ambient,
  clusterSetHosts: discoveryFeatures.multiClusterHost,
  maxRoutes: productBounds.gatewayRoutes,
  maxBytes: productBounds.gatewayBytes,
  enabled: booleanFeature("PILOT_ENABLE_GATEWAY_API", true, "serve the Kubernetes Gateway API"),
  alpha: discoveryFeatures.alphaGatewayApi,
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
  defaultClass: nameFeature(
    "PILOT_GATEWAY_API_DEFAULT_GATEWAYCLASS_NAME",
    "istio",
    "name of the GatewayClass of ordinary gateways, which needs no GatewayClass object",
  ),
  manualDeployment: booleanFeature(
    "ENABLE_GATEWAY_API_MANUAL_DEPLOYMENT",
    true,
    "let Gateways bind to existing Services that their addresses name",
  ),
  clusterIpMatching: booleanFeature(
    "PILOT_GATEWAY_API_MATCH_CLUSTER_IP",
    false,
    "let sidecars select the routes of an HTTP request to the IPv4 address of a Service by that address, not by its host",
  ),
  remoteGateways: discoveryFeatures.gatewayResources,
  waypoints: featureWhen(
    ambient,
    booleanFeature("PILOT_ENABLE_AMBIENT_WAYPOINTS", true, "serve the GatewayClass of waypoints; in ambient mode only"),
    false,
  ),
  eastWestGateways: featureWhen(
    ambient,
    booleanFeature(
      "AMBIENT_ENABLE_MULTI_NETWORK",
      false,
      "serve the GatewayClass of gateways between the networks of an ambient mesh; in ambient mode only",
    ),
    false,
  ),
  multiClusterGroup: nameFeature(
    "MCS_API_GROUP",
    "multicluster.x-k8s.io",
    "API group of ServiceImport, as a backend of routes of the Gateway API",
  ),
} as const;
