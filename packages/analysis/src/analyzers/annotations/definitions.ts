/** The definition of an Istio annotation. */
export interface AnnotationDefinition {
  /** Kinds that it applies to; `Any` for all. */
  readonly kinds: readonly string[];
  readonly alpha: boolean;
  readonly deprecated: boolean;
}

type Flag = "alpha" | "deprecated";

/**
 * Names grouped by kinds and flags. Source: `annotation/annotations.yaml` of istio.io/api, where annotations without a
 * status are alpha.
 */
const table: readonly (readonly [kinds: string, flags: readonly Flag[], names: string])[] = [
  ["Pod", [], "proxy.istio.io/config ambient.istio.io/redirection"],
  ["Pod", ["deprecated"], "sidecar.istio.io/inject"],
  [
    "Pod",
    ["alpha"],
    "prometheus.istio.io/merge-metrics inject.istio.io/templates istio.io/rev istio.io/reroute-virtual-interfaces",
  ],
  ["Pod", ["alpha"], "proxy.istio.io/overrides ambient.istio.io/bypass-inbound-capture ambient.istio.io/dns-capture"],
  [
    "Pod",
    ["alpha"],
    "sidecar.istio.io/status sidecar.istio.io/rewriteAppHTTPProbers sidecar.istio.io/interceptionMode",
  ],
  ["Pod", ["alpha"], "sidecar.istio.io/proxyImage sidecar.istio.io/proxyImageType sidecar.istio.io/bootstrapOverride"],
  ["Pod", ["alpha"], "sidecar.istio.io/proxyCPU sidecar.istio.io/proxyCPULimit sidecar.istio.io/proxyMemory"],
  [
    "Pod",
    ["alpha"],
    "sidecar.istio.io/statsHistogramBuckets sidecar.istio.io/statsHistogramBins sidecar.istio.io/userVolume",
  ],
  [
    "Pod",
    ["alpha"],
    "sidecar.istio.io/statsFlushInterval sidecar.istio.io/statsEvictionInterval sidecar.istio.io/nativeSidecar",
  ],
  ["Pod", ["alpha"], "sidecar.istio.io/logLevel sidecar.istio.io/componentLogLevel sidecar.istio.io/agentLogLevel"],
  ["Pod", ["alpha"], "status.sidecar.istio.io/port readiness.status.sidecar.istio.io/initialDelaySeconds"],
  [
    "Pod",
    ["alpha"],
    "readiness.status.sidecar.istio.io/periodSeconds readiness.status.sidecar.istio.io/failureThreshold",
  ],
  ["Pod", ["alpha"], "readiness.status.sidecar.istio.io/applicationPorts traffic.sidecar.istio.io/excludeInterfaces"],
  [
    "Pod",
    ["alpha"],
    "traffic.sidecar.istio.io/includeOutboundIPRanges traffic.sidecar.istio.io/excludeOutboundIPRanges",
  ],
  ["Pod", ["alpha"], "traffic.sidecar.istio.io/includeOutboundPorts traffic.sidecar.istio.io/excludeOutboundPorts"],
  ["Pod", ["alpha"], "traffic.sidecar.istio.io/includeInboundPorts traffic.sidecar.istio.io/excludeInboundPorts"],
  ["Pod", ["alpha"], "sidecar.istio.io/proxyMemoryLimit sidecar.istio.io/userVolumeMount"],
  [
    "Pod",
    ["alpha", "deprecated"],
    "sidecar.istio.io/discoveryAddress sidecar.istio.io/extraStatTags sidecar.istio.io/statsCompression",
  ],
  ["Pod", ["alpha", "deprecated"], "sidecar.istio.io/statsInclusionPrefixes sidecar.istio.io/statsInclusionSuffixes"],
  [
    "Pod",
    ["alpha", "deprecated"],
    "sidecar.istio.io/statsInclusionRegexps traffic.sidecar.istio.io/kubevirtInterfaces",
  ],
  ["Service", [], "traffic.istio.io/nodeSelector"],
  ["Service", ["alpha"], "networking.istio.io/exportTo"],
  [
    "Service",
    ["alpha", "deprecated"],
    "alpha.istio.io/kubernetes-serviceaccounts alpha.istio.io/canonical-serviceaccounts",
  ],
  ["Ingress", [], "kubernetes.io/ingress.class"],
  ["Any", ["alpha"], "galley.istio.io/analyze-suppress gateway.istio.io/controller-version"],
  ["AuthorizationPolicy", ["alpha"], "istio.io/dry-run"],
  [
    "WorkloadEntry",
    ["alpha"],
    "istio.io/autoRegistrationGroup istio.io/workloadController istio.io/connectedAt istio.io/disconnectedAt",
  ],
  ["Namespace", ["alpha"], "topology.istio.io/controlPlaneClusters"],
  ["GatewayClass Gateway", ["alpha"], "ambient.istio.io/waypoint-inbound-binding"],
  [
    "Gateway",
    ["alpha"],
    "gateway.istio.io/service-account gateway.istio.io/name-override networking.istio.io/service-type",
  ],
  [
    "Namespace Service ServiceEntry",
    ["alpha"],
    "networking.istio.io/traffic-distribution istio.io/use-waypoint-canary-weight",
  ],
];

/** Istio's annotations by name. */
export const annotationDefinitions: ReadonlyMap<string, AnnotationDefinition> = new Map(
  table.flatMap(([kinds, flags, names]) => {
    const definition = {
      kinds: kinds.split(" "),
      alpha: flags.includes("alpha"),
      deprecated: flags.includes("deprecated"),
    };
    return names.split(" ").map((name) => [name, definition] as const);
  }),
);

/** Annotations that Istio itself sets. They are not analyzed. */
const setByIstio: ReadonlySet<string> = new Set([
  "sidecar.istio.io/status",
  "gateway.istio.io/controller-version",
  "istio.io/rev",
]);

/** Reports whether an annotation is in Istio's domain, and was not set by Istio itself. */
export function isAnalyzedAnnotation(name: string): boolean {
  const [domain = ""] = name.split("/");
  return (domain.endsWith("istio.io") || name === "kubernetes.io/ingress.class") && !setByIstio.has(name);
}
