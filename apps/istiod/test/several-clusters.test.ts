import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { proxyFromNode } from "@istiod/push-context";
import type { XdsClient } from "@istiod/xds-server/testing";
import { describe, expect, test } from "vitest";
import { client, decoded, flagValues, folder, serve } from "./serving.js";
import { multiClusterInfos } from "@istiod/introspection";
import { readMesh } from "../src/offline-mesh.js";
import { meshSources } from "../src/sources.js";

const endpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment";
const cart = "outbound|80||cart.shop.svc.cluster.local";

const service = (name: string, namespace = "shop"): string => `---
apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: ${namespace}}
spec: {clusterIP: 10.96.0.1, selector: {app: ${name}}, ports: [{name: http, port: 80, targetPort: 8080}]}
`;

const workload = (service: string, ip: string, namespace = "shop"): string => `---
apiVersion: v1
kind: Pod
metadata: {name: ${service}-0, namespace: ${namespace}, labels: {app: ${service}, security.istio.io/tlsMode: istio}}
spec: {serviceAccountName: ${service}, containers: [{name: app}]}
status: {phase: Running, podIP: ${ip}, podIPs: [{ip: ${ip}}], conditions: [{type: Ready, status: "True"}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: ${service}-0, namespace: ${namespace}, labels: {kubernetes.io/service-name: ${service}}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [${ip}], conditions: {ready: true}, targetRef: {kind: Pod, namespace: ${namespace}, name: ${service}-0}}]
`;

const workloadEntry = (ip: string): string => `---
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: vm, namespace: shop}
spec: {address: ${ip}, labels: {app: cart}}
`;

const gateway = (ip: string): string => `---
apiVersion: v1
kind: Service
metadata: {name: east-west, namespace: istio-system}
spec: {type: LoadBalancer, clusterIP: 10.96.0.9, ports: [{name: tls, port: 15443}]}
status: {loadBalancer: {ingress: [{ip: ${ip}}]}}
`;

/** The addresses of a cluster as a proxy in one of the clusters is sent them. */
async function addresses(proxy: XdsClient, cluster = cart): Promise<readonly string[]> {
  const [assignment] = decoded(ClusterLoadAssignmentSchema, await proxy.accept(endpointType));
  expect(assignment?.clusterName).toBe(cluster);
  const found = assignment?.endpoints.flatMap(({ lbEndpoints }) =>
    lbEndpoints.map(({ hostIdentifier }) => {
      const address = hostIdentifier.case === "endpoint" ? hostIdentifier.value.address?.address : undefined;
      return address?.case === "socketAddress"
        ? `${address.value.address}:${address.value.portSpecifier.value}`
        : "none";
    }),
  );
  return (found ?? []).sort();
}

const node = (cluster: string, network = ""): Parameters<typeof client>[2] =>
  create(NodeSchema, {
    id: `sidecar~10.${cluster.length}.0.1~web-0.shop~shop.svc.cluster.local`,
    metadata: { CLUSTER_ID: cluster, NAMESPACE: "shop", ...(network && { NETWORK: network }) },
  });

const variants = ["sotw", "delta"] as const;

describe.each(variants)("a mesh of two clusters, by %s", (variant) => {
  test("has the endpoints of both clusters, except for cluster-local hosts, and follows edits in both", async () => {
    const own = await folder({
      "a.yaml":
        service("cart") +
        workload("cart", "10.1.0.1") +
        service("dns", "kube-system") +
        workload("dns", "10.1.0.53", "kube-system"),
    });
    const east = await folder({
      "a.yaml":
        service("cart") +
        workload("cart", "10.2.0.1") +
        service("dns", "kube-system") +
        workload("dns", "10.2.0.53", "kube-system"),
    });
    const istiod = await serve({ configDir: own, clusterDir: [`east=${east}`] });
    const local = client(istiod, variant, node("Kubernetes"));
    local.subscribe(endpointType, [cart]);
    expect(await addresses(local)).toEqual(["10.1.0.1:8080", "10.2.0.1:8080"]);

    const dns = "outbound|80||dns.kube-system.svc.cluster.local";
    for (const [cluster, expected] of [
      ["Kubernetes", "10.1.0.53:8080"],
      ["east", "10.2.0.53:8080"],
    ] as const) {
      const proxy = client(istiod, variant, node(cluster));
      proxy.subscribe(endpointType, [dns]);
      expect(await addresses(proxy, dns)).toEqual([expected]);
    }

    await writeFile(join(east, "vm.yaml"), workloadEntry("10.2.0.7"));
    expect(await addresses(local)).toEqual(["10.1.0.1:8080", "10.2.0.1:8080", "10.2.0.7:8080"]);
    await writeFile(join(own, "vm.yaml"), workloadEntry("10.1.0.7"));
    expect(await addresses(local)).toEqual(["10.1.0.1:8080", "10.1.0.7:8080", "10.2.0.1:8080", "10.2.0.7:8080"]);
  });

  test("in two networks is reached through the other network's gateway, with clusters assigned by fromRegistry", async () => {
    const own = await folder({ "a.yaml": service("cart") + workload("cart", "10.1.0.1") + gateway("203.0.113.1") });
    const east = await folder({ "a.yaml": service("cart") + workload("cart", "10.2.0.1") + gateway("203.0.113.2") });
    const entry = (cluster: string): object => ({
      endpoints: [{ fromRegistry: cluster }],
      gateways: [{ registryServiceName: "east-west.istio-system.svc.cluster.local", port: 15443 }],
    });
    const files = await folder({
      "networks.yaml": JSON.stringify({ networks: { here: entry("Kubernetes"), there: entry("east") } }),
    });
    const istiod = await serve({
      configDir: own,
      clusterDir: [`east=${east}`],
      networksConfig: join(files, "networks.yaml"),
    });
    const expected = {
      Kubernetes: ["10.1.0.1:8080", "203.0.113.2:15443"],
      east: ["10.2.0.1:8080", "203.0.113.1:15443"],
    };
    for (const [cluster, network] of [
      ["Kubernetes", "here"],
      ["east", "there"],
    ] as const) {
      const proxy = client(istiod, variant, node(cluster, network));
      proxy.subscribe(endpointType, [cart]);
      expect(await addresses(proxy)).toEqual(expected[cluster]);
    }
  });
});

test("Istio's configuration in another cluster's directory is ignored with a warning", async () => {
  const rule =
    "---\napiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: r, namespace: shop}\nspec: {host: cart, subsets: [{name: v1}]}\n";
  const own = await folder({ "a.yaml": service("cart") });
  const east = await folder({ "a.yaml": rule });
  const { lines } = await serve({ configDir: own, clusterDir: [`east=${east}`] });
  expect(lines.filter(({ level }) => level === "warn").map(({ msg }) => msg)).toEqual([
    "cluster east: left out 1 DestinationRule: Istio's configuration is read from --configDir",
  ]);
});

test.each([
  [["east"], /expected the ID of a cluster and a directory/],
  [["=x"], /expected the ID of a cluster and a directory/],
  [["east=x", "east=y"], /east is given twice/],
  [["Kubernetes=x"], /this istiod's own cluster/],
])("--clusterDir %j is rejected with the reason", (clusterDir, message) => {
  expect(() => meshSources(flagValues({ configDir: ".", clusterDir }), {})).toThrow(message);
});

test("exports and imports of clusters have Istio's JSON form, for the served API group", async () => {
  const of = (kind: string, more = "", group = "net.example.org"): string =>
    `---\n{apiVersion: ${group}/v1, kind: ${kind}, metadata: {name: cart, namespace: shop}${more}}\n`;
  const own = await folder({ "a.yaml": service("cart") + of("ServiceImport", ", spec: {ips: [240.0.0.1]}") });
  const east = await folder({ "a.yaml": service("cart") + of("ServiceExport") });
  const north = await folder({ "a.yaml": of("ServiceExport", "", "multicluster.x-k8s.io") });
  const values = flagValues({ configDir: own, clusterDir: [`east=${east}`, `north=${north}`] });
  const api = {
    MCS_API_GROUP: "net.example.org",
    MCS_API_VERSION: "v1",
    ENABLE_MCS_SERVICE_DISCOVERY: "true",
    ENABLE_MCS_HOST: "true",
  };
  const { database } = await readMesh(values, api);
  const view = database.view(proxyFromNode({ id: "sidecar~10.1.0.1~web.shop~shop.svc.cluster.local" }));
  expect(view.call(multiClusterInfos)).toEqual([
    {
      Cluster: "Kubernetes",
      Name: "cart",
      Namespace: "shop",
      Exported: false,
      Imported: true,
      ClusterSetVIP: "240.0.0.1",
      Discoverability: null,
    },
    {
      Cluster: "east",
      Name: "cart",
      Namespace: "shop",
      Exported: true,
      Imported: false,
      ClusterSetVIP: "",
      Discoverability: { "cart.shop.svc.cluster.local": "AlwaysDiscoverable" },
    },
  ]);
  const off = await readMesh(values, { MCS_API_GROUP: "net.example.org", MCS_API_VERSION: "v1" });
  expect(off.database.view(view.client).call(multiClusterInfos)).toEqual([]);
});
