import { deepEqual, equal } from "node:assert/strict";
import { formatProblem, readText, setObjects, virtualServices } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";

const manifest = `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec: {hosts: [cart.example.com], http: [{timeout: 90s, route: [{destination: {host: cart}}]}]}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: broken, namespace: shop}
spec: {hosts: [broken.example.com], http: [{route: [{destination: {host: cart}, weight: most}]}]}
`;

const readings = readText(manifest, "cart.yaml");
deepEqual(readings.flatMap(({ problems }) => problems).map(formatProblem), [
  'cart.yaml:10: VirtualService shop/broken: http[0].route[0].weight: is "most", expected an integer',
]);

const database = new Database<unknown>();
database.commit((tx) => readings.forEach(({ objects }) => setObjects(tx, objects)));
equal(database.read(virtualServices, "shop/cart")?.spec.http[0]?.timeout?.seconds, 90n);
equal(database.read(virtualServices, "shop/broken"), undefined);
