import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type CaptureConfig, buildCaptureRules, defaultCaptureConfig, formatRestoreInput } from "@istiod/redirection";
import { beforeEach, describe, expect, test } from "vitest";

const directory = fileURLToPath(new URL("../../../../shared/peer/iptables/", import.meta.url));
const reason = existsSync(directory) ? undefined : "no ../shared/peer/iptables next to this repository";

interface Case {
  readonly name: string;
  readonly golden: string;
  readonly config: Readonly<Record<string, string | boolean | readonly string[]>>;
}

const settings: Readonly<Record<string, keyof CaptureConfig>> = {
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

describe("capture rules equal Istio's", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  const cases = reason ? [] : (JSON.parse(readFileSync(`${directory}capture-cases.json`, "utf8")) as Case[]);
  if (reason) test("in the reference cases", () => undefined);

  test.each(cases)("$name", ({ golden, config }) => {
    const given = Object.entries(config).flatMap(([name, value]) => (settings[name] ? [[settings[name], value]] : []));
    const dnsServers = [
      ...((config["DNSServersV4"] as string[] | undefined) ?? []),
      ...((config["DNSServersV6"] as string[] | undefined) ?? []),
    ];
    const known = new Set([...Object.keys(settings), "DNSServersV4", "DNSServersV6", "DryRun"]);
    expect(Object.keys(config).filter((name) => !known.has(name))).toEqual([]);
    const capture = { ...defaultCaptureConfig, ...Object.fromEntries(given), dnsServers } as CaptureConfig;
    const expected = readFileSync(`${directory}capture/${golden}`, "utf8")
      .split("\n")
      .filter((line) => line !== "" && !line.endsWith("tables-save"));
    const made = [4, 6].flatMap((version) =>
      formatRestoreInput(buildCaptureRules(capture, version as 4 | 6)).split("\n"),
    );
    expect(made.filter((line) => line !== "")).toEqual(expected);
  });
});
