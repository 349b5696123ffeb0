import { readConfigDump, type ConfigDump } from "@istiod/proxy-config";

const type = (name: string): string => `type.googleapis.com/envoy.${name}`;

/** A dump of one part, as Envoy's admin interface writes it. */
export function dumpOf(section: string, fields: object): ConfigDump {
  return readConfigDump(JSON.stringify({ configs: [{ "@type": type(`admin.v3.${section}`), ...fields }] }));
}

export function clusterDump(...clusters: readonly object[]): ConfigDump {
  return dumpOf("ClustersConfigDump", {
    dynamic_active_clusters: clusters.map((cluster) => ({
      cluster: { "@type": type("config.cluster.v3.Cluster"), ...cluster },
    })),
  });
}

export function listenerDump(...listeners: readonly object[]): ConfigDump {
  return dumpOf("ListenersConfigDump", {
    dynamic_listeners: listeners.map((listener) => ({
      active_state: { listener: { "@type": type("config.listener.v3.Listener"), ...listener } },
    })),
  });
}

export function routeDump(...configs: readonly object[]): ConfigDump {
  return dumpOf("RoutesConfigDump", {
    dynamic_route_configs: configs.map((config) => ({
      route_config: { "@type": type("config.route.v3.RouteConfiguration"), ...config },
    })),
  });
}

export function endpointDump(...assignments: readonly object[]): ConfigDump {
  return dumpOf("EndpointsConfigDump", {
    dynamic_endpoint_configs: assignments.map((assignment) => ({
      endpoint_config: { "@type": type("config.endpoint.v3.ClusterLoadAssignment"), ...assignment },
    })),
  });
}

export function secretDump(...secrets: readonly object[]): ConfigDump {
  return dumpOf("SecretsConfigDump", {
    dynamic_active_secrets: secrets.map((secret) => ({
      name: (secret as { name: string }).name,
      secret: { "@type": type("extensions.transport_sockets.tls.v3.Secret"), ...secret },
    })),
  });
}

export const socket = (address: string, port: number): object => ({ socket_address: { address, port_value: port } });

export const httpFilter = (config: object): object => ({
  name: "envoy.filters.network.http_connection_manager",
  typed_config: {
    "@type": type("extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
    ...config,
  },
});

export const tcpFilter = (cluster: string): object => ({
  name: "envoy.filters.network.tcp_proxy",
  typed_config: { "@type": type("extensions.filters.network.tcp_proxy.v3.TcpProxy"), cluster },
});
