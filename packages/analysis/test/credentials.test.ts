import { mint, mintRevocationList } from "@istiod/ca/testing";
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { describe, expect, it, test } from "vitest";
import { certificate, privateKey } from "./key-pair.js";
import { messagesIn, object } from "./messages-in.js";

const codes = ["IST0101", "IST0161", "MESH0061", "IST0128", "IST0129"];
const pair = { "tls.crt": certificate, "tls.key": privateKey };
const secret = (name: string, data: object): string => object("Secret", name, { stringData: data });
const found = (text: string, time = Date.UTC(2026, 10, 25)): readonly string[] =>
  messagesIn(text, codes, { time }).map((message) => message.replace(/^(\S+ \S+ \S+) \d+/, "$1"));

const server = (tls: object): string =>
  object("Gateway", "shop/gw", {
    spec: {
      selector: { istio: "ingressgateway" },
      servers: [{ port: { number: 443, name: "https", protocol: "HTTPS" }, tls, hosts: ["a.example.com"] }],
    },
  });
const missing = (field: string, name: string): string =>
  `IST0101 Gateway shop/gw: referenced ${field} "${name}" not found: there is no such Secret in namespace istio-system, where the gateway's pods are`;

test("a server with mutual TLS needs root certificates, in the Secret or in one of their own", () => {
  const mutual = server({ mode: "MUTUAL", credentialName: "cert" });
  const noRoots =
    'IST0161 Gateway shop/gw: credential "cert" is invalid, so the server gets no root certificates to verify those of clients, and accepts no connection: Secret istio-system/cert: it has no cacert or ca.crt; it has tls.crt, tls.key';
  expect(found(mutual + secret("istio-system/cert", pair))).toEqual([noRoots]);
  expect(found(mutual.replace("MUTUAL", "OPTIONAL_MUTUAL") + secret("istio-system/cert", pair))).toEqual([noRoots]);
  expect(found(mutual.replace("MUTUAL", "SIMPLE") + secret("istio-system/cert", pair))).toEqual([]);
  expect(found(mutual + secret("istio-system/cert", { ...pair, "ca.crt": certificate }))).toEqual([]);
  const own = secret("istio-system/cert-cacert", { cacert: certificate });
  expect(found(mutual + secret("istio-system/cert", pair) + own)).toEqual([]);
  expect(found(mutual + own)).toEqual([missing("credentialName", "cert")]);
  const expired = found(mutual + secret("istio-system/cert", pair) + own, Date.UTC(2027, 0));
  expect([...expired].sort()).toEqual([
    'IST0161 Gateway shop/gw: credential "cert" is invalid, so certificates of clients that it issued are rejected: Secret istio-system/cert-cacert: its first root certificate expired at 2026-12-22T17:20:51.000Z',
    'IST0161 Gateway shop/gw: credential "cert" is invalid, so clients reject the server, which serves the certificate all the same: Secret istio-system/cert: its certificate expired at 2026-12-22T17:20:51.000Z',
  ]);
});

test("each of several credentials of a server, and that of its roots, must exist", () => {
  const several = server({ mode: "SIMPLE", credentialNames: ["cert", "rsa"] });
  expect(found(several + secret("istio-system/cert", pair))).toEqual([missing("credentialNames", "rsa")]);
  const roots = server({ mode: "MUTUAL", credentialName: "cert", caCertCredentialName: "ca" });
  expect(found(roots + secret("istio-system/cert", pair))).toEqual([missing("caCertCredentialName", "ca")]);
  expect(found(roots + secret("istio-system/cert", pair) + secret("istio-system/ca", { cacert: certificate }))).toEqual(
    [],
  );
});

test("a Secret of another type has no certificate", () => {
  const text = server({ mode: "SIMPLE", credentialName: "cert" });
  expect(found(text + secret("istio-system/cert", { ".dockerconfigjson": "{}" }))).toEqual([
    'IST0161 Gateway shop/gw: credential "cert" is invalid, so the server gets no certificate, and accepts no connection: Secret istio-system/cert: it has no cert and key, and no tls.crt and tls.key; it has .dockerconfigjson',
  ]);
});

const service = object("Service", "shop/cart", { spec: { ports: [{ name: "http", port: 80 }] } });
const rule = (tls: object, more: object = {}, port?: number): string =>
  object("DestinationRule", "shop/cart", {
    spec: {
      host: "cart",
      trafficPolicy: port === undefined ? { tls } : { portLevelSettings: [{ port: { number: port }, tls }] },
      ...more,
    },
  });
const selecting = { workloadSelector: { matchLabels: { app: "web" } } };

test("credentials of a DestinationRule must exist in the namespace of its workloads", () => {
  const absent = (field: string, name: string, of = '"cart"'): string =>
    `IST0101 DestinationRule shop/cart: referenced ${field} "${name}" not found, so that connections to ${of} fail: there is no such Secret in namespace shop, where the rule's workloads are`;
  const mutual = { mode: "MUTUAL", credentialName: "client" };
  expect(found(service + rule(mutual, selecting))).toEqual([absent("credentialName", "client")]);
  expect(found(service + rule(mutual, selecting, 80))).toEqual([
    absent("credentialName", "client", 'port 80 of "cart"'),
  ]);
  expect(found(service + rule(mutual, selecting) + secret("bank/client", pair))).toEqual([
    `${absent("credentialName", "client")}; there is one in namespace bank`,
  ]);
  expect(found(service + rule(mutual, selecting) + secret("shop/client", { ...pair, cacert: certificate }))).toEqual(
    [],
  );
  expect(found(service + rule(mutual, selecting) + secret("shop/client", pair))).toEqual([
    'IST0161 DestinationRule shop/cart: credential "client" is invalid, so connections to "cart" fail: Secret shop/client: it has no cacert or ca.crt; it has tls.crt, tls.key',
  ]);
  const roots = { mode: "SIMPLE", caCertCredentialName: "ca" };
  expect(found(service + rule(roots, selecting))).toEqual([absent("caCertCredentialName", "ca")]);
  const configMap = { mode: "SIMPLE", caCertCredentialName: "configmap://shop/ca" };
  expect(found(service + rule(configMap))).toEqual([
    'IST0101 DestinationRule shop/cart: referenced caCertCredentialName "configmap://shop/ca" not found, so that connections to "cart" fail: there is no ConfigMap shop/ca',
  ]);
});

test("without a workload selector, the gateways that route to the host read credentials", () => {
  const route = object("VirtualService", "shop/front", {
    spec: {
      hosts: ["a.example.com"],
      gateways: ["shop/gw"],
      http: [{ route: [{ destination: { host: "cart.shop.svc.cluster.local" } }] }],
    },
  });
  const text =
    service + server({ mode: "PASSTHROUGH" }) + route + rule({ mode: "MUTUAL", credentialName: "client" }, {}, 80);
  expect(found(text)).toEqual([
    'IST0101 DestinationRule shop/cart: referenced credentialName "client" not found, so that connections to port 80 of "cart" fail: there is no such Secret in namespace istio-system, where the gateways that route to it are',
  ]);
  expect(found(text + secret("istio-system/client", { ...pair, cacert: certificate }))).toEqual([]);
});

describe("a revocation list", async () => {
  const hour = 3_600_000;
  const root = await mint({ ca: true, notAfter: 100 * hour });
  const list = await mintRevocationList(root, { nextUpdate: 30 * hour });
  const garbage = "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n";
  const at = Date.now();
  const mutual = server({ mode: "MUTUAL", credentialName: "cert" });
  const roots = (crl: Record<string, string>): string =>
    secret("istio-system/cert", pair) + secret("istio-system/cert-cacert", { "ca.crt": root.pem, ...crl });
  const refused = (fault: string): readonly string[] => [
    `IST0161 Gateway shop/gw: credential "cert" is invalid, so the server gets no root certificates to verify those of clients, and accepts no connection: Secret istio-system/cert-cacert: ${fault}`,
  ];

  it("that Envoy would reject keeps the roots from being served", () => {
    expect(found(mutual + roots({ "ca.crl": list }), at)).toEqual([]);
    expect(found(mutual + roots({ "ca.crl": " \n" }), at)).toEqual([]);
    expect(found(mutual + roots({ "ca.crl": "garbage" }), at)).toEqual(
      refused("in its ca.crl, there is no revocation list in PEM"),
    );
    expect(found(mutual + roots({ "ca.crl": garbage }), at)).toEqual(
      refused("in its ca.crl, a revocation list is malformed"),
    );
    // `crl` belongs to `cacert`.
    expect(found(mutual + roots({ crl: "garbage" }), at)).toEqual([]);
  });

  it("of a DestinationRule's roots in a Secret or ConfigMap is checked, too", () => {
    const of = (name: string): string => service + rule({ mode: "SIMPLE", caCertCredentialName: name }, selecting);
    const data = { cacert: root.pem, crl: "garbage" };
    const invalid = (name: string, kind: string): readonly string[] => [
      `IST0161 DestinationRule shop/cart: credential "${name}" is invalid, so connections to "cart" fail: ${kind} shop/ca: in its crl, there is no revocation list in PEM`,
    ];
    expect(found(of("ca") + secret("shop/ca", data), at)).toEqual(invalid("ca", "Secret"));
    const configMap = object("ConfigMap", "shop/ca", { data });
    expect(found(of("configmap://shop/ca") + configMap, at)).toEqual(invalid("configmap://shop/ca", "ConfigMap"));
    const text = object("ConfigMap", "shop/ca", { data: { cacert: "text" } });
    expect(found(of("configmap://shop/ca") + text, at)).toEqual([
      'IST0161 DestinationRule shop/cart: credential "configmap://shop/ca" is invalid, so connections to "cart" fail: ConfigMap shop/ca: its cacert is not PEM',
    ]);
  });

  it("that has expired makes proxies reject what its issuer signed", () => {
    const text = mutual + roots({ "ca.crl": list }).replace(certificate, root.pem);
    const [message, ...others] = found(text, at + 40 * hour);
    expect(message).toMatch(
      /so certificates of clients that it issued are rejected: Secret istio-system\/cert-cacert: its revocation list expired at 20/,
    );
    expect(others).toEqual([]);
  });
});

describe("a key that proxies cannot use with its certificate", () => {
  const other = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const pem = { type: "pkcs8", format: "pem" } as const;
  const encrypted = { ...pem, cipher: "aes-256-cbc", passphrase: "secret" } as const;
  const faulty: readonly (readonly [string, string, string | Buffer])[] = [
    ["of another certificate", "the key is not the certificate's", other.privateKey.export(pem)],
    ["of another type", "the key is not the certificate's", rsa.export(pem)],
    [
      "that is encrypted",
      "the key is encrypted, and there is no password for it",
      createPrivateKey(privateKey).export(encrypted),
    ],
    ["that is a public key", "the key is not PEM of a private key", other.publicKey.export({ ...pem, type: "spki" })],
    ["that is a certificate", "the key is not PEM of a private key", certificate],
    ["that is not PEM", "the key is not PEM of a private key", "garbage"],
    ["that is cut off", "the key is malformed", privateKey.slice(0, -40)],
  ];

  it.each(faulty)("%s keeps a server from accepting connections", (_, fault, key) => {
    const data = { "tls.crt": certificate, "tls.key": String(key) };
    expect(found(server({ mode: "SIMPLE", credentialName: "cert" }) + secret("istio-system/cert", data))).toEqual([
      `MESH0061 Gateway shop/gw: credential "cert" is invalid, so the server gets no certificate, and accepts no connection: Secret istio-system/cert: in its tls.crt and tls.key, ${fault}`,
    ]);
  });

  it("is told with the expiry of the certificate", () => {
    const data = { "tls.crt": certificate, "tls.key": String(other.privateKey.export(pem)) };
    const text = server({ mode: "SIMPLE", credentialName: "cert" }) + secret("istio-system/cert", data);
    expect(found(text, Date.UTC(2027, 0))).toEqual([
      'IST0161 Gateway shop/gw: credential "cert" is invalid, so the server gets no certificate, and accepts no connection: Secret istio-system/cert: its certificate expired at 2026-12-22T17:20:51.000Z; in its tls.crt and tls.key, the key is not the certificate\'s',
    ]);
  });

  it.each(faulty.slice(0, 3))("%s keeps clients from connecting", (_, fault, key) => {
    const tls = { mode: "MUTUAL", credentialName: "client" };
    const rule = object("DestinationRule", "shop/cart", {
      spec: { host: "cart", workloadSelector: { matchLabels: { app: "web" } }, trafficPolicy: { tls } },
    });
    const data = { cert: certificate, key: String(key), cacert: certificate };
    expect(found(rule + secret("shop/client", data))).toEqual([
      `MESH0061 DestinationRule shop/cart: credential "client" is invalid, so connections to "cart" fail: Secret shop/client: in its cert and key, ${fault}`,
    ]);
  });

  it.each([
    [
      "RSA of 1024 bits",
      "the key has 1024 bits, expected at least 2048",
      generateKeyPairSync("rsa", { modulusLength: 1024 }),
    ],
    [
      "secp256k1",
      "the key is neither RSA, nor ECDSA with P-256, P-384 or P-521",
      generateKeyPairSync("ec", { namedCurve: "secp256k1" }),
    ],
  ])("may be one that they do not support: %s", async (_, fault, { publicKey, privateKey: key }) => {
    const { pem: chain } = await mint({ issuer: await mint({ ca: true }), publicKey });
    const data = { "tls.crt": chain, "tls.key": String(key.export(pem)) };
    expect(
      found(server({ mode: "SIMPLE", credentialName: "cert" }) + secret("istio-system/cert", data), Date.now()),
    ).toEqual([expect.stringContaining(`in its tls.crt and tls.key, ${fault}`)]);
  });
});

test("an expired certificate of a listener of the Gateway API is served, and clients reject it", () => {
  const kind = (name: string, spec: object): string =>
    `${JSON.stringify({ apiVersion: "gateway.networking.k8s.io/v1", kind: name, metadata: { name: "gw", namespace: "shop" }, spec })}\n---\n`;
  const listeners = [{ name: "https", port: 443, protocol: "HTTPS", tls: { certificateRefs: [{ name: "cert" }] } }];
  const gateway = kind("Gateway", { gatewayClassName: "istio", listeners });
  const set = kind("ListenerSet", { parentRef: { name: "gw" }, listeners });
  const content = secret("shop/cert", pair);
  const expired = (of: string): string =>
    `IST0161 ${of} shop/gw: listener https: clients reject its certificate, which is served all the same: Secret shop/cert: its certificate expired at 2026-12-22T17:20:51.000Z`;
  expect(found(gateway + set + content, Date.UTC(2027, 0))).toEqual([expired("Gateway"), expired("ListenerSet")]);
  expect(found(gateway + set + content)).toEqual([]);
});
