import { expect, it } from "vitest";
import { inferencePoolServiceName } from "@istiod/gateway-api";
import { chainsOf, httpFilterNames, httpFilterOf, listenerOf } from "./listeners/listener-parts.js";
import { podYaml, serviceYaml } from "./mesh-yaml.js";
import { TestMesh, type TestProxy } from "./mesh.js";

const routeType = "envoy.config.route.v3.RouteConfiguration";
const assignmentType = "envoy.config.endpoint.v3.ClusterLoadAssignment";
const extProc = "envoy.filters.http.ext_proc";

const object = (apiVersion: string, kind: string, key: string, spec: object): string => {
  const [namespace, name] = key.split("/");
  return `---\n${JSON.stringify({ apiVersion, kind, metadata: { name, namespace }, spec })}\n`;
};
const gatewayApi = "gateway.networking.k8s.io/v1";
const service = inferencePoolServiceName("model");
const host = `${service}.shop.svc.cluster.local`;
const gateway = (name: string): string =>
  object(gatewayApi, "Gateway", `shop/${name}`, {
    gatewayClassName: "istio",
    listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
  }) + serviceYaml(`${name}-istio`, { ports: ["http:80:80"], spec: { selector: { gw: name } } });
const gatewayPod = (name: string, ip: string): string =>
  podYaml(`${name}-istio`, ip, { ports: { http: 80 }, labels: { gw: name } });
const pool = object("inference.networking.k8s.io/v1", "InferencePool", "shop/model", {
  selector: { matchLabels: { app: "model" } },
  targetPorts: [{ number: 8000 }, { number: 8001 }],
  endpointPickerRef: { name: "picker", port: { number: 9002 }, failureMode: "FailOpen" },
});
/** The Service that istiod's controller writes for the pool. */
const poolService = serviceYaml(service, {
  ip: "None",
  ports: ["http-0:54321:8000", "http-1:54322:8001"],
  labels: {
    "internal.istio.io/service-semantics": "inferencepool",
    "istio.io/inferencepool-name": "model",
    "istio.io/inferencepool-extension-service": "picker",
    "istio.io/inferencepool-extension-port": "9002",
    "istio.io/inferencepool-extension-failure-mode": "FailOpen",
  },
});
const backend = { group: "inference.networking.k8s.io", kind: "InferencePool", name: "model" };
const route = object(gatewayApi, "HTTPRoute", "shop/chat", {
  parentRefs: [{ name: "front" }],
  rules: [
    { matches: [{ path: { value: "/v1" } }], backendRefs: [backend] },
    { matches: [{ path: { value: "/web" } }], backendRefs: [{ name: "picker", port: 9002 }] },
  ],
});

const mesh = new TestMesh(
  [
    gateway("front"),
    gateway("other"),
    gatewayPod("front", "10.1.0.1"),
    gatewayPod("other", "10.1.0.2"),
    pool,
    poolService,
    podYaml(service, "10.1.0.3", { ports: { "http-0": 8000, "http-1": 8001 } }),
    serviceYaml("picker", { ip: "10.96.0.9", ports: ["grpc:9002:9002"] }),
    route,
  ].join(""),
).set("ENABLE_GATEWAY_API_INFERENCE_EXTENSION", "true");
const router = (name: string): TestProxy =>
  mesh.proxy({
    type: "router",
    namespace: "shop",
    name: `${name}-istio-1`,
    labels: { gw: name, "gateway.networking.k8s.io/gateway-name": name },
  });
const front = router("front");

it("routes to an InferencePool name its endpoint picker, others none", () => {
  const [{ routes }] = front.json(routeType, "http.80").virtualHosts;
  const picked = routes.find(({ match }: { match: object }) => JSON.stringify(match).includes("/v1"));
  const other = routes.find(({ match }: { match: object }) => JSON.stringify(match).includes("/web"));
  expect(picked.route.cluster).toBe(`outbound|54321||${host}`);
  expect(picked.typedPerFilterConfig[extProc].overrides).toEqual({
    failureModeAllow: true,
    grpcService: { envoyGrpc: { clusterName: "outbound|9002||picker.shop.svc.cluster.local" } },
    processingMode: {
      requestHeaderMode: "SEND",
      requestBodyMode: "FULL_DUPLEX_STREAMED",
      requestTrailerMode: "SEND",
      responseHeaderMode: "SEND",
      responseBodyMode: "FULL_DUPLEX_STREAMED",
      responseTrailerMode: "SEND",
    },
  });
  expect(other.typedPerFilterConfig?.[extProc]).toBeUndefined();
});

it("a gateway with routes to InferencePools has the filter, which asks nobody by itself; other gateways do not", () => {
  const chain = chainsOf(listenerOf(front, "0.0.0.0_80"))[0];
  expect(httpFilterOf(chain, extProc)).toMatchObject({
    failureModeAllow: true,
    processingMode: { requestHeaderMode: "SKIP", responseHeaderMode: "SKIP" },
    metadataOptions: { receivingNamespaces: { untyped: ["envoy.lb"] } },
  });
  expect(httpFilterNames(chainsOf(listenerOf(router("other"), "0.0.0.0_80"))[0])).not.toContain(extProc);
});

it("the cluster of a pool has the endpoints of all ports, and takes the one that the picker names", () => {
  const names = front.names("envoy.config.cluster.v3.Cluster").filter((name) => name.includes(host));
  expect(names).toEqual([`outbound|54321||${host}`]);
  const cluster = front.cluster(`outbound|54321||${host}`);
  expect(cluster.lbPolicy).toBe("CLUSTER_PROVIDED");
  const [{ typedExtensionConfig }] = cluster.loadBalancingPolicy.policies;
  expect(typedExtensionConfig.name).toBe("envoy.load_balancing_policies.override_host");
  expect(typedExtensionConfig.typedConfig.overrideHostSources).toMatchObject([
    { metadata: { key: "envoy.lb", path: [{ key: "x-gateway-destination-endpoint" }] } },
  ]);
  const { endpoints } = front.json(assignmentType, `outbound|54321||${host}`);
  const ports = endpoints.flatMap(({ lbEndpoints }: { lbEndpoints: { endpoint: { address: object } }[] }) =>
    lbEndpoints.map(({ endpoint }) => JSON.stringify(endpoint.address).match(/"portValue":(\d+)/)?.[1]),
  );
  expect(ports).toEqual(["8000", "8001"]);
  // A sidecar does not choose, as its requests pass no picker.
  const sidecar = mesh.proxy({ namespace: "shop" });
  expect(sidecar.cluster(`outbound|54321||${host}`).loadBalancingPolicy).toBeUndefined();
});
