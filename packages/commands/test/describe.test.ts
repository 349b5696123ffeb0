import { describeCommand } from "@istiod/commands";
import { expect, test } from "vitest";
import { sharedCluster } from "./cluster-run.js";
import { istioTypes } from "@istiod/commands/testing";
import { namespace } from "./injection-mesh.js";

const pod = (name: string, labels: string, more = ""): string => `
---
apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  namespace: shop
  labels: ${labels}
  annotations: {sidecar.istio.io/status: '{"revision":"default"}'}
spec:
  containers:
  - {name: app, image: app, ports: [{containerPort: 8080, name: web}, {containerPort: 5353, protocol: UDP}]}
  - {name: istio-proxy, image: proxy}
status: {phase: Running, podIP: 10.1.0.${name.length}, podIPs: [{ip: 10.1.0.${name.length}}]${more}}
`;

const mesh = [
  namespace("shop"),
  namespace("istio-system"),
  pod("cart-v1", "{app: cart, version: v1}"),
  pod("lone", "{run: lone}", ", containerStatuses: [{name: app, ready: false}]"),
  `
---
apiVersion: v1
kind: Pod
metadata: {name: plain, namespace: shop, labels: {app: plain}}
spec: {securityContext: {runAsUser: 1337}, containers: [{name: app, image: app}]}
status: {phase: Running, podIP: 10.1.0.99}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec:
  clusterIP: 10.96.0.1
  ports: [{name: http, port: 80, targetPort: web, protocol: TCP}, {port: 9000, targetPort: 8080, protocol: TCP}]
  selector: {app: cart}
---
apiVersion: v1
kind: Service
metadata: {name: plain, namespace: shop}
spec: {clusterIP: 10.96.0.2, ports: [{name: http, port: 80}], selector: {app: plain}}
---
apiVersion: v1
kind: Service
metadata: {name: empty, namespace: shop}
spec: {clusterIP: 10.96.0.3, ports: [{name: http, port: 80}], selector: {app: nobody}}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: cart, namespace: shop}
spec:
  host: cart
  trafficPolicy: {tls: {mode: ISTIO_MUTUAL}, outlierDetection: {consecutive5xxErrors: 3}}
  subsets: [{name: v1, labels: {version: v1}}, {name: v2, labels: {version: v2}}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec:
  hosts: [cart]
  http:
  - match: [{uri: {prefix: /new}, headers: {end-user: {exact: tester}}}]
    route: [{destination: {host: cart, subset: v2}}]
  - match: [{uri: {exact: /old}}]
    route: [{destination: {host: cart, subset: v1}, weight: 90}, {destination: {host: other}, weight: 10}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: front, namespace: istio-system}
spec:
  hosts: [shop.example.com]
  gateways: [front]
  http: [{route: [{destination: {host: cart.shop.svc.cluster.local}}]}]
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: istio-system}
spec: {mtls: {mode: STRICT}}
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: cart, namespace: shop}
spec: {selector: {matchLabels: {app: cart}}, portLevelMtls: {8080: {mode: PERMISSIVE}}}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: readers, namespace: shop}
spec: {selector: {matchLabels: {app: cart}}, rules: [{to: [{operation: {methods: [GET]}}]}]}
`,
].join("");

const cluster = sharedCluster(mesh, { types: istioTypes });
const described = async (...args: string[]): Promise<string> => (await cluster().run(describeCommand, ...args)).out;

const serviceText = `Service: cart
   Port: http 80/HTTP targets pod port 8080
   Port:  9000/auto-detect targets pod port 8080
DestinationRule: cart for "cart"
   Matching subsets: v1
      (Non-matching subsets v2)
   Traffic Policy TLS Mode: ISTIO_MUTUAL
   Policies: outlier detection
VirtualService: cart
   Route to host "cart.shop.svc.cluster.local" subset "v1" with weight 90%
   Route to host "other.shop.svc.cluster.local" with weight 10%
   Match: /old
   1 additional destination(s) that will not reach this pod
RBAC policies: shop/readers (ALLOW)
Exposed on Gateway istio-system/front for shop.example.com
VirtualService: front.istio-system
   1 HTTP route(s)
`;

test("a Pod is described with its Services, rules, routes and policies", async () => {
  const expected = `Pod: cart-v1
   Pod Revision: default
   Pod Ports: 8080 (app), 5353/UDP (app)
--------------------
${serviceText}--------------------
Effective PeerAuthentication:
   Workload mTLS mode: STRICT
   Port Level mTLS mode:
      8080: PERMISSIVE
Applied PeerAuthentication:
   default.istio-system, cart.shop
`;
  expect(await described("pod", "cart-v1", "-n", "shop")).toBe(expected);
});

test("a Service is described by its first Pod", async () => {
  expect(await described("service", "cart", "-n", "shop")).toBe(serviceText);
  expect(await described("svc", "empty.shop")).toBe('Service "empty.shop" has no pods.\n');
  expect(await described("service", "plain.shop")).toBe(
    'Service "plain.shop" has no Istio pods.  (1 pods in service).\nUse `istiod kube-inject` or redeploy with Istio automatic sidecar injection.\n',
  );
});

test("what Istio requires of a Pod is said", async () => {
  expect(await described("pod", "lone.shop")).toContain(
    [
      "WARNING: Pod lone.shop Container app NOT READY",
      "Suggestion: add required service name label for Istio telemetry. See https://istio.io/latest/docs/ops/deployment/application-requirements/.",
      "Suggestion: add required service revision label for Istio telemetry. See https://istio.io/latest/docs/ops/deployment/application-requirements/.",
      "Warning: No Kubernetes Services select pod lone.shop",
    ].join("\n"),
  );
  const plain = await described("pod", "plain", "-n", "shop");
  expect(plain).toContain("WARNING: User ID (UID) 1337 is reserved for the sidecar proxy.\nPod: plain\n");
  expect(plain).toContain("WARNING: plain is not part of mesh; no Istio sidecar\n");
  expect(plain).not.toContain("Service: plain");
  expect(await described("pod", "plain", "-n", "shop", "--ignoreUnmeshed")).not.toContain("not part of mesh");
});

test.each([
  [["pod", "nobody", "-n", "shop"], "nobody: there is no such Pod in namespace shop"],
  [["service", "nobody.shop"], "nobody.shop: there is no such Service in namespace default"],
  [["pod"], "missing required argument 'name'"],
])("istiod describe %j is rejected", async (args, message) => {
  await expect(described(...args)).rejects.toThrow(message);
});
