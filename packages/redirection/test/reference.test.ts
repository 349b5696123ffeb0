import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  buildCaptureRules,
  buildNftCaptureRules,
  type CaptureConfig,
  defaultCaptureConfig,
  formatNftTransaction,
  formatRestoreInput,
} from "@istiod/redirection";
import { beforeEach, describe, expect, test } from "vitest";

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

/** Returns the configuration of a case. Fails if a field of it is unknown. */
function captureConfig({ config }: Case): CaptureConfig {
  const given = Object.entries(config).flatMap(([name, value]) => (settings[name] ? [[settings[name], value]] : []));
  const dnsServers = [
    ...((config["DNSServersV4"] as string[] | undefined) ?? []),
    ...((config["DNSServersV6"] as string[] | undefined) ?? []),
  ];
  const known = new Set([...Object.keys(settings), "DNSServersV4", "DNSServersV6", "DryRun"]);
  expect(Object.keys(config).filter((name) => !known.has(name))).toEqual([]);
  return { ...defaultCaptureConfig, ...Object.fromEntries(given), dnsServers } as CaptureConfig;
}

const lines = (text: string): string[] => text.split("\n").filter((line) => line !== "");

const formats: Readonly<Record<string, (config: CaptureConfig) => string>> = {
  iptables: (config) =>
    ([4, 6] as const).map((version) => formatRestoreInput(buildCaptureRules(config, version))).join("\n"),
  nftables: (config) => formatNftTransaction(buildNftCaptureRules(config)),
};

describe.each(Object.entries(formats))("capture rules of %s equal Istio's", (name, format) => {
  const directory = fileURLToPath(new URL(`../../../../shared/peer/${name}/`, import.meta.url));
  const reason = existsSync(directory) ? undefined : `no ../shared/peer/${name} next to this repository`;
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  const cases = reason ? [] : (JSON.parse(readFileSync(`${directory}capture-cases.json`, "utf8")) as Case[]);
  if (reason) test("in the reference cases", () => undefined);

  test.each(cases)("$name", (given) => {
    const expected = lines(readFileSync(`${directory}capture/${given.golden}`, "utf8"));
    expect(lines(format(captureConfig(given)))).toEqual(expected.filter((line) => !line.endsWith("tables-save")));
  });
});
