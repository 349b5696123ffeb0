import { deepEqual, equal } from "node:assert/strict";
import { readText, setObjects } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { endpoints, service } from "@istiod/service-discovery";

const objects = (yaml: string) =>
  readText(yaml, "mesh.yaml", { cluster: "Kubernetes" }).flatMap((reading) => reading.objects);
const cart = `
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {clusterIP: 10.0.0.1, selector: {app: cart}, ports: [{name: http, port: 80, targetPort: 8080}]}
`;
const slice = (ready: boolean) => `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-x, namespace: shop, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [10.1.0.7], conditions: {ready: ${ready}, terminating: false}}]
`;

const db = new Database<undefined>();
db.commit((tx) => setObjects(tx, objects(`${cart}---${slice(true)}`)));
const view = db.view(undefined);
const before = view.call(service, "shop/cart.shop.svc.cluster.local");
const health = () =>
  view
    .call(endpoints, { service: "shop/cart.shop.svc.cluster.local", port: "http" })
    .map((e) => `${e.addresses[0]}:${e.port} ${e.health}`);

equal(before?.hostname, "cart.shop.svc.cluster.local");
equal(before?.ports[0]?.protocol, "HTTP");
deepEqual(health(), ["10.1.0.7:8080 Healthy"]);
db.commit((tx) => setObjects(tx, objects(slice(false))));
deepEqual(health(), ["10.1.0.7:8080 Unhealthy"]);
equal(view.call(service, "shop/cart.shop.svc.cluster.local"), before); // the same object: the service is unchanged
