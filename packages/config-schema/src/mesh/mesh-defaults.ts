import { create } from "@bufbuild/protobuf";
import {
  MeshConfig_InboundTrafficPolicy_Mode as Inbound,
  MeshConfig_IngressControllerMode as IngressControllerMode,
  MeshConfig_OutboundTrafficPolicy_Mode as Outbound,
  MeshConfigSchema,
  type MeshConfig,
} from "@istiod/istio-api/mesh/v1alpha1/config";
import { AuthenticationPolicy, ProxyConfigSchema, type ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";

/** Returns the default proxy configuration, as Istio's documentation of ProxyConfig states it. */
export function defaultProxyConfig(): ProxyConfig {
  return create(ProxyConfigSchema, {
    configPath: "./etc/istio/proxy",
    binaryPath: "/usr/local/bin/envoy",
    clusterName: { case: "serviceCluster", value: "istio-proxy" },
    drainDuration: { seconds: 45n },
    terminationDrainDuration: { seconds: 5n },
    proxyAdminPort: 15000,
    controlPlaneAuthPolicy: AuthenticationPolicy.MUTUAL_TLS,
    discoveryAddress: "istiod.istio-system.svc:15012",
    statNameLength: 189,
    statusPort: 15020,
  });
}

/** Returns the default mesh configuration, as Istio's documentation of MeshConfig states it. */
export function defaultMeshConfig(): MeshConfig {
  return create(MeshConfigSchema, {
    enableTracing: true,
    protocolDetectionTimeout: { seconds: 0n },
    ingressService: "istio-ingressgateway",
    ingressControllerMode: IngressControllerMode.STRICT,
    ingressClass: "istio",
    trustDomain: "cluster.local",
    enableAutoMtls: true,
    outboundTrafficPolicy: { mode: Outbound.ALLOW_ANY },
    inboundTrafficPolicy: { mode: Inbound.PASSTHROUGH },
    localityLbSetting: { enabled: true },
    defaultConfig: defaultProxyConfig(),
    rootNamespace: "istio-system",
    proxyListenPort: 15001,
    proxyInboundListenPort: 15006,
    connectTimeout: { seconds: 10n },
    defaultServiceExportTo: ["*"],
    defaultVirtualServiceExportTo: ["*"],
    defaultDestinationRuleExportTo: ["*"],
    dnsRefreshRate: { seconds: 60n },
    enablePrometheusMerge: true,
    defaultProviders: {},
    extensionProviders: [
      { name: "prometheus", provider: { case: "prometheus", value: {} } },
      { name: "stackdriver", provider: { case: "stackdriver", value: {} } },
      { name: "envoy", provider: { case: "envoyFileAccessLog", value: { path: "/dev/stdout" } } },
    ],
  });
}
