import type { MeshObject } from "../random-mesh.js";

/** The parts of a DestinationRule's traffic policy of which gRPC's configuration differs from Istio's. */
export interface Policy {
  readonly loadBalancer?: { readonly simple?: string; readonly consistentHash?: ConsistentHash };
  readonly outlierDetection?: {
    readonly failurePercentageThreshold?: number;
    readonly interval?: string;
    readonly baseEjectionTime?: string;
    readonly maxEjectionPercent?: number;
  };
  readonly tls?: { readonly mode: string; readonly subjectAltNames?: readonly string[] };
}

export interface ConsistentHash {
  readonly httpHeaderName?: string;
  readonly useSourceIp?: boolean;
  readonly maglev?: object;
}

interface DeclaredPolicy extends Policy {
  readonly portLevelSettings?: readonly (Policy & { readonly port: { readonly number: number } })[];
}

interface Rule {
  readonly host: string;
  readonly trafficPolicy?: DeclaredPolicy;
  readonly subsets?: readonly { readonly name: string; readonly trafficPolicy?: DeclaredPolicy }[];
}

/**
 * Returns the policy that a DestinationRule declares for a cluster, `outbound|80|v1|cart.shop.svc.cluster.local`.
 * Settings of a port replace all others. Computed from the objects, not by the queries that are compared.
 */
export function clusterPolicy(objects: readonly MeshObject[], cluster: string): Policy {
  const [, port, name, host] = cluster.split("|");
  const rules = objects.filter(({ kind }) => kind === "DestinationRule").map(({ spec }) => spec as Rule);
  const rule = rules.find((each) => each.host === host);
  const ofPort = (policy: DeclaredPolicy | undefined): Policy | undefined =>
    policy?.portLevelSettings?.find((each) => each.port.number === Number(port));
  const base = ofPort(rule?.trafficPolicy) ?? rule?.trafficPolicy ?? {};
  const subset = rule?.subsets?.find((each) => each.name === name)?.trafficPolicy;
  return ofPort(subset) ?? { ...base, ...subset };
}
