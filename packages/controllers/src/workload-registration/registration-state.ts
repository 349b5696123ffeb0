import type { KubernetesObject } from "@istiod/kubernetes";
import type { Observed } from "../controller/controller.js";
import type { Write } from "../controller/write.js";
import { annotations, type Condition, type ObservedEntry, workloadEntryType } from "./observed-entries.js";
import type { Health, Registration } from "./workload.js";

const healthy = "Healthy";

/** Identity of an istiod, and the ages at which WorkloadEntries are cleaned up. */
export interface RegistrationPolicy {
  /** Stored in the WorkloadEntries of workloads that are connected to this istiod. */
  readonly identity: string;
  /** Milliseconds after the last stream ended. */
  readonly graceMs: number;
  /** Milliseconds after which a stream has certainly ended; Infinity: streams are not limited. */
  readonly maxConnectionMs: number;
}

interface Target {
  readonly namespace: string;
  readonly name: string;
  readonly observed: Observed<ObservedEntry>;
}

/** Returns the write that makes this istiod the controller of a connected WorkloadEntry, or that reports its health. */
export function connectedWrite(target: Target, registration: Registration, identity: string): Write | undefined {
  const { value } = target.observed;
  const { connectedAt, health } = registration;
  const isNewer = connectedAt > (value.connectedAt ?? 0) && connectedAt >= (value.disconnectedAt ?? 0);
  if (isNewer) return annotate(target, connectedAnnotations(identity, connectedAt));
  // It is connected to another istiod by now.
  if (value.controller !== identity || health === undefined || !value.isHealthChecked) return undefined;
  return healthWrite(target, health);
}

export function connectedAnnotations(identity: string, connectedAt: number): Readonly<Record<string, string | null>> {
  return {
    [annotations.controller]: identity,
    [annotations.connectedAt]: new Date(connectedAt).toISOString(),
    [annotations.disconnectedAt]: null,
  };
}

/** Returns the write that marks a WorkloadEntry as disconnected; undefined if another stream or istiod has it. */
export function disconnectedWrite(target: Target, registration: Registration, identity: string): Write | undefined {
  const { value } = target.observed;
  const { connectedAt, disconnectedAt } = registration;
  if (value.controller !== identity || value.connectedAt === undefined || disconnectedAt === undefined)
    return undefined;
  if (value.connectedAt > connectedAt) return undefined;
  const at = new Date(disconnectedAt).toISOString();
  return annotate(target, { [annotations.connectedAt]: null, [annotations.disconnectedAt]: at });
}

/** Reports whether a WorkloadEntry is to be cleaned up some time, so that its age matters. */
export function isTransient({ group, controller, conditions }: ObservedEntry): boolean {
  return group !== undefined || (controller !== undefined && conditions.some(({ type }) => type === healthy));
}

/**
 * Returns the write that cleans up a WorkloadEntry whose workload has not returned: one that was registered is deleted,
 * and another one loses its health.
 */
export function cleanupWrite(target: Target, now: number, policy: RegistrationPolicy): Write | undefined {
  const { value, uid, resourceVersion } = target.observed;
  const { connectedAt, disconnectedAt } = value;
  const isExpired =
    connectedAt === undefined
      ? disconnectedAt !== undefined && now - disconnectedAt >= policy.graceMs
      : now - connectedAt > policy.maxConnectionMs;
  if (!isExpired) return undefined;
  const name = { namespace: target.namespace, name: target.name };
  if (value.group !== undefined)
    return { action: "delete", type: workloadEntryType, name, base: resourceVersion, uid, resourceVersion };
  return conditionsWrite(
    target,
    value.conditions.filter(({ type }) => type !== healthy),
  );
}

function healthWrite(target: Target, { isHealthy, message, at }: Health): Write | undefined {
  const { conditions } = target.observed.value;
  const before = conditions.find(({ type }) => type === healthy);
  const status = isHealthy ? "True" : "False";
  if (before !== undefined && Date.parse(before.lastProbeTime ?? "") >= at) return undefined;
  const time = new Date(at).toISOString();
  const condition: Condition = {
    type: healthy,
    status,
    lastProbeTime: time,
    lastTransitionTime: time,
    ...(!isHealthy && message !== "" && { message }),
  };
  return conditionsWrite(target, [...conditions.filter(({ type }) => type !== healthy), condition]);
}

function conditionsWrite(target: Target, conditions: readonly Condition[]): Write {
  return { ...merge(target, { status: { conditions } }), subresource: "status" };
}

function annotate(target: Target, given: Readonly<Record<string, string | null>>): Write {
  return merge(target, { metadata: { annotations: given } });
}

function merge({ namespace, name, observed: { resourceVersion } }: Target, fields: KubernetesObject | object) {
  const { metadata = {}, ...rest } = fields as { readonly metadata?: object };
  return {
    action: "merge",
    type: workloadEntryType,
    name: { namespace, name },
    base: resourceVersion,
    fields: { ...rest, metadata: { ...metadata, resourceVersion } },
  } as const;
}
