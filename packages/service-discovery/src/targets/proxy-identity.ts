import type { Labels } from "../model/service.js";

/** The node metadata of a proxy by which its workload and services are found. */
export interface ProxyIdentity {
  /** `name.namespace`, from the node ID. */
  readonly id: string;
  readonly namespace: string;
  /** Empty if not reported, which matches all clusters. */
  readonly cluster: string;
  /** The primary address first. */
  readonly addresses: readonly string[];
  readonly labels: Labels;
  /** Container ports of its pod, if reported. */
  readonly podPorts: readonly { readonly name: string; readonly containerPort: number; readonly protocol: string }[];
  readonly nodeName: string;
  /** The proxy simulates a virtual machine, although it may run in a pod. */
  readonly isVm: boolean;
}

/**
 * Returns the name of the pod or WorkloadEntry in the node ID; undefined if the node ID does not match the namespace.
 */
export function objectNameOf({ id, namespace }: ProxyIdentity): string | undefined {
  const dot = id.indexOf(".");
  return dot > 0 && id.slice(dot + 1) === namespace ? id.slice(0, dot) : undefined;
}
