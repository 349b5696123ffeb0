import { generateKeyPairSync } from "node:crypto";
import { CaError, parseSpiffeUri, type TrustBundle, verifiedIdentity } from "@istiod/ca";
import { beforeAll, describe, expect, it } from "vitest";
import { Extension, KeyUsageFlags } from "../src/x509.js";
import { mint, type Minted, type MintOptions, uri, uriNameConstraints } from "@istiod/ca/testing";

const CART = "spiffe://td/ns/shop/sa/cart";
const clientAuth = "1.3.6.1.5.5.7.3.2";
const serverAuth = "1.3.6.1.5.5.7.3.1";

let root: Minted;
let other: Minted;
let bundles: readonly TrustBundle[];
beforeAll(async () => {
  root = await mint({ ca: true, subject: "CN=own" });
  other = await mint({ ca: true, subject: "CN=other" });
  bundles = [
    { trustDomain: "td", roots: [root.certificate] },
    { trustDomain: "other.example", roots: [other.certificate] },
  ];
});

/** The identity in a chain, leaf first, or the reason why it is rejected. */
function outcome(chain: readonly Minted[], trusted = bundles, now = Date.now()): string {
  try {
    const { trustDomain, namespace, serviceAccount } = verifiedIdentity(
      chain.map(({ certificate }) => certificate.raw),
      trusted,
      now,
    );
    return `${trustDomain} ${namespace} ${serviceAccount}`;
  } catch (error) {
    if (!(error instanceof CaError)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

const leaf = (options: MintOptions = {}): Promise<Minted> => mint({ issuer: root, names: [uri(CART)], ...options });

describe("roots belong to trust domains", () => {
  it("identities of a trust domain are proven by its own roots", async () => {
    expect(outcome([await leaf()])).toBe("td shop cart");
    const foreign = await leaf({ issuer: other, names: [uri("spiffe://other.example/ns/shop/sa/cart")] });
    expect(outcome([foreign])).toBe("other.example shop cart");
  });

  it.each([
    ["the mesh's own istiod by another root", "spiffe://td/ns/istio-system/sa/istiod"],
    ["any workload of the mesh by another root", CART],
  ])("%s is rejected", async (_, identity) => {
    expect(outcome([await leaf({ issuer: other, names: [uri(identity)] })])).toBe(
      "untrusted: no trusted root has issued the client certificate",
    );
  });

  it("a trust domain without roots is rejected, even if a root of another one has issued the certificate", async () => {
    expect(outcome([await leaf({ names: [uri("spiffe://third/ns/shop/sa/cart")] })])).toBe(
      "untrusted: there are no root certificates for trust domain third",
    );
    expect(outcome([await leaf({ names: [uri("spiffe://other.example/ns/shop/sa/cart")] })])).toBe(
      "untrusted: no trusted root has issued the client certificate",
    );
    expect(outcome([await leaf()], [])).toBe("untrusted: there are no root certificates for trust domain td");
  });

  it("a root with the same name and another key is not confused with the trusted one", async () => {
    const twin = await mint({ ca: true, subject: "CN=own" });
    expect(outcome([await leaf({ issuer: twin }), twin])).toBe(
      "untrusted: no trusted root has issued the client certificate",
    );
  });

  it("an intermediate that both trust domains have signed is followed to the root of the claimed one", async () => {
    const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    const [own, crossed] = await Promise.all(
      [root, other].map((issuer) => mint({ ca: true, subject: "CN=shared", issuer, key })),
    );
    const certificate = await leaf({ issuer: crossed! });
    expect(outcome([certificate, crossed!])).toBe("untrusted: no trusted root has issued the client certificate");
    expect(outcome([certificate, crossed!, own!])).toBe("td shop cart");
  });
});

describe("the identity in a certificate", () => {
  it.each<[string, MintOptions["names"], string]>([
    ["no subject alternative name", [], "identity: client certificate has 0 URIs, expected exactly one"],
    [
      "DNS names only",
      [{ type: "dns", value: "istiod.istio-system.svc" }],
      "identity: client certificate has 0 URIs, expected exactly one",
    ],
    [
      "two URIs",
      [uri(CART), uri("spiffe://td/ns/istio-system/sa/istiod")],
      "identity: client certificate has 2 URIs, expected exactly one",
    ],
    ["the same URI twice", [uri(CART), uri(CART)], "identity: client certificate has 2 URIs, expected exactly one"],
    [
      "a URI of another scheme in addition",
      [uri(CART), uri("https://td/")],
      "identity: client certificate has 2 URIs, expected exactly one",
    ],
    ["a DNS name in addition, which does not count", [uri(CART), { type: "dns", value: "istiod" }], "td shop cart"],
    [
      "an IP address in addition, which does not count",
      [{ type: "ip", value: "127.0.0.1" }, uri(CART)],
      "td shop cart",
    ],
  ])("with %s", async (_, names, expected) => {
    expect(outcome([await leaf({ names: names ?? [] })])).toBe(expected);
  });

  const long = "a".repeat(63);
  it.each([
    "",
    "spiffe://",
    "spiffe://td",
    "spiffe://td/",
    "spiffe:///ns/shop/sa/cart",
    "spiffe:/td/ns/shop/sa/cart",
    "spiffe:td/ns/shop/sa/cart",
    "SPIFFE://td/ns/shop/sa/cart",
    "https://td/ns/shop/sa/cart",
    " spiffe://td/ns/shop/sa/cart",
    "spiffe://td/ns/shop/sa/cart ",
    "spiffe://td/ns/shop/sa/cart\n",
    "spiffe://td/ns/shop/sa/cart\u0000",
    "spiffe://TD/ns/shop/sa/cart",
    "spiffe://t d/ns/shop/sa/cart",
    "spiffe://t%64/ns/shop/sa/cart",
    "spiffe://tё/ns/shop/sa/cart",
    "spiffe://td:8443/ns/shop/sa/cart",
    "spiffe://td:/ns/shop/sa/cart",
    "spiffe://user@td/ns/shop/sa/cart",
    "spiffe://user:password@td/ns/shop/sa/cart",
    "spiffe://[::1]/ns/shop/sa/cart",
    `spiffe://${"a".repeat(256)}/ns/shop/sa/cart`,
    "spiffe://td/ns/shop/sa/cart?x=y",
    "spiffe://td/ns/shop/sa/cart?",
    "spiffe://td/ns/shop/sa/cart#x",
    "spiffe://td/ns/shop/sa/cart#",
    "spiffe://td/ns/shop/sa/cart/",
    "spiffe://td//ns/shop/sa/cart",
    "spiffe://td/ns//shop/sa/cart",
    "spiffe://td/ns//sa/cart",
    "spiffe://td/ns/shop/sa/",
    "spiffe://td/ns/shop/sa",
    "spiffe://td/ns/./sa/cart",
    "spiffe://td/ns/../sa/cart",
    "spiffe://td/ns/shop/sa/..",
    "spiffe://td/ns/shop/sa/.",
    "spiffe://td/ns/bank/../shop/sa/cart",
    "spiffe://td/../td/ns/shop/sa/cart",
    "spiffe://td/ns/shop/sa/cart/../istiod",
    "spiffe://td/ns/shop/sa/c%61rt",
    "spiffe://td/ns/shop%2fsa/sa/cart",
    "spiffe://td/ns/sho\u0440/sa/cart",
    "spiffe://td/ns/Shop/sa/cart",
    "spiffe://td/ns/shop/sa/Cart",
    "spiffe://td/ns/sh_op/sa/cart",
    "spiffe://td/ns/-shop/sa/cart",
    "spiffe://td/ns/shop./sa/cart",
    "spiffe://td/ns/shop.eu/sa/cart",
    "spiffe://td/ns/shop/sa/cart..v1",
    `spiffe://td/ns/${long}a/sa/cart`,
    `spiffe://td/ns/shop/sa/${Array.from({ length: 5 }, () => long).join(".")}`,
    `spiffe://td/ns/shop/sa/${"a".repeat(2048)}`,
    "spiffe://td/sa/cart/ns/shop",
    "spiffe://td/NS/shop/SA/cart",
    "spiffe://td\\ns\\shop\\sa\\cart",
    "spiffe://td/ns/shop/sa/cart;x",
    "spiffe://td/ns/shop/sa/cart,spiffe://td/ns/istio-system/sa/istiod",
    "spiffe://td/ns/*/sa/cart",
    "spiffe://*/ns/shop/sa/cart",
  ])("rejects %j", (identity) => {
    expect(() => parseSpiffeUri(identity)).toThrow(expect.objectContaining({ code: "identity" }) as CaError);
  });

  it("rejects a malformed URI in a certificate of a trusted root", async () => {
    for (const identity of ["spiffe://user@td/ns/shop/sa/cart", "spiffe://td/ns/../sa/cart", "spiffe://td:1/ns/a/sa/b"])
      expect(outcome([await leaf({ names: [uri(identity)] })])).toMatch(/^identity: /);
  });
});

describe("a client certificate", () => {
  const { keyCertSign, cRLSign, digitalSignature, keyEncipherment } = KeyUsageFlags;
  it.each<[string, MintOptions, string]>([
    ["of a CA", { ca: true }, "untrusted: client certificate is a CA certificate"],
    [
      "that may sign certificates",
      { keyUsages: digitalSignature | keyCertSign },
      "untrusted: client certificate may sign certificates or revocation lists",
    ],
    [
      "that may sign revocation lists",
      { keyUsages: digitalSignature | cRLSign },
      "untrusted: client certificate may sign certificates or revocation lists",
    ],
    [
      "without digital signatures",
      { keyUsages: keyEncipherment },
      "untrusted: client certificate is not for digital signatures",
    ],
    [
      "for servers only",
      { extendedKeyUsages: [serverAuth] },
      "untrusted: client certificate is not for client authentication",
    ],
    ["for clients and servers", { extendedKeyUsages: [serverAuth, clientAuth] }, "td shop cart"],
    ["that has expired", { notAfter: -1000 }, "untrusted: client certificate expired at "],
    ["that is not valid yet", { notBefore: 60_000 }, "untrusted: client certificate is not valid before "],
    [
      "with a weak key",
      { key: generateKeyPairSync("ec", { namedCurve: "secp224r1" }).privateKey },
      "untrusted: certificate has a weak key: ec secp224r1",
    ],
    [
      "with a short RSA key",
      { key: generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey },
      "untrusted: certificate has a weak key: rsa of 1024 bits",
    ],
    ["with a weak signature", { hash: "SHA-1" }, "untrusted: certificate is signed with the weak hash SHA-1"],
    [
      "with an unknown critical extension",
      { extensions: [new Extension("1.2.3.4", true, Uint8Array.of(5, 0))] },
      "untrusted: certificate has the unknown critical extension 1.2.3.4",
    ],
  ])("%s", async (_, options, expected) => {
    const found = outcome([await leaf(options)]);
    expect(expected.endsWith(" ") ? found.slice(0, expected.length) : found).toBe(expected);
  });
});

describe("the path to a root", () => {
  const chainOf = async (intermediate: MintOptions): Promise<Minted[]> => {
    const middle = await mint({ ca: true, issuer: root, ...intermediate });
    return [await leaf({ issuer: middle }), middle];
  };

  it.each<[string, MintOptions, string]>([
    ["an intermediate", {}, "td shop cart"],
    [
      "one that is not a CA",
      { ca: false, keyUsages: KeyUsageFlags.keyCertSign, subject: "CN=leaf" },
      "CN=leaf: is not a CA certificate",
    ],
    [
      "another leaf",
      { ca: false, subject: "CN=leaf", names: [uri(CART)] },
      "no trusted root has issued the client certificate",
    ],
    [
      "one that may not sign",
      { keyUsages: KeyUsageFlags.digitalSignature, subject: "CN=x" },
      "no trusted root has issued the client certificate",
    ],
    ["an expired one", { notAfter: -1000, subject: "CN=x" }, "CN=x: certificate expired at "],
    ["one for servers only", { extendedKeyUsages: [serverAuth], subject: "CN=x" }, "CN=x: does not allow client"],
    ["one for this trust domain", { extensions: [uriNameConstraints("td")] }, "td shop cart"],
    [
      "one for another trust domain",
      { extensions: [uriNameConstraints("other.example", ".td")], subject: "CN=x" },
      "CN=x: may not issue identities of trust domain td",
    ],
  ])("through %s", async (_, options, expected) => {
    expect(
      outcome(await chainOf(options))
        .replace("untrusted: ", "")
        .slice(0, expected.length),
    ).toBe(expected);
  });

  it("is limited by path lengths", async () => {
    const first = await mint({ ca: true, issuer: root, pathLength: 0, subject: "CN=first" });
    const second = await mint({ ca: true, issuer: first });
    expect(outcome([await leaf({ issuer: first }), first])).toBe("td shop cart");
    expect(outcome([await leaf({ issuer: second }), second, first])).toBe(
      "untrusted: CN=first: allows 0 intermediates, the chain has 1",
    );
  });

  it("is limited in length, and in the number of presented certificates", async () => {
    const chain: Minted[] = [];
    for (let depth = 0; depth < 9; depth++)
      chain.unshift(await mint({ ca: true, issuer: chain[0] ?? root, subject: `CN=depth ${depth}` }));
    expect(outcome([await leaf({ issuer: chain[0]! }), ...chain])).toBe(
      "untrusted: no trusted root has issued the client certificate",
    );
    expect(outcome([await leaf({ issuer: chain[1]! }), ...chain.slice(1)])).toBe("td shop cart");
    const certificate = await leaf();
    expect(outcome([certificate, ...Array.from({ length: 16 }, () => root)])).toBe(
      "untrusted: 17 certificates are presented, at most 16 are accepted",
    );
  });

  it("may use intermediates that the server knows", async () => {
    const [certificate, middle] = await chainOf({});
    const known = [{ trustDomain: "td", roots: [root.certificate], intermediates: [middle!.certificate] }];
    expect(outcome([certificate!], known)).toBe("td shop cart");
    expect(outcome([certificate!])).toBe("untrusted: no trusted root has issued the client certificate");
  });
});
