/**
 * Fields that are accepted and have no effect, by message and field name, with the reason. A test compares this table
 * with the sources of the packages that read messages.
 */
export const fieldsWithoutEffect: Readonly<Record<string, string>> = {
  "istio.networking.v1alpha3.HTTPFaultInjection.Abort.http2Error": "Istio does not implement it either; set httpStatus",
  "istio.networking.v1alpha3.HTTPFaultInjection.Delay.exponentialDelay":
    "Istio does not implement it either; set fixedDelay",
  "istio.networking.v1alpha3.L4MatchAttributes.sourceSubnet":
    "Istio does not implement it either; match sourceLabels or sourceNamespace",
  "istio.networking.v1alpha3.OutlierDetection.consecutiveErrors":
    "Istio does not read it any more; set consecutive5xxErrors",
  "istio.mesh.v1alpha1.MeshConfig.serviceScopeConfigs": "ambient mode is not supported yet",
  "istio.mesh.v1alpha1.MeshConfig.verifyCertificateAtClient":
    "Istio does not implement it any more; set caCertificates in DestinationRules",
  "istio.mesh.v1alpha1.MeshConfig.CA.istiodSide": "Istio does not implement it any more; set EXTERNAL_CA of istiod",
  "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.opencensus":
    "Envoy has no OpenCensus tracer any more; set opentelemetry",
};
