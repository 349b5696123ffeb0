import type { Condition, ContainerStatus, Pod, PodStatus } from "../kube/objects.js";

export interface PodProgress {
  readonly hostIP: string;
  readonly podIP: string | undefined;
  readonly startTime: string;
  readonly init: readonly ContainerStatus[];
  readonly containers: readonly ContainerStatus[];
  readonly ephemeral: readonly ContainerStatus[];
  /** All init containers are done, and all sidecars started. */
  readonly isInitialized: boolean;
  /** Set when all containers have ended for good. */
  readonly finished?: "Succeeded" | "Failed";
  readonly reason?: string;
  readonly message?: string;
}

/** Returns the status of a pod. Conditions of others, such as readiness gates, are kept. */
export function podStatus(pod: Pod, progress: PodProgress, now: string): PodStatus {
  const { hostIP, podIP, startTime, init, containers, ephemeral, isInitialized, finished, reason, message } = progress;
  const sidecars = init.filter(({ name }) => isSidecar(pod, name));
  // A container that waits to be restarted has run.
  const isRunning =
    isInitialized &&
    containers.some(({ state, lastState }) => state.running || state.terminated || lastState?.terminated);
  const unready = [...sidecars, ...containers].filter(({ ready }) => !ready).map(({ name }) => name);
  const isContainersReady = isInitialized && unready.length === 0 && finished === undefined;
  const gates = (pod.spec.readinessGates ?? []).map(({ conditionType }) => conditionType);
  const isTrue = (type: string): boolean =>
    pod.status?.conditions?.some((condition) => condition.type === type && condition.status === "True") ?? false;
  const closed = gates.filter((type) => !isTrue(type));
  const why = finished === undefined ? "ContainersNotReady" : `Pod${finished === "Failed" ? "Failed" : "Completed"}`;
  const names = `containers with unready status: [${unready.join(" ")}]`;
  const conditions: Omit<Condition, "lastTransitionTime">[] = [
    state("PodReadyToStartContainers", podIP !== undefined && finished === undefined),
    state("Initialized", isInitialized, "ContainersNotInitialized"),
    state("ContainersReady", isContainersReady, why, names),
    isContainersReady && closed.length > 0
      ? state("Ready", false, "ReadinessGatesNotReady", `readiness gates that are not true: ${closed.join(", ")}`)
      : state("Ready", isContainersReady, why, names),
    state("PodScheduled", true),
  ];
  return {
    phase: finished ?? (isRunning ? "Running" : "Pending"),
    reason: reason ?? null,
    message: message ?? null,
    conditions: mergeConditions(pod.status?.conditions ?? [], conditions, now),
    hostIP,
    hostIPs: [{ ip: hostIP }],
    ...(podIP !== undefined && { podIP, podIPs: [{ ip: podIP }] }),
    startTime,
    ...(init.length > 0 && { initContainerStatuses: init.map((status) => initStatus(pod, status)) }),
    containerStatuses: containers,
    ...(ephemeral.length > 0 && { ephemeralContainerStatuses: ephemeral }),
  };
}

/** An init container is ready once it has succeeded, and a sidecar by its probe. */
function initStatus(pod: Pod, status: ContainerStatus): ContainerStatus {
  return isSidecar(pod, status.name) ? status : { ...status, ready: status.state.terminated?.exitCode === 0 };
}

export function isSidecar({ spec }: Pod, name: string): boolean {
  return (
    spec.initContainers?.some((container) => container.name === name && container.restartPolicy === "Always") ?? false
  );
}

function state(type: string, isTrue: boolean, reason?: string, message?: string) {
  if (isTrue) return { type, status: "True" as const };
  return { type, status: "False" as const, ...(reason && { reason }), ...(message && { message }) };
}

/** Replaces conditions by type. The transition time of those whose status is the same stays. */
export function mergeConditions(
  current: readonly Condition[],
  next: readonly Omit<Condition, "lastTransitionTime">[],
  now: string,
): Condition[] {
  const kept = current.filter(({ type }) => !next.some((condition) => condition.type === type));
  const merged = next.map((condition) => {
    const before = current.find(({ type, status }) => type === condition.type && status === condition.status);
    return { ...condition, lastTransitionTime: before?.lastTransitionTime ?? now };
  });
  return [...merged, ...kept];
}
