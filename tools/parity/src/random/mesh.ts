import fc, { type Arbitrary } from "fast-check";
import { type MeshObject, oneOf, optional, sometimes } from "./arbitraries.js";
import { envoyFilters } from "./envoy-filters.js";
import { extensionObjects } from "./extensions.js";
import { proxyTracing, telemetryMeshConfig } from "./mesh-config.js";
import { policies } from "./policies.js";
import { telemetries } from "./telemetry.js";

/** A proxy as a scenario lists it. */
export interface RandomProxy {
  readonly key: string;
  readonly id: string;
  readonly cluster: string;
  readonly region: string;
  readonly zone: string;
  /** The service account of its certificate. */
  readonly verifiedServiceAccount: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A scenario without the expected resources. */
export interface RandomMesh {
  readonly objects: readonly object[];
  readonly meshConfig: object;
  readonly proxies: readonly RandomProxy[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Versions before and after each one that Istio's generators distinguish. */
const versions = ["1.23.0", "1.27.3", "1.28.0", "1.29.0", "1.29.2", "1.30.1", "1.31.0", "1.32.0-alpha.0"] as const;

const port = (name: string, number: number, targetPort = number): object => ({ name, port: number, targetPort });

const service = (namespace: string, name: string, clusterIP: string, selector: object, ports: object[]): object => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace },
  spec: { clusterIP, selector, ports },
});

const externalService = (namespace: string): object => ({
  apiVersion: "networking.istio.io/v1",
  kind: "ServiceEntry",
  metadata: { name: "collector", namespace, creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: {
    hosts: ["collector.example.com"],
    ports: [{ number: 4317, name: "grpc", protocol: "GRPC" }],
    resolution: "DNS",
  },
});

/** Services of the mesh and of collectors, one of which two namespaces declare. */
const services: readonly object[] = [
  service("shop", "cart", "10.96.0.1", { app: "cart" }, [
    ...[port("http", 80, 8080), port("tcp-data", 9090), port("grpc", 7070), port("auto", 7000)],
  ]),
  service("shop", "db", "10.96.0.2", { app: "db" }, [port("mysql", 3306), port("tls", 8443)]),
  service("obs", "otel", "10.96.0.3", { app: "otel" }, [port("grpc-otlp", 4317), port("http-zipkin", 9411)]),
  service("istio-system", "gateway", "10.96.0.4", { istio: "gateway" }, [port("http2", 80, 8080), port("tcp", 9090)]),
  externalService("shop"),
  externalService("obs"),
];

const istioObject = (kind: string, name: string, spec: object): object => ({
  apiVersion: "networking.istio.io/v1",
  kind,
  metadata: { name, namespace: "shop", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec,
});

/** A gateway for HTTP, TCP and TLS, with routes. */
const ingress: readonly object[] = [
  istioObject("Gateway", "edge", {
    selector: { istio: "gateway" },
    servers: [
      { port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] },
      { port: { number: 9090, name: "tcp", protocol: "TCP" }, hosts: ["*"] },
      { port: { number: 443, name: "tls", protocol: "TLS" }, hosts: ["db.example.com"], tls: { mode: "PASSTHROUGH" } },
    ],
  }),
  istioObject("VirtualService", "edge", {
    hosts: ["*"],
    gateways: ["edge"],
    http: [{ route: [{ destination: { host: "cart.shop.svc.cluster.local", port: { number: 80 } } }] }],
    tcp: [
      {
        match: [{ port: 9090 }],
        route: [{ destination: { host: "cart.shop.svc.cluster.local", port: { number: 9090 } } }],
      },
    ],
  }),
  istioObject("VirtualService", "edge-tls", {
    hosts: ["db.example.com"],
    gateways: ["edge"],
    tls: [
      {
        match: [{ sniHosts: ["db.example.com"] }],
        route: [{ destination: { host: "db.shop.svc.cluster.local", port: { number: 8443 } } }],
      },
    ],
  }),
];

const secret = (namespace: string, name: string, type: string, entry: string, content: string): object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace },
  type,
  data: { [entry]: Buffer.from(content).toString("base64") },
});

/** Pull secrets of both namespaces, and a Secret of another type. */
const secrets: readonly object[] = ["istio-system", "shop"].flatMap((namespace) => [
  secret(namespace, "registry", "kubernetes.io/dockerconfigjson", ".dockerconfigjson", `{"auths":{"${namespace}":{}}}`),
  secret(namespace, "opaque", "Opaque", "key", "value"),
]);

/** The workloads whose proxies ask: of a service, of a client, and gateways of either API in both namespaces. */
const workloads = [
  { key: "cart", type: "sidecar", namespace: "shop", address: "10.1.0.1", labels: { app: "cart", version: "v1" } },
  { key: "client", type: "sidecar", namespace: "shop", address: "10.1.0.2", labels: { app: "client" } },
  { key: "root", type: "sidecar", namespace: "istio-system", address: "10.1.0.3", labels: { app: "client" } },
  { key: "gateway", type: "router", namespace: "istio-system", address: "10.1.0.4", labels: { istio: "gateway" } },
  {
    key: "edge",
    type: "router",
    namespace: "shop",
    address: "10.1.0.5",
    labels: { istio: "gateway", "gateway.networking.k8s.io/gateway-name": "edge" },
  },
] as const;

type Workload = (typeof workloads)[number];

/** Labels and annotations by which providers name a workload. */
const naming = fc.record({
  labels: optional({
    "app.kubernetes.io/instance": oneOf("instance", ""),
    "app.kubernetes.io/name": oneOf("name"),
    "service.istio.io/canonical-name": oneOf("canonical"),
    "service.istio.io/canonical-revision": oneOf("r1"),
  }),
  metadata: optional({
    ANNOTATIONS: oneOf({ "resource.opentelemetry.io/service.name": "annotated" }),
    WORKLOAD_NAME: oneOf("workload"),
    APP_CONTAINERS: oneOf("app", "app,other"),
    MESH_ID: oneOf("mesh"),
  }),
});

const pod = ({ key, namespace, address }: Workload, labels: object): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: key, namespace, labels },
  spec: { serviceAccountName: "default", containers: [{ name: "app", image: "app" }] },
  status: { phase: "Running", podIP: address, podIPs: [{ ip: address }] },
});

/** Returns a workload as a Pod and as its proxy. */
const proxyOf = (workload: Workload): Arbitrary<readonly [object, RandomProxy]> =>
  fc.tuple(oneOf(...versions), naming, sometimes(proxyTracing, 30)).map(([version, { labels, metadata }, tracing]) => {
    const { key, type, namespace, address } = workload;
    const all = { ...workload.labels, ...labels };
    const proxy = {
      key,
      id: `${type}~${address}~${key}.${namespace}~${namespace}.svc.cluster.local`,
      cluster: `${key}.${namespace}`,
      region: "",
      zone: "",
      verifiedServiceAccount: "default",
      metadata: {
        ...metadata,
        CLUSTER_ID: "Kubernetes",
        ISTIO_VERSION: version,
        NAMESPACE: namespace,
        LABELS: all,
        SERVICE_ACCOUNT: "default",
        ...(tracing && { PROXY_CONFIG: { tracing } }),
      },
    };
    return [pod(workload, all), proxy];
  });

/** Returns meshes of the same services and workloads, with random objects and mesh configuration. */
function meshWith(objects: Arbitrary<readonly MeshObject[]>): Arbitrary<RandomMesh> {
  return fc
    .record({
      objects,
      meshConfig: telemetryMeshConfig,
      proxies: fc.tuple(...workloads.map(proxyOf)),
      environment: oneOf<Record<string, string>>({}, { PILOT_TRACE_SAMPLING: "17.5" }),
    })
    .map((mesh) => ({
      objects: [...services, ...ingress, ...secrets, ...mesh.proxies.map(([pod]) => pod), ...mesh.objects],
      meshConfig: mesh.meshConfig,
      proxies: mesh.proxies.map(([, proxy]) => proxy),
      environment: { PILOT_TRACE_SAMPLING: "1", RANDOM_MESH_TOKEN: "token", ...mesh.environment },
    }));
}

/** Returns the union of lists of objects. */
const union = (...lists: Arbitrary<readonly MeshObject[]>[]): Arbitrary<readonly MeshObject[]> =>
  fc.tuple(...lists).map((all) => all.flat());

/** The kinds of random meshes, by the objects that they are about. */
export const randomMeshes = {
  telemetry: meshWith(telemetries),
  extensions: meshWith(union(extensionObjects, policies)),
  patches: meshWith(envoyFilters),
  all: meshWith(union(telemetries, extensionObjects, policies)),
} as const;
