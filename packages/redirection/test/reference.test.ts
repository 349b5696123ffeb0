import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Capture, captureRules, defaultCapture, restoreInput } from "@istiod/redirection";
import { beforeEach, describe, expect, test } from "vitest";

const folder = fileURLToPath(new URL("../../../../shared/peer/iptables/", import.meta.url));
const reason = existsSync(folder) ? undefined : "no ../shared/peer/iptables beside this repository";

interface Case {
  readonly name: string;
  readonly golden: string;
  readonly config: Readonly<Record<string, string | boolean | readonly string[]>>;
}

const settings: Readonly<Record<string, keyof Capture>> = {
  ProxyPort: "proxyPort",
  InboundCapturePort: "inboundCapturePort",
  InboundTunnelPort: "inboundTunnelPort",
  ProxyUID: "proxyUid",
  ProxyGID: "proxyGid",
  InboundInterceptionMode: "inboundMode",
  InboundTProxyMark: "tproxyMark",
  InboundPortsInclude: "inboundPorts",
  InboundPortsExclude: "inboundPortsExclude",
  OutboundIPRangesInclude: "outboundRanges",
  OutboundIPRangesExclude: "outboundRangesExclude",
  OutboundPortsInclude: "outboundPorts",
  OutboundPortsExclude: "outboundPortsExclude",
  OwnerGroupsInclude: "ownerGroups",
  OwnerGroupsExclude: "ownerGroupsExclude",
  RerouteVirtualInterfaces: "virtualInterfaces",
  ExcludeInterfaces: "excludeInterfaces",
  RedirectDNS: "redirectDns",
  CaptureAllDNS: "captureAllDns",
  DropInvalid: "dropInvalid",
  EnableIPv6: "ipv6",
  HostIPv4LoopbackCidr: "loopback",
};

describe("the rules of Istio's own cases", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  const cases = reason ? [] : (JSON.parse(readFileSync(`${folder}capture-cases.json`, "utf8")) as Case[]);
  if (reason) test("are read", () => undefined);

  test.each(cases)("$name", ({ golden, config }) => {
    const given = Object.entries(config).flatMap(([name, value]) => (settings[name] ? [[settings[name], value]] : []));
    const dnsServers = [
      ...((config["DNSServersV4"] as string[] | undefined) ?? []),
      ...((config["DNSServersV6"] as string[] | undefined) ?? []),
    ];
    const known = new Set([...Object.keys(settings), "DNSServersV4", "DNSServersV6", "DryRun"]);
    expect(Object.keys(config).filter((name) => !known.has(name))).toEqual([]);
    const capture = { ...defaultCapture, ...Object.fromEntries(given), dnsServers } as Capture;
    const expected = readFileSync(`${folder}capture/${golden}`, "utf8")
      .split("\n")
      .filter((line) => line !== "" && !line.endsWith("tables-save"));
    const made = [4, 6].flatMap((version) => restoreInput(captureRules(capture, version as 4 | 6)).split("\n"));
    expect(made.filter((line) => line !== "")).toEqual(expected);
  });
});
