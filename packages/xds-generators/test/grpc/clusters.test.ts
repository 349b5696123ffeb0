import { productBounds } from "@istiod/config-schema";
import { expect, it } from "vitest";
import type { Json } from "../mesh.js";
import { cart, cartRoutes, grpcClient, meshOf, rule, type userAgents } from "./grpc-client.js";

const clusterWith = (policy?: string): Json => grpcClient(meshOf(cart, rule(policy))).get("cds", cartRoutes);

it("a cluster finds its endpoints by EDS over the aggregated stream", () => {
  expect(clusterWith()).toEqual({
    name: cartRoutes,
    altStatName: `${cartRoutes};`,
    type: "EDS",
    edsClusterConfig: { serviceName: cartRoutes, edsConfig: { ads: {} } },
  });
});

it("subsets have clusters, and there is none for an unknown subset, port or service", () => {
  const client = grpcClient(meshOf(cart, rule()));
  expect(client.get("cds", "outbound|80|v1|cart.shop.svc.cluster.local")).toMatchObject({ type: "EDS" });
  for (const name of [
    "outbound|80|v3|cart.shop.svc.cluster.local",
    "outbound|81||cart.shop.svc.cluster.local",
    "outbound|80||a.b",
    "inbound|80||cart.shop.svc.cluster.local",
    "x",
  ])
    expect(client.get("cds", name), name).toBeUndefined();
});

it("Node, which needs what it names, has a cluster without endpoints", () => {
  const client = grpcClient(meshOf(cart), { userAgent: "node" });
  const name = "outbound|80||absent.shop.svc.cluster.local";
  expect(client.get("cds", name)).toMatchObject({ name, type: "EDS" });
  expect(client.get("eds", name)).toEqual({ clusterName: name });
  expect(client.get("cds", "x")).toBeUndefined();
});

it("mutual TLS has the certificates of the bootstrap's provider and the policy's names", () => {
  const { name, typedConfig } = clusterWith(
    "{tls: {mode: ISTIO_MUTUAL, subjectAltNames: [spiffe://a/b]}}",
  ).transportSocket;
  expect(name).toBe("envoy.transport_sockets.tls");
  const { combinedValidationContext, ...own } = typedConfig.commonTlsContext;
  const provider = { instanceName: "default", certificateName: "default" };
  expect(own).toEqual({
    tlsCertificateProviderInstance: provider,
    tlsCertificateCertificateProviderInstance: provider,
  });
  expect(combinedValidationContext.defaultValidationContext).toEqual({
    matchSubjectAltNames: [{ exact: "spiffe://a/b" }],
    caCertificateProviderInstance: { instanceName: "default", certificateName: "ROOTCA" },
  });
});

it("TLS with other certificates is verified by the mesh's roots, and never plaintext", () => {
  const context = (mode: string): Json =>
    clusterWith(`{tls: {mode: ${mode}, sni: a.b}}`).transportSocket.typedConfig.commonTlsContext;
  expect(context("SIMPLE").tlsCertificateProviderInstance).toBeUndefined();
  expect(
    context("SIMPLE").combinedValidationContext.defaultValidationContext.caCertificateProviderInstance,
  ).toBeDefined();
  expect(clusterWith("{tls: {mode: DISABLE}}").transportSocket).toBeUndefined();
});

it("load balancers that not all libraries have are lists that end with round robin", () => {
  const names = (policy: string): Json => {
    const [locality, ...others] = clusterWith(policy).loadBalancingPolicy.policies;
    expect(others).toEqual([]);
    expect(locality.typedExtensionConfig.name).toBe("envoy.load_balancing_policies.wrr_locality");
    return locality.typedExtensionConfig.typedConfig.endpointPickingPolicy.policies.map(
      ({ typedExtensionConfig }: Json) => typedExtensionConfig.name,
    );
  };
  const prefix = "envoy.load_balancing_policies";
  expect(names("{loadBalancer: {simple: LEAST_REQUEST}}")).toEqual([
    `${prefix}.least_request`,
    `${prefix}.round_robin`,
  ]);
  expect(clusterWith("{loadBalancer: {simple: LEAST_REQUEST}}").lbPolicy).toBeUndefined();
  for (const simple of ["ROUND_ROBIN", "RANDOM", "PASSTHROUGH"])
    expect(clusterWith(`{loadBalancer: {simple: ${simple}}}`), simple).toEqual(clusterWith());
});

it("a consistent hash is a ring of a size that libraries accept, also for Maglev", () => {
  const hash = (text: string, userAgent: keyof typeof userAgents = "go"): Json => {
    const policy = `{loadBalancer: {consistentHash: {httpHeaderName: user${text}}}}`;
    return grpcClient(meshOf(cart, rule(policy)), { userAgent }).get("cds", cartRoutes);
  };
  expect(hash("")).toMatchObject({ lbPolicy: "RING_HASH", ringHashLbConfig: { minimumRingSize: "1024" } });
  expect(hash(", ringHash: {minimumRingSize: 8388608}").ringHashLbConfig.minimumRingSize).toBe("8388608");
  expect(hash(", maglev: {tableSize: 65537}")).toMatchObject({ lbPolicy: "RING_HASH" });
  expect(hash("", "c-core").lbPolicy).toBe("RING_HASH");
  expect(hash("", "java").lbPolicy).toBe("RING_HASH");
  // A ring may end its process.
  expect(hash("", "node").lbPolicy).toBeUndefined();
});

it("of the connection pool, gRPC has the limit of calls", () => {
  const pool = "{connectionPool: {tcp: {maxConnections: 5}, http: {http2MaxRequests: 7, http1MaxPendingRequests: 3}}}";
  expect(clusterWith(pool).circuitBreakers).toEqual({ thresholds: [{ maxRequests: 7 }] });
});

it("outliers are detected by the share of failed calls only", () => {
  expect(clusterWith("{outlierDetection: {consecutive5xxErrors: 3}}").outlierDetection).toBeUndefined();
  const policy =
    "{outlierDetection: {failurePercentageThreshold: 60, interval: 5s, baseEjectionTime: 30s, maxEjectionPercent: 50}}";
  expect(clusterWith(policy).outlierDetection).toEqual({
    interval: "5s",
    baseEjectionTime: "30s",
    maxEjectionPercent: 50,
    enforcingSuccessRate: 0,
    failurePercentageThreshold: 60,
    enforcingFailurePercentage: 100,
  });
});

it("a hostname outside of the mesh is resolved by the client; several are not", () => {
  const external = (endpoints: string): string => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: shop}
spec: {hosts: [api.example.com], resolution: DNS, ports: [{number: 80, name: grpc, protocol: GRPC}]${endpoints}}
`;
  const cluster = (endpoints: string): Json =>
    grpcClient(meshOf(external(endpoints))).get("cds", "outbound|80||api.example.com");
  const { type, loadAssignment } = cluster("");
  expect(type).toBe("LOGICAL_DNS");
  expect(loadAssignment.endpoints[0].lbEndpoints[0].endpoint.address.socketAddress).toEqual({
    address: "api.example.com",
    portValue: 80,
  });
  expect(cluster(", endpoints: [{address: a.example.com}, {address: b.example.com}]").type).toBe("EDS");
});

it("policies that are too large for all ports, and subsets that are too many, leave no clusters and no endpoints", () => {
  const subjectAltNames = Array.from({ length: 200 }, (_, i) => `spiffe://cluster.local/ns/shop/sa/name-${i}`);
  const policy = `{tls: {mode: ISTIO_MUTUAL, subjectAltNames: [${subjectAltNames.join(", ")}]}}`;
  const subsets = Array.from({ length: 300 }, (_, i) => `{name: v${i}, labels: {app: cart}}`).join(", ");
  const manySubsets = rule().replace(/subsets: .*/, `subsets: [${subsets}]`);
  const endpoints = `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart, namespace: shop, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
ports: [{name: grpc, port: 8080}]
endpoints: [{addresses: [10.2.0.1], conditions: {ready: true}}]
`;
  const { rulePolicyBytes, clusters } = productBounds;
  const ofSubset = (name: string): string => `outbound|80|${name}|cart.shop.svc.cluster.local`;
  const found = (yaml: string, bounds: Readonly<Record<string, string>>, name: string): readonly boolean[] => {
    const mesh = meshOf(cart, endpoints, yaml);
    for (const [variable, value] of Object.entries(bounds)) mesh.set(variable, value);
    const clients = [grpcClient(mesh, { userAgent: "go" }), grpcClient(mesh, { userAgent: "node" })];
    return clients.flatMap((client) => [
      client.get("cds", name) !== undefined,
      client.get("eds", name)?.endpoints !== undefined,
    ]);
  };
  const served = [true, true, true, true];
  expect(found(rule(policy), {}, cartRoutes)).toEqual(served);
  // Node.js loses absent clusters.
  const leftOut = [false, false, true, false];
  expect(found(rule(policy), { [rulePolicyBytes.variable]: "5000" }, cartRoutes)).toEqual(leftOut);
  const bound = { [clusters.variable]: "290" };
  expect(found(manySubsets, bound, cartRoutes)).toEqual(served);
  expect(found(manySubsets, bound, ofSubset("v299"))).toEqual(leftOut);
});
