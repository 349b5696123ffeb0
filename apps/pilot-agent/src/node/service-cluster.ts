import { type ProxyConfig, ProxyConfig_TracingServiceName } from "@istiod/istio-api/mesh/v1alpha1/proxy";

const APP_LABELS = ["service.istio.io/canonical-name", "app.kubernetes.io/name", "app"];
/** Order of precedence for the service cluster, which differs from that of the canonical name. */
const APP_LABELS_FOR_CLUSTER = ["app", "app.kubernetes.io/name", "service.istio.io/canonical-name"];

export interface Workload {
  readonly labels: Readonly<Record<string, string>>;
  readonly namespace: string;
  /** Empty if unknown. */
  readonly workloadName: string;
}

/** Returns the node's `cluster`, which identifies the workload in traces and statistics. */
export function serviceCluster(config: ProxyConfig, workload: Workload): string {
  const { labels, namespace, workloadName } = workload;
  const canonical = first(labels, APP_LABELS) ?? (workloadName || "istio-proxy");
  const { clusterName } = config;
  if (clusterName.case === "serviceCluster") return orDefault(clusterName.value, workload);
  if (clusterName.case === undefined) return orDefault("", workload);
  switch (clusterName.value) {
    case ProxyConfig_TracingServiceName.CANONICAL_NAME_ONLY:
      return orDefault(canonical, workload);
    case ProxyConfig_TracingServiceName.CANONICAL_NAME_AND_NAMESPACE:
      return namespace === "" ? orDefault(canonical, workload) : `${canonical}.${namespace}`;
    default:
      return orDefault("", workload);
  }
}

function orDefault(name: string, { labels, namespace, workloadName }: Workload): string {
  if (name !== "" && name !== "istio-proxy") return name;
  const app = first(labels, APP_LABELS_FOR_CLUSTER);
  if (app !== undefined) return `${app}.${namespace}`;
  if (workloadName !== "") return `${workloadName}.${namespace}`;
  return namespace === "" ? "istio-proxy" : `istio-proxy.${namespace}`;
}

function first(labels: Readonly<Record<string, string>>, names: readonly string[]): string | undefined {
  return names.map((name) => labels[name]).find((value) => value !== undefined);
}
