import {
  applyCapture,
  type CaptureConfig,
  validateCaptureConfig,
  defaultCaptureConfig,
  removeCapture,
} from "@istiod/redirection";
import { describe, expect, test } from "vitest";
import { fakeKernel } from "./fake-kernel.js";

const captureAll: CaptureConfig = { ...defaultCaptureConfig, inboundPorts: "*", outboundRanges: "*" };

test("applies rules, and leaves equal rules unchanged", async () => {
  const kernel = fakeKernel();
  expect(await applyCapture(captureAll, { run: kernel.run })).toBe("applied");
  expect(kernel.changes).toEqual(["iptables-nft-restore --noflush"]);
  expect(kernel.chains.get("nat ISTIO_INBOUND")).toEqual([
    "-p tcp --dport 15008 -j RETURN",
    "-p tcp -j ISTIO_IN_REDIRECT",
  ]);
  expect(await applyCapture(captureAll, { run: kernel.run })).toBe("unchanged");
  expect(kernel.changes).toHaveLength(1);
});

test("fails if other rules exist, and replaces them with reconcile", async () => {
  const kernel = fakeKernel();
  await applyCapture(captureAll, { run: kernel.run });
  const fewer = { ...captureAll, inboundPorts: "8000" };
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

test("drops all traffic while rules are replaced", async () => {
  const kernel = fakeKernel();
  await applyCapture(captureAll, { run: kernel.run });
  kernel.changes.length = 0;
  await applyCapture({ ...captureAll, inboundPorts: "8000" }, { run: kernel.run, reconcile: true });
  const first = kernel.changes.findIndex((line) => line.includes("-D PREROUTING"));
  expect(kernel.changes.slice(0, first).filter((line) => line.includes("-j DROP"))).toHaveLength(6);
  for (const chain of ["INPUT", "FORWARD", "OUTPUT"]) expect(kernel.chains.get(`filter ${chain}`)).toEqual([]);
});

test("removes its own rules only", async () => {
  const kernel = fakeKernel();
  kernel.chains.set("nat PREROUTING", ["-p tcp -j OTHERS"]);
  await applyCapture(captureAll, { run: kernel.run });
  await removeCapture(captureAll, { run: kernel.run });
  expect([...kernel.chains].filter(([, rules]) => rules.length > 0)).toEqual([
    ["nat PREROUTING", ["-p tcp -j OTHERS"]],
  ]);
  expect([...kernel.chains.keys()].filter((name) => name.includes("ISTIO_"))).toEqual([]);
});

test("applies the routes of TPROXY", async () => {
  const kernel = fakeKernel();
  await applyCapture({ ...captureAll, inboundMode: "TPROXY" }, { run: kernel.run });
  expect(kernel.changes.filter((line) => line.startsWith("ip "))).toEqual([
    "ip -4 rule del fwmark 1337 lookup 133",
    "ip -4 rule add fwmark 1337 lookup 133",
    "ip -4 route replace local default dev lo table 133",
  ]);
});

test("uses the legacy implementation if it has rules, otherwise nft", async () => {
  const legacy = fakeKernel(["iptables-legacy", "iptables-nft"]);
  await applyCapture(captureAll, { run: legacy.run });
  expect(legacy.changes).toEqual(["iptables-nft-restore --noflush"]);
  const used = fakeKernel(["iptables-legacy"]);
  used.chains.set("nat PREROUTING", ["-p tcp -j OTHERS"]);
  await applyCapture(captureAll, { run: used.run });
  expect(used.changes).toEqual(["iptables-legacy-restore --noflush"]);
  await expect(applyCapture(captureAll, { run: fakeKernel([]).run })).rejects.toThrow(
    "no working iptables-legacy, iptables-nft, iptables",
  );
});

describe("validation rejects an invalid", () => {
  test.each<[keyof CaptureConfig, string, string]>([
    ["inboundPorts", "80\n-A OUTPUT", "must be a port"],
    ["excludeInterfaces", "eth0 -j", "must be the name of an interface"],
    ["outboundRanges", "10.0.0.0", "must be a CIDR range such as 10.0.0.0/8"],
    ["outboundRangesExclude", "*", "must be a CIDR range such as 10.0.0.0/8"],
    ["proxyUid", "-1", "must be a user or group"],
    ["loopback", "10.0.0.0/8", "must be a range within 127.0.0.0/8"],
    ["ownerGroups", Array.from({ length: 65 }, (_, n) => n).join(), "must have at most 64 groups"],
    ["tproxyMark", "0x5", "must be a number"],
  ])("%s", (setting, value, message) => {
    expect(() => validateCaptureConfig({ ...defaultCaptureConfig, [setting]: value })).toThrow(message);
  });
});
