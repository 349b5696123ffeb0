import { KeyUsageFlags, mint } from "@istiod/ca/testing";
import { findKeyPair, findRootCertificates, keyPairFault, malformedKeyPairFault } from "@istiod/credentials";
import { describe, expect, test } from "vitest";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const issued = await mint({});
const other = await mint({});
const unusable = await mint({ keyUsages: KeyUsageFlags.keyAgreement, subject: "CN=a" });

describe("a key pair", () => {
  test("is that of the entries cert and key, or else of tls.crt and tls.key", () => {
    const tls = { "tls.crt": bytes("a"), "tls.key": bytes("b"), "tls.ocsp-staple": bytes("c") };
    expect(findKeyPair(tls)).toEqual({ chain: bytes("a"), key: bytes("b"), ocspStaple: bytes("c") });
    expect(findKeyPair({ ...tls, cert: bytes("d"), key: bytes("e") })).toEqual({ chain: bytes("d"), key: bytes("e") });
    expect(findKeyPair({ ...tls, cert: bytes("d"), key: bytes("") })).toMatchObject({ chain: bytes("a") });
    expect(findKeyPair({ "tls.crt": bytes("a") })).toBeUndefined();
  });

  test("that cannot sign is read, but not accepted", () => {
    const pair = { chain: bytes(unusable.pem), key: bytes(unusable.keyPem) };
    expect(malformedKeyPairFault(pair)).toBeUndefined();
    expect(keyPairFault(pair, "client")).toBe("the certificate's key usage does not allow digital signatures");
  });

  test("is read once for each use, whoever asks", () => {
    const one = { chain: bytes(unusable.pem), key: bytes(unusable.keyPem) };
    const fault = keyPairFault(one, "client");
    expect(keyPairFault({ ...one, key: bytes(other.keyPem) }, "client")).toBe("the key is not the certificate's");
    expect(keyPairFault({ ...one, ocspStaple: bytes("a") }, "client")).toBe(fault);
    // Bytes that change show whether they are read: Secrets' do not.
    one.key.fill(0);
    expect(keyPairFault(one, "client")).toBe(fault);
    expect(keyPairFault(one, "server")).toBe("the key is not PEM of a private key");
    expect(keyPairFault({ ...one, key: one.key.slice() }, "client")).toBe("the key is not PEM of a private key");
  });

  test.each([
    ["no certificate", "a", issued.keyPem, "the certificate is not PEM"],
    ["no key", issued.pem, "a", "the key is not PEM of a private key"],
    ["another key", issued.pem, other.keyPem, "the key is not the certificate's"],
  ])("with %s is malformed", (_, chain, key, fault) => {
    const pair = { chain: bytes(chain), key: bytes(key) };
    expect(malformedKeyPairFault(pair)).toBe(fault);
    expect(keyPairFault(pair, "server")).toBe(fault);
  });
});

test("root certificates are those of cacert, or else of ca.crt, with their revocation list", () => {
  const tls = { "ca.crt": bytes("a"), "ca.crl": bytes("b") };
  expect(findRootCertificates(tls)).toEqual({ certificates: bytes("a"), crl: bytes("b") });
  expect(findRootCertificates({ ...tls, cacert: bytes("c"), crl: bytes(" ") })).toEqual({ certificates: bytes("c") });
  expect(findRootCertificates({ "ca.crl": bytes("b") })).toBeUndefined();
});
