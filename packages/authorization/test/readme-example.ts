import { equal } from "node:assert/strict";
import { check, formatChecks } from "@istiod/authorization";
import { applyMeshConfig, meshConfig, meshConfigKey, readText, setObjects } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";

const mesh = `
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {clusterIP: 10.96.0.1, selector: {app: cart}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: cart-1, namespace: shop, labels: {app: cart, security.istio.io/tlsMode: istio}}
spec: {serviceAccountName: cart, containers: [{name: app}]}
status: {phase: Running, podIP: 10.1.0.1, podIPs: [{ip: 10.1.0.1}]}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: no-admin, namespace: shop}
spec: {action: DENY, rules: [{to: [{operation: {paths: ["/admin*"]}}]}]}
`;
const database = new Database<Proxy>();
const defaults = applyMeshConfig({}, { warning: console.warn, error: console.error });
database.commit((tx) => {
  setObjects(
    tx,
    readText(mesh, "mesh.yaml").flatMap((reading) => reading.objects),
  );
  if (defaults !== undefined) tx.set(meshConfig, meshConfigKey, defaults);
});

const [denied] = await check(database, { from: "shop/web", to: "cart.shop:80", path: "/x/../admin" });
equal(denied?.decision.outcome, "deny");
equal(denied?.request?.normalizedPath, "/admin");
console.log(formatChecks(denied === undefined ? [] : [denied]));
