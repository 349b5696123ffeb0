/**
 * Configuration of traffic capture: which traffic of a pod is redirected to its proxy. Lists are comma-separated, as in
 * Istio's annotations and flags; `*` means all, where documented.
 */
export interface CaptureConfig {
  /** Port that outbound connections are redirected to. */
  readonly proxyPort: string;
  /** Port that inbound connections are redirected to. */
  readonly inboundCapturePort: string;
  /** HBONE port, which is not captured. */
  readonly inboundTunnelPort: string;
  /** Users and groups of the proxy, whose traffic is not captured. */
  readonly proxyUid: string;
  readonly proxyGid: string;
  /** Mode of inbound capture. TPROXY preserves the source address. */
  readonly inboundMode: "REDIRECT" | "TPROXY";
  readonly tproxyMark: string;
  readonly tproxyRouteTable: string;
  /** Captured inbound ports, or `*`. Empty: inbound connections are not captured. */
  readonly inboundPorts: string;
  /** Inbound ports that are not captured, if `inboundPorts` is `*`. */
  readonly inboundPortsExclude: string;
  /** Captured outbound CIDR ranges, or `*`. Empty: only `outboundPorts`. */
  readonly outboundRanges: string;
  readonly outboundRangesExclude: string;
  readonly outboundPorts: string;
  readonly outboundPortsExclude: string;
  /** Groups whose outbound connections are captured, or `*`. */
  readonly ownerGroups: string;
  /** Groups whose outbound connections are not captured, if `ownerGroups` is `*`. */
  readonly ownerGroupsExclude: string;
  /** Interfaces of virtual machines, whose inbound connections are treated as outbound. */
  readonly virtualInterfaces: string;
  /** Interfaces whose traffic is not captured. */
  readonly excludeInterfaces: string;
  /** Redirects DNS queries to the agent: those to `dnsServers`, or all with `captureAllDns`. */
  readonly redirectDns: boolean;
  readonly captureAllDns: boolean;
  readonly dnsServers: readonly string[];
  /** Drops packets in conntrack state INVALID, for which the kernel would reset the connection. */
  readonly dropInvalid: boolean;
  /** Adds rules for IPv6. */
  readonly ipv6: boolean;
  /** CIDR range of the application's own addresses on IPv4 loopback. */
  readonly loopback: string;
}

/** Istio's defaults, which capture no traffic. */
export const defaultCaptureConfig: CaptureConfig = {
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

/** Port of the agent's DNS server. */
export const AGENT_DNS_PORT = "15053";

/** Mark of the proxy's connections to itself, as distinct from its connections to the application. */
export const PROXY_TO_PROXY_MARK = "1338";

/** Reports whether DNS queries are redirected: to a server that is known, or to any. */
export function capturesDns({ redirectDns, captureAllDns, dnsServers }: CaptureConfig): boolean {
  return redirectDns && (captureAllDns || dnsServers.length > 0);
}

/** Splits a comma-separated list. */
export function splitList(text: string): string[] {
  return text.split(",").filter((item) => item !== "");
}

/** CIDR ranges by IP family. */
export interface Ranges {
  /** Reports whether the list was `*`. */
  readonly all: boolean;
  readonly v4: readonly string[];
  readonly v6: readonly string[];
  /** Reports whether a range starts at a loopback address. */
  readonly loopback: boolean;
}

/** Parses a list of CIDR ranges, or `*`. */
export function parseRanges(text: string): Ranges {
  if (text === "*") return { all: true, v4: [], v6: [], loopback: false };
  const ranges = splitList(text);
  return {
    all: false,
    v4: ranges.filter((range) => !range.includes(":")),
    v6: ranges.filter((range) => range.includes(":")),
    loopback: ranges.some((range) => /^127\.|^(0{0,4}:){2,7}0{0,3}1\//.test(range)),
  };
}
