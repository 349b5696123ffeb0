const notInIstio = "Istio does not implement it either";

/**
 * Fields that are accepted and have no effect, by message and field name, with the reason. A test compares this table
 * with the symbols that the code of generators, injection and the agent reads.
 */
export const fieldsWithoutEffect: Readonly<Record<string, string>> = {
  "istio.extensions.v1alpha1.WasmConfig.verificationKey": `${notInIstio}; set sha256`,
  "istio.extensions.v1alpha1.WasmPlugin.verificationKey": `${notInIstio}; set sha256`,
  "istio.networking.v1alpha3.EnvoyFilter.ListenerMatch.FilterChainMatch.transportSocket": `${notInIstio}; match transportProtocol`,
  "istio.networking.v1alpha3.EnvoyFilter.ListenerMatch.portName": `${notInIstio}; match portNumber`,
  "istio.networking.v1alpha3.EnvoyFilter.Patch.filterClass": `${notInIstio}; name the filter in match.listener`,
  "istio.networking.v1alpha3.EnvoyFilter.EnvoyConfigObjectMatch.waypoint": `${notInIstio}; patches are not applied to waypoints`,
  "istio.networking.v1alpha3.L4MatchAttributes.sourceSubnet": `${notInIstio}; match sourceLabels or sourceNamespace`,
  "istio.networking.v1alpha3.OutlierDetection.consecutiveErrors":
    "Istio does not read it any more; set consecutive5xxErrors",
  "istio.networking.v1alpha3.Server.defaultEndpoint": `${notInIstio}; route to a host by a VirtualService`,
  "istio.networking.v1alpha3.ServerTLSSettings.TLSCertificate.caCertificates": `${notInIstio}; set caCertificates of tls`,
  "istio.mesh.v1alpha1.MeshConfig.ca":
    "Istio does not implement it any more; set EXTERNAL_CA of istiod, or create the Secret cacerts",
  "istio.mesh.v1alpha1.MeshConfig.certificates":
    "Istio does not implement it any more; create Secrets with the certificates",
  "istio.mesh.v1alpha1.MeshConfig.serviceScopeConfigs": "ambient mode is not supported yet",
  "istio.mesh.v1alpha1.MeshConfig.verifyCertificateAtClient":
    "Istio does not implement it any more; set caCertificates in DestinationRules",
  "istio.mesh.v1alpha1.ConfigSource.subscribedResources": `${notInIstio}; all resources are read`,
  "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.opencensus":
    "Envoy has no OpenCensus tracer any more; set opentelemetry",
  "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.lightstep":
    "Envoy has no Lightstep tracer any more; set opentelemetry",
  "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.stackdriver":
    "proxies have no Stackdriver extension any more; set opentelemetry or envoyOtelAls",
  "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.SkyWalkingTracingProvider.accessToken": notInIstio,
  "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.EnvoyExternalAuthorizationHttpProvider.clearRouteCache": notInIstio,
  "istio.mesh.v1alpha1.MeshConfig.ExtensionProvider.EnvoyExternalAuthorizationGrpcProvider.clearRouteCache": notInIstio,
  "istio.mesh.v1alpha1.ProxyConfig.availabilityZone": `${notInIstio}; label nodes with topology.kubernetes.io/zone`,
  "istio.mesh.v1alpha1.ProxyConfig.customConfigFile":
    "bootstraps of one's own are not supported yet; Envoy starts with the generated one",
  "istio.mesh.v1alpha1.ProxyConfig.proxyBootstrapTemplatePath":
    "templates of the bootstrap are not supported yet; Envoy starts with the generated one",
  "istio.mesh.v1alpha1.ProxyConfig.discoveryRefreshDelay": `${notInIstio}; configuration is pushed`,
  "istio.mesh.v1alpha1.ProxyConfig.envoyMetricsServiceAddress":
    "Istio does not read it any more; set envoyMetricsService.address",
  "istio.mesh.v1alpha1.ProxyConfig.meshId": "set the variable ISTIO_META_MESH_ID of the proxies instead",
  "istio.mesh.v1alpha1.ProxyConfig.sds": "Istio does not read it any more; certificates always come by SDS",
  "istio.mesh.v1alpha1.ProxyConfig.statNameLength": "Istio does not read it any more; names have no limit",
  "istio.mesh.v1alpha1.ProxyConfig.tracingServiceName": "it is not supported yet; set serviceCluster",
  "istio.mesh.v1alpha1.ProxyConfig.zipkinAddress": "Istio does not read it any more; set tracing.zipkin.address",
  "istio.mesh.v1alpha1.ProxyConfig.ConnectionSettings.clusterPerConnectionBufferLimitBytes": notInIstio,
  "istio.mesh.v1alpha1.ProxyConfig.ConnectionSettings.listenerConnectionLimit": `${notInIstio}; set globalDownstreamConnectionLimit`,
  "istio.mesh.v1alpha1.Tracing.stackdriver": "Envoy has no Stackdriver tracer any more; use an extension provider",
  "istio.mesh.v1alpha1.Tracing.openCensusAgent": "Envoy has no OpenCensus tracer any more; use an extension provider",
};

const onlyWaypoints = "only waypoints apply it, and ambient mode is not supported yet; set selector";

/** Values of fields that have no effect, by message and field name, with the reason. */
export const valuesWithoutEffect: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "istio.type.v1beta1.PolicyTargetReference.kind": {
    Service: onlyWaypoints,
    ServiceEntry: onlyWaypoints,
    GatewayClass: onlyWaypoints,
  },
};
