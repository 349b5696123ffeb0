import { Database, query, type Query } from "@istiod/incremental";
import {
  configMaps,
  endpointSlicesByService,
  namespaces,
  nodes,
  pods,
  podsByAddress,
  secrets,
  serviceEntries,
  services,
  virtualServices,
  virtualServicesByGateway,
  workloadEntries,
  hostBuckets,
} from "@istiod/config-schema";
import { commitYaml } from "@istiod/config-schema/testing";
import { describe, expect, test } from "vitest";

describe("Kubernetes' kinds", () => {
  const database = new Database<unknown>();
  commitYaml(
    database,
    `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, labels: {app: web}, annotations: {networking.istio.io/exportTo: ".", example.com/owner: me}, creationTimestamp: "2024-01-01T00:00:01Z"}
spec:
  clusterIP: 10.0.0.1
  ports: [{name: http, port: 80, targetPort: http}, {port: 53, protocol: UDP, nodePort: 30053, appProtocol: dns}]
  selector: {app: web}
  trafficDistribution: PreferClose
status: {loadBalancer: {ingress: [{ip: 1.2.3.4}, {hostname: lb.example.com}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints:
- {addresses: [10.1.0.1], nodeName: n1, zone: z1, targetRef: {kind: Pod, name: web-0}}
- {addresses: [10.1.0.2], conditions: {ready: false, serving: true, terminating: true}}
ports: [{name: http, port: 8080}]
---
apiVersion: v1
kind: Pod
metadata:
  name: web-0
  namespace: shop
  labels: {app: web, any: thing}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-5c6f, controller: true}]
spec:
  nodeName: n1
  containers: [{name: app, ports: [{name: http, containerPort: 8080}]}, {name: proxy, ports: [{containerPort: 15090, protocol: TCP}]}]
  initContainers: [{name: once, ports: [{containerPort: 1}]}, {name: beside, restartPolicy: Always, ports: [{containerPort: 2}]}]
status: {phase: Running, podIP: 10.1.0.1, podIPs: [{ip: 10.1.0.1}, {ip: "fd00::1"}], conditions: [{type: Ready, status: "True"}]}
---
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {topology.kubernetes.io/zone: z1}}, status: {addresses: [{type: InternalIP, address: 10.9.0.1}]}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {istio-injection: enabled}, annotations: {other: x}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: tls, namespace: shop}, type: kubernetes.io/tls, data: {tls.crt: Y2VydA==}, stringData: {tls.key: key}}
---
{apiVersion: v1, kind: Secret, metadata: {name: release, namespace: shop}, type: helm.sh/release.v1, data: {release: "AAAA"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: ca, namespace: shop}, data: {ca.crt: pem}}
`,
  );

  test("a Service keeps what is read, labels whole, annotations of Istio's only", () => {
    expect(database.read(services, "Kubernetes/shop/web")).toEqual({
      kind: "Service",
      namespace: "shop",
      name: "web",
      labels: { app: "web" },
      annotations: { "networking.istio.io/exportTo": "." },
      creationTimestamp: Date.UTC(2024, 0, 1, 0, 0, 1),
      cluster: "Kubernetes",
      spec: {
        type: "ClusterIP",
        clusterIP: "10.0.0.1",
        clusterIPs: [],
        externalIPs: [],
        externalName: "",
        ports: [
          { name: "http", port: 80, protocol: "TCP", targetPort: "http" },
          { name: "", port: 53, protocol: "UDP", nodePort: 30053, appProtocol: "dns" },
        ],
        selector: { app: "web" },
        publishNotReadyAddresses: false,
        trafficDistribution: "PreferClose",
      },
      status: { loadBalancer: [{ ip: "1.2.3.4" }, { hostname: "lb.example.com" }] },
    });
  });

  test("an EndpointSlice is found by its Service; absent conditions mean ready", () => {
    const found = ask(
      database,
      query("slices", (q) => q.read(endpointSlicesByService, "Kubernetes/shop/web")),
    );
    expect(found[0]?.spec).toEqual({
      addressType: "IPv4",
      service: "web",
      endpoints: [
        {
          addresses: ["10.1.0.1"],
          ready: true,
          serving: true,
          terminating: false,
          nodeName: "n1",
          zone: "z1",
          targetRef: { kind: "Pod", namespace: "shop", name: "web-0" },
        },
        { addresses: ["10.1.0.2"], ready: false, serving: true, terminating: true },
      ],
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    });
  });

  test("a Pod is found by any of its addresses", () => {
    const pod = database.read(pods, "Kubernetes/shop/web-0");
    expect(pod?.spec).toMatchObject({
      serviceAccountName: "default",
      nodeName: "n1",
      ports: [
        { name: "http", containerPort: 8080 },
        { name: "", containerPort: 15090 },
        { name: "", containerPort: 2 },
      ],
      controller: { kind: "ReplicaSet", name: "web-5c6f" },
    });
    expect(pod?.status).toEqual({ phase: "Running", podIPs: ["10.1.0.1", "fd00::1"], ready: true });
    const found = query("pods", (q) => q.read(podsByAddress, "fd00::1").map((p) => p.name));
    expect(ask(database, found)).toEqual(["web-0"]);
  });

  test("others", () => {
    expect(database.read(nodes, "Kubernetes/n1")?.spec.addresses).toEqual([
      { type: "InternalIP", address: "10.9.0.1" },
    ]);
    expect(database.read(namespaces, "Kubernetes/shop")).toMatchObject({
      namespace: "",
      labels: { "istio-injection": "enabled" },
      annotations: {},
    });
    expect(Buffer.from(database.read(secrets, "Kubernetes/shop/tls")?.spec.data["tls.crt"] ?? []).toString()).toBe(
      "cert",
    );
    expect(Buffer.from(database.read(secrets, "Kubernetes/shop/tls")?.spec.data["tls.key"] ?? []).toString()).toBe(
      "key",
    );
    expect(database.read(secrets, "Kubernetes/shop/release")).toBeUndefined();
    expect(database.read(configMaps, "Kubernetes/shop/ca")?.spec.data).toEqual({ "ca.crt": "pem" });
  });

  test("what nothing reads does not count as a change", () => {
    const commit = commitYaml(
      database,
      `{apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: "1", resourceVersion: "7", labels: {istio-injection: enabled}, annotations: {other: "y", kubectl.kubernetes.io/last-applied-configuration: "{}"}}, status: {phase: Active}}`,
    );
    expect(commit.changed).toEqual([]);
  });
});

describe("Istio's kinds", () => {
  test.each(["v1", "v1beta1", "v1alpha3"])("are the same object in every version: %s", (version) => {
    const database = new Database<unknown>();
    commitYaml(
      database,
      `
apiVersion: networking.istio.io/${version}
kind: VirtualService
metadata: {name: web, namespace: shop}
spec:
  hosts: [web, "*.example.com"]
  gateways: [mesh, ingress, ./east, edge/west]
  http: [{timeout: 1m30s, match: [{uri: {prefix: /}}], route: [{destination: {host: web}}]}]
`,
    );
    const object = database.read(virtualServices, "shop/web");
    expect(object?.spec.http[0]?.timeout?.seconds).toBe(90n);
    expect(object?.spec.hosts).toEqual(["web", "*.example.com"]);
    expect(
      ask(
        database,
        query("gateways", (q) => q.keys(virtualServicesByGateway)),
      ),
    ).toEqual(["edge/west", "mesh", "shop/east", "shop/ingress"]);
    expect(hostBuckets("web.shop.svc.cluster.local", "cluster.local")).toContain("shop/web");
    expect(hostBuckets("web.shop.svc.other", "cluster.local")).toEqual(["web.shop.svc.other"]);
  });

  test("status that is read comes along", () => {
    const database = new Database<unknown>();
    commitYaml(
      database,
      `
{apiVersion: networking.istio.io/v1, kind: ServiceEntry, metadata: {name: a, namespace: "n"}, spec: {hosts: [a.example.com], ports: [{number: 80, name: http}], resolution: DNS}, status: {addresses: [{value: 240.240.0.1, host: a.example.com}]}}
---
{apiVersion: networking.istio.io/v1, kind: WorkloadEntry, metadata: {name: a, namespace: "n"}, spec: {address: 1.2.3.4}, status: {conditions: [{type: Healthy, status: "False"}]}}
`,
    );
    expect(database.read(serviceEntries, "n/a")?.status).toEqual({
      addresses: [{ value: "240.240.0.1", host: "a.example.com" }],
    });
    expect(database.read(workloadEntries, "Kubernetes/n/a")?.status).toEqual({ healthy: false });
  });
});

function ask<R>(database: Database<unknown>, of: Query<void, R>): R {
  const view = database.view(undefined);
  try {
    return view.call(of);
  } finally {
    view.release();
  }
}
