import { deepEqual, equal } from "node:assert/strict";
import { applyMeshConfig, meshConfig, meshConfigKey, readText, setObjects } from "@istiod/config-schema";
import { explain, diffMeshes, pairProxies, resourceType } from "@istiod/explain";
import { Database } from "@istiod/incremental";
import { proxyFromNode, type Proxy } from "@istiod/push-context";

const mesh = (timeout: string) => `
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {clusterIP: 10.96.0.1, ports: [{name: http, port: 80}]}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop, creationTimestamp: "2024-01-01T00:00:00Z"}
spec: {hosts: [cart], http: [{timeout: ${timeout}, route: [{destination: {host: cart}}]}]}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: late, namespace: shop, creationTimestamp: "2024-01-02T00:00:00Z"}
spec: {hosts: [cart], http: [{route: [{destination: {host: cart}}]}]}
`;
const database = (yaml: string) => {
  const db = new Database<Proxy>();
  const defaults = applyMeshConfig({}, { warning: console.warn, error: console.error });
  db.commit((tx) => defaults && tx.set(meshConfig, meshConfigKey, defaults));
  db.commit((tx) =>
    setObjects(
      tx,
      readText(yaml, "mesh.yaml").flatMap((reading) => reading.objects),
    ),
  );
  return db;
};
const web = proxyFromNode({ id: "sidecar~10.1.0.1~web.shop~shop.svc.cluster.local" });
const db = database(mesh("3s"));

// Which objects is the route configuration of port 80 built from, and which are ignored?
const rds = resourceType("rds");
const [why] = explain(db, db.view(web), { ...(rds && { types: [rds] }), name: "80", tries: 1000 });
const cart = why?.objects.find(({ kind, name }) => kind === "VirtualService" && name === "cart");
equal(cart?.effect?.fields.includes("spec.http[0].timeout"), true);
deepEqual(
  why?.ignored.map(({ name, reason }) => `${name} ${reason}`),
  [
    "late is ignored for cart.shop.svc.cluster.local:80: VirtualService shop/cart has the same host and takes precedence",
  ],
);

// Which resources would another timeout change?
const { resources } = diffMeshes(db, database(mesh("5s")), pairProxies([web], [web]));
deepEqual(
  resources.map(({ type, name }) => [type, name]),
  [["rds", "80"]],
);
deepEqual(
  resources[0]?.differences.map(({ path, expected, actual }) => [path.split("/").at(-1), expected, actual]),
  [
    ["timeout", "3s", "5s"],
    ["maxGrpcTimeout", "3s", "5s"],
  ],
);
