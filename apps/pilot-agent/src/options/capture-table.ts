import { duration, integer, type Option, text, toggle } from "./option.js";

/** Every setting of `istio-iptables`, by Istio's names. A variable is read where its flag is not given. */
export const captureTable = {
  proxyPort: text({ flag: "envoy-port", short: "p", env: "ENVOY_PORT", default: "15001", help: "Port of Envoy to which outbound connections are led." }),
  inboundCapturePort: text({ flag: "inbound-capture-port", short: "z", env: "INBOUND_CAPTURE_PORT", default: "15006", help: "Port of Envoy to which inbound connections are led." }),
  inboundTunnelPort: text({ flag: "inbound-tunnel-port", short: "e", env: "INBOUND_TUNNEL_PORT", default: "15008", help: "Port of tunnels, which is reached directly." }),
  proxyUid: text({ flag: "proxy-uid", short: "u", env: "PROXY_UID", default: "", help: "Users whose traffic is left alone. Empty: that of ENVOY_USER, else 1337." }),
  proxyGid: text({ flag: "proxy-gid", short: "g", env: "PROXY_GID", default: "", help: "Groups whose traffic is left alone. Empty: as --proxy-uid." }),
  mode: text({ flag: "istio-inbound-interception-mode", short: "m", env: "ISTIO_INBOUND_INTERCEPTION_MODE", default: "", help: "How inbound connections are led: REDIRECT, or TPROXY, which keeps the caller's address. Empty: REDIRECT." }),
  inboundPorts: text({ flag: "istio-inbound-ports", short: "b", env: "ISTIO_INBOUND_PORTS", default: "", help: "Inbound ports that are captured; * for all, empty for none." }),
  inboundPortsExclude: text({ flag: "istio-local-exclude-ports", short: "d", env: "ISTIO_LOCAL_EXCLUDE_PORTS", default: "", help: "Inbound ports that are not, where all are." }),
  excludeInterfaces: text({ flag: "istio-exclude-interfaces", short: "c", env: "ISTIO_EXCLUDE_INTERFACES", default: "", help: "Interfaces of which nothing is captured." }),
  outboundRanges: text({ flag: "istio-service-cidr", short: "i", env: "ISTIO_SERVICE_CIDR", default: "", help: "Ranges of addresses to which connections are captured; * for all, empty for none." }),
  outboundRangesExclude: text({ flag: "istio-service-exclude-cidr", short: "x", env: "ISTIO_SERVICE_EXCLUDE_CIDR", default: "", help: "Ranges to which they are not." }),
  outboundPorts: text({ flag: "istio-outbound-ports", short: "q", env: "ISTIO_OUTBOUND_PORTS", default: "", help: "Ports to which connections are captured whatever the address." }),
  outboundPortsExclude: text({ flag: "istio-local-outbound-ports-exclude", short: "o", env: "ISTIO_LOCAL_OUTBOUND_PORTS_EXCLUDE", default: "", help: "Ports to which they are not." }),
  virtualInterfaces: text({ flag: "kube-virt-interfaces", short: "k", env: "KUBE_VIRT_INTERFACES", default: "", help: "Interfaces of virtual machines, from which connections count as outbound." }),
  tproxyMark: text({ flag: "istio-inbound-tproxy-mark", short: "t", env: "ISTIO_INBOUND_TPROXY_MARK", default: "1337", help: "Mark of packets of a transparent proxy." }),
  tproxyRouteTable: text({ flag: "istio-inbound-tproxy-route-table", short: "r", env: "ISTIO_INBOUND_TPROXY_ROUTE_TABLE", default: "133", help: "Routing table for them." }),
  dryRun: toggle({ flag: "dry-run", short: "n", env: "DRY_RUN", default: false, help: "Print the rules and change nothing." }),
  probePort: integer({ flag: "iptables-probe-port", env: "IPTABLES_PROBE_PORT", default: 15002, help: "Port to which --run-validation connects." }),
  probeTimeout: duration({ flag: "probe-timeout", env: "PROBE_TIMEOUT", default: 5000, help: "How long --run-validation waits." }),
  skipApply: toggle({ flag: "skip-rule-apply", env: "SKIP_RULE_APPLY", default: false, help: "Make no rules, as where somebody else did." }),
  validate: toggle({ flag: "run-validation", env: "RUN_VALIDATION", default: false, help: "As the proxy's user, see whether connections come to its ports; exit code 126 if not." }),
  redirectDns: toggle({ flag: "redirect-dns", env: "REDIRECT_DNS", default: false, help: "Lead queries of names to the agent, those to the servers of /etc/resolv.conf. ISTIO_META_DNS_CAPTURE says it too." }),
  captureAllDns: toggle({ flag: "capture-all-dns", env: "CAPTURE_ALL_DNS", default: false, help: "With --redirect-dns: queries to whatever server." }),
  dropInvalid: toggle({ flag: "drop-invalid", env: "DROP_INVALID", default: false, help: "Drop packets that belong to no connection. INVALID_DROP says it too." }),
  dualStack: toggle({ flag: "dual-stack", env: "DUAL_STACK", default: false, help: "Rules for IPv6 where any address is one, not only the first. ISTIO_DUAL_STACK says it too." }),
  networkNamespace: text({ flag: "network-namespace", env: "NETWORK_NAMESPACE", default: "", help: "File of the network namespace in which rules are made. Empty: this one." }),
  cniMode: toggle({ flag: "cni-mode", env: "CNI_MODE", default: false, help: "Accepted for compatibility, no effect." }),
  reconcile: toggle({ flag: "reconcile", env: "RECONCILE", default: false, help: "Replace rules of an earlier run that differ." }),
  cleanupOnly: toggle({ flag: "cleanup-only", env: "CLEANUP_ONLY", default: false, help: "Remove the rules and make none." }),
  force: toggle({ flag: "force-apply", env: "FORCE_APPLY", default: false, help: "Make the rules even if they seem to be there." }),
  nftables: toggle({ flag: "native-nftables", env: "NATIVE_NFTABLES", default: false, help: "Not supported: rules are made by iptables, whose newer implementation is nftables." }),
  binary: text({ flag: "force-iptables-binary", env: "FORCE_IPTABLES_BINARY", default: "", help: "legacy or nft. Empty: the one that has rules, else the newer." }),
  loopback: text({ env: "ISTIO_OUTBOUND_IPV4_LOOPBACK_CIDR", default: "127.0.0.1/32", help: "Addresses on loopback that are the application's own." }),
  ownerGroups: text({ env: "ISTIO_OUTBOUND_OWNER_GROUPS", default: "*", help: "Groups whose connections are captured; * for all." }),
  ownerGroupsExclude: text({ env: "ISTIO_OUTBOUND_OWNER_GROUPS_EXCLUDE", default: "", help: "Groups whose connections are not, where all are." }),
  envoyUser: text({ env: "ENVOY_USER", default: "istio-proxy", help: "User of the proxy, where --proxy-uid says nothing." }),
} as const;

/** The values of all settings of `istio-iptables`. */
export type CaptureOptions = { readonly [K in keyof typeof captureTable]: (typeof captureTable)[K] extends Option<infer T> ? T : never };
