import type { Manifest } from "../kinds/manifest.js";
import { type FieldTable, istioObject, type Position } from "./field-table.js";

const long = (length: number): string => "x".repeat(length);
const spki = "NvqYIYSbgK2vCJpQhObf77vv+bQWtc5ek5RIOwPiC9A=";
const hash = "df6ff72fe9116521268f6f2dd4966f51df479883fe7037b39f75916ac3049d1a";
const colons = hash.replaceAll(/..(?!$)/g, "$&:");

/** A tenant's Gateway that selects the shared gateway, and the route that its server needs. */
const gateway = (server: object, namespace: string): readonly Manifest[] => [
  istioObject(
    "Gateway",
    {
      selector: { istio: "ingress" },
      servers: [{ port: { number: 443, name: "https", protocol: "HTTPS" }, hosts: ["*"], ...server }],
    },
    { namespace, name: "b" },
  ),
];

const servers: Readonly<Record<string, Position>> = {
  "a tenant's Gateway": { objects: (server) => gateway(server, "other"), path: "servers.0" },
  "a Gateway of the root namespace": { objects: (server) => gateway(server, "istio-system"), path: "servers.0" },
};

const simple = { tls: { mode: "SIMPLE", credentialName: "c" } };
const mutual = { tls: { mode: "MUTUAL", credentialName: "c" } };

export const gatewayTables: readonly FieldTable[] = [
  {
    part: "a server of a Gateway",
    positions: servers,
    rows: [
      {
        field: "tls.ecdhCurves",
        beside: simple,
        accepted: [
          [],
          ["P-256"],
          ["P-384"],
          ["P-521"],
          ["X25519"],
          ["X25519MLKEM768"],
          ["MLKEM1024"],
          ["prime256v1", "secp384r1", "secp521r1"],
          ["x25519", "P-256"],
          ["P-256:P-384"],
          [""],
        ],
        refused: [
          ["x"],
          ["P-224"],
          ["P256"],
          ["p-256"],
          [" P-256"],
          ["X448"],
          ["secp256r1"],
          ["X25519Kyber768Draft00"],
          ["P-256", "P-256"],
          ["P-256", "prime256v1"],
          ["X25519", "P-384", "x25519"],
          ["P-256:P-256"],
          ["P-256", "y"],
        ],
      },
      {
        field: "tls.cipherSuites",
        beside: simple,
        accepted: [
          [],
          [""],
          ["ALL"],
          ["x"],
          ["AES128-SHA"],
          ["DES-CBC3-SHA", "AES256-SHA"],
          ["AES128-SHA", "AES128-SHA"],
          ["ALL", "!AES128-SHA"],
          ["ALL", "-AES128-SHA"],
          ["AES128-SHA", "+AES128-SHA", "AES256-SHA"],
          ["[ECDHE-RSA-AES128-GCM-SHA256|ECDHE-RSA-CHACHA20-POLY1305]"],
        ],
        refused: [
          ["!x"],
          ["["],
          ["[a|b]"],
          ["@STRENGTH"],
          ["!ALL"],
          ["-ALL"],
          ["+ALL"],
          [" "],
          ["@"],
          ["AES128-SHA", "!AES128-SHA"],
          ["ALL", "!ALL"],
          ["[AES128-SHA"],
          ["ALL", "!y"],
        ],
      },
      {
        field: "tls.minProtocolVersion",
        beside: { tls: { ...simple.tls, maxProtocolVersion: "TLSV1_2" } },
        accepted: ["TLS_AUTO", "TLSV1_0", "TLSV1_2", "TLSV1_3"],
        refusedByApi: ["TLSV1_4", ""],
      },
      {
        field: "tls.verifyCertificateSpki.0",
        beside: mutual,
        accepted: [spki],
        refused: [
          "x",
          "",
          "AAAA",
          `${spki.slice(0, -1)}A`,
          `!${spki.slice(1)}`,
          spki.replace("+", "-"),
          `${spki.slice(0, -2)}==`,
          `${spki.slice(0, -2)}B=`,
        ],
      },
      {
        field: "tls.verifyCertificateHash.0",
        beside: mutual,
        accepted: [hash, hash.toUpperCase(), colons, colons.toUpperCase()],
        refused: [
          "x",
          "",
          hash.slice(1),
          `zz${hash.slice(2)}`,
          `${hash}00`,
          colons.replace(":", ""),
          colons.replaceAll(":", "-"),
        ],
      },
      {
        field: "tls.subjectAltNames.0",
        beside: simple,
        accepted: [],
        refused: ["a.example.com", "", "spiffe://a"],
        faultAt: "tls.subjectAltNames",
      },
      {
        field: "tls.subjectAltNames",
        beside: mutual,
        accepted: [[""], ["a.example.com", "spiffe://a"], ["a\nb"], [long(20_000)]],
      },
      {
        field: "tls.credentialName",
        beside: { tls: { mode: "SIMPLE" } },
        accepted: ["c", "kubernetes://c", "kubernetes://other/c", "sds://c", "sds://", "a b", long(253), long(16_000)],
        refusedByApi: [long(16_001), long(17_000), "é".repeat(8_001)],
      },
      {
        field: "tls.caCertCredentialName",
        beside: mutual,
        accepted: ["c", "configmap://other/c", long(253)],
        refusedByApi: [long(17_000), `configmap://other/${long(17_000)}`],
      },
      {
        field: "tls.credentialNames.0",
        beside: { tls: { mode: "SIMPLE" } },
        accepted: ["c", long(253)],
        refusedByApi: [long(17_000)],
      },
      {
        field: "tls.serverCertificate",
        beside: { tls: { mode: "SIMPLE", privateKey: "/k" } },
        accepted: ["/c", long(4096)],
        refusedByApi: ["", long(17_000)],
      },
      {
        field: "tls.privateKey",
        beside: { tls: { mode: "SIMPLE", serverCertificate: "/c" } },
        accepted: ["/k"],
        refusedByApi: ["", long(17_000)],
      },
      {
        field: "tls.caCertificates",
        beside: { tls: { mode: "MUTUAL", serverCertificate: "/c", privateKey: "/k" } },
        accepted: ["/a"],
        refusedByApi: ["", long(17_000)],
      },
      {
        field: "port.name",
        beside: { ...simple, port: { number: 443, name: "https", protocol: "HTTPS" } },
        accepted: ["https", "a b", long(253), long(16_000)],
        refusedByApi: ["", long(16_001), long(17_000)],
      },
      {
        field: "port.number",
        beside: { ...simple, port: { number: 443, name: "https", protocol: "HTTPS" } },
        accepted: [1, 65_535, "8443"],
        refusedByApi: [0, 65_536, -1, "0x10", "1e2"],
      },
      {
        field: "bind",
        beside: simple,
        accepted: ["", "0.0.0.0", "192.0.2.1", "::", "2001:db8::1"],
        refusedByApi: ["a", "192.0.2", "192.0.2.1/32", "[::]", "a.example.com"],
      },
      {
        field: "hosts.0",
        beside: simple,
        accepted: ["*", "a.example.com", "*.example.com", "*/a.example.com", "./*", "shop/a.example.com", "192.0.2.1"],
        refusedByApi: ["", "a", "*a.example.com", "a_b.example.com", "/a.example.com", `${long(64)}.example.com`],
      },
    ],
  },
  {
    part: "a server on a Unix socket",
    positions: {
      "a tenant's Gateway": {
        objects: (server) => gateway({ port: { number: 0, name: "http", protocol: "HTTP" }, ...server }, "other"),
        path: "servers.0",
      },
    },
    rows: [
      {
        field: "bind",
        accepted: ["unix:///a", "unix://@a", `unix:///${long(106)}`, `unix://@${long(106)}`],
        refused: [
          `unix:///${long(107)}`,
          `unix://@${long(107)}`,
          `unix:///${"é".repeat(54)}`,
          `unix:///${long(20_000)}`,
        ],
        refusedByApi: ["unix://a", "unix:///a/", "unix://"],
      },
    ],
  },
  {
    part: "an Ingress",
    positions: {
      rule: {
        objects: (path) => [
          {
            apiVersion: "networking.k8s.io/v1",
            kind: "Ingress",
            metadata: { name: "a", namespace: "shop" },
            spec: {
              ingressClassName: "istio",
              rules: [
                {
                  host: "a.example.com",
                  http: { paths: [{ ...path, backend: { service: { name: "cart", port: { number: 80 } } } }] },
                },
              ],
            },
          },
        ],
        path: "rules.0.http.paths.0",
      },
    },
    rows: [
      {
        field: "path",
        beside: { pathType: "Prefix" },
        accepted: ["/", "/a", "/a/", "/a/b", "/é", "/a b", "/a%3Fb", "/a[", `/${long(5_000)}`],
        refused: ["/a?b", "/a#b", "/?", "/#", "/a?", "/a/#", "//", "/a//", "a", "?"],
      },
      {
        field: "path",
        beside: { pathType: "ImplementationSpecific" },
        accepted: ["", "*", "/*", ".*", "/a", "/a?b", "/a#b", "/a/*", "/a//*", "/a.*", "//", "/a b"],
        refused: ["/c?b/*", "/c#b.*", "/c?.*", "c.*"],
      },
      { field: "path", beside: { pathType: "Exact" }, accepted: ["/", "/a", "/a?b", "/a#b", "/a/", "//", "/é"] },
    ],
  },
];
