import { mint } from "@istiod/ca/testing";
import { describe, expect, it } from "vitest";
import { messagesIn, object } from "./messages-in.js";

const day = 24 * 3_600_000;
const certificateOf = (...hosts: readonly string[]) =>
  mint({ names: hosts.map((value) => ({ type: "dns", value })), notAfter: 2 * day });
const secret = (name: string, { pem, keyPem }: { readonly pem: string; readonly keyPem: string }): string =>
  object("Secret", name, { stringData: { "tls.crt": pem, "tls.key": keyPem } });
const found = (text: string, time = Date.now()): readonly string[] =>
  messagesIn(text, ["IST0101", "IST0161", "MESH0061", "MESH0075"], { time }).map((message) =>
    message.replace(/^(\S+ \S+ \S+) \d+/, "$1"),
  );

const server = (hosts: readonly string[], tls: object = { mode: "SIMPLE", credentialName: "cert" }): string =>
  object("Gateway", "shop/gw", {
    spec: {
      selector: { istio: "ingressgateway" },
      servers: [{ port: { number: 443, name: "https", protocol: "HTTPS" }, tls, hosts }],
    },
  });
const of = (kind: string, spec: object, group = "gateway.networking.k8s.io/v1", annotations = {}): string =>
  `${JSON.stringify({ apiVersion: group, kind, metadata: { name: "gw", namespace: "shop", annotations }, spec })}\n---\n`;
const rejected = (host: string, namespace: string, names: string): string =>
  `clients that verify the name reject the server for ${host}: the certificate of Secret ${namespace}/cert is for ${names}`;

describe("a certificate that is not for a host of its server is told", async () => {
  const b = await certificateOf("b.example.com", "*.apps.example.com");
  const named = await mint({ subject: "CN=a.example.com", notAfter: 2 * day });
  const workload = await mint({ names: [{ type: "url", value: "spiffe://a/ns/b/sa/c" }], notAfter: 2 * day });

  it.each([
    [["a.example.com"], "a.example.com"],
    [["shop/a.example.com", "b.example.com"], "a.example.com"],
    [["a.b.apps.example.com"], "a.b.apps.example.com"],
    [["*.example.org"], "*.example.org"],
    [["B.example.com"], undefined],
    [["a.apps.example.com"], undefined],
    [["*.apps.example.com"], undefined],
    [["*.example.com"], undefined],
    [["*"], undefined],
  ])("for a Gateway with %j", (hosts, lacking) => {
    const names = "b.example.com and *.apps.example.com";
    expect(found(server(hosts) + secret("istio-system/cert", b))).toEqual(
      lacking === undefined
        ? []
        : [`MESH0075 Gateway shop/gw: ${rejected(lacking, "istio-system", names).replace(" and ", ", ")}`],
    );
  });

  it("with all certificates of the server together", async () => {
    const tls = { mode: "SIMPLE", credentialNames: ["cert", "own"] };
    const own = await certificateOf("a.example.com");
    const text = secret("istio-system/cert", b) + secret("istio-system/own", own);
    expect(found(server(["a.example.com", "b.example.com"], tls) + text)).toEqual([]);
  });

  it("but not where the common name is the host, nor where the certificate names no hosts at all", () => {
    expect(found(server(["a.example.com"]) + secret("istio-system/cert", named))).toEqual([]);
    expect(found(server(["a.example.com"]) + secret("istio-system/cert", workload))).toEqual([]);
    expect(found(server(["b.example.com"]) + secret("istio-system/cert", named))).toEqual([
      `MESH0075 Gateway shop/gw: ${rejected("b.example.com", "istio-system", "a.example.com")}`,
    ]);
  });

  it("for listeners of the Gateway API", () => {
    const tls = { certificateRefs: [{ name: "cert" }] };
    const listeners = [{ name: "https", port: 443, protocol: "HTTPS", hostname: "a.example.com", tls }];
    const text = of("Gateway", { gatewayClassName: "istio", listeners }) + secret("shop/cert", b);
    const expected = rejected("a.example.com", "shop", "b.example.com, *.apps.example.com");
    expect(found(text)).toEqual([`MESH0075 Gateway shop/gw: listener https: ${expected}`]);
    expect(found(text.replace("a.example.com", "b.example.com"))).toEqual([]);
    const set = of("ListenerSet", { parentRef: { name: "gw" }, listeners }) + secret("shop/cert", b);
    expect(found(set).filter((message) => message.startsWith("MESH0075"))).toEqual([
      `MESH0075 ListenerSet shop/gw: listener https: ${expected}`,
    ]);
  });

  it("for an Ingress, as are a Secret in another namespace than the gateway's and an expired certificate", () => {
    const backend = { service: { name: "gw", port: { number: 80 } } };
    const service = of("Service", { ports: [{ name: "http", port: 80 }] }, "v1");
    const ingress =
      service +
      of(
        "Ingress",
        {
          tls: [{ hosts: ["a.example.com"], secretName: "cert" }],
          rules: [{ host: "a.example.com", http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }],
        },
        "networking.k8s.io/v1",
        { "kubernetes.io/ingress.class": "istio" },
      );
    expect(found(ingress)).toEqual([]);
    expect(found(ingress + secret("shop/cert", named))).toEqual([
      'IST0101 Ingress shop/gw: referenced secretName "cert" not found: there is no such Secret in namespace istio-system, where the gateway\'s pods are; there is one in namespace shop',
    ]);
    expect(found(ingress + secret("istio-system/cert", named))).toEqual([]);
    expect(found(ingress + secret("istio-system/cert", b))).toEqual([
      `MESH0075 Ingress shop/gw: ${rejected("a.example.com", "istio-system", "b.example.com, *.apps.example.com")}`,
    ]);
    const [expired] = found(ingress + secret("istio-system/cert", named), Date.now() + 3 * day);
    expect(expired).toContain(
      'IST0161 Ingress shop/gw: credential "cert" is invalid, so clients reject the server, which serves the certificate all the same: Secret istio-system/cert: its certificate expired at 2',
    );
  });
});

describe("certificates of the Gateway API that are not valid now", async () => {
  const root = await mint({ ca: true, notAfter: 2 * day });
  const young = await mint({ names: [{ type: "dns", value: "a.example.com" }], notBefore: 3 * day, notAfter: 5 * day });
  const later = Date.now() + 3 * day;
  const ca = object("ConfigMap", "shop/ca", { data: { "ca.crt": root.pem } });
  const ref = { group: "", kind: "ConfigMap", name: "ca" };

  it("may be those of listeners before their time", () => {
    const tls = { certificateRefs: [{ name: "cert" }] };
    const listeners = [{ name: "https", port: 443, protocol: "HTTPS", hostname: "a.example.com", tls }];
    const text = of("Gateway", { gatewayClassName: "istio", listeners }) + secret("shop/cert", young);
    expect(found(text)[0]).toContain(
      "IST0161 Gateway shop/gw: listener https: clients reject its certificate, which is served all the same: Secret shop/cert: its certificate is not valid before 2",
    );
    expect(found(text, later + day)).toEqual([]);
  });

  it("may be those by which a Gateway verifies clients, or its own for backends", async () => {
    const cert = await certificateOf("gw.example.com");
    const perPort = [{ port: 443, tls: { validation: { caCertificateRefs: [ref] } } }];
    const tls = {
      frontend: { default: { validation: { caCertificateRefs: [ref] } }, perPort },
      backend: { clientCertificateRef: { name: "cert" } },
    };
    const text = of("Gateway", { gatewayClassName: "istio", listeners: [], tls }) + ca + secret("shop/cert", cert);
    const ofRoots =
      /^IST0161 Gateway shop\/gw: certificates of clients that it issued are rejected: ConfigMap shop\/ca: its first root certificate expired at 2/;
    expect(found(text).filter((message) => message.startsWith("IST0161"))).toEqual([]);
    expect(found(text, later).filter((message) => message.startsWith("IST0161"))).toEqual([
      expect.stringMatching(
        /^IST0161 Gateway shop\/gw: backends reject the certificate of the gateway, which is served all the same: Secret shop\/cert: its certificate expired at 2/,
      ),
      // Of both fields, which are in the same line.
      expect.stringMatching(ofRoots),
    ]);
  });

  it("may be the roots of a BackendTLSPolicy", () => {
    const validation = { hostname: "cart.example.com", caCertificateRefs: [ref] };
    const policy = of("BackendTLSPolicy", { targetRefs: [{ group: "", kind: "Service", name: "cart" }], validation });
    expect(found(policy + ca)).toEqual([]);
    expect(found(policy + ca, later)).toEqual([
      expect.stringMatching(
        /^IST0161 BackendTLSPolicy shop\/gw: backends whose certificates it issued are rejected: ConfigMap shop\/ca: its first root certificate expired at 2/,
      ),
    ]);
  });
});
