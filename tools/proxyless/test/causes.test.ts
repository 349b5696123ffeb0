import { readFile } from "node:fs/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { explainDifferences } from "@istiod/parity";
import { describe, expect, it } from "vitest";
import { causes } from "../src/comparison/causes.js";
import type { MeshObject } from "../src/random-mesh.js";

const host = "cart.shop.svc.cluster.local";
const name = `outbound|80||${host}`;

const object = (kind: string, spec: object): MeshObject => ({
  apiVersion: "networking.istio.io/v1",
  kind,
  metadata: { name: "cart", namespace: "shop" },
  spec,
});

/** Returns the names of the causes, and the paths without a cause, of two resources with a rule's traffic policy. */
function explain(type: "cds" | "eds" | "rds", theirs: object, ours: object, trafficPolicy: object = {}): object {
  const objects = [
    object("DestinationRule", { host, trafficPolicy }),
    object("ServiceEntry", { hosts: [host], resolution: "DNS", ports: [{ name: "grpc", number: 80 }] }),
  ];
  const pair = [theirs as JsonObject, ours as JsonObject] as const;
  const { explained, unexplained } = explainDifferences(causes, type, pair, { name, objects });
  return { causes: explained.map(({ cause }) => cause), paths: unexplained.map(({ path }) => path) };
}

const explainedBy = (...names: readonly string[]): object => ({ causes: names, paths: [] });
const notExplained: object = { causes: [], paths: expect.arrayContaining([expect.any(String)]) as unknown };

const instance = (certificateName: string): object => ({ instanceName: "default", certificateName });

function tls(names: readonly string[], own: object = instance("default"), roots = "ROOTCA"): object {
  return {
    transportSocket: {
      name: "envoy.transport_sockets.tls",
      typedConfig: {
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
        commonTlsContext: {
          tlsCertificateProviderInstance: own,
          tlsCertificateCertificateProviderInstance: own,
          combinedValidationContext: {
            validationContextCertificateProviderInstance: instance(roots),
            defaultValidationContext: {
              matchSubjectAltNames: names.map((exact) => ({ exact })),
              caCertificateProviderInstance: instance(roots),
            },
          },
        },
      },
    },
  };
}

describe("a difference of a cluster's TLS", () => {
  const modes = "TLS of the modes `SIMPLE` and `MUTUAL`";
  const names = "`subjectAltNames` of a DestinationRule";
  const rule = (mode: string): object => ({ tls: { mode, subjectAltNames: ["a"] } });

  it("has a cause if it is that of the rule", () => {
    expect(explain("cds", {}, tls(["a"]), rule("MUTUAL"))).toEqual(explainedBy(modes));
    expect(explain("cds", tls(["b"]), tls(["a"]), rule("ISTIO_MUTUAL"))).toEqual(explainedBy(names));
  });

  it.each([
    ["a socket without a rule", {}, tls(["a"]), {}],
    ["no socket", tls(["a"]), {}, rule("MUTUAL")],
    ["a socket of DISABLE", {}, tls(["a"]), rule("DISABLE")],
    ["other names than the rule's", tls(["b"]), tls(["c"]), rule("ISTIO_MUTUAL")],
    ["other names than the rule's", {}, tls(["c"]), rule("MUTUAL")],
    ["another certificate", {}, tls(["a"], instance("other")), rule("MUTUAL")],
    ["other roots", tls(["b"]), tls(["a"], instance("default"), "other"), rule("ISTIO_MUTUAL")],
    ["a certificate for SIMPLE", {}, tls(["a"]), rule("SIMPLE")],
  ])("has none: %s", (_, theirs, ours, policy) => {
    expect(explain("cds", theirs, ours, policy)).toEqual(notExplained);
  });

  it("has none where another field of the names' socket differs", () => {
    const theirs = tls(["b"], instance("other"));
    const { paths } = explain("cds", theirs, tls(["a"]), rule("ISTIO_MUTUAL")) as { paths: string[] };
    expect(paths).not.toEqual([]);
  });
});

describe("a difference of a cluster's load balancer", () => {
  const policy = (policyName: string, message: string, fields: object = {}): object => ({
    typedExtensionConfig: {
      name: `envoy.load_balancing_policies.${policyName}`,
      typedConfig: {
        "@type": `type.googleapis.com/envoy.extensions.load_balancing_policies.${policyName}.v3.${message}`,
        ...fields,
      },
    },
  });
  const list = (...policies: readonly object[]): object => ({
    loadBalancingPolicy: { policies: [policy("wrr_locality", "WrrLocality", { endpointPickingPolicy: { policies } })] },
  });
  const [least, round] = [policy("least_request", "LeastRequest"), policy("round_robin", "RoundRobin")];
  const maglev = { lbPolicy: "MAGLEV", maglevLbConfig: { tableSize: "65537" } };
  const ring = (minimumRingSize: string): object => ({ lbPolicy: "RING_HASH", ringHashLbConfig: { minimumRingSize } });
  const simple = (value: string): object => ({ loadBalancer: { simple: value } });
  const hash = (algorithm: object): object => ({
    loadBalancer: { consistentHash: { useSourceIp: true, ...algorithm } },
  });
  const hashed = hash({ maglev: { tableSize: 65537 } });

  it("has a cause if it is that of the rule", () => {
    const cause = explainedBy("least request as a list that ends with round robin");
    expect(explain("cds", { lbPolicy: "LEAST_REQUEST" }, list(least, round), simple("LEAST_REQUEST"))).toEqual(cause);
    expect(explain("cds", {}, list(least, round), simple("LEAST_CONN"))).toEqual(cause);
    expect(explain("cds", maglev, ring("1024"), hashed)).toEqual(explainedBy("a hash ring in place of Maglev"));
  });

  it.each([
    ["least request without a rule", { lbPolicy: "LEAST_REQUEST" }, list(least, round), {}],
    ["nothing for least request", { lbPolicy: "LEAST_REQUEST" }, {}, simple("LEAST_REQUEST")],
    ["a list without round robin", { lbPolicy: "LEAST_REQUEST" }, list(least), simple("LEAST_REQUEST")],
    ["least request for round robin", {}, list(least, round), simple("ROUND_ROBIN")],
    ["a ring of another size", maglev, ring("1"), hashed],
    ["rings of different sizes", ring("1024"), ring("1"), hash({})],
    ["a ring for no Maglev", maglev, ring("1024"), hash({})],
  ])("has none: %s", (_, theirs, ours, trafficPolicy) => {
    expect(explain("cds", theirs, ours, trafficPolicy)).toEqual(notExplained);
  });
});

describe("a difference of a cluster's outlier detection", () => {
  const outliers = (fields: object): object => ({
    outlierDetection: { enforcingSuccessRate: 0, enforcingFailurePercentage: 100, ...fields },
  });
  const rule = { outlierDetection: { failurePercentageThreshold: 50, interval: "0.5s", baseEjectionTime: "10m" } };
  const expected = { failurePercentageThreshold: 50, interval: "0.500s", baseEjectionTime: "600s" };

  it("has a cause if it is that of the rule", () => {
    expect(explain("cds", {}, outliers(expected), rule)).toEqual(
      explainedBy("outlier detection by `failurePercentageThreshold`"),
    );
  });

  it.each([
    ["none for a threshold", outliers(expected), {}, rule],
    ["one without a rule", {}, outliers(expected), {}],
    ["another threshold", {}, outliers({ ...expected, failurePercentageThreshold: 1 }), rule],
    ["another interval", {}, outliers({ ...expected, interval: "5s" }), rule],
    ["a share of ejected endpoints", {}, outliers({ ...expected, maxEjectionPercent: 1 }), rule],
  ])("has none: %s", (_, theirs, ours, policy) => {
    expect(explain("cds", theirs, ours, policy)).toEqual(notExplained);
  });
});

describe("a difference of a cluster's discovery", () => {
  const eds = { type: "EDS", edsClusterConfig: { edsConfig: { ads: {} }, serviceName: name } };
  const dns = (address: string): object => {
    const endpoint = { address: { socketAddress: { address, portValue: 80 } } };
    const endpoints = [{ locality: {}, lbEndpoints: [{ endpoint }], loadBalancingWeight: 1 }];
    return { type: "LOGICAL_DNS", loadAssignment: { clusterName: name, endpoints } };
  };

  it("has a cause if the client resolves the hostname of the ServiceEntry", () => {
    expect(explain("cds", eds, dns(host))).toEqual(
      explainedBy("a hostname of a ServiceEntry is resolved by the client"),
    );
  });

  it("has none for another hostname, or the other way round", () => {
    expect(explain("cds", eds, dns("other.example.com"))).toEqual(notExplained);
    expect(explain("cds", dns(host), eds)).toEqual(notExplained);
  });
});

describe("a difference of routes", () => {
  const hash = { hashPolicy: [{ header: { headerName: "user" } }] };
  const predicate = {
    name: "envoy.retry_host_predicates.previous_hosts",
    typedConfig: {
      "@type": "type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate",
    },
  };
  const retries = (...retryHostPredicate: readonly object[]): object => ({
    retryPolicy: {
      retryOn: "unavailable",
      numRetries: 2,
      ...(retryHostPredicate.length > 0 && { retryHostPredicate }),
    },
  });
  const routes = (action: object, cluster = name): object => ({
    name: "80",
    virtualHosts: [{ name: "a", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster, ...action } }] }],
  });
  const rule = { loadBalancer: { consistentHash: { httpHeaderName: "user" } } };
  const byHash = "the hash is that of the cluster's load balancer";
  const byRetries = "retries choose other endpoints unless the cluster has a hash";

  it("has a cause if it follows from the cluster's load balancer", () => {
    expect(explain("rds", routes({}), routes(hash), rule)).toEqual(explainedBy(byHash));
    expect(explain("rds", routes(hash), routes({}))).toEqual(explainedBy(byHash));
    expect(explain("rds", routes(retries(predicate)), routes(retries()), rule)).toEqual(explainedBy(byRetries));
    expect(explain("rds", routes(retries()), routes(retries(predicate)))).toEqual(explainedBy(byRetries));
  });

  it.each([
    ["a hash without a rule", {}, hash, {}],
    ["no hash for a rule's", hash, {}, rule],
    ["the hash of another header", {}, { hashPolicy: [{ header: { headerName: "other" } }] }, rule],
    ["retries at other endpoints in spite of a hash", retries(), retries(predicate), rule],
    ["retries at the same endpoint without a hash", retries(predicate), retries(), {}],
    ["retries at other endpoints by another predicate", retries(), retries({ name: "other" }), {}],
  ])("has none: %s", (_, theirs, ours, policy) => {
    expect(explain("rds", routes(theirs), routes(ours), policy)).toEqual(notExplained);
  });

  it("has a cause for a limit of zero where Istio has none", () => {
    const limit = (maxStreamDuration: string): object => ({ maxStreamDuration: { maxStreamDuration } });
    expect(explain("rds", routes({}), routes(limit("0s")))).toEqual(
      explainedBy("`maxStreamDuration: 0s` is written for services without a VirtualService"),
    );
    expect(explain("rds", routes({}), routes(limit("1s")))).toEqual(notExplained);
    expect(explain("rds", routes(limit("1s")), routes(limit("0s")))).toEqual(notExplained);
  });

  it("has none if the clusters differ", () => {
    expect(explain("rds", routes({}, "outbound|81||other"), routes(hash), rule)).toEqual(notExplained);
  });
});

describe("a difference of endpoints", () => {
  const endpoints = (...addresses: readonly string[]): object => ({
    endpoints: [{ lbEndpoints: addresses.map((address) => ({ endpoint: { address } })) }],
  });

  it("has a cause if an address of Istio's occurs once here", () => {
    expect(explain("eds", endpoints("a", "b", "a"), endpoints("a", "b"))).toEqual(
      explainedBy("an address occurs once"),
    );
  });

  it("has a cause if a locality of Istio's has no endpoints", () => {
    const { endpoints: some } = endpoints("a") as { endpoints: readonly object[] };
    const theirs = { endpoints: [{ loadBalancingWeight: 1 }, ...some.map((each) => ({ ...each, priority: 1 }))] };
    expect(explain("eds", theirs, endpoints("a"))).toEqual(explainedBy("localities without endpoints are left out"));
    expect(explain("eds", endpoints("a"), theirs)).toEqual(notExplained);
  });

  it("has none if an address is absent, or other fields differ", () => {
    expect(explain("eds", endpoints("a", "b"), endpoints("a"))).toEqual(notExplained);
    expect(explain("eds", endpoints("a"), { endpoints: [{ lbEndpoints: [], priority: 1 }] })).toEqual(notExplained);
  });

  it("has a difference left if an address is absent of several that occur twice", () => {
    const { paths } = explain("eds", endpoints("a", "b", "a"), endpoints("a")) as { paths: string[] };
    expect(paths).not.toEqual([]);
  });
});

it("documents each cause by its name", async () => {
  const page = await readFile(new URL("../../../docs/proxyless-grpc.md", import.meta.url), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("|"));
  const documented = new Set(rows.map((row) => row.split("|")[2]?.trim()));
  expect(causes.map(({ name: cause }) => cause).filter((cause) => !documented.has(cause))).toEqual([]);
});
