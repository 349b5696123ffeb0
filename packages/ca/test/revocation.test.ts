import { CaError, parseRevocationLists, type TrustBundle, verifiedIdentity } from "@istiod/ca";
import { mint, type Minted, mintRevocationList, uri } from "@istiod/ca/testing";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { Extension } from "../src/x509.js";

const CART = "spiffe://td/ns/shop/sa/cart";
const day = 24 * 3_600_000;

let root: Minted;
let signer: Minted;
beforeAll(async () => {
  root = await mint({ ca: true, subject: "CN=root" });
  signer = await mint({ ca: true, subject: "CN=signer", issuer: root });
});

function outcome(chain: readonly Minted[], lists: string, now = Date.now()): string {
  const bundle: TrustBundle = {
    trustDomain: "td",
    roots: [root.certificate],
    revocationLists: parseRevocationLists(lists, "lists"),
  };
  try {
    return verifiedIdentity(
      chain.map(({ certificate }) => certificate.raw),
      [bundle],
      now,
    ).serviceAccount;
  } catch (error) {
    if (!(error instanceof CaError)) throw error;
    return error.message;
  }
}

describe("a client certificate", () => {
  it("is rejected once its issuer revokes it, or the issuer itself is revoked", async () => {
    const leaf = await mint({ issuer: signer, names: [uri(CART)] });
    const other = await mint({ issuer: signer, names: [uri(CART)] });
    const own = await mintRevocationList(root);
    const { serialNumber } = leaf.certificate;
    expect(outcome([leaf, signer], own + (await mintRevocationList(signer)))).toBe("cart");
    const revoking = own + (await mintRevocationList(signer, { revoked: ["1234", serialNumber] }));
    expect(outcome([leaf, signer], revoking)).toBe(
      `CN=signer: has revoked the certificate with serial ${serialNumber}`,
    );
    expect(outcome([other, signer], revoking)).toBe("cart");
    const above = await mintRevocationList(root, { revoked: [signer.certificate.serialNumber] });
    expect(outcome([other, signer], above + (await mintRevocationList(signer)))).toBe(
      `CN=root: has revoked the certificate with serial ${signer.certificate.serialNumber}`,
    );
  });

  it("is rejected if nothing current tells whether it was revoked, as by Envoy", async () => {
    const leaf = await mint({ issuer: signer, names: [uri(CART)] });
    const own = await mintRevocationList(root, { nextUpdate: 3 * day });
    expect(outcome([leaf, signer], own)).toBe("CN=signer: has no revocation list");
    const lists = own + (await mintRevocationList(signer, { nextUpdate: 1000 }));
    expect(outcome([leaf, signer], lists, Date.now() + 60_000)).toMatch(
      /^CN=signer: has a revocation list that expired/,
    );
    const forged = await mint({ ca: true, subject: "CN=signer" });
    expect(outcome([leaf, signer], own + (await mintRevocationList(forged)))).toBe(
      "CN=signer: has a revocation list whose signature does not match its key",
    );
  });
});

describe("a revocation list", () => {
  const reason = (pem: string): string => {
    try {
      parseRevocationLists(pem, "x.pem");
      return "accepted";
    } catch (error) {
      if (!(error instanceof CaError)) throw error;
      return `${error.code}: ${error.message}`;
    }
  };

  it("is rejected if it covers only some certificates, or changes", async () => {
    for (const [oid, value] of [
      ["2.5.29.28", Buffer.from("3003810 1ff".replace(" ", ""), "hex")],
      ["2.5.29.27", Buffer.from("020101", "hex")],
    ] as const) {
      const pem = await mintRevocationList(root, { extensions: [new Extension(oid, true, value)] });
      expect(reason(pem)).toMatch(
        /^malformed: x\.pem: revocation list 1 of 1: extension \w+ is critical: only complete/,
      );
    }
  });

  it("with 1,000 revoked certificates is read within a fifth of a second", async () => {
    const revoked = Array.from({ length: 1000 }, (_, n) => (n + 0x100000).toString(16));
    const pem = await mintRevocationList(root, { revoked });
    const started = process.cpuUsage();
    const [list] = parseRevocationLists(pem, "x.pem");
    expect(list?.revoked.size).toBe(1000);
    expect(process.cpuUsage(started).user / 1e6).toBeLessThan(0.2);
  });

  it("is read, or rejected with a clean error, whatever its bytes", async () => {
    const der = Buffer.from(
      (await mintRevocationList(root, { revoked: ["1234"] })).replace(/-----.*-----|\s/g, ""),
      "base64",
    );
    const wrap = (bytes: Buffer): string =>
      `-----BEGIN X509 CRL-----\n${bytes.toString("base64")}\n-----END X509 CRL-----\n`;
    let rejected = 0;
    fc.assert(
      fc.property(fc.nat(der.length - 1), fc.nat(255), fc.nat(der.length), (at, value, length) => {
        const bytes = Buffer.from(der);
        bytes[at] = value;
        const cut = length % 3 === 0 ? bytes.subarray(0, length) : bytes;
        const text = reason(wrap(cut));
        if (text === "accepted") {
          const [list] = parseRevocationLists(wrap(cut), "x.pem");
          // Only the original bytes carry a valid signature.
          if (list?.isSignedBy(root.certificate)) expect(cut.equals(der)).toBe(true);
        } else {
          rejected++;
          expect(text).toMatch(/^malformed: x\.pem: /);
        }
      }),
      { numRuns: 1000 },
    );
    expect(rejected).toBeGreaterThan(100);
  });
});
