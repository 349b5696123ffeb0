import { addressGroup, isLoopback } from "@istiod/peer-address";
import { expect, it } from "vitest";

it.each<[string | undefined, boolean]>([
  ["127.0.0.1", true],
  ["127.8.9.10", true],
  ["::ffff:127.0.0.9", true],
  ["::1", true],
  ["::1%lo", true],
  ["10.0.0.1", false],
  ["::ffff:10.0.0.1", false],
  ["127.example.com", false],
  ["", false],
  [undefined, false],
])("isLoopback(%s) is %s", (address, expected) => {
  expect(isLoopback(address)).toBe(expected);
});

it.each([
  ["10.0.0.1", "10.0.0.1"],
  ["::ffff:10.0.0.1", "10.0.0.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::6", "2001:db8:1:2::/64"],
  ["2001:0DB8:1:2::6", "2001:db8:1:2::/64"],
  ["2001:db8::6", "2001:db8:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["/run/socket", "/run/socket"],
])("addressGroup(%s) is %s", (address, expected) => {
  expect(addressGroup(address)).toBe(expected);
});
