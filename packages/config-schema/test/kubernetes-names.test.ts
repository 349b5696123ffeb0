import { expect, test } from "vitest";
import { decode, formatProblem, readText } from "../src/index.js";

interface Names {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** Returns the errors of a document as `path: message`. */
function errorsOf({ apiVersion = "v1", kind = "Service", metadata = {}, spec = {} }: Names, more = {}): string[] {
  const document = { apiVersion, kind, metadata: { name: "cart", namespace: "shop", ...metadata }, spec, ...more };
  return decode(document).flatMap(({ issues }) =>
    issues.filter(({ severity }) => severity === "error").map(({ path, message }) => `${path.join(".")}: ${message}`),
  );
}

const label = "at most 63 lower-case letters, digits and inner hyphens";

test.each([
  ["*", `metadata.name: is "*", expected ${label}`],
  ["cart\nshop", `metadata.name: is "cart\\nshop", expected ${label}`],
  ["a.b", `metadata.name: is "a.b", expected ${label}`],
  ["a|b", `metadata.name: is "a|b", expected ${label}`],
  ["Cart", `metadata.name: is "Cart", expected ${label}`],
  ["-cart", `metadata.name: is "-cart", expected ${label}`],
  ["a".repeat(64), `metadata.name: is "${"a".repeat(56)}…, expected ${label}`],
])("a Service is not named %j", (name, error) => {
  expect(errorsOf({ metadata: { name } })).toEqual([error]);
});

test("a Service may be named as in Kubernetes, also with a digit first", () => {
  for (const name of ["a", "cart-v1", "0cart", "constructor", "a".repeat(63)])
    expect(errorsOf({ metadata: { name } })).toEqual([]);
});

test("namespaces are labels", () => {
  for (const namespace of ["shop/a", "shop.a", "Shop", "*", "shop\n", "~"])
    expect(errorsOf({ metadata: { namespace } })).toEqual([
      `metadata.namespace: is ${JSON.stringify(namespace)}, expected the name of a namespace: ${label}`,
    ]);
  expect(errorsOf({ kind: "Namespace", metadata: { name: "a.b" } })).toEqual([
    `metadata.name: is "a.b", expected ${label}`,
  ]);
});

test("other objects are named by subdomains", () => {
  const subdomain = "at most 253 lower-case letters, digits, hyphens and dots, as in a domain name";
  for (const kind of ["Pod", "Secret", "ConfigMap", "ServiceAccount"]) {
    expect(errorsOf({ kind, metadata: { name: "a.b-c.d" } })).toEqual([]);
    for (const name of ["a_b", "a..b", "a/b", "A", "a;b", `${"a".repeat(254)}`])
      expect(errorsOf({ kind, metadata: { name } })).toHaveLength(1);
    expect(errorsOf({ kind, metadata: { name: "a_b" } })).toEqual([`metadata.name: is "a_b", expected ${subdomain}`]);
  }
});

test("custom resources with upper case and underscores in their names are accepted with a warning", () => {
  const policy = (name: string): string =>
    `{apiVersion: security.istio.io/v1, kind: PeerAuthentication, metadata: {name: ${JSON.stringify(name)}, namespace: shop}, spec: {mtls: {mode: STRICT}}}`;
  const problems = (name: string): string[] =>
    readText(policy(name), "p.yaml").flatMap((reading) => reading.problems.map(formatProblem));
  expect(problems("strict.v1")).toEqual([]);
  expect(problems("Strict_v1")).toEqual([
    `p.yaml:1: PeerAuthentication shop/Strict_v1: metadata.name: is "Strict_v1", which Kubernetes rejects: expected at most 253 lower-case letters, digits, hyphens and dots, as in a domain name`,
  ]);
  expect(problems("a|b")).toHaveLength(1);
  expect(problems("__proto__")).toHaveLength(1);
});

test("labels and annotations have Kubernetes' keys and sizes", () => {
  const key =
    "a key [prefix/]name of at most 63 letters, digits, -, _ and ., with a domain name in lower case as prefix";
  const value = "at most 63 letters, digits, -, _ and ., with a letter or digit at the start and the end";
  expect(errorsOf({ metadata: { labels: { app: "cart", "a.io/b_C.d": "", x: "V1_a.b" } } })).toEqual([]);
  expect(errorsOf({ metadata: { labels: { "a\nb": "" } } })).toEqual([
    `metadata.labels.a\nb: has the key "a\\nb", expected ${key}`,
  ]);
  expect(errorsOf({ metadata: { labels: { "Example.io/a": "" } } })).toEqual([
    `metadata.labels.Example.io/a: has the key "Example.io/a", expected ${key}`,
  ]);
  expect(errorsOf({ metadata: { labels: { app: "a|b" } } })).toEqual([
    `metadata.labels.app: is "a|b", expected ${value}`,
  ]);
  expect(errorsOf({ metadata: { annotations: { "Example.io/Any_Case": "any\ntext" } } })).toEqual([]);
  expect(errorsOf({ metadata: { annotations: { "a/b/c": "" } } })).toHaveLength(1);
  expect(errorsOf({ metadata: { annotations: { a: "x".repeat(256 * 1024 - 1) } } })).toEqual([]);
  expect(errorsOf({ metadata: { annotations: { a: "x".repeat(256 * 1024) } } })).toEqual([
    "metadata.annotations: has 262145 bytes, expected at most 262144",
  ]);
});

test("ports, selectors and addresses of a Service are checked", () => {
  const ports = [{ name: "http_1", port: 80, targetPort: "Web", appProtocol: "a b" }];
  expect(errorsOf({ spec: { ports } }).map((error) => error.split(":")[0])).toEqual([
    "spec.ports.0.appProtocol",
    "spec.ports.0.targetPort",
    "spec.ports.0.name",
  ]);
  expect(errorsOf({ spec: { selector: { app: "a b" } } })).toHaveLength(1);
  expect(errorsOf({ spec: { clusterIP: "10.0.0.1:80" } })).toEqual([
    'spec.clusterIP: is "10.0.0.1:80", expected an IP address',
  ]);
  expect(errorsOf({ spec: { clusterIP: "fe80::1%eth0" } })).toHaveLength(1);
  expect(errorsOf({ spec: { type: "ExternalName", externalName: "a|b" } })).toHaveLength(1);
  expect(
    errorsOf({
      spec: {
        clusterIP: "None",
        clusterIPs: ["None"],
        externalIPs: ["2001:db8::1"],
        externalName: "db.example.com.",
        selector: { "a.io/b": "C_1", c: "" },
        ports: [
          { name: "http", port: 80, targetPort: "web-1", appProtocol: "kubernetes.io/h2c" },
          { name: "0a", port: 81, targetPort: 8080 },
        ],
      },
    }),
  ).toEqual([]);
});

test("Pods, EndpointSlices and Ingresses are checked", () => {
  expect(errorsOf({ kind: "Pod" }, { status: { podIP: "10.0.0.300" } })).toEqual([
    'status.podIP: is "10.0.0.300", expected an IP address',
  ]);
  expect(errorsOf({ kind: "Pod", spec: { nodeName: "a/b", hostname: "a.b", subdomain: "*" } })).toHaveLength(3);
  const slice = (endpoint: object, ports: readonly object[] = []): string[] =>
    errorsOf({ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" }, { endpoints: [endpoint], ports });
  expect(slice({ addresses: ["10.0.0.1", "a.example.com"] })).toEqual([
    'endpoints.0.addresses.1: is "a.example.com", expected an IP address',
  ]);
  expect(slice({ addresses: [], hostname: "a.b" }, [{ name: "A", port: 80 }])).toHaveLength(2);
  const ingress = (rule: object): string[] =>
    errorsOf({ apiVersion: "networking.k8s.io/v1", kind: "Ingress", spec: { rules: [rule] } });
  expect(ingress({ host: "*.example.com", http: { paths: [{ path: "/a" }] } })).toEqual([]);
  expect(ingress({ host: "*" })).toHaveLength(1);
});
