import { expect, test } from "vitest";
import { certificate, privateKey } from "./key-pair.js";
import { messagesIn, object, placesIn } from "./messages-in.js";

const codes = ["IST0101", "IST0138", "IST0145", "IST0161", "IST0162"];

interface Options {
  readonly selector?: Readonly<Record<string, string>>;
  readonly port?: number;
  readonly hosts?: readonly string[];
  readonly tls?: Readonly<Record<string, string>>;
  readonly bind?: string;
}

/**
 * A Gateway of one server, its fields on lines of their own: the selector on line 6, the port on 9, the host on 10, TLS
 * settings on 11.
 */
const gateway = (
  name: string,
  { selector = { istio: "ingressgateway" }, port = 443, hosts = ["shop.example.com"], tls, bind }: Options = {},
): string => `apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: ${name.split("/")[1]}, namespace: ${name.split("/")[0]}}
spec:
  selector:
    ${Object.entries(selector)
      .map(([key, value]) => `${key}: ${value}`)
      .join("\n    ")}
  servers:
  - port:
      {name: server, number: ${port}, protocol: ${tls === undefined ? "HTTP" : "HTTPS"}}
    hosts: ${JSON.stringify(hosts)}
    ${
      tls === undefined
        ? ""
        : `tls: {mode: SIMPLE, ${Object.entries(tls)
            .map(([key, value]) => `${key}: ${value}`)
            .join(", ")}}`
    }
    ${bind === undefined ? "" : `bind: ${bind}`}
---
`;
const pod = (name: string, labels: Readonly<Record<string, string>>): string =>
  object("Pod", name, { spec: { containers: [] } }, { labels });
const service = (
  name: string,
  selector: Readonly<Record<string, string>> | undefined,
  ports: readonly object[],
): string => object("Service", name, { spec: { selector, ports } });

test("the selector of a Gateway must select pods", () => {
  expect(messagesIn(gateway("shop/gw", { selector: { istio: "ingresgateway" } }), codes)).toEqual([
    'IST0101 Gateway shop/gw 6: referenced selector "istio=ingresgateway" not found: no pod has the label istio=ingresgateway; did you mean "istio=ingressgateway"?',
  ]);
  const text = gateway("shop/gw", { selector: { app: "edge", tier: "web" } });
  expect(messagesIn(text + pod("edge/a", { app: "edge" }) + pod("edge/b", { tier: "web" }), codes)).toEqual([
    'IST0101 Gateway shop/gw 6: referenced selector "app=edge,tier=web" not found: no pod has all of these labels',
  ]);
  expect(messagesIn(gateway("shop/gw"), codes)).toEqual([]);
  expect(
    placesIn(gateway("shop/gw"), codes, { meshConfig: { file: "mesh.yaml", text: 'ingressControllerMode: "OFF"' } }),
  ).toEqual(["IST0101 Gateway shop/gw 6"]);
});

test("the port of a server must be a port or target port of a Service of the pods", () => {
  const at = (port: number, ...services: readonly string[]): string =>
    gateway("shop/gw", { selector: { app: "edge" }, port }) +
    pod("edge/a", { app: "edge", v: "1" }) +
    services.join("");
  const edge = service("edge/edge", { app: "edge" }, [
    { name: "http", port: 80, targetPort: 8080 },
    { name: "dns", port: 53, protocol: "UDP" },
  ]);
  expect(messagesIn(at(8443, edge), codes)).toEqual([
    'IST0162 Gateway shop/gw 9: port 8443 is not defined on a Service of the gateway\'s pods (selector "app=edge"): their Services have 80, 8080; add the port to the Service',
  ]);
  expect(messagesIn(at(80, edge), codes)).toEqual([]);
  expect(messagesIn(at(8080, edge), codes)).toEqual([]);
  expect(placesIn(at(53, edge), codes)).toEqual(["IST0162 Gateway shop/gw 9"]);
  expect(
    placesIn(at(80, edge.replace("edge/edge", "edge").replace('"namespace":"edge"', '"namespace":"shop"')), codes),
  ).toEqual(["IST0162 Gateway shop/gw 9"]);
  expect(
    messagesIn(at(8443, edge, service("edge/all", undefined, [{ name: "tls", port: 8443, targetPort: "tls" }])), codes),
  ).toEqual([]);
});

const valid = { time: Date.UTC(2026, 10, 25) };
const secret = (data: Readonly<Record<string, string>>, name = "istio-system/shop-cert"): string =>
  object("Secret", name, { stringData: data });
const secured = (credentialName = "shop-cert"): string => gateway("shop/gw", { tls: { credentialName } });

test("a credential must be a Secret in the namespace of the gateway's pods", () => {
  const tls = { "tls.crt": certificate, "tls.key": privateKey };
  expect(messagesIn(secured("shop-crt") + secret(tls), codes, valid)).toEqual([
    'IST0101 Gateway shop/gw 11: referenced credentialName "shop-crt" not found: there is no such Secret in namespace istio-system, where the gateway\'s pods are; did you mean "shop-cert"?',
  ]);
  expect(placesIn(secured() + secret(tls, "shop/shop-cert"), codes, valid)).toEqual(["IST0101 Gateway shop/gw 11"]);
  expect(messagesIn(secured() + secret(tls), codes, valid)).toEqual([]);
  expect(messagesIn(secured("kubernetes://shop-cert") + secret(tls), codes, valid)).toEqual([]);
  expect(messagesIn(secured("istio-system/shop-cert") + secret(tls), codes, valid)).toEqual([]);
  expect(messagesIn(secured("shop/shop-cert") + secret(tls, "shop/shop-cert"), codes, valid)).toEqual([
    `IST0101 Gateway shop/gw 11: referenced credentialName "shop/shop-cert" not found: it is in namespace shop, and the gateway's pods are in namespace istio-system: Secrets are served only within their namespace`,
  ]);
  expect(messagesIn(secured() + secret(tls, "shop/shop-cert"), codes, valid)).toEqual([
    `IST0101 Gateway shop/gw 11: referenced credentialName "shop-cert" not found: there is no such Secret in namespace istio-system, where the gateway's pods are; there is one in namespace shop`,
  ]);
});

test("the Secret must contain a valid certificate", () => {
  const fault = (data: Readonly<Record<string, string>>, time = valid.time): string | undefined =>
    messagesIn(secured() + secret(data), codes, { time })[0]?.replace(
      /^IST0161 Gateway shop\/gw 11: credential "shop-cert" is invalid, so (the server gets no certificate, and accepts no connection|clients reject the server, which serves the certificate all the same): Secret istio-system\/shop-cert: /,
      (_, consequence: string) => (consequence.startsWith("clients") ? "served: " : ""),
    );
  expect(fault({ "tls.crt": certificate })).toBe("it has no cert and key, and no tls.crt and tls.key; it has tls.crt");
  expect(fault({ "tls.crt": certificate, "tls.key": "" })).toBe(
    "it has no cert and key, and no tls.crt and tls.key; it has tls.crt, tls.key",
  );
  expect(fault({ cert: "text", key: "key" })).toBe("its cert is not PEM");
  expect(fault({ cert: certificate.replaceAll("CERTIFICATE", "PRIVATE KEY"), key: "key" })).toBeUndefined();
  expect(
    fault({ cert: `-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n${certificate}`, key: "key" }),
  ).toBe("its cert does not begin with a certificate");
  expect(fault({ cert: certificate, key: privateKey })).toBeUndefined();
  expect(fault({ cert: certificate, key: privateKey }, Date.UTC(2026, 11, 22, 18))).toBe(
    "served: its certificate expired at 2026-12-22T17:20:51.000Z",
  );
  expect(fault({ cert: certificate, key: privateKey }, Date.UTC(2026, 10, 22, 15))).toBe(
    "served: its certificate is not valid before 2026-11-22T17:20:51.000Z",
  );
  expect(fault({ cert: certificate, key: privateKey }, Date.UTC(2026, 10, 22, 17, 30))).toBeUndefined();
});

test("a certificate shared by Gateways is reported on each Gateway that selects the other's pods", () => {
  const files = { serverCertificate: "/etc/cert.pem", privateKey: "/etc/key.pem" };
  const b = (tls: Readonly<Record<string, string>>, selector?: Readonly<Record<string, string>>): string =>
    gateway("books/b", { tls, hosts: ["books.example.com"], ...(selector && { selector }) });
  const a = gateway("shop/a", { tls: files });
  expect(messagesIn(a + b(files, { istio: "ingressgateway", app: "edge" }), ["IST0138"])).toEqual([
    "IST0138 Gateway shop/a 11: duplicate certificate: Gateway books/b uses it too, and clients that reuse a connection (HTTP/2) for hosts of both get 404; put the hosts into one Gateway or give each a certificate",
  ]);
  expect(messagesIn(a + b(files), ["IST0138"])).toHaveLength(2);
  expect(
    messagesIn(gateway("shop/a", { tls: { credentialName: "c" } }) + b({ credentialName: "c" }), ["IST0138"]),
  ).toHaveLength(2);
  expect(messagesIn(a + b({ ...files, privateKey: "/etc/other.pem" }), ["IST0138"])).toEqual([]);
  expect(messagesIn(a + b(files, { app: "edge" }), ["IST0138"])).toEqual([]);
  expect(messagesIn(a + b(files), ["IST0138"], { environment: { PILOT_SCOPE_GATEWAY_TO_NAMESPACE: "true" } })).toEqual(
    [],
  );
});

test("Gateways that select the same pods conflict if they share a host and port", () => {
  const conflicts = (...objects: readonly string[]): readonly string[] =>
    placesIn(objects.join(""), ["IST0145"]).map((place) => place.split(" ")[2] ?? "");
  const a = gateway("shop/a", { port: 80, hosts: ["a.example", "b.example"] });
  expect(messagesIn(a + gateway("books/b", { port: 80, hosts: ["b.example"] }), ["IST0145"])).toEqual([
    "IST0145 Gateway books/b 23: conflict with gateways shop/a (workload selector istio=ingressgateway, port 80): they have the same hosts, b.example; remove them from one Gateway",
    "IST0145 Gateway shop/a 10: conflict with gateways books/b (workload selector istio=ingressgateway, port 80): they have the same hosts, b.example; remove them from one Gateway",
  ]);
  expect(conflicts(a, gateway("books/b", { port: 81, hosts: ["b.example"] }))).toEqual([]);
  expect(conflicts(a, gateway("books/b", { port: 80, hosts: ["c.example"] }))).toEqual([]);
  expect(conflicts(a, gateway("books/b", { port: 80, hosts: ["b.example"], bind: "10.0.0.1" }))).toEqual([]);

  const b = gateway("books/b", { port: 80, hosts: ["b.example"], selector: { app: "edge", istio: "ingressgateway" } });
  expect(conflicts(a, b)).toEqual([]);
  expect(conflicts(a, b, pod("edge/p", { app: "edge", istio: "ingressgateway" }))).toEqual(["books/b", "shop/a"]);
  expect(conflicts(a, b, pod("edge/p", { app: "edge" }))).toEqual([]);
});

test("a Gateway without servers is reported if no other Gateway for its pods has servers", () => {
  const empty = object("Gateway", "shop/empty", { spec: { selector: { istio: "ingressgateway" } } });
  expect(messagesIn(empty, codes)).toEqual([
    'IST0101 Gateway shop/empty 1: referenced selector "istio=ingressgateway" not found at any server: neither this Gateway nor another of the same pods has servers; add servers',
  ]);
  expect(messagesIn(empty + gateway("books/b", { port: 80 }), codes)).toEqual([]);
});

test("for TLS, the oldest of the conflicting Gateways is named", () => {
  const tls = { credentialName: "c" };
  const newer = gateway("shop/a", { tls }).replace(
    "namespace: shop",
    "namespace: shop, creationTimestamp: '2026-01-02T00:00:00Z'",
  );
  const older = gateway("books/b", { tls }).replace(
    "namespace: books",
    "namespace: books, creationTimestamp: '2026-01-01T00:00:00Z'",
  );
  expect(messagesIn(newer + older, ["IST0145"])[0]).toContain(
    "they have the same hosts, shop.example.com, and only that of the oldest Gateway, books/b, is served over TLS",
  );
});
