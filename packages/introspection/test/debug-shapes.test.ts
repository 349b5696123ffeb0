import { create } from "@bufbuild/protobuf";
import { NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { clusterType, listenerType } from "@istiod/xds-server";
import type { XdsClient } from "@istiod/xds-server/testing";
import { beforeEach, expect, it } from "vitest";
import { inspected } from "./inspected.js";

const created = 'creationTimestamp: "2024-01-02T03:04:05Z"';
const objects = `
{apiVersion: v1, kind: Service, metadata: {name: cart, namespace: shop, labels: {app: cart}, ${created}}, spec: {clusterIP: 10.1.0.1, selector: {app: cart}, ports: [{name: http, port: 80, targetPort: 8080}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: cart-0, namespace: shop, labels: {app: cart}}, spec: {serviceAccountName: till, nodeName: node-1}, status: {phase: Running, podIP: 10.0.1.1, podIPs: [{ip: 10.0.1.1}], conditions: [{type: Ready, status: "True"}]}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-1, namespace: shop, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
endpoints: [{addresses: [10.0.1.1], conditions: {ready: true}, targetRef: {kind: Pod, name: cart-0, namespace: shop}}]
ports: [{name: http, port: 8080}]
---
{apiVersion: networking.istio.io/v1, kind: DestinationRule, metadata: {name: cart, namespace: shop, ${created}}, spec: {host: cart, subsets: [{name: v1, labels: {version: v1}}]}}
---
{apiVersion: networking.istio.io/v1, kind: Sidecar, metadata: {name: own, namespace: shop}, spec: {egress: [{hosts: ["./*"]}]}}
---
{apiVersion: networking.istio.io/v1, kind: ServiceEntry, metadata: {name: out, namespace: pay}, spec: {hosts: [b.example.org], exportTo: [".", shop], location: MESH_EXTERNAL, resolution: DNS, ports: [{name: tls, number: 443, protocol: TLS}]}}
---
{apiVersion: security.istio.io/v1, kind: AuthorizationPolicy, metadata: {name: allow, namespace: shop}, spec: {rules: [{}]}}
---
{apiVersion: telemetry.istio.io/v1, kind: Telemetry, metadata: {name: all, namespace: istio-system}, spec: {tracing: [{randomSamplingPercentage: 5}]}}
`;

const id = "sidecar~10.0.1.1~cart-0.shop~shop.svc.cluster.local";
let debug: Awaited<ReturnType<typeof inspected>>["debug"];
let web: XdsClient;

beforeEach(async () => {
  const mesh = await inspected(objects);
  debug = mesh.debug;
  web = mesh.connect({
    variant: "delta",
    node: create(NodeSchema, {
      id,
      metadata: { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes", LABELS: { app: "cart" } },
      locality: { region: "r" },
    }),
  });
});

const cart = {
  Attributes: {
    ServiceRegistry: "Kubernetes",
    Name: "cart",
    Namespace: "shop",
    Labels: { app: "cart" },
    ExportTo: null,
    Visibility: 0,
    LabelSelectors: { app: "cart" },
    Aliases: null,
    ClusterExternalAddresses: { Addresses: null },
    ClusterExternalPorts: null,
    PassthroughTargetPorts: null,
    Type: "ClusterIP",
    ExternalName: "",
    NodeLocal: false,
    TrafficDistribution: 0,
    ObjectName: "cart",
    DNSConnectStrategy: 0,
    PublishNotReadyAddresses: false,
  },
  ports: [{ name: "http", port: 80, protocol: "HTTP" }],
  creationTime: "2024-01-02T03:04:05Z",
  hostname: "cart.shop.svc.cluster.local",
  clusterVIPs: { Addresses: { Kubernetes: ["10.1.0.1"] } },
  defaultAddress: "10.1.0.1",
  Resolution: 0,
  MeshExternal: false,
  ResourceVersion: "",
};

it("returns services, endpoints and proxies' service targets in Istio's JSON form", async () => {
  web.subscribe(clusterType);
  await web.accept(clusterType);
  const services = (await debug("registryz")) as { hostname: string; Attributes: object }[];
  expect(services.find(({ hostname }) => hostname === cart.hostname)).toEqual(cart);
  expect(services.find(({ hostname }) => hostname === "b.example.org")).toMatchObject({
    Resolution: 1,
    MeshExternal: true,
    creationTime: "0001-01-01T00:00:00Z",
    Attributes: { ServiceRegistry: "External", ExportTo: { ".": {}, shop: {} } },
  });
  expect(await debug("instancesz")).toEqual({
    "cart-0.shop": [{ Service: cart, Port: { name: "http", port: 80, protocol: "HTTP", TargetPort: 8080 } }],
  });
  const shards = (await debug("endpointShardz")) as Record<
    string,
    Record<string, { Shards: Record<string, object[]>; ServiceAccounts: object }>
  >;
  const { Shards, ServiceAccounts } = shards[cart.hostname]?.["shop"] ?? {};
  expect(ServiceAccounts).toEqual({ "spiffe://cluster.local/ns/shop/sa/till": {} });
  expect(Shards).toEqual({
    "Kubernetes/Kubernetes": [
      {
        Labels: expect.objectContaining({ app: "cart" }) as object,
        Addresses: ["10.0.1.1"],
        ServicePortName: "http",
        LegacyClusterPortKey: 0,
        ServiceAccount: "spiffe://cluster.local/ns/shop/sa/till",
        Network: "",
        Locality: { Label: "", ClusterID: "Kubernetes" },
        EndpointPort: 8080,
        LbWeight: 0,
        TLSMode: "disabled",
        Namespace: "shop",
        WorkloadName: expect.any(String) as string,
        HostName: "",
        SubDomain: "",
        HealthStatus: 1,
        NodeName: "node-1",
      },
    ],
  });
});

it("returns policies, sidecar scopes and objects in Istio's JSON form", async () => {
  web.subscribe(clusterType);
  await web.accept(clusterType);
  const policies = {
    namespace_to_policies: { shop: [{ name: "allow", namespace: "shop", annotations: null, spec: { rules: [{}] } }] },
    root_namespace: "istio-system",
  };
  expect(await debug("authorizationz")).toEqual({ authorization_policies: policies });
  expect(await debug("pushcontext")).toEqual({
    AuthorizationPolicies: policies,
    NetworkGateways: [],
    UnresolvedGateways: [],
  });
  expect(await debug("telemetryz")).toEqual({
    telemetries: {
      namespace_to_telemetries: {
        "istio-system": [
          { name: "all", namespace: "istio-system", spec: { tracing: [{ randomSamplingPercentage: 5 }] } },
        ],
      },
      root_namespace: "istio-system",
    },
  });
  const scope = (await debug(`sidecarz?proxyID=${id}`)) as object;
  expect(scope).toMatchObject({
    version: expect.any(String) as string,
    name: "own",
    namespace: "shop",
    outboundTrafficPolicy: { mode: "ALLOW_ANY" },
    services: [cart],
    egressListenerServices: [[cart]],
    servicesByHostname: { [cart.hostname]: cart },
    sidecar: { egress: [{ hosts: ["./*"] }] },
    destinationRules: {
      [cart.hostname]: [
        { exportTo: null, rule: { name: "cart", namespace: "shop" }, from: [{ Namespace: "shop", Name: "cart" }] },
      ],
    },
  });
  const configs = (await debug("configz")) as { kind: string; metadata: object }[];
  expect(configs.find(({ kind }) => kind === "DestinationRule")?.metadata).toEqual({
    name: "cart",
    namespace: "shop",
    creationTimestamp: "2024-01-02T03:04:05Z",
  });
  expect(configs.find(({ kind }) => kind === "Sidecar")?.metadata).toEqual({
    name: "own",
    namespace: "shop",
    creationTimestamp: null,
  });
  expect(await debug("clusterz")).toEqual([{ id: "Kubernetes", secretName: "", syncStatus: "synced" }]);
});

it("returns only the state that streams have", async () => {
  expect(await debug("connections")).toEqual({ totalClients: 0 });
  expect(await debug("adsz")).toEqual({ totalClients: 0 });
  expect(await debug("syncz")).toEqual([]);
  web.subscribe(clusterType);
  await web.accept(clusterType);
  web.subscribe(listenerType);
  web.nack(await web.next(listenerType), "no");
  await web.settled();
  const { clients } = (await debug("connections")) as { clients: object[] };
  expect(clients).toEqual([
    {
      connectionId: `${id}-1`,
      connectedAt: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      address: expect.stringMatching(/^127\.0\.0\.1:\d+$/) as string,
    },
  ]);
  const all = (await debug("adsz")) as { clients: object[] };
  expect(all.clients).toEqual([
    {
      ...clients[0],
      labels: { app: "cart" },
      metadata: expect.objectContaining({ CLUSTER_ID: "Kubernetes" }) as object,
      locality: { region: "r" },
      watches: expect.objectContaining({ [clusterType]: expect.any(Array) as string[] }) as object,
    },
  ]);
  const [status] = (await debug("syncz")) as { resources: Record<string, object> }[];
  const resources = status?.resources;
  const nonce = expect.stringMatching(/./) as string;
  expect({ ...status, resources: undefined }).toEqual({
    cluster_id: "Kubernetes",
    proxy: "cart-0.shop",
    proxy_type: "sidecar",
    cluster_sent: nonce,
    cluster_acked: nonce,
    listener_sent: nonce,
    resources: undefined,
  });
  expect(resources?.[clusterType]).toEqual({ sent: nonce, acked: nonce, sentTime: nonce });
  expect(resources?.[listenerType]).toEqual({
    sent: nonce,
    sentTime: nonce,
    lastError: "no",
    unaccepted: expect.any(Object) as unknown,
  });
  const { configs } = (await debug("config_dump?proxyID=cart-0.shop&include_eds")) as {
    configs: Record<string, unknown>[];
  };
  expect(configs.map((config) => String(config["@type"]).split(".").at(-1))).toEqual([
    "BootstrapConfigDump",
    "ClustersConfigDump",
    "EndpointsConfigDump",
    "ListenersConfigDump",
    "ScopedRoutesConfigDump",
    "RoutesConfigDump",
    "SecretsConfigDump",
    "EcdsConfigDump",
  ]);
});
