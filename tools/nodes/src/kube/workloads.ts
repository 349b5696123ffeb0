import type { Condition, LabelSelector, PodTemplate, Stored } from "./objects.js";

export interface ReplicaSet extends Stored {
  readonly spec: { readonly replicas?: number; readonly selector: LabelSelector; readonly template: PodTemplate };
  readonly status?: object;
}

export interface Deployment extends Stored {
  readonly spec: {
    readonly replicas?: number;
    readonly paused?: boolean;
    readonly revisionHistoryLimit?: number;
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
    readonly strategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxSurge?: number | string; readonly maxUnavailable?: number | string };
    };
  };
  readonly status?: { readonly conditions?: readonly Condition[]; readonly readyReplicas?: number };
}

export interface StatefulSet extends Stored {
  readonly spec: {
    readonly replicas?: number;
    readonly serviceName?: string;
    readonly ordinals?: { readonly start?: number };
    readonly podManagementPolicy?: string;
    readonly updateStrategy?: { readonly type?: string; readonly rollingUpdate?: { readonly partition?: number } };
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
  };
  readonly status?: object;
}

export interface DaemonSet extends Stored {
  readonly spec: {
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly maxUnavailable?: number | string };
    };
    readonly selector: LabelSelector;
    readonly template: PodTemplate;
  };
  readonly status?: object;
}

export interface Job extends Stored {
  readonly spec: {
    readonly completions?: number;
    readonly parallelism?: number;
    readonly backoffLimit?: number;
    readonly suspend?: boolean;
    readonly ttlSecondsAfterFinished?: number;
    readonly template: PodTemplate;
  };
  readonly status?: {
    readonly startTime?: string;
    readonly completionTime?: string;
    readonly conditions?: readonly Condition[];
  };
}
