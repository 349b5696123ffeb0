import { create, toBinary, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Cluster_DiscoveryType, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { RouterSchema } from "@istiod/envoy-api/envoy/extensions/filters/http/router/v3/router";
import { HttpConnectionManagerSchema } from "@istiod/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager";
import { resource, type Resource } from "@istiod/resources";

const ads = { configSourceSpecifier: { case: "ads", value: {} } } as const;

function encode<D extends DescMessage>(name: string, schema: D, init: MessageInitShape<D>): Resource {
  return resource(name, toBinary(schema, create(schema, init)));
}

/** Returns the listener for `xds:///<name>`, whose routes are those of the same name. */
export function listener(name: string): Resource {
  const router = anyPack(RouterSchema, create(RouterSchema));
  const connectionManager = create(HttpConnectionManagerSchema, {
    routeSpecifier: { case: "rds", value: { routeConfigName: name, configSource: ads } },
    httpFilters: [{ name: "router", configType: { case: "typedConfig", value: router } }],
  });
  const apiListener = anyPack(HttpConnectionManagerSchema, connectionManager);
  return encode(name, ListenerSchema, { name, apiListener: { apiListener } });
}

/** Returns routes that lead every method to the cluster of the same name. */
export function routes(name: string): Resource {
  const toCluster = { case: "route", value: { clusterSpecifier: { case: "cluster", value: name } } } as const;
  const route = { match: { pathSpecifier: { case: "prefix", value: "" } }, action: toCluster } as const;
  return encode(name, RouteConfigurationSchema, { name, virtualHosts: [{ name, domains: ["*"], routes: [route] }] });
}

/** Returns a cluster whose endpoints are those of the same name. */
export function cluster(name: string): Resource {
  const clusterDiscoveryType = { case: "type", value: Cluster_DiscoveryType.EDS } as const;
  return encode(name, ClusterSchema, { name, clusterDiscoveryType, edsClusterConfig: { edsConfig: ads } });
}

/** Returns one endpoint. */
export function endpoints(name: string, address: string, port: number): Resource {
  const socketAddress = { address, portSpecifier: { case: "portValue", value: port } } as const;
  const endpoint = { address: { address: { case: "socketAddress", value: socketAddress } } } as const;
  const lbEndpoints = [{ hostIdentifier: { case: "endpoint", value: endpoint } }] as const;
  return encode(name, ClusterLoadAssignmentSchema, {
    clusterName: name,
    endpoints: [{ locality: {}, loadBalancingWeight: 1, lbEndpoints: [...lbEndpoints] }],
  });
}
