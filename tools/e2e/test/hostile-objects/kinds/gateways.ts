import fc from "fast-check";
import { destination } from "./http-routes.js";
import { metadata, networking, object, type Manifest } from "./manifest.js";
import { from, hosts, list, ports, protocols, some, texts } from "../values.js";

const serverTls = some({
  mode: from("PASSTHROUGH", "SIMPLE", "MUTUAL", "AUTO_PASSTHROUGH", "ISTIO_MUTUAL", "OPTIONAL_MUTUAL"),
  httpsRedirect: fc.boolean(),
  credentialName: from(
    "c",
    "kubernetes://other/c",
    "a b",
    "configmap://c",
    "x".repeat(17_000),
    "builtin://",
    "sds://",
    "sds://c@provider",
    "sds://@",
    "/",
  ),
  credentialNames: list(from("c", "d")),
  serverCertificate: from("/etc/cert.pem", "~", ":"),
  privateKey: from("/etc/key.pem", "~"),
  caCertificates: from("/etc/ca.pem"),
  subjectAltNames: list(texts),
  verifyCertificateSpki: list(from("x", "NvqYIYSbgK2vCJpQhObf77vv+bQWtc5ek5RIOwPiC9A=", "AAAA")),
  verifyCertificateHash: list(from("x", "df6ff72fe9116521268f6f2dd4966f51df479883fe7037b39f75916ac3049d1a", "zz:zz")),
  cipherSuites: list(
    from("ECDHE-RSA-AES128-GCM-SHA256", "AES128-SHA", "x", "", "ALL", "!ALL", "-AES128-SHA", "[", "@x"),
  ),
  ecdhCurves: list(from("P-256", "X25519", "prime256v1", "P-224", "x", "", "P-256:P-384"), 3),
  caCertCredentialName: from("c", "configmap://other/c", "x".repeat(17_000)),
  minProtocolVersion: from("TLSV1_0", "TLSV1_2", "TLSV1_3"),
  maxProtocolVersion: from("TLSV1_0", "TLSV1_2", "TLSV1_3"),
});
export const gateway = fc
  .tuple(
    metadata,
    list(
      some(
        {
          port: some({ number: ports, name: from("http", "b", "c", "d", "x".repeat(17_000)), protocol: protocols }, [
            "number",
            "name",
            "protocol",
          ]),
          hosts: list(fc.oneof(hosts, from("*", "*/*", "shop/*", "./a.example.com", "shop/*.example.com")), 3),
          tls: serverTls,
          bind: from("0.0.0.0", "192.0.2.1", "::", "unix:///a", `unix:///${"a".repeat(107)}`, "fe80::1%eth0"),
          name: texts,
        },
        ["port", "hosts"],
      ),
      3,
    ),
    from("gw", "a", "b"),
  )
  .map(([{ namespace }, servers, name]): Manifest => ({
    apiVersion: networking,
    kind: "Gateway",
    metadata: { name, namespace },
    spec: { selector: { istio: "ingress" }, servers },
  }));
export const sidecar = object(
  networking,
  "Sidecar",
  some({
    egress: list(
      some(
        {
          hosts: list(from("*/*", "./*", "shop/cart.shop.svc.cluster.local", "~/*", "other/*.example.com")),
          port: some({ number: ports, name: from("http", "a"), protocol: protocols }, ["number"]),
          bind: from("0.0.0.0", "127.0.0.1", "::1", "unix:///a", "fe80::1%eth0"),
          captureMode: from("DEFAULT", "NONE", "IPTABLES"),
        },
        ["hosts"],
      ),
    ),
    ingress: list(
      some(
        {
          port: some({ number: ports, name: from("http", "a"), protocol: protocols }, ["number"]),
          bind: from("0.0.0.0", "::1", "127.0.0.1", "fe80::1%eth0"),
          defaultEndpoint: from(
            "127.0.0.1:80",
            "unix:///a",
            `unix:///${"a".repeat(107)}`,
            ":80",
            "[::1]:80",
            "0.0.0.0:8080",
          ),
          tls: serverTls,
          captureMode: from("DEFAULT", "NONE"),
        },
        ["port"],
      ),
    ),
    outboundTrafficPolicy: some({ mode: from("REGISTRY_ONLY", "ALLOW_ANY"), egressProxy: destination }),
  }),
);
