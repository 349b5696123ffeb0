import {
  type ContainerPort,
  type FieldPath,
  podKind,
  pods,
  templatePath,
  type WorkloadKind,
  workloadKinds,
} from "@istiod/config-schema";
import type { QueryContext } from "@istiod/incremental";
import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";
import { ProxyConfig_InboundInterceptionMode as InterceptionMode } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { mesh } from "@istiod/push-context";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { isInjected } from "../../queries/pods.js";
import { type Labels, type Workload, workloadSources } from "../../queries/workload-sources.js";

export const reservedPortAnalyzer: Analyzer = {
  name: "deployment.ReservedPortAnalyzer",
  description: "Checks that applications with a sidecar do not listen on its ports",
  codes: ["MESH0047"],
  rules: [
    rule(podKind, pods, (pod, context) =>
      check(pods.id, pod, pod.spec.ports, pod.annotations, ["spec", "containers"], context),
    ),
    ...workloadKinds.map(ruleOf),
  ],
};

function ruleOf(kind: WorkloadKind) {
  return rule(kind, kind.collection, (object, context) => {
    const { ports, templateAnnotations } = object.spec;
    const path = [...templatePath(kind), "spec", "containers"];
    check(kind.collection.id, object, ports, templateAnnotations, path, context);
  });
}

interface ReservedPort {
  readonly use: string;
  /** The setting of the proxy's configuration with which the sidecar listens at another port, or at none. */
  readonly setting: string;
}

/** Ports of a sidecar. */
const reserved: Readonly<Record<number, ReservedPort>> = {
  15000: { use: "administration", setting: "proxyAdminPort" },
  15001: { use: "outbound connections", setting: "interceptionMode" },
  15006: { use: "inbound connections", setting: "interceptionMode" },
  15020: { use: "merged metrics", setting: "statusPort" },
  15021: { use: "health checks", setting: "ENVOY_STATUS_PORT" },
  15090: { use: "metrics", setting: "ENVOY_PROMETHEUS_PORT" },
};

/** Annotations with which the sidecar listens at another port, or at none, by the setting that they replace. */
const replacing: Readonly<Record<string, string>> = {
  statusPort: "status.sidecar.istio.io/port",
  interceptionMode: "sidecar.istio.io/interceptionMode",
};

/** Reports whether the sidecar of a workload listens at one of its usual ports, and no setting is about that port. */
function isTaken(q: QueryContext, port: number, annotations: Labels): boolean {
  const setting = reserved[port]?.setting;
  if (setting === undefined || movedPorts(mesh(q)).has(port)) return false;
  const templates = annotations["inject.istio.io/templates"] ?? sidecarTemplate;
  if (templates.split(",").some((name) => name.trim() !== sidecarTemplate)) return false;
  const isConfigured = annotations["proxy.istio.io/config"]?.includes(setting) === true;
  return !isConfigured && annotations[replacing[setting] ?? ""] === undefined;
}

/** The template of Envoy as a sidecar. Others may have no Envoy, or change its ports. */
const sidecarTemplate = "sidecar";

/** Returns the usual ports at which the sidecars of the mesh do not listen. */
function movedPorts({
  defaultConfig,
  proxyListenPort,
  proxyInboundListenPort,
}: Pick<MeshConfig, "defaultConfig" | "proxyListenPort" | "proxyInboundListenPort">): ReadonlySet<number> {
  const { proxyAdminPort = 15000, statusPort = 15020, interceptionMode, proxyMetadata = {} } = defaultConfig ?? {};
  const isNone = interceptionMode === InterceptionMode.NONE;
  const moved: readonly (readonly [port: number, isMoved: boolean])[] = [
    [15000, proxyAdminPort !== 15000],
    [15001, proxyListenPort !== 15001 || isNone],
    [15006, proxyInboundListenPort !== 15006 || isNone],
    [15020, statusPort !== 15020],
    [15021, "ENVOY_STATUS_PORT" in proxyMetadata],
    [15090, "ENVOY_PROMETHEUS_PORT" in proxyMetadata],
  ];
  return new Set(moved.filter(([, isMoved]) => isMoved).map(([port]) => port));
}

/** Reports a declared port of an application at which its sidecar listens. */
function check(
  collection: number,
  object: object,
  ports: readonly ContainerPort[],
  annotations: Labels,
  path: FieldPath,
  context: AnalysisContext,
): void {
  const taken = ports.find(
    ({ containerPort, protocol }) => protocol === "TCP" && isTaken(context.q, containerPort, annotations),
  );
  if (taken === undefined) return;
  const source = workloadSources.find(({ of }) => of.id === collection);
  const workload = source?.workload(object);
  if (workload === undefined || !willBeInjected(workload, source?.template === true, context)) return;
  context.report(
    "MESH0047",
    path,
    `declares port ${taken.containerPort}, at which the sidecar listens for ${reserved[taken.containerPort]?.use}, so that one of the two cannot start; choose another port for the application`,
  );
}

/** Reports whether a workload gets a sidecar, and has none yet: its own ports are not the application's. */
function willBeInjected(workload: Workload, template: boolean, { q }: AnalysisContext): boolean {
  return !workload.sidecar && workload.router !== true && !workload.ambient && isInjected(q, { ...workload, template });
}
