import { deepEqual, equal } from "node:assert/strict";
import { fromBinary } from "@bufbuild/protobuf";
import { applyMeshConfig, meshConfig, meshConfigKey, readText, setObjects } from "@istiod/config-schema";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { Database } from "@istiod/incremental";
import { type Proxy, proxyFromNode } from "@istiod/push-context";
import { generators } from "@istiod/xds-generators";

const service = (port: string) => `
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {clusterIP: 10.96.0.1, selector: {app: cart}, ports: [{name: ${port}, port: 80}]}
`;
const db = new Database<Proxy>();
const apply = (yaml: string) =>
  db.commit((tx) =>
    setObjects(
      tx,
      readText(yaml, "mesh.yaml").flatMap((reading) => reading.objects),
    ),
  );
const defaults = applyMeshConfig({}, { warning: console.warn, error: console.error });
db.commit((tx) => defaults !== undefined && tx.set(meshConfig, meshConfigKey, defaults));
apply(service("http"));

const clusters = (namespace: string) => {
  const generator = generators["type.googleapis.com/envoy.config.cluster.v3.Cluster"];
  if (generator === undefined) throw new Error("no generator for clusters");
  return db
    .view(proxyFromNode({ id: `sidecar~10.0.0.1~web.${namespace}~${namespace}.svc.cluster.local` }))
    .call(generator);
};
const before = clusters("shop");
deepEqual(
  [...before].map(({ name }) => name),
  ["outbound|80||cart.shop.svc.cluster.local", "BlackHoleCluster", "PassthroughCluster", "InboundPassthroughCluster"],
);
equal(clusters("payments"), before); // the same object: no object distinguishes the two proxies

apply(service("grpc"));
const cart = clusters("shop").get("outbound|80||cart.shop.svc.cluster.local");
equal(cart && fromBinary(ClusterSchema, cart.bytes).connectTimeout?.seconds, 10n);
