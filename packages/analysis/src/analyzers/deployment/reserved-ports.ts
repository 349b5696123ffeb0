import {
  type ContainerPort,
  type FieldPath,
  podKind,
  pods,
  templatePath,
  type WorkloadKind,
  workloadKinds,
} from "@istiod/config-schema";
import { type AnalysisContext, type Analyzer, rule } from "../../analyzer.js";
import { isInjected } from "../../queries/pods.js";
import { type Workload, workloadSources } from "../../queries/workload-sources.js";

export const reservedPortAnalyzer: Analyzer = {
  name: "deployment.ReservedPortAnalyzer",
  description: "Checks that applications with a sidecar do not listen on its ports",
  codes: ["MESH0047"],
  rules: [
    rule(podKind, pods, (pod, context) => check(pods.id, pod, pod.spec.ports, ["spec", "containers"], context)),
    ...workloadKinds.map(ruleOf),
  ],
};

function ruleOf(kind: WorkloadKind) {
  return rule(kind, kind.collection, (object, context) =>
    check(kind.collection.id, object, object.spec.ports, [...templatePath(kind), "spec", "containers"], context),
  );
}

/** Ports of a sidecar, by use. */
const reserved: Readonly<Record<number, string>> = {
  15000: "administration",
  15001: "outbound connections",
  15006: "inbound connections",
  15020: "merged metrics",
  15021: "health checks",
  15090: "metrics",
};

/** Reports a declared port of an application at which its sidecar listens. */
function check(
  collection: number,
  object: object,
  ports: readonly ContainerPort[],
  path: FieldPath,
  context: AnalysisContext,
): void {
  const taken = ports.find(({ containerPort, protocol }) => protocol === "TCP" && containerPort in reserved);
  if (taken === undefined) return;
  const source = workloadSources.find(({ of }) => of.id === collection);
  const workload = source?.workload(object);
  if (workload === undefined || !willBeInjected(workload, source?.template === true, context)) return;
  context.report(
    "MESH0047",
    path,
    `declares port ${taken.containerPort}, at which the sidecar listens for ${reserved[taken.containerPort]}, so that one of the two cannot start; choose another port for the application`,
  );
}

/** Reports whether a workload gets a sidecar, and has none yet: its own ports are not the application's. */
function willBeInjected(workload: Workload, template: boolean, { q }: AnalysisContext): boolean {
  return !workload.sidecar && workload.router !== true && !workload.ambient && isInjected(q, { ...workload, template });
}
