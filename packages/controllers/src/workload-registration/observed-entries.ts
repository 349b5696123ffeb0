import type { KubernetesObject, ResourceType } from "@istiod/kubernetes";
import type { Workload } from "./workload.js";

export const annotations = {
  group: "istio.io/autoRegistrationGroup",
  controller: "istio.io/workloadController",
  connectedAt: "istio.io/connectedAt",
  disconnectedAt: "istio.io/disconnectedAt",
  healthChecked: "proxy.istio.io/health-checks-enabled",
} as const;

export const workloadEntryType: ResourceType = networking("WorkloadEntry", "workloadentries");
export const workloadGroupType: ResourceType = networking("WorkloadGroup", "workloadgroups");

/** A condition of a status. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
  readonly lastProbeTime?: string;
  readonly [field: string]: unknown;
}

/** The fields of a WorkloadEntry that its registration depends on. */
export interface ObservedEntry {
  readonly group: string | undefined;
  readonly controller: string | undefined;
  readonly connectedAt: number | undefined;
  readonly disconnectedAt: number | undefined;
  readonly isHealthChecked: boolean;
  readonly serviceAccount: string;
  readonly conditions: readonly Condition[];
}

export const entryFields = {
  metadata: { annotations: true },
  spec: { serviceAccount: true },
  status: { conditions: true },
} as const;

interface WorkloadEntry extends KubernetesObject {
  readonly spec?: { readonly serviceAccount?: string };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export function observeEntry({ metadata, spec, status }: WorkloadEntry): ObservedEntry {
  const of = metadata?.annotations ?? {};
  return {
    group: of[annotations.group] || undefined,
    controller: of[annotations.controller] || undefined,
    connectedAt: timeOf(of[annotations.connectedAt]),
    disconnectedAt: timeOf(of[annotations.disconnectedAt]),
    isHealthChecked: of[annotations.healthChecked] !== undefined,
    serviceAccount: spec?.serviceAccount ?? "",
    conditions: status?.conditions ?? [],
  };
}

/** The fields of a WorkloadGroup that its WorkloadEntries are made of. */
export interface ObservedGroup {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly template: Readonly<Record<string, unknown>>;
}

export const groupFields = { spec: { metadata: true, template: true } } as const;

interface WorkloadGroup extends KubernetesObject {
  readonly spec?: {
    readonly metadata?: Partial<Pick<ObservedGroup, "labels" | "annotations">>;
    readonly template?: Readonly<Record<string, unknown>>;
  };
}

export function observeGroup({ spec }: WorkloadGroup): ObservedGroup {
  const { labels = {}, annotations: given = {} } = spec?.metadata ?? {};
  return { labels, annotations: given, template: spec?.template ?? {} };
}

/** Returns the WorkloadEntry of a workload of a group. Source: pilot/pkg/autoregistration. */
export function entryFromGroup(
  name: string,
  workload: Workload,
  group: ObservedGroup & { readonly uid: string },
): KubernetesObject {
  const { namespace, network, locality, address, acceptsTunnels, isProbed } = workload;
  const groupName = workload.group ?? "";
  // The locality is a field of its own, and is no valid value of a label.
  const { "istio-locality": _locality, ...reported } = workload.labels;
  const template = group.template as { readonly labels?: Readonly<Record<string, string>> };
  const labels: Readonly<Record<string, string>> = {
    ...(acceptsTunnels && { "networking.istio.io/tunnel": "http" }),
    ...template.labels,
    ...group.labels,
    ...reported,
  };
  const owner = { apiVersion: "networking.istio.io/v1", kind: "WorkloadGroup", name: groupName, uid: group.uid };
  const metadata = {
    namespace,
    name,
    labels,
    annotations: {
      [annotations.group]: groupName,
      ...group.annotations,
      ...(isProbed && { [annotations.healthChecked]: "true" }),
    },
    ownerReferences: [{ ...owner, controller: true }],
  };
  const spec = {
    ...template,
    address,
    labels,
    ...(network !== undefined && { network }),
    ...(locality !== undefined && { locality }),
  };
  return { metadata, spec } as KubernetesObject;
}

function timeOf(text: string | undefined): number | undefined {
  const time = text === undefined ? NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

function networking(kind: string, plural: string): ResourceType {
  return { group: "networking.istio.io", version: "v1", kind, plural, namespaced: true };
}
