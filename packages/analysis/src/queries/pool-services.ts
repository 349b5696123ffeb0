import { isDeepStrictEqual } from "node:util";
import { configCluster, type ServiceObject, services } from "@istiod/config-schema";
import { inferencePoolService, type InferencePoolService } from "@istiod/gateway-api";
import { query } from "@istiod/incremental";

/** The Service that istiod writes for an InferencePool. */
export interface PoolService {
  readonly namespace: string;
  readonly name: string;
  /** False if it does not exist, or not as the pool needs it. */
  readonly isCurrent: boolean;
}

/** The Service that istiod writes for an InferencePool (`namespace/name`); undefined if no Gateway needs it. */
export const poolServiceOf = query("writtenPoolService", (q, key: string): PoolService | undefined => {
  const desired = q.call(inferencePoolService, key);
  if (desired === undefined) return undefined;
  const { namespace, name } = desired;
  const written = q.read(services, `${configCluster(q)}/${namespace}/${name}`);
  return { namespace, name, isCurrent: written !== undefined && isAsDesired(written, desired) };
});

function isAsDesired({ labels, spec }: ServiceObject, desired: InferencePoolService): boolean {
  return (
    Object.entries(desired.labels).every(([label, value]) => labels[label] === value) &&
    isDeepStrictEqual(spec.selector, desired.selector) &&
    isDeepStrictEqual(
      spec.ports.map(({ port, targetPort }) => [port, targetPort]),
      desired.ports.map(({ port, targetPort }) => [port, targetPort]),
    )
  );
}
