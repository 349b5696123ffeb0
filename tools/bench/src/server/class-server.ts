// A server of the protocol alone, in a process of its own: sets that are there from the beginning, one for each class
// of clients.
import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Cluster_DiscoveryType, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { type Resource, resource, ResourceSet } from "@istiod/resources";
import { clusterType, endpointType, listenerType, type ResourceSource, routeType, serve } from "@istiod/xds-server";

export interface ClassServerOptions {
  /** Clients of one namespace are of one class, and have sets of their own. */
  readonly namespaces: readonly string[];
  /** Clusters of each class, with endpoints each; there are eight listeners and routes. */
  readonly clusters: number;
}

export type ClassServerMessage = { readonly port: number } | { readonly connections: number };

const listeners = 8;

function setsOf(namespace: string, clusters: number): ReadonlyMap<string, ResourceSet> {
  const hosts = Array.from(
    { length: clusters },
    (_, i) => `outbound|8080|${i % 2 === 0 ? "" : "v1"}|svc-${i >> 1}.${namespace}.svc.cluster.local`,
  );
  const ads = { edsConfig: { configSourceSpecifier: { case: "ads", value: {} } } } as const;
  const cluster = (name: string): Resource =>
    resource(
      name,
      toBinary(
        ClusterSchema,
        create(ClusterSchema, {
          name,
          clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
          edsClusterConfig: { ...ads, serviceName: name },
        }),
      ),
    );
  const endpoints = (clusterName: string): Resource =>
    resource(clusterName, toBinary(ClusterLoadAssignmentSchema, create(ClusterLoadAssignmentSchema, { clusterName })));
  const routes = Array.from({ length: listeners }, (_, i) => `${8000 + i}`);
  const listener = (routeConfigName: string): Resource => {
    const manager = create(HttpConnectionManagerSchema, {
      statPrefix: routeConfigName,
      routeSpecifier: {
        case: "rds",
        value: { routeConfigName, configSource: { configSourceSpecifier: { case: "ads", value: {} } } },
      },
    });
    const filter = {
      name: "envoy.filters.network.http_connection_manager",
      configType: { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) },
    } as const;
    return resource(
      `0.0.0.0_${routeConfigName}`,
      toBinary(
        ListenerSchema,
        create(ListenerSchema, {
          name: `0.0.0.0_${routeConfigName}`,
          statPrefix: namespace,
          filterChains: [{ filters: [filter] }],
        }),
      ),
    );
  };
  const route = (name: string): Resource =>
    resource(
      name,
      toBinary(
        RouteConfigurationSchema,
        create(RouteConfigurationSchema, { name, virtualHosts: [{ name: namespace, domains: ["*"] }] }),
      ),
    );
  return new Map([
    [clusterType, ResourceSet.of(hosts.map(cluster))],
    [endpointType, ResourceSet.of(hosts.map(endpoints))],
    [listenerType, ResourceSet.of(routes.map(listener))],
    [routeType, ResourceSet.of(routes.map(route))],
  ]);
}

/** Serves until its parent ends. */
async function run(
  { namespaces, clusters }: ClassServerOptions,
  tell: (message: ClassServerMessage) => void,
): Promise<void> {
  const classes = new Map(namespaces.map((namespace) => [namespace, setsOf(namespace, clusters)]));
  const source: ResourceSource<ReadonlyMap<string, ResourceSet>> = {
    ready: () => true,
    open: ({ metadata }) => classes.get(String(metadata?.["NAMESPACE"])) ?? new Map(),
    resources: (sets, typeUrl) => sets.get(typeUrl),
    watch: () => () => undefined,
  };
  const server = await serve(source, { port: 0 });
  process.on("message", () => tell({ connections: server.connections().length }));
  tell({ port: server.port });
}

if (process.send !== undefined) {
  process.once("message", (options) => void run(options as ClassServerOptions, (message) => process.send?.(message)));
  process.on("disconnect", () => process.exit());
}
