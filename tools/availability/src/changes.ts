import { setTimeout as wait } from "node:timers/promises";
import { change, type ChangeKind, type Mesh } from "@istiod/bench";
import type { Loss, TestCluster } from "@istiod/outage";

const kinds: readonly ChangeKind[] = ["endpoint", "weight", "policy", "rule", "service-add", "endpoint", "service-del"];

interface MeshSlice {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly endpoints?: readonly { readonly addresses: readonly string[] }[];
}

/** A trickle of changes of a mesh in a cluster. */
export class Changes {
  readonly #mesh: Mesh;
  readonly #cluster: TestCluster;
  /** Addresses and hosts that changes take from proxies. */
  readonly #removed = new Set<string>();
  /** Addresses of EndpointSlices. */
  readonly #addresses = new Map<string, readonly string[]>();
  #isRunning = false;
  #running: Promise<void> = Promise.resolve();
  #written = 0;

  constructor(mesh: Mesh, cluster: TestCluster) {
    this.#mesh = mesh;
    this.#cluster = cluster;
    this.#noteEndpoints(mesh.objects());
  }

  /** Number of changes since the start. */
  get written(): number {
    return this.#written;
  }

  start(everyMs: number): void {
    this.#isRunning = true;
    this.#running = this.#run(everyMs);
    this.#running.catch(() => undefined);
  }

  /** Stops after the current change. @throws Error of a change that could not be written */
  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#running;
  }

  /** Reports whether a change has taken something from a proxy. */
  isExpected({ resource, part = "" }: Loss): boolean {
    return [...this.#removed].some((name) => resource.includes(name) || part.includes(name));
  }

  async #run(everyMs: number): Promise<void> {
    while (this.#isRunning) {
      await this.#next();
      await wait(everyMs);
    }
  }

  async #next(): Promise<void> {
    const { objects } = this.#cluster;
    const kind = kinds[this.#written % kinds.length] ?? "weight";
    const { put, removed } = change(this.#mesh, kind, this.#written++);
    this.#noteEndpoints(put);
    for (const { kind: removedKind, metadata } of removed)
      if (removedKind === "Service") this.#removed.add(`${metadata.name}.${metadata.namespace}.svc`);
    await objects.write(put);
    for (const object of removed) await objects.delete(object);
  }

  #noteEndpoints(objects: readonly MeshSlice[]): void {
    for (const { kind, metadata, endpoints = [] } of objects) {
      if (kind !== "EndpointSlice") continue;
      const key = `${metadata.namespace}/${metadata.name}`;
      const addresses = endpoints.flatMap((endpoint) => endpoint.addresses);
      for (const address of this.#addresses.get(key) ?? [])
        if (!addresses.includes(address)) this.#removed.add(JSON.stringify(address));
      this.#addresses.set(key, addresses);
    }
  }
}
