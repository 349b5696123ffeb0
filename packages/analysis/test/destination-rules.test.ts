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

test("TLS to a destination requires CA certificates", () => {
  const withTls = (tls: string, more = ""): string => rule(`trafficPolicy:\n  tls: ${tls}\n${more}`);
  expect(messagesIn(withTls("{mode: SIMPLE}"), tlsCodes)).toEqual([
    `IST0128 DestinationRule shop/reviews 7: TLS mode SIMPLE is set for "reviews" but no caCertificates to validate the server's identity; set caCertificates`,
  ]);
  expect(messagesIn(withTls("{mode: SIMPLE, credentialName: c}"), tlsCodes)).toEqual([
    `IST0128 DestinationRule shop/reviews 7: TLS mode SIMPLE is set for "reviews" but no caCertificates to validate the server's identity; set caCertificates, or add a workloadSelector, without which credentialName is not read`,
  ]);
  expect(
    messagesIn(withTls("{mode: SIMPLE, credentialName: c}", "workloadSelector: {matchLabels: {app: cart}}"), tlsCodes),
  ).toEqual([]);
  expect(placesIn(withTls("{mode: MUTUAL, clientCertificate: /c, privateKey: /k}"), tlsCodes)).toEqual([
    "IST0128 DestinationRule shop/reviews 7",
  ]);
  expect(messagesIn(withTls("{mode: SIMPLE, caCertificates: /ca}"), tlsCodes)).toEqual([]);
  expect(messagesIn(withTls("{mode: ISTIO_MUTUAL}"), tlsCodes)).toEqual([]);
  expect(messagesIn(withTls("{mode: DISABLE}"), tlsCodes)).toEqual([]);
});

test("TLS to a single port requires CA certificates", () => {
  expect(
    messagesIn(
      rule(
        "trafficPolicy:\n  portLevelSettings:\n  - {port: {number: 80}}\n  - port: {number: 443}\n    tls: {mode: SIMPLE}",
      ),
      tlsCodes,
    ),
  ).toEqual([
    `IST0129 DestinationRule shop/reviews 10: TLS mode SIMPLE is set for port 443 of "reviews" but no caCertificates to validate the server's identity; set caCertificates`,
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
