import {
  connectionLabels,
  formatPeer,
  parsePeer,
  type PeerWorkload,
  requestLabels,
  standardLabels,
} from "@istiod/standard-metrics";
import { describe, expect, it } from "vitest";

const self: PeerWorkload = {
  workload: "web-v1",
  namespace: "shop",
  canonicalService: "web",
  canonicalRevision: "v1",
  cluster: "east",
  app: "web-app",
  version: "1.0",
};
const reviews = "reviews-v2;books;reviews;v2;west;reviews-app;2.0";
const services = '[{"host":"reviews.books.svc.cluster.local","name":"reviews","namespace":"books"}]';
const identity = (namespace: string): string => `spiffe://cluster.local/ns/${namespace}/sa/default`;

function labels(series: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(standardLabels(new Map(Object.entries(series)), self));
}

const request = {
  reporter: "source",
  response_flags: "-",
  response_code: "200",
  istio_services: services,
  istio_source_principal: identity("shop"),
  istio_destination_principal: identity("books"),
  istio_endpoint: "other;elsewhere;other;v9;west",
  istio_grpc_status: "",
  istio_peer: reviews,
  istio_host: "reviews:9080",
};

describe("labels of a client", () => {
  it("are Istio's, in its order", () => {
    expect([...standardLabels(new Map(Object.entries(request)), self)]).toEqual([
      ["reporter", "source"],
      ["source_workload", "web-v1"],
      ["source_canonical_service", "web"],
      ["source_canonical_revision", "v1"],
      ["source_workload_namespace", "shop"],
      ["source_principal", "spiffe://cluster.local/ns/shop/sa/default"],
      ["source_app", "web-app"],
      ["source_version", "1.0"],
      ["source_cluster", "east"],
      ["destination_workload", "reviews-v2"],
      ["destination_canonical_service", "reviews"],
      ["destination_canonical_revision", "v2"],
      ["destination_workload_namespace", "books"],
      ["destination_principal", "spiffe://cluster.local/ns/books/sa/default"],
      ["destination_app", "reviews-app"],
      ["destination_version", "2.0"],
      ["destination_cluster", "west"],
      ["destination_service", "reviews.books.svc.cluster.local"],
      ["destination_service_name", "reviews"],
      ["destination_service_namespace", "books"],
      ["request_protocol", "http"],
      ["grpc_response_status", ""],
      ["connection_security_policy", "unknown"],
      ["response_flags", "-"],
      ["response_code", "200"],
    ]);
  });

  it.each(["", "-"])("come from the endpoint if the peer has not introduced itself (%j)", (absent) => {
    expect(labels({ ...request, istio_peer: absent })).toMatchObject({
      destination_workload: "other",
      destination_canonical_revision: "v9",
      destination_app: "unknown",
      destination_version: "unknown",
    });
  });

  it("are unknown for a destination outside the mesh", () => {
    const outside = {
      reporter: "source",
      istio_services: "-",
      istio_peer: "-",
      istio_endpoint: "-",
      istio_grpc_status: "",
    };
    expect(labels({ ...outside, istio_source_principal: "-", istio_destination_principal: "" })).toMatchObject({
      destination_workload: "unknown",
      destination_canonical_revision: "latest",
      destination_workload_namespace: "unknown",
      destination_service: "unknown",
      destination_service_name: "unknown",
      destination_service_namespace: "unknown",
      source_principal: "unknown",
      destination_principal: "unknown",
    });
  });

  it("have the requested host of a destination outside the mesh", () => {
    expect(labels({ ...request, istio_services: "-", istio_host: "example.com" })).toMatchObject({
      destination_service: "example.com",
      destination_service_name: "example.com",
    });
    expect(
      labels({ ...request, istio_services: '[{"name":"PassthroughCluster"}]', istio_host: "example.com" }),
    ).toMatchObject({
      destination_service: "example.com",
      destination_service_name: "PassthroughCluster",
    });
  });

  it("have the namespace of the service, wherever its workloads are, and if no request reaches one", () => {
    const services = '[{"host":"api.example.com","name":"api.example.com","namespace":"partners"}]';
    expect(labels({ ...request, istio_services: services })).toMatchObject({
      destination_workload_namespace: "books",
      destination_service: "api.example.com",
      destination_service_namespace: "partners",
    });
    const unreached = { istio_peer: "-", istio_endpoint: "-", istio_destination_principal: "-" };
    expect(labels({ ...request, ...unreached, istio_services: services })).toMatchObject({
      destination_workload_namespace: "unknown",
      destination_service_namespace: "partners",
    });
    expect(labels({ ...request, istio_services: '[{"name":"PassthroughCluster"}]' })).toMatchObject({
      destination_service_namespace: "books",
    });
  });

  it("have the protocol gRPC if there is a gRPC status, and TCP for connections", () => {
    expect(labels({ ...request, istio_grpc_status: "0" })).toMatchObject({
      request_protocol: "grpc",
      grpc_response_status: "0",
    });
    const { istio_grpc_status: _, response_code: __, ...connection } = request;
    const tcp = labels(connection);
    expect(tcp["request_protocol"]).toBe("tcp");
    expect(tcp).not.toHaveProperty("response_code");
    expect(tcp).not.toHaveProperty("grpc_response_status");
  });
});

describe("labels of a server", () => {
  const served = {
    ...request,
    reporter: "destination",
    istio_source_principal: identity("books"),
    istio_destination_principal: identity("shop"),
  };

  it("name the peer as the source", () => {
    expect(labels(served)).toMatchObject({
      reporter: "destination",
      source_workload: "reviews-v2",
      source_workload_namespace: "books",
      source_cluster: "west",
      destination_workload: "web-v1",
      destination_service_namespace: "shop",
      destination_cluster: "east",
      connection_security_policy: "mutual_tls",
    });
  });

  it.each([
    ["istio_source_principal", "-"],
    ["istio_destination_principal", ""],
  ])("say that a connection without %s is plaintext", (name, value) => {
    expect(labels({ ...served, [name]: value })["connection_security_policy"]).toBe("none");
  });

  it("take the namespace of the certificate, not the one that the peer claims", () => {
    expect(labels({ ...served, istio_peer: "x;kube-system;x;v1;west;x;1" })["source_workload_namespace"]).toBe("books");
  });
});

describe("labels that Telemetry changes", () => {
  it("are set, added and removed", () => {
    const changed = labels({
      ...request,
      source_app: "set",
      method: "GET",
      istio_removed: "response_flags,source_cluster",
    });
    expect(changed).toMatchObject({ source_app: "set", method: "GET" });
    expect(changed).not.toHaveProperty("response_flags");
    expect(changed).not.toHaveProperty("source_cluster");
    expect(changed).not.toHaveProperty("istio_removed");
  });
});

describe("a peer", () => {
  it("is formatted and parsed", () => {
    expect(formatPeer({ ...self, app: "" })).toBe("web-v1;shop;web;v1;east;;1.0");
    expect(parsePeer(formatPeer(self))).toEqual(self);
  });

  it.each(["", "-", "a;b;c;d"])("is unknown in %j", (text) => {
    expect(parsePeer(text)).toBeUndefined();
  });

  it("cannot add parts, nor leave a header", () => {
    expect(formatPeer({ ...self, workload: "a;b\nc\u00e9" })).toBe("a_b_c_;shop;web;v1;east;web-app;1.0");
  });
});

it("records the requested host only where it is asked for", () => {
  const names = (list: readonly { readonly name: string }[]): string[] => list.map(({ name }) => name);
  expect(names(requestLabels("source", true))).toContain("istio_host");
  expect(names(requestLabels("source", false))).not.toContain("istio_host");
  expect(names(requestLabels("destination", false))).not.toContain("istio_endpoint");
  expect(names(connectionLabels("source"))).not.toContain("istio_peer");
});
