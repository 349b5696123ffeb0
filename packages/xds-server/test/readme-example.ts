import { create, toBinary } from "@bufbuild/protobuf";
import { ClusterSchema, Cluster_DiscoveryType } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { resource } from "@istiod/resources";
import { clusterType, listenerType, serve, staticSource } from "@istiod/xds-server";

const socketAddress = { address: "10.0.0.1", portSpecifier: { case: "portValue", value: 8080 } } as const;
const endpoint = { address: { address: { case: "socketAddress", value: socketAddress } } } as const;
const cart = create(ClusterSchema, {
  name: "cart",
  clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STATIC },
  loadAssignment: {
    clusterName: "cart",
    endpoints: [{ lbEndpoints: [{ hostIdentifier: { case: "endpoint", value: endpoint } }] }],
  },
});
const source = staticSource({ [clusterType]: [resource("cart", toBinary(ClusterSchema, cart))], [listenerType]: [] });
export const server = await serve(source, { port: 0, observe: ({ kind }) => console.log(kind) });
console.log(`an Envoy may now use ${server.host}:${server.port} as its ADS cluster`);
