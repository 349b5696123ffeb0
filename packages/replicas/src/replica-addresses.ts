import type { ApiClient } from "@istiod/kubernetes";
import { replicaPods, type ReplicaPodsOptions } from "./replica-pods.js";

/** A replica, by the host and port of its xDS over TLS. */
export interface ReplicaAddress {
  /** Name for messages. */
  readonly name: string;
  readonly address: string;
}

/** Returns the replicas of given addresses, which are their names. @throws Error that names the address */
export function givenReplicas(addresses: readonly string[]): readonly ReplicaAddress[] {
  return addresses.map((address) => {
    const isValid = URL.canParse(`https://${address}`) && /:\d+$/.test(address) && !/[/?#@]/.test(address);
    if (!isValid) throw new Error(`${address}: expected a host and a port, as in 10.0.0.2:15012`);
    return { name: address, address };
  });
}

export interface OtherPodsOptions extends ReplicaPodsOptions {
  /** Name of the Pod that asks. */
  readonly podName: string;
  /** Port of xDS over TLS, the same in all Pods. */
  readonly port: number;
}

/** Returns the replicas in the other Pods of a revision. @throws ApiError */
export async function replicasInOtherPods(
  client: ApiClient,
  { podName, port, ...pods }: OtherPodsOptions,
): Promise<readonly ReplicaAddress[]> {
  return (await replicaPods(client, pods))
    .filter(({ name }) => name !== podName)
    .map(({ name, address }) => ({ name, address: `${bracketed(address)}:${port}` }));
}

function bracketed(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}
