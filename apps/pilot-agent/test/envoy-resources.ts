import { create, createRegistry, fromJson } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { type Cluster, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { type Listener, ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { registry as envoyTypes } from "@istiod/envoy-api/registry";
import { ProxyConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { proxyConfigType } from "@istiod/resources";
import type { Ads } from "./fakes.js";

const registry = createRegistry(envoyTypes);

const sds = {
  api_config_source: {
    api_type: "GRPC",
    transport_api_version: "V3",
    grpc_services: [{ envoy_grpc: { cluster_name: "sds-grpc" } }],
  },
  resource_api_version: "V3",
};

/** Builds an inbound listener with mutual TLS and a route to the application. */
export function inbound(address: string, port: number): Listener {
  return fromJson(
    ListenerSchema,
    {
      name: "virtualInbound",
      trafficDirection: "INBOUND",
      address: { socketAddress: { address, portValue: port } },
      filterChains: [
        {
          transportSocket: {
            name: "envoy.transport_sockets.tls",
            typedConfig: {
              "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
              requireClientCertificate: true,
              commonTlsContext: {
                tlsCertificateSdsSecretConfigs: [{ name: "default", sdsConfig: sds }],
                combinedValidationContext: {
                  defaultValidationContext: {},
                  validationContextSdsSecretConfig: { name: "ROOTCA", sdsConfig: sds },
                },
              },
            },
          },
          filters: [
            {
              name: "envoy.filters.network.http_connection_manager",
              typedConfig: {
                "@type":
                  "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
                statPrefix: "inbound",
                routeConfig: {
                  virtualHosts: [
                    { name: "app", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: "app" } }] },
                  ],
                },
                httpFilters: [
                  {
                    name: "envoy.filters.http.router",
                    typedConfig: { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
                  },
                ],
              },
            },
          ],
        },
      ],
    },
    { registry },
  );
}

/** Builds the cluster of an application on loopback. */
export function application(port: number): Cluster {
  const address = { socketAddress: { address: "127.0.0.1", portValue: port } };
  return fromJson(ClusterSchema, {
    name: "app",
    type: "STATIC",
    connectTimeout: "1s",
    loadAssignment: { clusterName: "app", endpoints: [{ lbEndpoints: [{ endpoint: { address } }] }] },
  });
}

/**
 * Serves one cluster and one listener, and root certificates to the agent itself, if any. Records initial resource
 * versions and NACKs.
 */
export function discovery(
  cluster: () => Cluster,
  listener: () => Listener,
  seen: { known: Record<string, string>[]; refused: string[] },
  caCertificatesPem: readonly string[] = [],
): Ads {
  return {
    async *deltaAggregatedResources(requests) {
      for await (const { typeUrl, responseNonce, initialResourceVersions, errorDetail } of requests) {
        if (errorDetail) seen.refused.push(errorDetail.message);
        if (responseNonce !== "") continue;
        seen.known.push(initialResourceVersions);
        if (typeUrl.endsWith("Cluster"))
          yield {
            typeUrl,
            nonce: "c",
            resources: [{ name: "app", version: "1", resource: anyPack(ClusterSchema, cluster()) }],
          };
        if (typeUrl.endsWith("Listener"))
          yield {
            typeUrl,
            nonce: "l",
            resources: [{ name: "virtualInbound", version: "1", resource: anyPack(ListenerSchema, listener()) }],
          };
        if (typeUrl === proxyConfigType) {
          const config = create(ProxyConfigSchema, { caCertificatesPem: [...caCertificatesPem] });
          yield {
            typeUrl,
            nonce: "p",
            resources: [{ name: "", version: "1", resource: anyPack(ProxyConfigSchema, config) }],
          };
        }
      }
    },
  };
}
