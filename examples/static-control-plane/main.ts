import { create, toBinary } from "@bufbuild/protobuf";
import { Cluster_DiscoveryType, ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { resource } from "@istiod/resources";
import { clusterType, listenerType, serve, staticSource } from "@istiod/xds-server";

/** A cluster of one address. */
function cluster(name: string, address: string, port: number) {
  const socketAddress = { address, portSpecifier: { case: "portValue", value: port } } as const;
  const endpoint = { address: { address: { case: "socketAddress", value: socketAddress } } } as const;
  const message = create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STATIC },
    loadAssignment: {
      clusterName: name,
      endpoints: [{ lbEndpoints: [{ hostIdentifier: { case: "endpoint", value: endpoint } }] }],
    },
  });
  return resource(name, toBinary(ClusterSchema, message));
}

const source = staticSource({ [clusterType]: [cluster("cart", "10.0.0.1", 8080)], [listenerType]: [] });
const { host, port } = await serve(source, {
  host: "127.0.0.1",
  port: Number(process.env["PORT"] ?? 18000),
  observe: (event) => {
    if (event.kind === "connect") console.log(`${event.nodeId} connected (${event.variant})`);
    if (event.kind === "ack" && event.typeUrl === clusterType)
      console.log(`${event.nodeId} accepted ${event.carried.resources.map(({ name }) => name).join(", ")}`);
  },
});
console.log(`serving Envoys at ${host}:${port}`);
// Later changes reach every connected Envoy.
process.on("SIGHUP", () => source.put(clusterType, cluster("reviews", "10.0.0.2", 9080)));
