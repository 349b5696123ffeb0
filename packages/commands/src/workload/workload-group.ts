import { formatProblem, readText, workloadGroupKind, type WorkloadGroupObject } from "@istiod/config-schema";
import type { ProxyConfig } from "@istiod/istio-api/mesh/v1alpha1/proxy";
import { validateText } from "@istiod/validation";

/** The template of a WorkloadGroup, with Istio's defaults. */
export interface WorkloadGroup {
  readonly name: string;
  readonly namespace: string;
  /** Annotations of the object itself. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly workload: {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
    readonly ports: Readonly<Record<string, number>>;
    readonly serviceAccount: string;
    readonly network: string;
  };
  readonly probe: ProxyConfig["readinessProbe"];
  /** Names of the labels of `spec.template`, which override those of `spec.metadata`. */
  readonly templateLabels: readonly string[];
}

/**
 * Reads the WorkloadGroup of a YAML text.
 *
 * @param place name of the text in errors
 * @throws Error if it is invalid, or if there is not exactly one
 */
export function readWorkloadGroup(text: string, place: string): WorkloadGroup {
  const problem = validateText(text, place).problems.find(({ severity }) => severity === "error");
  if (problem !== undefined) throw new Error(formatProblem(problem));
  const found = readText(text, place).flatMap(({ objects }) =>
    objects.filter(({ kind }) => kind === workloadGroupKind),
  );
  const [first] = found;
  if (first?.object === undefined || found.length > 1)
    throw new Error(`${place}: expected one WorkloadGroup, found ${found.length}`);
  return fromObject(first.object as WorkloadGroupObject);
}

function fromObject({ name, namespace, annotations, spec }: WorkloadGroupObject): WorkloadGroup {
  const { metadata, template } = spec;
  return {
    name,
    namespace,
    annotations,
    workload: {
      labels: { ...metadata?.labels, ...template?.labels },
      annotations: metadata?.annotations ?? {},
      ports: template?.ports ?? {},
      serviceAccount: template?.serviceAccount || "default",
      network: template?.network ?? "",
    },
    probe: spec.probe,
    templateLabels: Object.keys(template?.labels ?? {}),
  };
}
