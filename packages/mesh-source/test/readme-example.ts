import { deepEqual } from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { applyMeshConfig, meshConfig, meshConfigKey, readText, setObjects } from "@istiod/config-schema";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { Database } from "@istiod/incremental";
import { MeshSource } from "@istiod/mesh-source";
import type { Proxy } from "@istiod/push-context";
import { clusterType } from "@istiod/xds-server";
import { pino } from "pino";

const database = new Database<Proxy>();
const text = `
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {clusterIP: 10.1.0.1, ports: [{name: http, port: 80}]}
`;
const defaults = applyMeshConfig({}, { error: console.error, warning: console.error });
database.commit((tx) => {
  if (defaults) tx.set(meshConfig, meshConfigKey, defaults);
  for (const { objects } of readText(text, "cart.yaml")) setObjects(tx, objects);
});

// The xDS server calls these for each stream: `createXdsServer(source)`.
const source = new MeshSource({ database, log: pino({ level: "silent" }) });
const node = create(NodeSchema, { id: "sidecar~10.0.0.1~web.shop~shop.svc.cluster.local" });
const client = await source.open(node, { address: "127.0.0.1", port: 50000, headers: {} });
const outbound = [...(source.resources(client, clusterType) ?? [])].filter(({ name }) => name.startsWith("outbound"));
deepEqual(
  outbound.map(({ name }) => name),
  ["outbound|80||cart.shop.svc.cluster.local"],
);
source.close(client);
