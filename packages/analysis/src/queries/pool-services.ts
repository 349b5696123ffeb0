import { configCluster, services } from "@istiod/config-schema";
import { inferencePoolService, poolServiceState } from "@istiod/gateway-api";
import { query } from "@istiod/incremental";

/** The Service that istiod writes for an InferencePool. */
export interface PoolService {
  readonly namespace: string;
  readonly name: string;
  /** False if it does not exist, or not as the pool needs it. */
  readonly isCurrent: boolean;
  /** True if a Service of this name exists that is not of an InferencePool, which istiod leaves alone. */
  readonly isForeign: boolean;
}

/** The Service that istiod writes for an InferencePool (`namespace/name`); undefined if no Gateway needs it. */
export const poolServiceOf = query("writtenPoolService", (q, key: string): PoolService | undefined => {
  const desired = q.call(inferencePoolService, key);
  if (desired === undefined) return undefined;
  const { namespace, name } = desired;
  const written = q.read(services, `${configCluster(q)}/${namespace}/${name}`);
  const observed = written && {
    labels: written.labels,
    selector: written.spec.selector ?? {},
    ports: written.spec.ports,
  };
  const state = poolServiceState(observed, desired);
  return { namespace, name, isCurrent: state === "current", isForeign: state === "foreign" };
});
