import { addressKey, identifyPeer } from "@istiod/xds-server";
import { expect, test } from "vitest";

test.each([
  ["10.0.0.7", "10.0.0.7"],
  ["::ffff:10.0.0.7", "10.0.0.7"],
  ["2001:db8:0:1:aaaa:bbbb:cccc:dddd", "2001:db8:0:1::/64"],
  ["2001:0db8:0000:0001::1", "2001:db8:0:1::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["::", "0:0:0:0::/64"],
  ["", "unknown"],
])("the address %s counts for %s", (address, key) => {
  expect(addressKey(address)).toBe(key);
});

test("headers that name another address are ignored", () => {
  const headers = { "x-forwarded-for": "10.9.9.9", forwarded: "for=10.9.9.9", "x-real-ip": "10.9.9.9" };
  expect(identifyPeer({ address: "10.0.0.7", ...{ headers } })).toEqual({ key: "10.0.0.7", isAuthenticated: false });
});

test("a certificate that the listener did not verify is no identity", () => {
  const tls = { certificates: [Buffer.from("anything")], verified: false };
  expect(identifyPeer({ address: "10.0.0.7", tls })).toEqual({ key: "10.0.0.7", isAuthenticated: false });
});
