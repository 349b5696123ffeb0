import {
  type Container,
  type FieldPath,
  type PodObject,
  templatePath,
  type WorkloadKind,
  type WorkloadObject,
} from "@istiod/config-schema";
import type { AnalysisContext } from "../../analyzer.js";
import { proxyContainer } from "../../queries/membership.js";
import { isControlPlane } from "../../queries/objects.js";

/** The user ID of the proxy, whose traffic is not redirected. */
const proxyUser = 1337;

const ofIstio: ReadonlySet<string> = new Set([proxyContainer, "istio-operator"]);

export function checkPodUser(pod: PodObject, context: AnalysisContext): void {
  if (!isControlPlane(pod)) checkUsers(pod.spec, ["spec"], context);
}

/** Returns the check of the objects of a kind that creates pods. */
export function checkTemplateUser(kind: WorkloadKind): (workload: WorkloadObject, context: AnalysisContext) => void {
  return (workload, context) => {
    if (!isControlPlane(workload)) checkUsers(workload.spec, [...templatePath(kind), "spec"], context);
  };
}

/** Reports a pod or a container of an application that runs as the proxy's user. */
function checkUsers(
  spec: { readonly runAsUser?: number; readonly containers: readonly Container[] },
  at: FieldPath,
  { report }: AnalysisContext,
): void {
  const reportUser = (path: FieldPath, subject: string): void =>
    report(
      "IST0144",
      [...path, "securityContext", "runAsUser"],
      `${subject} as user ID ${proxyUser}, which is reserved for the sidecar proxy, so that its traffic bypasses the proxy; use another user ID`,
    );
  if (spec.runAsUser === proxyUser) reportUser(at, "the pod runs");
  for (const [i, { name, init, runAsUser }] of spec.containers.entries()) {
    if (!init && runAsUser === proxyUser && !ofIstio.has(name))
      reportUser([...at, "containers", i], `container ${name} runs`);
  }
}
