import { expect, it } from "vitest";
import type { Json } from "../mesh.js";
import { grpcClient, meshOf } from "./grpc-client.js";

const entry = (endpoints: string, policy = ""): string => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: cart, namespace: shop}
spec:
  hosts: [cart.example.com]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{number: 80, name: grpc, protocol: GRPC}]
  endpoints: [${endpoints}]
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: cart, namespace: shop}
spec: {host: cart.example.com, subsets: [{name: v1, labels: {version: v1}}]${policy}}
`;
const name = "outbound|80||cart.example.com";

/** The addresses of each group, with its priority. */
function groups(yaml: string, region?: string, cluster = name): Json {
  const { endpoints = [] } = grpcClient(meshOf(yaml), region === undefined ? {} : { region }).get("eds", cluster);
  return endpoints.map(({ priority = 0, lbEndpoints, loadBalancingWeight }: Json) => {
    expect(loadBalancingWeight).toBeGreaterThan(0);
    return [priority, ...lbEndpoints.map(({ endpoint }: Json) => endpoint.address.socketAddress.address)];
  });
}

it("endpoints are those of the service or of a subset", () => {
  const yaml = entry("{address: 10.0.0.1, labels: {version: v1}}, {address: 10.0.0.2, labels: {version: v2}}");
  expect(groups(yaml)).toEqual([[0, "10.0.0.1", "10.0.0.2"]]);
  expect(groups(yaml, undefined, "outbound|80|v1|cart.example.com")).toEqual([[0, "10.0.0.1"]]);
  expect(groups(yaml, undefined, "outbound|80||absent.example.com")).toEqual([]);
});

it("the client's region comes first, and others are for its failure", () => {
  const yaml = entry(
    "{address: 10.0.0.1, locality: a}, {address: 10.0.0.2, locality: b}",
    ", trafficPolicy: {outlierDetection: {consecutive5xxErrors: 1}}",
  );
  expect(groups(yaml, "a")).toEqual([
    [0, "10.0.0.1"],
    [1, "10.0.0.2"],
  ]);
  expect(groups(yaml, "b")).toEqual([
    [0, "10.0.0.2"],
    [1, "10.0.0.1"],
  ]);
});

it("an address occurs once, and localities without endpoints are left out", () => {
  const twice = "{address: 10.0.0.1, locality: a}, {address: 10.0.0.1, locality: b}, {address: 10.0.0.2, locality: b}";
  expect(
    groups(entry(twice))
      .flatMap(([, ...addresses]: Json) => addresses)
      .sort(),
  ).toEqual(["10.0.0.1", "10.0.0.2"]);
  const distribute =
    ", trafficPolicy: {loadBalancer: {localityLbSetting: {distribute: [{from: a/*, to: {a/*: 100}}]}}}";
  expect(groups(entry("{address: 10.0.0.1, locality: a}, {address: 10.0.0.2, locality: b}", distribute), "a")).toEqual([
    [0, "10.0.0.1"],
  ]);
});

it("a Unix domain socket is left out", () => {
  expect(groups(entry("{address: unix:///tmp/a.sock}"))).toEqual([]);
});
