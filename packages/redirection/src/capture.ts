import { isIP, isIPv4 } from "node:net";
import { RedirectionError } from "./errors.js";

/**
 * Which traffic of a pod goes through its proxy. Lists are separated by commas, as in the annotations and flags that
 * they come from; `*` stands for everything where that is said.
 */
export interface Capture {
  /** Port to which outbound connections are led. */
  readonly proxyPort: string;
  /** Port to which inbound connections are led. */
  readonly inboundCapturePort: string;
  /** Port of tunnels (HBONE), which is reached directly. */
  readonly inboundTunnelPort: string;
  /** Users and groups that the proxy runs as: what they send is left alone. */
  readonly proxyUid: string;
  readonly proxyGid: string;
  /** How inbound connections are led: TPROXY keeps the caller's address. */
  readonly inboundMode: "REDIRECT" | "TPROXY";
  readonly tproxyMark: string;
  readonly tproxyRouteTable: string;
  /** `*` or ports; none: inbound connections are not captured. */
  readonly inboundPorts: string;
  /** Where all inbound ports are captured: those that are not. */
  readonly inboundPortsExclude: string;
  /** `*` or ranges of addresses; none: only `outboundPorts`. */
  readonly outboundRanges: string;
  readonly outboundRangesExclude: string;
  readonly outboundPorts: string;
  readonly outboundPortsExclude: string;
  /** `*` or groups of which outbound connections are captured. */
  readonly ownerGroups: string;
  /** Where those of all groups are: groups of which they are not. */
  readonly ownerGroupsExclude: string;
  /** Interfaces of virtual machines, from which inbound connections count as outbound. */
  readonly virtualInterfaces: string;
  /** Interfaces of which nothing is captured. */
  readonly excludeInterfaces: string;
  /** Whether queries of names go to the agent: those to `dnsServers`, or all. */
  readonly redirectDns: boolean;
  readonly captureAllDns: boolean;
  readonly dnsServers: readonly string[];
  /** Drop packets that belong to no connection instead of letting the kernel reset it. */
  readonly dropInvalid: boolean;
  /** Whether there are rules for IPv6, too. */
  readonly ipv6: boolean;
  /** Addresses that are the application's own on IPv4 loopback. */
  readonly loopback: string;
}

/** What Istio captures where nothing is said: nothing but what is spoken of by other settings. */
export const defaultCapture: Capture = {
  proxyPort: "15001",
  inboundCapturePort: "15006",
  inboundTunnelPort: "15008",
  proxyUid: "1337",
  proxyGid: "1337",
  inboundMode: "REDIRECT",
  tproxyMark: "1337",
  tproxyRouteTable: "133",
  inboundPorts: "",
  inboundPortsExclude: "",
  outboundRanges: "",
  outboundRangesExclude: "",
  outboundPorts: "",
  outboundPortsExclude: "",
  ownerGroups: "*",
  ownerGroupsExclude: "",
  virtualInterfaces: "",
  excludeInterfaces: "",
  redirectDns: false,
  captureAllDns: false,
  dnsServers: [],
  dropInvalid: false,
  ipv6: false,
  loopback: "127.0.0.1/32",
};

/** The items of a list. */
export function listed(text: string): string[] {
  return text.split(",").filter((item) => item !== "");
}

/** Ranges of addresses of one family. */
export interface Ranges {
  readonly all: boolean;
  readonly v4: readonly string[];
  readonly v6: readonly string[];
  /** Whether one of them begins on loopback. */
  readonly loopback: boolean;
}

/** Parts a list of ranges by family. */
export function rangesOf(text: string): Ranges {
  if (text === "*") return { all: true, v4: [], v6: [], loopback: false };
  const items = listed(text);
  return {
    all: false,
    v4: items.filter((r) => !r.includes(":")),
    v6: items.filter((r) => r.includes(":")),
    loopback: items.some((r) => /^127\.|^(0{0,4}:){2,7}0{0,3}1\//.test(r)),
  };
}

const port = /^\d{1,5}(:\d{1,5})?$/;
const owner = /^[\w][\w.-]*$/;
const networkInterface = /^[\w][\w.@+-]{0,14}$/;
const whole = /^\d{1,10}$/;
/** Most distributions take no more matches in a rule; the limit is Istio's. */
const mostOwnerGroups = 64;

/**
 * Checks settings: nothing that is not a port, address, owner or interface may get into a rule.
 *
 * @throws RedirectionError `setting` that names the setting
 */
export function checkCapture(capture: Capture): void {
  const each = (setting: keyof Capture, pattern: RegExp, expected: string, all = false): void => {
    const text = String(capture[setting]);
    for (const item of all && text === "*" ? [] : listed(text))
      if (!pattern.test(item)) refuse(setting, item, expected);
  };
  for (const setting of ["proxyPort", "inboundCapturePort", "inboundTunnelPort"] as const)
    if (!port.test(capture[setting])) refuse(setting, capture[setting], "a port");
  for (const setting of ["tproxyMark", "tproxyRouteTable"] as const)
    if (!whole.test(capture[setting])) refuse(setting, capture[setting], "a number");
  each("inboundPorts", port, "a port", true);
  for (const setting of ["inboundPortsExclude", "outboundPorts", "outboundPortsExclude"] as const)
    each(setting, port, "a port");
  for (const setting of ["proxyUid", "proxyGid", "ownerGroupsExclude"] as const)
    each(setting, owner, "a user or group");
  each("ownerGroups", owner, "a group", true);
  for (const setting of ["virtualInterfaces", "excludeInterfaces"] as const)
    each(setting, networkInterface, "the name of an interface");
  if (capture.outboundRangesExclude === "*") refuse("outboundRangesExclude", "*", "ranges such as 10.0.0.0/8");
  for (const setting of ["outboundRanges", "outboundRangesExclude"] as const) {
    for (const item of capture[setting] === "*" ? [] : listed(capture[setting]))
      if (!isRange(item)) refuse(setting, item, "a range such as 10.0.0.0/8");
  }
  for (const server of capture.dnsServers) if (isIP(server) === 0) refuse("dnsServers", server, "an address");
  const [address = "", bits] = capture.loopback.split("/");
  if (!isRange(capture.loopback) || !isIPv4(address) || !address.startsWith("127.") || Number(bits) < 8)
    refuse("loopback", capture.loopback, "a range within 127.0.0.0/8");
  if (capture.ownerGroups !== "*" && listed(capture.ownerGroups).length > mostOwnerGroups)
    refuse("ownerGroups", capture.ownerGroups, `no more than ${mostOwnerGroups} groups`);
  if (!["REDIRECT", "TPROXY"].includes(capture.inboundMode))
    refuse("inboundMode", capture.inboundMode, "REDIRECT or TPROXY");
}

function isRange(text: string): boolean {
  const [address = "", bits = "", more] = text.split("/");
  const family = isIP(address);
  return more === undefined && family !== 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

function refuse(setting: keyof Capture, value: string, expected: string): never {
  throw new RedirectionError("setting", `${setting}: ${JSON.stringify(value)}: expected ${expected}`);
}
