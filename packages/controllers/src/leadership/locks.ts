/** The object that a leader lock is stored in. */
export interface Lock {
  readonly name: string;
  /** ConfigMaps are the older form, which other revisions of Istio in the same cluster still use. */
  readonly storage: "configmap" | "lease";
}

/** Istio's leader locks, so that its control planes and this one exclude each other. */
export const locks = {
  namespaces: { name: "istio-namespace-controller-election", storage: "configmap" },
  serviceExports: { name: "istio-serviceexport-controller-election", storage: "configmap" },
  ingress: { name: "istio-leader", storage: "configmap" },
  nodeUntaint: { name: "istio-node-untaint", storage: "configmap" },
  analysis: { name: "istio-analyze-leader", storage: "configmap" },
  ipAllocation: { name: "istio-ip-autoallocate", storage: "configmap" },
} as const satisfies Readonly<Record<string, Lock>>;

/** Returns the lock of the objects of managed gateways. Each revision has one, because each has Gateways of its own. */
export function gatewayDeploymentLock(revision: string): Lock {
  return { name: `istio-gateway-deployment-${revision}`, storage: "lease" };
}

/** Returns the lock of the statuses of the Gateway API, of which each revision has one. */
export function gatewayStatusLock(revision: string): Lock {
  return { name: `istio-gateway-status-leader-${revision}`, storage: "lease" };
}
