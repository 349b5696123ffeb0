import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { AuthenticationPolicy, type ProxyConfig, ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";

/** Returns Istio's default proxy configuration (`DefaultProxyConfig`). */
export function defaultProxyConfig(): ProxyConfig {
  return create(ProxyConfigSchema, {
    configPath: "./etc/istio/proxy",
    binaryPath: "/usr/local/bin/envoy",
    clusterName: { case: "serviceCluster", value: "istio-proxy" },
    drainDuration: durationFromMs(45_000),
    terminationDrainDuration: durationFromMs(5_000),
    discoveryAddress: "istiod.istio-system.svc:15012",
    controlPlaneAuthPolicy: AuthenticationPolicy.MUTUAL_TLS,
    proxyAdminPort: 15000,
    statusPort: 15020,
    statNameLength: 189,
  });
}
