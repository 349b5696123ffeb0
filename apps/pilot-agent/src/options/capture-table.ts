import {
  booleanSetting,
  durationSetting,
  enumSetting,
  integerSetting,
  type SettingValues,
  stringSetting,
} from "@istiod/settings";
import { ignoredLoggingFlags, loggingFlags } from "./logging-flags.js";

const portRange = { min: 0, max: 65535 };

/** Settings of `istio-iptables`, by Istio's names. */
export const captureTable = {
  proxyPort: stringSetting({
    flag: "envoy-port",
    short: "p",
    variable: "ENVOY_PORT",
    default: "15001",
    help: "port of Envoy for outbound connections",
  }),
  inboundCapturePort: stringSetting({
    flag: "inbound-capture-port",
    short: "z",
    variable: "INBOUND_CAPTURE_PORT",
    default: "15006",
    help: "port of Envoy for inbound connections",
  }),
  inboundTunnelPort: stringSetting({
    flag: "inbound-tunnel-port",
    short: "e",
    variable: "INBOUND_TUNNEL_PORT",
    default: "15008",
    help: "port of inbound HBONE tunnels, which are not redirected",
  }),
  proxyUid: stringSetting({
    flag: "proxy-uid",
    short: "u",
    variable: "PROXY_UID",
    default: "",
    help: "user IDs whose traffic is not redirected; empty for that of ENVOY_USER, or 1337",
  }),
  proxyGid: stringSetting({
    flag: "proxy-gid",
    short: "g",
    variable: "PROXY_GID",
    default: "",
    help: "group IDs whose traffic is not redirected; empty for those of --proxy-uid",
  }),
  mode: enumSetting<"" | "REDIRECT" | "TPROXY">(
    {
      flag: "istio-inbound-interception-mode",
      short: "m",
      variable: "ISTIO_INBOUND_INTERCEPTION_MODE",
      placeholder: "mode",
      default: "",
      help: "interception mode of inbound connections: REDIRECT, or TPROXY, which keeps the source address; empty for REDIRECT",
    },
    ["REDIRECT", "TPROXY"],
  ),
  inboundPorts: stringSetting({
    flag: "istio-inbound-ports",
    short: "b",
    variable: "ISTIO_INBOUND_PORTS",
    placeholder: "ports",
    default: "",
    help: "inbound ports to redirect; * for all, empty for none",
  }),
  inboundPortsExclude: stringSetting({
    flag: "istio-local-exclude-ports",
    short: "d",
    variable: "ISTIO_LOCAL_EXCLUDE_PORTS",
    placeholder: "ports",
    default: "",
    help: "inbound ports not to redirect if all are redirected",
  }),
  excludeInterfaces: stringSetting({
    flag: "istio-exclude-interfaces",
    short: "c",
    variable: "ISTIO_EXCLUDE_INTERFACES",
    placeholder: "names",
    default: "",
    help: "interfaces whose traffic is not redirected",
  }),
  outboundRanges: stringSetting({
    flag: "istio-service-cidr",
    short: "i",
    variable: "ISTIO_SERVICE_CIDR",
    placeholder: "ranges",
    default: "",
    help: "destination ranges to redirect; * for all, empty for none",
  }),
  outboundRangesExclude: stringSetting({
    flag: "istio-service-exclude-cidr",
    short: "x",
    variable: "ISTIO_SERVICE_EXCLUDE_CIDR",
    placeholder: "ranges",
    default: "",
    help: "destination ranges not to redirect",
  }),
  outboundPorts: stringSetting({
    flag: "istio-outbound-ports",
    short: "q",
    variable: "ISTIO_OUTBOUND_PORTS",
    placeholder: "ports",
    default: "",
    help: "outbound ports to redirect for any destination",
  }),
  outboundPortsExclude: stringSetting({
    flag: "istio-local-outbound-ports-exclude",
    short: "o",
    variable: "ISTIO_LOCAL_OUTBOUND_PORTS_EXCLUDE",
    placeholder: "ports",
    default: "",
    help: "outbound ports not to redirect",
  }),
  virtualInterfaces: stringSetting({
    flag: "kube-virt-interfaces",
    short: "k",
    variable: "KUBE_VIRT_INTERFACES",
    placeholder: "names",
    default: "",
    help: "interfaces of virtual machines, whose inbound traffic is treated as outbound",
  }),
  tproxyMark: stringSetting({
    flag: "istio-inbound-tproxy-mark",
    short: "t",
    variable: "ISTIO_INBOUND_TPROXY_MARK",
    default: "1337",
    help: "packet mark of TPROXY",
  }),
  tproxyRouteTable: stringSetting({
    flag: "istio-inbound-tproxy-route-table",
    short: "r",
    variable: "ISTIO_INBOUND_TPROXY_ROUTE_TABLE",
    default: "133",
    help: "routing table of packets with the TPROXY mark",
  }),
  dryRun: booleanSetting({
    flag: "dry-run",
    short: "n",
    variable: "DRY_RUN",
    default: false,
    help: "print the rules without applying them",
  }),
  probePort: integerSetting(
    {
      flag: "iptables-probe-port",
      variable: "IPTABLES_PROBE_PORT",
      default: 15002,
      help: "port to which --run-validation connects",
    },
    portRange,
  ),
  probeTimeout: durationSetting({
    flag: "probe-timeout",
    variable: "PROBE_TIMEOUT",
    default: 5000,
    help: "timeout of --run-validation",
  }),
  skipApply: booleanSetting({
    flag: "skip-rule-apply",
    variable: "SKIP_RULE_APPLY",
    default: false,
    help: "do not apply rules",
  }),
  validate: booleanSetting({
    flag: "run-validation",
    variable: "RUN_VALIDATION",
    default: false,
    help: "check, as the proxy's user, that connections are redirected; exit with 126 if not",
  }),
  redirectDns: booleanSetting({
    flag: "redirect-dns",
    variable: ["REDIRECT_DNS", "ISTIO_META_DNS_CAPTURE"],
    default: false,
    help: "redirect DNS queries to the servers of /etc/resolv.conf to the agent",
  }),
  captureAllDns: booleanSetting({
    flag: "capture-all-dns",
    variable: "CAPTURE_ALL_DNS",
    default: false,
    help: "redirect DNS queries to any server, with --redirect-dns",
  }),
  dropInvalid: booleanSetting({
    flag: "drop-invalid",
    variable: ["DROP_INVALID", "INVALID_DROP"],
    default: false,
    help: "drop packets in state INVALID",
  }),
  dualStack: booleanSetting({
    flag: "dual-stack",
    variable: ["DUAL_STACK", "ISTIO_DUAL_STACK"],
    default: false,
    help: "apply IPv6 rules if any address of the Pod is IPv6, not only the first",
  }),
  networkNamespace: stringSetting({
    flag: "network-namespace",
    variable: "NETWORK_NAMESPACE",
    placeholder: "file",
    default: "",
    help: "file of the network namespace to apply rules in; empty for the current one",
  }),
  reconcile: booleanSetting({
    flag: "reconcile",
    variable: "RECONCILE",
    default: false,
    help: "replace the rules of an earlier run if they differ",
  }),
  cleanupOnly: booleanSetting({
    flag: "cleanup-only",
    variable: "CLEANUP_ONLY",
    default: false,
    help: "remove the rules without applying others",
  }),
  force: booleanSetting({
    flag: "force-apply",
    variable: "FORCE_APPLY",
    default: false,
    help: "apply the rules even if they exist",
  }),
  nftables: booleanSetting({
    flag: "native-nftables",
    variable: "NATIVE_NFTABLES",
    default: false,
    help: "apply the rules by nft in place of iptables; one transaction replaces those of an earlier run",
  }),
  binary: enumSetting<"" | "legacy" | "nft">(
    {
      flag: "force-iptables-binary",
      variable: "FORCE_IPTABLES_BINARY",
      placeholder: "binary",
      default: "",
      help: "implementation of iptables: legacy or nft; empty for the one that has rules, or the newer",
    },
    ["legacy", "nft"],
  ),
  loopback: stringSetting({
    variable: "ISTIO_OUTBOUND_IPV4_LOOPBACK_CIDR",
    default: "127.0.0.1/32",
    help: "loopback range of the application",
  }),
  ownerGroups: stringSetting({
    variable: "ISTIO_OUTBOUND_OWNER_GROUPS",
    default: "*",
    help: "groups whose outbound connections are redirected; * for all",
  }),
  ownerGroupsExclude: stringSetting({
    variable: "ISTIO_OUTBOUND_OWNER_GROUPS_EXCLUDE",
    default: "",
    help: "groups whose outbound connections are not redirected if all are",
  }),
  envoyUser: stringSetting({
    variable: "ENVOY_USER",
    default: "istio-proxy",
    help: "user of the proxy, for the default of --proxy-uid",
  }),
  ...loggingFlags,
} as const;

/** Flags of Istio's command that are accepted for compatibility. */
export const ignoredCaptureFlags = {
  cniMode: booleanSetting({
    flag: "cni-mode",
    variable: "CNI_MODE",
    default: false,
    help: "run as a CNI plugin",
    ignored: "the rules are the same",
  }),
  ...ignoredLoggingFlags,
} as const;

/** The values of the settings of `istio-iptables`. Durations are milliseconds. */
export type CaptureOptions = SettingValues<typeof captureTable>;
