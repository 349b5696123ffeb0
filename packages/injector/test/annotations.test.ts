import { describe, expect, it } from "vitest";
import { InjectorError, validateAnnotations } from "@istiod/injector";

const accepted: readonly (readonly [string, string])[] = [
  ["sidecar.istio.io/interceptionMode", "TPROXY"],
  ["status.sidecar.istio.io/port", "0"],
  ["status.sidecar.istio.io/port", " 15020 "],
  ["readiness.status.sidecar.istio.io/periodSeconds", "4294967295"],
  ["traffic.sidecar.istio.io/includeOutboundIPRanges", "*"],
  ["traffic.sidecar.istio.io/includeOutboundIPRanges", "10.0.0.1/8,fd00::/8"],
  ["traffic.sidecar.istio.io/excludeOutboundIPRanges", ""],
  ["traffic.sidecar.istio.io/includeInboundPorts", "*"],
  ["traffic.sidecar.istio.io/excludeInboundPorts", "80, 443"],
  ["traffic.sidecar.istio.io/excludeOutboundPorts", "  "],
  ["traffic.sidecar.istio.io/excludeInterfaces", "eth0, net-1.2"],
  ["istio.io/reroute-virtual-interfaces", ""],
  ["prometheus.istio.io/merge-metrics", "T"],
  ["proxy.istio.io/config", "concurrency: 2"],
  ["sidecar.istio.io/logLevel", "warning,upstream:debug"],
  ["sidecar.istio.io/componentLogLevel", "misc:error"],
  ["sidecar.istio.io/agentLogLevel", "default:info,ads:debug"],
  ["sidecar.istio.io/agentLogLevel", "none"],
  ["sidecar.istio.io/statsEvictionInterval", "5s"],
  ["sidecar.istio.io/statsFlushInterval", "500ms"],
  ["sidecar.istio.io/statsInclusionRegexps", ".*upstream_rq.*,listener\\.{pod_ip}.*"],
  ["sidecar.istio.io/statsInclusionPrefixes", ""],
  ["sidecar.istio.io/statsHistogramBuckets", '{"cluster.": [1, 0.5]}'],
  ["proxy.istio.io/config", "proxyStatsMatcher: {inclusionRegexps: ['.*upstream.*']}"],
  ["sidecar.istio.io/proxyCPU", "100m"],
  ["sidecar.istio.io/proxyMemoryLimit", "1Gi"],
  ["other.example/any", "x\ny"],
];

const refused: readonly (readonly [string, string, string])[] = [
  ["sidecar.istio.io/interceptionMode", "redirect", "interceptionMode invalid"],
  ["status.sidecar.istio.io/port", "65536", "failed parsing port"],
  ["status.sidecar.istio.io/port", "", "failed parsing port"],
  ["readiness.status.sidecar.istio.io/failureThreshold", "-1", "expected a number"],
  ["readiness.status.sidecar.istio.io/initialDelaySeconds", "4294967296", "expected a number"],
  ["traffic.sidecar.istio.io/includeOutboundIPRanges", "10.0.0.0", "includeIPRanges invalid"],
  ["traffic.sidecar.istio.io/excludeOutboundIPRanges", "*", "excludeIPRanges invalid"],
  ["traffic.sidecar.istio.io/includeInboundPorts", "80,*", "includeInboundPorts invalid"],
  ["traffic.sidecar.istio.io/excludeInboundPorts", "*", "excludeInboundPorts invalid"],
  ["traffic.sidecar.istio.io/excludeOutboundPorts", "http", "excludeOutboundPorts invalid"],
  ["traffic.sidecar.istio.io/excludeInterfaces", "eth0,", "empty interface name"],
  ["traffic.sidecar.istio.io/kubevirtInterfaces", "abcdefghijklmnop", "too long"],
  ["istio.io/reroute-virtual-interfaces", "eth0;rm", "invalid characters"],
  ["prometheus.istio.io/merge-metrics", "yes", "expected a boolean"],
  ["proxy.istio.io/config", "concurrency: [", "is not YAML"],
  ["proxy.istio.io/config", "statusPort: 99999999", "statusPort"],
  ["proxy.istio.io/config", "drainDuration: 1.5sx", 'drainDuration is "1.5sx"'],
  ["proxy.istio.io/config", "tracing: {sampling: 1.5x}", 'tracing.sampling is "1.5x"'],
  ["sidecar.istio.io/logLevel", "verbose", "expected a level"],
  ["sidecar.istio.io/agentLogLevel", "x:y", 'has "x:y", expected a level'],
  ["sidecar.istio.io/agentLogLevel", "info,loud", 'has "loud", expected a level'],
  ["sidecar.istio.io/agentLogLevel", "", "expected a level"],
  ["sidecar.istio.io/componentLogLevel", "network:debug", 'proxies have no component "network"'],
  ["proxy.istio.io/config", "fileFlushInterval: 0.0005s", "expected whole milliseconds"],
  ["sidecar.istio.io/statsEvictionInterval", "500ms", "expected a multiple of the flush interval, 5s"],
  ["sidecar.istio.io/statsFlushInterval", "5m", "expected 1ms to less than 5m"],
  ["sidecar.istio.io/statsFlushInterval", "often", "expected a duration"],
  ["sidecar.istio.io/statsInclusionRegexps", "a,[", "is not an RE2 pattern"],
  ["sidecar.istio.io/statsInclusionPrefixes", "a,,b", "has an empty element"],
  ["sidecar.istio.io/statsHistogramBuckets", '{"cluster.": [0]}', "expected a list of different numbers above 0"],
  ["sidecar.istio.io/extraStatTags", "a(", "expected the name of a tag"],
  ["proxy.istio.io/config", "proxyStatsMatcher: {inclusionRegexps: ['[']}", "inclusionRegexps[0] has"],
  ["proxy.istio.io/config", "extraStatTags: ['*']", "extraStatTags[0] has"],
  ["sidecar.istio.io/proxyCPU", "much", "expected a quantity"],
  ["sidecar.istio.io/proxyMemory", "1Gi\n", "control characters"],
];

describe("annotations", () => {
  it.each(accepted)("%s may be %j", (name, value) => {
    expect(() => validateAnnotations({ [name]: value })).not.toThrow();
  });

  it.each(refused)("%s must not be %j", (name, value, reason) => {
    const check = (): void => validateAnnotations({ [name]: value });
    expect(check).toThrow(InjectorError);
    expect(check).toThrow(`invalid value '${value}' for annotation '${name}': `);
    expect(check).toThrow(reason);
  });

  it("are all named", () => {
    const both = { "sidecar.istio.io/proxyCPU": "x", "sidecar.istio.io/proxyMemory": "y" };
    expect(() => validateAnnotations(both)).toThrow(/proxyCPU.*proxyMemory/);
  });
});
