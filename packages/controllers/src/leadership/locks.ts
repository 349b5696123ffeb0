/** The object that a leader lock is stored in. */
export interface Lock {
  readonly name: string;
  /** ConfigMaps are the older form, which other revisions of Istio in the same cluster still use. */
  readonly storage: "configmap" | "lease";
  /** The lock that earlier releases of Istio hold for the same writes. Whoever holds it at the start is waited for. */
  readonly predecessor?: Lock;
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

/** Returns the lock of the Services of InferencePools, of which each revision has one. */
export function inferencePoolLock(revision: string): Lock {
  return { name: `istio-gateway-inferencepool-${revision}`, storage: "lease" };
}

/**
 * Returns the lock of the statuses of the Gateway API, of which each revision has one. Earlier releases of Istio have
 * one for all revisions. Source: `checkAndRunNonRevisionLeaderElectionIfRequired` in
 * pilot/pkg/bootstrap/configcontroller.go.
 */
export function gatewayStatusLock(revision: string): Lock {
  const name = "istio-gateway-status-leader";
  return { name: `${name}-${revision}`, storage: "lease", predecessor: { name, storage: "configmap" } };
}
