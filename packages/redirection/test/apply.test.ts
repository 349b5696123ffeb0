import { applyCapture, type Capture, checkCapture, defaultCapture, removeCapture } from "@istiod/redirection";
import { describe, expect, test } from "vitest";
import { fakeKernel } from "./fake-kernel.js";

const everything: Capture = { ...defaultCapture, inboundPorts: "*", outboundRanges: "*" };

test("rules are made once", async () => {
  const kernel = fakeKernel();
  expect(await applyCapture(everything, { run: kernel.run })).toBe("applied");
  expect(kernel.changes).toEqual(["iptables-nft-restore --noflush"]);
  expect(kernel.chains.get("nat ISTIO_INBOUND")).toEqual([
    "-p tcp --dport 15008 -j RETURN",
    "-p tcp -j ISTIO_IN_REDIRECT",
  ]);
  expect(await applyCapture(everything, { run: kernel.run })).toBe("unchanged");
  expect(kernel.changes).toHaveLength(1);
});

test("other rules than those that are there are refused by the kernel, unless they may be replaced", async () => {
  const kernel = fakeKernel();
  await applyCapture(everything, { run: kernel.run });
  const fewer = { ...everything, inboundPorts: "8000" };
  await expect(applyCapture(fewer, { run: kernel.run })).rejects.toThrow(
    "iptables-nft-restore --noflush: Chain already exists.",
  );
  expect(await applyCapture(fewer, { run: kernel.run, reconcile: true })).toBe("applied");
  expect(kernel.chains.get("nat ISTIO_INBOUND")).toEqual([
    "-p tcp --dport 15008 -j RETURN",
    "-p tcp --dport 8000 -j ISTIO_IN_REDIRECT",
  ]);
  expect(kernel.chains.get("nat OUTPUT")).toEqual(["-j ISTIO_OUTPUT"]);
});

test("while rules are replaced nothing passes, and afterwards everything does", async () => {
  const kernel = fakeKernel();
  await applyCapture(everything, { run: kernel.run });
  kernel.changes.length = 0;
  await applyCapture({ ...everything, inboundPorts: "8000" }, { run: kernel.run, reconcile: true });
  const first = kernel.changes.findIndex((line) => line.includes("-D PREROUTING"));
  expect(kernel.changes.slice(0, first).filter((line) => line.includes("-j DROP"))).toHaveLength(6);
  for (const chain of ["INPUT", "FORWARD", "OUTPUT"]) expect(kernel.chains.get(`filter ${chain}`)).toEqual([]);
});

test("what was made is removed, and nothing else", async () => {
  const kernel = fakeKernel();
  kernel.chains.set("nat PREROUTING", ["-p tcp -j OTHERS"]);
  await applyCapture(everything, { run: kernel.run });
  await removeCapture(everything, { run: kernel.run });
  expect([...kernel.chains].filter(([, rules]) => rules.length > 0)).toEqual([
    ["nat PREROUTING", ["-p tcp -j OTHERS"]],
  ]);
  expect([...kernel.chains.keys()].filter((name) => name.includes("ISTIO_"))).toEqual([]);
});

test("a transparent proxy is given a route for what it is to take in", async () => {
  const kernel = fakeKernel();
  await applyCapture({ ...everything, inboundMode: "TPROXY" }, { run: kernel.run });
  expect(kernel.changes.filter((line) => line.startsWith("ip "))).toEqual([
    "ip -4 rule del fwmark 1337 lookup 133",
    "ip -4 rule add fwmark 1337 lookup 133",
    "ip -4 route replace local default dev lo table 133",
  ]);
});

test("the implementation that has rules is used, else the newer", async () => {
  const legacy = fakeKernel(["iptables-legacy", "iptables-nft"]);
  await applyCapture(everything, { run: legacy.run });
  expect(legacy.changes).toEqual(["iptables-nft-restore --noflush"]);
  const used = fakeKernel(["iptables-legacy"]);
  used.chains.set("nat PREROUTING", ["-p tcp -j OTHERS"]);
  await applyCapture(everything, { run: used.run });
  expect(used.changes).toEqual(["iptables-legacy-restore --noflush"]);
  await expect(applyCapture(everything, { run: fakeKernel([]).run })).rejects.toThrow(
    "no iptables-legacy, iptables-nft, iptables that works here",
  );
});

describe("nothing but what belongs there gets into a rule:", () => {
  test.each<[keyof Capture, string, string]>([
    ["inboundPorts", "80\n-A OUTPUT", "expected a port"],
    ["excludeInterfaces", "eth0 -j", "expected the name of an interface"],
    ["outboundRanges", "10.0.0.0", "expected a range such as 10.0.0.0/8"],
    ["outboundRangesExclude", "*", "expected ranges such as 10.0.0.0/8"],
    ["proxyUid", "-1", "expected a user or group"],
    ["loopback", "10.0.0.0/8", "expected a range within 127.0.0.0/8"],
    ["ownerGroups", Array.from({ length: 65 }, (_, n) => n).join(), "expected no more than 64 groups"],
    ["tproxyMark", "0x5", "expected a number"],
  ])("%s", (setting, value, message) => {
    expect(() => checkCapture({ ...defaultCapture, [setting]: value })).toThrow(message);
  });
});
