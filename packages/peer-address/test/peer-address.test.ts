import { addressGroup, AddressRanges, isLoopback } from "@istiod/peer-address";
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

it.each<[string | undefined, boolean]>([
  ["10.1.2.3", true],
  ["10.255.255.255", true],
  ["::ffff:10.1.2.3", true],
  ["::ffff:0a01:0203", true],
  ["192.0.2.1", true],
  ["2001:db8:1::7", true],
  ["2001:db8:1::7%eth0", true],
  ["11.0.0.1", false],
  ["192.0.2.2", false],
  ["2001:db8:2::7", false],
  ["10.1.2", false],
  ["10.1.2.3.example", false],
  ["", false],
  [undefined, false],
])("AddressRanges.has(%s) is %s", (address, expected) => {
  expect(new AddressRanges(["10.1.2.3/8", "192.0.2.1/32", "2001:db8:1::/48"]).has(address)).toBe(expected);
});

it.each(["", "10.0.0.1", "10.0.0.0/33", "10.0.0/8", "2001:db8::/129", "::ffff:10.0.0.0/104", "10.0.0.0/-1", "a/8"])(
  "AddressRanges rejects %j",
  (text) => {
    expect(() => new AddressRanges([text])).toThrow(
      `${JSON.stringify(text)} is not a range of addresses such as 10.0.0.0/8`,
    );
  },
);

it("without ranges, no address is in one", () => {
  expect(new AddressRanges([]).has("127.0.0.1")).toBe(false);
});
