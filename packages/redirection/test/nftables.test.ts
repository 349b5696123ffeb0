import {
  applyNftCapture,
  buildNftCaptureRules,
  type CaptureConfig,
  type CommandRunner,
  defaultCaptureConfig,
  formatNftTransaction,
  removeNftCapture,
} from "@istiod/redirection";
import { expect, test } from "vitest";

const captureAll: CaptureConfig = { ...defaultCaptureConfig, inboundPorts: "*", outboundRanges: "*" };

/** Runs nothing, and records command lines and their input. */
function recorder(stderr = ""): { readonly run: CommandRunner; readonly lines: string[] } {
  const lines: string[] = [];
  const run: CommandRunner = async (command, args, input = "") => {
    lines.push([command, ...args].join(" "), ...input.split("\n").filter((line) => line !== ""));
    return { code: stderr === "" ? 0 : 1, stdout: "", stderr };
  };
  return { run, lines };
}

const rules = (config: Partial<CaptureConfig>): string[] =>
  formatNftTransaction(buildNftCaptureRules({ ...defaultCaptureConfig, ...config }))
    .split("\n")
    .filter((line) => / rule /.test(line))
    .map((line) => line.replace(/^(add|insert) rule inet istio-proxy-/, ""));

test("one transaction replaces the rules, and removes tables of an earlier run that are not needed", async () => {
  const { run, lines } = recorder();
  await applyNftCapture(captureAll, { run });
  expect(lines.filter((line) => line.startsWith("nft"))).toEqual(["nft -f -"]);
  expect(lines.slice(1, 7)).toEqual([
    "add table inet istio-proxy-mangle",
    "delete table inet istio-proxy-mangle",
    "add table inet istio-proxy-raw",
    "delete table inet istio-proxy-raw",
    "add table inet istio-proxy-nat",
    "flush table inet istio-proxy-nat",
  ]);
});

test("adds the routes of TPROXY and the IPv6 address of the proxy's connections", async () => {
  const { run, lines } = recorder();
  await applyNftCapture({ ...captureAll, inboundMode: "TPROXY", ipv6: true }, { run });
  expect(lines).not.toContain("delete table inet istio-proxy-mangle");
  expect(lines.filter((line) => line.startsWith("ip "))).toEqual([
    "ip -6 addr replace ::6/128 dev lo",
    "ip -4 rule del fwmark 1337 lookup 133",
    "ip -4 rule add fwmark 1337 lookup 133",
    "ip -4 route replace local default dev lo table 133",
    "ip -6 rule del fwmark 1337 lookup 133",
    "ip -6 rule add fwmark 1337 lookup 133",
    "ip -6 route replace local default dev lo table 133",
  ]);
});

test("removes its tables only", async () => {
  const { run, lines } = recorder();
  await removeNftCapture({ run });
  expect(lines.filter((line) => line.startsWith("delete"))).toEqual([
    "delete table inet istio-proxy-nat",
    "delete table inet istio-proxy-mangle",
    "delete table inet istio-proxy-raw",
  ]);
});

test("fails with what nft says", async () => {
  const { run } = recorder("Error: Group does not exist\n");
  await expect(applyNftCapture(captureAll, { run })).rejects.toThrow("nft -f -: Error: Group does not exist");
});

test("ranges of ports and interfaces, and names of users, are written as nft reads them", () => {
  const written = rules({
    inboundPorts: "8000:8010",
    outboundPortsExclude: "9000:9010",
    outboundPorts: "7000:7010",
    inboundTunnelPort: "15008:15010",
    excludeInterfaces: "eth+,a@b,eth0.100",
    proxyUid: "_proxy",
    redirectDns: true,
    captureAllDns: true,
  });
  expect(written).toEqual(
    expect.arrayContaining([
      "nat istio-inbound meta l4proto tcp tcp dport 8000-8010 counter jump istio-in-redirect",
      "nat istio-output tcp dport 9000-9010 counter return",
      "nat istio-output udp dport 9000-9010 counter return",
      "nat istio-output tcp dport 7000-7010 counter jump istio-redirect",
      'nat prerouting iifname "eth*" counter return',
      'nat output oifname "a@b" counter return',
      "nat prerouting iifname eth0.100 counter return",
      'nat istio-output oifname lo meta l4proto tcp ip daddr != 127.0.0.1/32 tcp dport != { 53, 15008-15010 } skuid "_proxy" counter jump istio-in-redirect',
    ]),
  );
});

test("names that are keywords of nft are quoted", () => {
  const written = rules({ proxyUid: "list", proxyGid: "", ownerGroups: "log,java", excludeInterfaces: "bridge,mark0" });
  expect(written).toEqual(
    expect.arrayContaining([
      'nat prerouting iifname "bridge" counter return',
      "nat prerouting iifname mark0 counter return",
      'nat istio-output skuid "list" counter return',
      'nat istio-output skgid != "log" skgid != java counter return',
    ]),
  );
});

test("all DNS queries are captured, whatever the server", () => {
  const written = rules({ redirectDns: true, captureAllDns: true, proxyUid: "3", proxyGid: "" });
  expect(written.filter((rule) => rule.includes("istio-output-dns") || rule.startsWith("raw"))).toEqual([
    "nat istio-output counter jump istio-output-dns",
    "nat istio-output-dns meta l4proto tcp tcp dport 53 counter redirect to :15053",
    "nat istio-output-dns udp dport 53 counter redirect to :15053",
    "raw output counter jump istio-output-dns",
    "raw istio-output-dns udp dport 53 meta skuid 3 counter ct zone set 1",
    "raw istio-output-dns udp sport 15053 meta skuid 3 counter ct zone set 2",
    "raw prerouting counter jump istio-inbound",
    "raw istio-output-dns udp dport 53 counter ct zone set 2",
    "raw istio-inbound udp sport 53 counter ct zone set 1",
  ]);
});

test("no rule jumps to a chain that has no rules", () => {
  const ipv6Server = rules({ redirectDns: true, dnsServers: ["fd00::53"], ipv6: false });
  const jumps = ipv6Server.map((rule) => /^(\S+) .* jump (\S+)$/.exec(rule)?.slice(1).join(" ")).filter(Boolean);
  const chains = new Set(ipv6Server.map((rule) => rule.split(" ").slice(0, 2).join(" ")));
  expect(jumps.filter((chain) => !chains.has(chain ?? ""))).toEqual([]);
  expect(jumps).not.toContain("nat istio-output-dns");
});

test("rejects what would not be one word of a rule", () => {
  expect(() => buildNftCaptureRules({ ...captureAll, excludeInterfaces: "eth0 counter accept" })).toThrow(
    'excludeInterfaces: "eth0 counter accept": must be the name of an interface',
  );
});

test.each([
  [{ proxyPort: "99999" }, 'proxyPort: "99999": must be a port from 1 to 65535'],
  [{ proxyPort: "0" }, 'proxyPort: "0": must be a port from 1 to 65535'],
  [{ inboundCapturePort: "15006:15007" }, 'inboundCapturePort: "15006:15007": must be a port from 1 to 65535'],
  [{ outboundPorts: "80,65536" }, 'outboundPorts: "65536": must be a port'],
  [{ inboundPorts: "8010:8000" }, 'inboundPorts: "8010:8000": must be a port'],
  [{ inboundPortsExclude: "1:2:3" }, 'inboundPortsExclude: "1:2:3": must be a port'],
  [{ outboundRanges: "fe80::1%eth0/64" }, 'outboundRanges: "fe80::1%eth0/64": must be a CIDR range'],
])("rejects what is no port or range: %j", (config, message) => {
  expect(() => buildNftCaptureRules({ ...captureAll, ...config })).toThrow(message);
});
