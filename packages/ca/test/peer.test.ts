import { credentialsOf } from "@istiod/ca";
import { expect, test } from "vitest";

const certificates = [Uint8Array.of(1), Uint8Array.of(2)];
const peer = { address: "10.0.0.1", port: 4711, headers: { authorization: "Bearer abc", accept: ["a", "b"] } };

test("a client certificate is a credential only if TLS has verified it", () => {
  expect(credentialsOf({ ...peer, tls: { verified: true, certificates } })).toMatchObject({
    verifiedChain: certificates,
  });
  const unverified = credentialsOf({ ...peer, tls: { verified: false, certificates } });
  expect([unverified.verifiedChain, unverified.hasUnverifiedCertificate]).toEqual([undefined, true]);
  const none = credentialsOf({ ...peer, tls: { verified: true, certificates: [] } });
  expect([none.verifiedChain, none.hasUnverifiedCertificate]).toEqual([undefined, undefined]);
});

test("a connection is encrypted only with TLS", () => {
  expect(credentialsOf(peer).encrypted).toBe(false);
  expect(credentialsOf({ ...peer, tls: { verified: false, certificates: [] } }).encrypted).toBe(true);
});

test("credentials have the headers of the request, and messages name the peer's address", () => {
  const { header, peer: name } = credentialsOf(peer);
  expect([header("authorization"), header("accept"), header("x-missing"), name]).toEqual([
    "Bearer abc",
    "a",
    undefined,
    "10.0.0.1:4711",
  ]);
  expect(credentialsOf({ address: "", port: 0, headers: {} }).peer).toBeUndefined();
});
