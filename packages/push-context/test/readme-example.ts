import { deepEqual, equal } from "node:assert/strict";
import { applyMeshConfig, meshConfig, meshConfigKey, readText, setObjects } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { destinationRuleFor, proxyFromNode, type Proxy } from "@istiod/push-context";

const rule = (namespace: string, connections: number) => `---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: cart, namespace: ${namespace}}
spec: {host: cart.shop.svc.cluster.local, trafficPolicy: {connectionPool: {tcp: {maxConnections: ${connections}}}}}
`;
const objects = readText(rule("shop", 10) + rule("payments", 20), "mesh.yaml").flatMap((reading) => reading.objects);
const defaults = applyMeshConfig({}, { warning: console.warn, error: console.error });

const db = new Database<Proxy>();
db.commit((tx) => {
  setObjects(tx, objects);
  if (defaults !== undefined) tx.set(meshConfig, meshConfigKey, defaults);
});
const client = (name: string, namespace: string) =>
  db.view(proxyFromNode({ id: `sidecar~10.0.0.1~${name}.${namespace}~${namespace}.svc.cluster.local` }));
const ruleOf = (name: string, namespace: string) =>
  client(name, namespace).call(destinationRuleFor, { host: "cart.shop.svc.cluster.local", serviceNamespace: "shop" });

const connections = ["shop", "payments", "other"].map(
  (namespace) => ruleOf("web", namespace)?.spec.trafficPolicy?.connectionPool?.tcp?.maxConnections,
);
deepEqual(connections, [10, 20, 10]); // the rule of the client's own namespace takes precedence
equal(ruleOf("web", "other"), ruleOf("api", "shop")); // one object: both clients are in one class
