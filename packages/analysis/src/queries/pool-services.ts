import { configCluster, inferencePools, services } from "@istiod/config-schema";
import { inferencePoolService, inferencePoolServiceName, poolServiceState } from "@istiod/gateway-api";
import { query, type QueryContext } from "@istiod/incremental";
import { inferencePoolLabels } from "@istiod/service-discovery";

/** The Service that istiod writes for an InferencePool. */
export interface PoolService {
  readonly namespace: string;
  readonly name: string;
  /** False if it does not exist, or not as the pool needs it; false for one that is left of a deleted pool. */
  readonly isCurrent: boolean;
  /** True if a Service of this name exists that is not of an InferencePool, which istiod leaves alone. */
  readonly isForeign: boolean;
}

/**
 * The Service that istiod writes for an InferencePool (`namespace/name`), or that is left of one that is deleted;
 * undefined if no Gateway needs it, or nothing is left.
 */
export const poolServiceOf = query("writtenPoolService", (q, key: string): PoolService | undefined => {
  const desired = q.call(inferencePoolService, key);
  if (desired === undefined) return q.read(inferencePools, key) === undefined ? serviceLeftOf(q, key) : undefined;
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

/** Returns the Service that istiod wrote for a deleted InferencePool, while it exists. */
function serviceLeftOf(q: QueryContext, key: string): PoolService | undefined {
  const [namespace = "", pool = ""] = key.split("/");
  const name = inferencePoolServiceName(pool);
  const written = q.read(services, `${configCluster(q)}/${namespace}/${name}`);
  return written?.labels[inferencePoolLabels.pool] === pool
    ? { namespace, name, isCurrent: false, isForeign: false }
    : undefined;
}
