import { CaError } from "../errors.js";
import type { AuthorizeImpersonation } from "./certificate-names.js";

/** The fields of a Pod that impersonation depends on. */
export interface NodePod {
  readonly uid: string;
  /** Empty until the Pod is scheduled. */
  readonly node: string;
  readonly serviceAccount: string;
}

/** The service account of Pods on a node. */
export interface AccountOnNode {
  /** ID of the node's cluster. */
  readonly cluster: string;
  readonly node: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

/** The Pods of all clusters. */
export interface NodePods {
  /** Returns a Pod of a cluster; undefined if there is none. */
  pod(cluster: string, namespace: string, name: string): NodePod | undefined;
  /** Reports whether a Pod of a service account runs on a node. */
  runs(account: AccountOnNode): boolean;
}

export interface NodeImpersonationOptions {
  /** Service accounts of node agents, as `namespace/name`. */
  readonly trustedAccounts: ReadonlySet<string>;
  readonly pods: NodePods;
}

/**
 * Returns the authorization of impersonation by node agents, such as ztunnel. The caller's token is bound to a Pod of a
 * trusted service account; that Pod exists in the caller's cluster with the same UID; and a Pod of the impersonated
 * service account runs on its node. Source: security/pkg/server/ca/node_auth.go.
 */
export function nodeImpersonation({ trustedAccounts, pods }: NodeImpersonationOptions): AuthorizeImpersonation {
  return ({ pod: caller }, { namespace, serviceAccount }) => {
    if (caller === undefined) throw refused("the caller's token is not bound to a Pod");
    const account = `${caller.namespace}/${caller.serviceAccount}`;
    if (!trustedAccounts.has(account)) throw refused(`the caller's account ${account} is not trusted with it`);
    const name = `Pod ${caller.namespace}/${caller.name} of cluster ${caller.cluster}`;
    const pod = pods.pod(caller.cluster, caller.namespace, caller.name);
    if (pod === undefined) throw refused(`${name} is not known`);
    if (pod.uid === "" || pod.uid !== caller.uid)
      throw refused(
        `${name} has the UID ${JSON.stringify(pod.uid)}, the token is bound to ${JSON.stringify(caller.uid)}`,
      );
    if (pod.serviceAccount !== caller.serviceAccount)
      throw refused(`${name} has the service account ${pod.serviceAccount}, the token is of ${caller.serviceAccount}`);
    if (pod.node === "") throw refused(`${name} is not on a node`);
    if (caller.node !== undefined && caller.node !== pod.node)
      throw refused(`${name} is on node ${pod.node}, the token is bound to node ${caller.node}`);
    if (!pods.runs({ cluster: caller.cluster, node: pod.node, namespace, serviceAccount }))
      throw refused(`no Pod of service account ${namespace}/${serviceAccount} runs on node ${pod.node}`);
  };
}

function refused(reason: string): CaError {
  return new CaError("impersonation", reason);
}
