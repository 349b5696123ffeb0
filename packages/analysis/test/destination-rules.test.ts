import { analyzeTexts } from "@istiod/analysis";
import { expect, test } from "vitest";
import { messagesIn, object, placesIn } from "./messages-in.js";

const tlsCodes = ["IST0128", "IST0129"];
const subsetCodes = ["IST0173", "IST0174"];

const rule = (spec: string): string => `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: reviews, namespace: shop}
spec:
  host: reviews
  ${spec.replaceAll("\n", "\n  ")}
---
`;

const bySystem =
  "so that servers are verified with the roots of the proxy's system; set caCertificates if a private authority issued their certificates";

test("TLS to a destination is verified, with the roots of the system unless others are set", () => {
  const withTls = (tls: string, more = ""): string => rule(`trafficPolicy:\n  tls: ${tls}\n${more}`);
  const levels = (text: string): readonly string[] =>
    analyzeTexts({ files: [{ file: "in.yaml", text }] }).messages.flatMap(({ code, level, message }) =>
      tlsCodes.includes(code) ? [`${level} ${message}`] : [],
    );
  expect(levels(withTls("{mode: SIMPLE}"))).toEqual([
    `Info TLS mode SIMPLE is set for "reviews" without caCertificates, ${bySystem}`,
  ]);
  expect(levels(withTls("{mode: MUTUAL, clientCertificate: /c, privateKey: /k}"))).toHaveLength(1);
  expect(levels(withTls("{mode: SIMPLE, sni: a.example.com}"))).toEqual([
    'Warning TLS mode SIMPLE is set for "reviews" with sni and without subjectAltNames and caCertificates, so that any certificate of a public authority is accepted, whatever its name; set subjectAltNames',
  ]);
  expect(levels(withTls("{mode: SIMPLE, sni: a.example.com, subjectAltNames: [a.example.com]}"))).toHaveLength(1);
  expect(levels(withTls("{mode: SIMPLE, insecureSkipVerify: true}"))).toEqual([
    'Warning TLS mode SIMPLE is set for "reviews" with insecureSkipVerify, so that servers are not verified',
  ]);
  expect(levels(withTls("{mode: SIMPLE, credentialName: c}"))).toEqual([
    'Warning TLS mode SIMPLE is set for "reviews", but sidecars connect in plaintext: without a workloadSelector, only gateways read credentialName, and none routes to the host; add a workloadSelector',
  ]);
  expect(
    messagesIn(withTls("{mode: SIMPLE, credentialName: c}", "workloadSelector: {matchLabels: {app: cart}}"), tlsCodes),
  ).toEqual([]);
  expect(messagesIn(withTls("{mode: SIMPLE, caCertificates: /ca}"), tlsCodes)).toEqual([]);
  expect(messagesIn(withTls("{mode: ISTIO_MUTUAL}"), tlsCodes)).toEqual([]);
  expect(messagesIn(withTls("{mode: DISABLE}"), tlsCodes)).toEqual([]);
  expect(messagesIn(rule("subsets:\n- {name: a, trafficPolicy: {tls: {mode: SIMPLE}}}"), tlsCodes)).toEqual([
    `IST0128 DestinationRule shop/reviews 7: TLS mode SIMPLE is set for subset "a" of "reviews" without caCertificates, ${bySystem}`,
  ]);
});

test("TLS to a single port is verified as well", () => {
  expect(
    messagesIn(
      rule(
        "trafficPolicy:\n  portLevelSettings:\n  - {port: {number: 80}}\n  - port: {number: 443}\n    tls: {mode: SIMPLE}",
      ),
      tlsCodes,
    ),
  ).toEqual([
    `IST0129 DestinationRule shop/reviews 10: TLS mode SIMPLE is set for port 443 of "reviews" without caCertificates, ${bySystem}`,
  ]);
  expect(placesIn(rule("trafficPolicy:\n  portLevelSettings:\n  - tls: {mode: SIMPLE}"), tlsCodes)).toEqual([
    "IST0129 DestinationRule shop/reviews 8",
  ]);
});

const service = object("Service", "shop/reviews", {
  spec: { selector: { app: "reviews" }, ports: [{ name: "http", port: 80 }] },
});
const pod = (labels: Readonly<Record<string, string>>, spec = {}): string =>
  object("Pod", "shop/reviews-1", { spec: { containers: [], ...spec } }, { labels });
const subset = (labels: string): string => rule(`subsets:\n- name: v2\n  labels: ${labels}`);

test("the host of a DestinationRule must be a service", () => {
  expect(
    messagesIn(
      rule("") + object("Service", "shop/review", { spec: { ports: [{ name: "http", port: 80 }] } }),
      subsetCodes,
    ),
  ).toEqual([
    'IST0174 DestinationRule shop/reviews 5: unknown destination host "reviews", so the DestinationRule has no effect: no Service or ServiceEntry declares it; did you mean "review"?',
  ]);
  expect(messagesIn(rule("") + service, subsetCodes)).toEqual([]);
  const wildcard = (host: string): readonly string[] =>
    placesIn(rule("").replace("host: reviews", `host: "${host}"`) + service, subsetCodes);
  expect(wildcard("*.shop.svc.cluster.local")).toEqual([]);
  expect(wildcard("*.books.svc.cluster.local")).toEqual(["IST0174 DestinationRule shop/reviews 5"]);
});

test("the host of a DestinationRule must not be an alias", () => {
  const alias = (name: string, externalName: string): string =>
    object("Service", name, { spec: { type: "ExternalName", externalName } });
  const host = "review.shop.svc.cluster.local";
  const target = object("Service", "shop/review", { spec: { ports: [{ name: "http", port: 80 }] } });
  const between = alias("shop/reviews", "rev.books.svc.cluster.local") + alias("books/rev", `${host}.`);
  const outside = object("ServiceEntry", "books/api", {
    spec: { hosts: ["api.example.com"], resolution: "DNS", ports: [{ number: 80, name: "http", protocol: "HTTP" }] },
  });
  const ignored = (stands: string): string =>
    `IST0174 DestinationRule shop/reviews 5: destination host "reviews" is an alias (ExternalName), so the DestinationRule has no effect: clients have the cluster of the service that it stands for; write the rule for "${stands}"`;
  expect(messagesIn(rule("") + alias("shop/reviews", host) + target, subsetCodes)).toEqual([ignored(host)]);
  expect(messagesIn(rule("") + between + target, subsetCodes)).toEqual([ignored(host)]);
  expect(messagesIn(rule("") + alias("shop/reviews", "api.example.com") + outside, subsetCodes)).toEqual([
    ignored("api.example.com"),
  ]);
  expect(messagesIn(subset("{version: v2}") + alias("shop/reviews", host) + target, subsetCodes)).toEqual([
    ignored(host),
  ]);
});

test("a subset must select a pod", () => {
  expect(messagesIn(subset("{version: v2}") + service + pod({ app: "reviews", version: "v1" }), subsetCodes)).toEqual([
    'IST0173 DestinationRule shop/reviews 8: subset "v2" does not select any pods, which no route leads to: no pod has the label version=v2; did you mean "version=v1"?',
  ]);
  expect(messagesIn(subset("{version: v2}") + service + pod({ app: "reviews", version: "v2" }), subsetCodes)).toEqual(
    [],
  );
});

test("a subset by topology selects pods by the labels of their nodes", () => {
  const node = (labels: Readonly<Record<string, string>>): string =>
    object("Node", "", { metadata: { name: "n1", labels } });
  const found = (labels: string, ...nodes: readonly string[]): readonly string[] =>
    placesIn(subset(labels) + service + pod({ app: "reviews" }, { nodeName: "n1" }) + nodes.join(""), subsetCodes);
  const missing = ["IST0173 DestinationRule shop/reviews 8"];
  const zoned = node({ "topology.kubernetes.io/region": "r1", "topology.kubernetes.io/zone": "z1" });
  expect(found("{topology.kubernetes.io/zone: z1, app: reviews}", zoned)).toEqual([]);
  expect(found("{topology.kubernetes.io/zone: z2}", zoned)).toEqual(missing);
  expect(found("{topology.kubernetes.io/zone: z1, app: ratings}", zoned)).toEqual(missing);
  expect(found("{topology.kubernetes.io/zone: z1}")).toEqual(missing);
  expect(found("{kubernetes.io/hostname: n1}")).toEqual([]);
});

test("subsets of ServiceEntries may also select endpoints and WorkloadEntries", () => {
  const entry = (spec: object): string =>
    object("ServiceEntry", "shop/reviews", {
      spec: {
        hosts: ["reviews"],
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        resolution: "STATIC",
        ...spec,
      },
    });
  const machine = (labels: object): string =>
    `${JSON.stringify({ apiVersion: "networking.istio.io/v1", kind: "WorkloadEntry", metadata: { name: "vm", namespace: "shop" }, spec: { address: "10.0.0.1", labels } })}\n---\n`;
  const missing = ["IST0173 DestinationRule shop/reviews 8"];
  expect(
    messagesIn(
      subset("{version: v2}") + entry({ endpoints: [{ address: "10.0.0.1", labels: { version: "v2" } }] }),
      subsetCodes,
    ),
  ).toEqual([]);
  expect(
    placesIn(
      subset("{version: v2}") + entry({ endpoints: [{ address: "10.0.0.1", labels: { version: "v1" } }] }),
      subsetCodes,
    ),
  ).toEqual(missing);
  const selecting = entry({ workloadSelector: { labels: { app: "vm" } } });
  expect(messagesIn(subset("{version: v2}") + selecting + machine({ app: "vm", version: "v2" }), subsetCodes)).toEqual(
    [],
  );
  expect(placesIn(subset("{version: v2}") + selecting + machine({ app: "other", version: "v2" }), subsetCodes)).toEqual(
    missing,
  );
});

const cart = object("Service", "shop/cart", { spec: { clusterIP: "10.1.0.1", ports: [{ name: "http", port: 80 }] } });
const policy = (name: string, created: number, spec: Readonly<Record<string, unknown>> = {}): string =>
  object(
    "DestinationRule",
    `shop/${name}`,
    { spec: { host: "cart", trafficPolicy: { connectionPool: { tcp: { maxConnections: created } } }, ...spec } },
    { creationTimestamp: `2026-01-0${created}T00:00:00Z` },
  );
const withPolicyOf = (name: string): string =>
  `trafficPolicy has no effect: it is overridden by that of DestinationRule shop/${name}, which is for the same host and takes precedence; merge the two`;
const withoutEffectBy = (name: string): string =>
  `the DestinationRule has no effect: it is overridden by DestinationRule shop/${name}, which is for the same host and takes precedence; merge the two`;
const selecting = { workloadSelector: { matchLabels: { app: "web" } } };

test.each<[string, readonly string[], Readonly<Record<string, string>>]>([
  ["the older of two", [policy("a", 1), policy("b", 2)], { b: withPolicyOf("a") }],
  ["the first name of one age", [policy("b", 1), policy("a", 1)], { b: withPolicyOf("a") }],
  [
    "neither, if they are for different clients",
    [policy("a", 1, { exportTo: ["web"] }), policy("b", 2, { exportTo: ["pay"] })],
    {},
  ],
  [
    "both, if the younger is for more clients",
    [policy("a", 1, { exportTo: ["web"] }), policy("b", 2, { exportTo: ["web", "pay"] })],
    {},
  ],
  [
    "the last of its own namespace, for which a merge is not possible",
    [policy("a", 1, { exportTo: ["."] }), policy("b", 2, { exportTo: ["*"] })],
    { a: withoutEffectBy("b") },
  ],
  ["both, if one is for some workloads", [policy("b", 1), policy("a", 2, selecting)], {}],
  [
    "the older of two for the same workloads",
    [policy("b", 1, selecting), policy("a", 2, selecting)],
    { a: withPolicyOf("b") },
  ],
  [
    "one of a short and one of a full name",
    [policy("a", 1), policy("b", 2, { host: "cart.shop.svc.cluster.local" })],
    { b: withPolicyOf("a") },
  ],
])("of DestinationRules for one host, MESH0011 follows what clients have: %s", (_, rules, said) => {
  const messages = messagesIn([cart, ...rules].join("\n---\n"), ["MESH0011"]);
  const byRule = messages.map((message) => /^MESH0011 DestinationRule shop\/(\w+) \d+: (.*)$/.exec(message)?.slice(1));
  expect(Object.fromEntries(byRule as [string, string][])).toEqual(said);
});
