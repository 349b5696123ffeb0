import { isDeepStrictEqual } from "node:util";
import { inferencePools } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { inferencePoolLabels, inferencePoolSemantics } from "@istiod/service-discovery";
import { inferencePoolServiceName } from "../routes/backends.js";
import { inferencePoolStatus } from "./inference-pool-status.js";

/** The headless Service by which the Pods of an InferencePool are found. */
export interface InferencePoolService {
  readonly namespace: string;
  readonly name: string;
  /** Name of the pool, which owns the Service. */
  readonly pool: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly selector: Readonly<Record<string, string>>;
  readonly ports: readonly {
    readonly name: string;
    readonly port: number;
    readonly targetPort: number;
    readonly appProtocol?: string;
  }[];
}

/** The number of the first port of such a Service. Nobody sends requests to it. */
const firstPort = 54_321;

/**
 * The Services that stand for InferencePools to which routes of istiod's Gateways lead, in order of their keys. Source:
 * `translateShadowServiceToService` in pilot/pkg/config/kube/gateway/inferencepool_collection.go.
 */
export const inferencePoolServices = query("inferencePoolServices", (q): readonly InferencePoolService[] =>
  q.keys(inferencePools).flatMap((key) => q.call(inferencePoolService, key) ?? []),
);

/** The Service that stands for an InferencePool (`namespace/name`); undefined if no Gateway needs it. */
export const inferencePoolService = query(
  "inferencePoolService",
  (q, key: string): InferencePoolService | undefined => {
    const pool = q.read(inferencePools, key);
    const { endpointPicker, selector, targetPorts, appProtocol } = pool?.spec ?? {};
    const hasParents = (q.call(inferencePoolStatus, key)?.parents.length ?? 0) > 0;
    if (pool === undefined || endpointPicker?.port === undefined || !hasParents) return undefined;
    const { semantics, pool: poolLabel, pickerService, pickerPort, pickerFailureMode } = inferencePoolLabels;
    return {
      namespace: pool.namespace,
      name: inferencePoolServiceName(pool.name),
      pool: pool.name,
      labels: {
        [poolLabel]: pool.name,
        [pickerService]: endpointPicker.name,
        [pickerPort]: String(endpointPicker.port),
        [pickerFailureMode]: endpointPicker.failureMode ?? "FailClose",
        [semantics]: inferencePoolSemantics,
      },
      selector: selector ?? {},
      ports: (targetPorts ?? []).map((targetPort, i) => ({
        name: `http-${i}`,
        port: firstPort + i,
        targetPort,
        ...(appProtocol !== undefined && { appProtocol }),
      })),
    };
  },
);

/** The parts of a Service of the API server by which it is compared with the one that an InferencePool needs. */
export interface ObservedPoolService {
  readonly labels: Readonly<Record<string, string>>;
  readonly selector: Readonly<Record<string, string>>;
  readonly ports: readonly {
    readonly name?: string | undefined;
    readonly port?: number | undefined;
    readonly targetPort?: number | string | undefined;
    readonly appProtocol?: string | undefined;
  }[];
}

/**
 * Compares a Service of the API server with the one that an InferencePool needs. One that is `foreign` has the name,
 * but is not of an InferencePool, and istiod leaves it alone.
 */
export function poolServiceState(
  observed: ObservedPoolService | undefined,
  desired: InferencePoolService,
): "missing" | "foreign" | "outdated" | "current" {
  if (observed === undefined) return "missing";
  if (observed.labels[inferencePoolLabels.pool] === undefined) return "foreign";
  const isCurrent =
    Object.entries(desired.labels).every(([label, value]) => observed.labels[label] === value) &&
    isDeepStrictEqual({ ...observed.selector }, { ...desired.selector }) &&
    isDeepStrictEqual(observed.ports.map(comparedPort), desired.ports.map(comparedPort));
  return isCurrent ? "current" : "outdated";
}

type ObservedPort = ObservedPoolService["ports"][number];

/** Returns the fields of a port that istiod writes, absent ones as undefined. */
function comparedPort({ name, port, targetPort, appProtocol }: ObservedPort): ObservedPort {
  return { name, port, targetPort, appProtocol };
}
