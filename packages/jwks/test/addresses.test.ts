import { describe, expect, it } from "vitest";
import { AddressRules, isOwnAddress, parseAddressRange } from "../src/index.js";

const standard = new AddressRules();

describe("addresses that are always blocked", () => {
  it.each([
    "169.254.169.254",
    "169.254.0.1",
    "224.0.0.251",
    "fe80::1",
    "fe80::1%eth0",
    "febf::1",
    "ff02::1",
    "ff12::1",
    "100.100.100.200",
    "fd00:ec2::254",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "0:0:0:0:0:ffff:169.254.169.254",
    "::ffff:0:169.254.169.254",
    "::169.254.169.254",
    "64:ff9b::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "2001:0:4136:e378:8000:63bf:5601:5601",
  ])("include %s", (address) => {
    expect(standard.blockedReason(address)).toMatch(/^is (a link-local address|an address of cloud metadata)$/);
  });

  it.each([
    "127.0.0.1",
    "::1",
    "0.0.0.0",
    "10.0.0.1",
    "192.168.1.1",
    "172.16.0.1",
    "fd00::1",
    "100.100.100.201",
    "169.253.255.255",
    "8.8.8.8",
    "2001:db8::1",
    "fec0::1",
    "ff05::1",
    "::ffff:10.0.0.1",
    "64:ff9b::8.8.8.8",
  ])("do not include %s, as in Istio", (address) => {
    expect(standard.blockedReason(address)).toBeUndefined();
  });

  it.each(["", "localhost", "1.2.3", "fe80", "::ffff:1.2.3.256"])("text that is no address is blocked: %j", (text) => {
    expect(standard.blockedReason(text)).toBe("is not an IP address");
  });
});

describe("blocked ranges", () => {
  const rules = (...ranges: readonly string[]): AddressRules => new AddressRules(ranges.map(parseAddressRange));

  it("apply in every form of an address", () => {
    const blocked = rules("127.0.0.0/8", "10.1.0.0/20", "::1/128", "fc00::/7");
    for (const address of [
      "127.0.0.1",
      "127.255.0.3",
      "::ffff:127.0.0.1",
      "::ffff:7f00:1",
      "64:ff9b::7f00:1",
      "::1",
      "0.0.0.0",
      "::",
      "10.1.15.255",
      "2002:0a01:0f01::",
      "fdff::1",
    ])
      expect([address, blocked.blockedReason(address)]).toEqual([address, expect.stringMatching(/^is in the blocked/)]);
    for (const address of ["10.1.16.0", "128.0.0.1", "::2", "fe00::1", "9.255.255.255"])
      expect([address, blocked.blockedReason(address)]).toEqual([address, undefined]);
  });

  it("of IPv4-mapped addresses are ranges of IPv4 addresses", () => {
    expect(rules("::ffff:10.0.0.0/104").blockedReason("10.9.9.9")).toBe("is in the blocked range ::ffff:10.0.0.0/104");
  });

  it("may be everything", () => {
    const all = rules("0.0.0.0/0", "::/0");
    expect([all.blockedReason("8.8.8.8"), all.blockedReason("2001:db8::1")]).not.toContain(undefined);
    expect(rules("0.0.0.0/0").blockedReason("2001:db8::1")).toBeUndefined();
  });

  it.each([
    "",
    "10.0.0.0",
    "10.0.0.0/33",
    "10.0.0/8",
    "::/129",
    "fe80::1%eth0/64",
    "10.0.0.0/8/8",
    "a/8",
    "10.0.0.0/-1",
  ])("other text is no range: %j", (text) => expect(() => parseAddressRange(text)).toThrow(RangeError));
});

it("addresses of this machine are known in every form", () => {
  const own = [
    "127.0.0.1",
    "127.9.9.9",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "0.0.0.0",
    "::",
    "64:ff9b::7f00:1",
  ];
  expect(own.filter((address) => !isOwnAddress(address))).toEqual([]);
  expect(["128.0.0.1", "10.0.0.1", "::2", "2001:db8::1"].filter(isOwnAddress)).toEqual([]);
});
