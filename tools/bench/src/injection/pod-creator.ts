import type { ApiClient } from "@istiod/kubernetes";
import { podOfSize } from "./pods.js";

/** Pods without and with a sidecar, each kind in the namespace of its name. */
export const podKinds = ["plain", "injected"] as const;
export type PodKind = (typeof podKinds)[number];

interface PodSpec {
  readonly containers: readonly object[];
  readonly initContainers?: readonly { readonly name: string }[];
}

/** Containers of a Pod, with its sidecar. */
const expectedContainers: Readonly<Record<PodKind, number>> = { plain: 2, injected: 3 };

/** Creates Pods of a size at an API server. */
export class PodCreator {
  readonly #client: ApiClient;
  readonly #bytes: number;
  #created = 0;

  constructor(client: ApiClient, bytes: number) {
    this.#client = client;
    this.#bytes = bytes;
  }

  /** Creates a Pod. @throws Error if it is injected and should not be, or vice versa */
  async create(kind: PodKind): Promise<void> {
    const containers = await this.#containersOfNew(kind);
    if (containers !== expectedContainers[kind]) throw new Error(`a ${kind} Pod has ${containers} containers`);
  }

  /** Creates Pods until the API server calls the webhook. @throws Error after a minute */
  async untilInjected(): Promise<void> {
    for (const until = performance.now() + 60_000; ;) {
      if ((await this.#containersOfNew("injected")) === expectedContainers.injected) return;
      if (performance.now() > until) throw new Error("the API server did not call the webhook within 60 s");
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  /** Deletes all Pods of a kind. */
  async deleteAll(kind: PodKind): Promise<void> {
    await this.#client.json({ method: "DELETE", path: podsOf(kind), query: { gracePeriodSeconds: 0 } });
  }

  /** Creates a Pod without the fields that the API server sets. Returns the number of its containers. */
  async #containersOfNew(kind: PodKind): Promise<number> {
    const { metadata, spec } = podOfSize(this.#bytes + omittedBytes, this.#created++);
    const body = JSON.stringify({ metadata: kept(metadata), spec });
    const path = podsOf(kind);
    const { spec: stored } = await this.#client.json<{ readonly spec: PodSpec }>({ method: "POST", path, body });
    const { containers, initContainers = [] } = stored;
    return containers.length + initContainers.filter((container) => container.name === "istio-proxy").length;
  }
}

const podsOf = (kind: PodKind): string => `/api/v1/namespaces/${kind}/pods`;

function kept({ name, labels, annotations }: Readonly<Record<string, unknown>>): object {
  return { name, labels, annotations };
}

const omittedBytes = ((): number => {
  const { metadata } = podOfSize(0, 0);
  return JSON.stringify(metadata).length - JSON.stringify(kept(metadata)).length;
})();
