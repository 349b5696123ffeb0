import type { Proxy } from "@istiod/push-context";
import type { ResourceSet } from "@istiod/resources";

/** Last good resources of a client, by type URL: those that cannot be generated now. */
export type LastGood = ReadonlyMap<string, ResourceSet>;

/** Time for which they are remembered, and the bytes of all. */
const keepMs = 600_000;
const maxBytes = 16 * 1024 * 1024;

interface Remembered {
  readonly until: number;
  readonly resources: LastGood;
  readonly bytes: number;
}

/**
 * Last good resources beyond the life of a stream: those of clients that may connect again, and those that clients of
 * one workload share.
 */
export class LastGoodMemory {
  readonly #clients = new Map<string, Remembered>();
  readonly #shared = new WeakMap<ResourceSet, Map<string, ResourceSet>>();
  #bytes = 0;

  /** Remembers the resources of a client whose stream ends. The oldest are dropped if they are too many. */
  remember(client: string, resources: LastGood, now: number): void {
    this.#delete(client);
    if (resources.size === 0) return;
    let bytes = client.length;
    for (const set of resources.values()) for (const { name, bytes: own } of set) bytes += name.length + own.length;
    this.#clients.set(client, { until: now + keepMs, resources, bytes });
    this.#bytes += bytes;
    for (const [oldest, { until }] of this.#clients) {
      if (this.#bytes <= maxBytes && until > now) break;
      this.#delete(oldest);
    }
  }

  /** Returns and forgets the resources of a client that connects. */
  recall(client: string, now: number): LastGood | undefined {
    const remembered = this.#clients.get(client);
    this.#delete(client);
    return remembered !== undefined && remembered.until > now ? remembered.resources : undefined;
  }

  /** Records a generated set with what its clients of a workload have in the place of its failures. */
  share(generated: ResourceSet, workload: string, completed: ResourceSet): void {
    let byWorkload = this.#shared.get(generated);
    if (byWorkload === undefined) this.#shared.set(generated, (byWorkload = new Map()));
    byWorkload.set(workload, completed);
  }

  /** Returns what another client of the workload has in the place of a set's failures. */
  shared(generated: ResourceSet, workload: string): ResourceSet | undefined {
    return this.#shared.get(generated)?.get(workload);
  }

  #delete(client: string): void {
    this.#bytes -= this.#clients.get(client)?.bytes ?? 0;
    this.#clients.delete(client);
  }
}

/**
 * Returns a key that is equal for proxies that differ in nothing that a resource is generated from, such as replicas of
 * a Deployment in one zone.
 */
export function workloadKey(proxy: Proxy): string {
  const { nodeId, id, ipAddresses, metadata, rawMetadata, ...same } = proxy;
  const own = new Set(["NAME", "INSTANCE_IPS"]);
  const common = Object.entries(rawMetadata).filter(([name]) => !own.has(name));
  // Only without interception are listeners bound to the addresses of the proxy.
  const addresses = metadata.INTERCEPTION_MODE === "NONE" ? [nodeId, id, ...ipAddresses] : [];
  return JSON.stringify([same, addresses, common]);
}
