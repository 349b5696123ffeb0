import type { Labels } from "../model/service.js";

/** What a proxy says of itself, from which its workload and services are found. */
export interface ProxyIdentity {
  /** The first part of its node id: `pod.namespace`. */
  readonly id: string;
  readonly namespace: string;
  /** Empty where it does not say, which fits every cluster. */
  readonly cluster: string;
  /** The primary one first. */
  readonly addresses: readonly string[];
  readonly labels: Labels;
  /** The ports that its pod's containers declare, where it lists them. */
  readonly podPorts: readonly { readonly name: string; readonly containerPort: number; readonly protocol: string }[];
  readonly nodeName: string;
  /** It stands for a virtual machine although it may run in a pod. */
  readonly isVm: boolean;
}

/**
 * The name of the object (pod or WorkloadEntry) that a proxy says it is, or undefined if its id does not fit its
 * namespace.
 */
export function objectNameOf({ id, namespace }: ProxyIdentity): string | undefined {
  const dot = id.indexOf(".");
  return dot > 0 && id.slice(dot + 1) === namespace ? id.slice(0, dot) : undefined;
}
