import { istioKinds } from "@istiod/config-schema";
import type { ResourceType } from "@istiod/kubernetes";
import { type ObjectInput, startApiServer } from "@istiod/kubernetes/testing";

/** An API server that istiod reads. */
export interface FilledServer {
  /** The administrator's. */
  readonly kubeconfig: string;
  /** Creates objects, with their status. */
  create(objects: readonly ObjectInput[]): Promise<void>;
  /** Updates an object: the status of a Pod, the rest of others. */
  update(object: ObjectInput): Promise<void>;
  /** Ends it. It also ends with this process. */
  stop(): Promise<void>;
}

const types: readonly ResourceType[] = istioKinds.flatMap(({ group, kind, versions }) =>
  versions.map((version) => ({
    group,
    version,
    kind,
    plural: /[^aeiou]y$/.test(kind) ? `${kind.toLowerCase().slice(0, -1)}ies` : `${kind.toLowerCase()}s`,
    namespaced: true,
  })),
);

/** Starts the API server in the memory of this process. */
export async function inMemoryServer(): Promise<FilledServer> {
  const server = await startApiServer({ types });
  const { kubeconfig, objects } = server;
  return {
    kubeconfig: kubeconfig.yaml,
    async create(inputs) {
      for (const input of inputs) {
        await objects.create(input);
        if ("status" in input) await objects.updateStatus({ ...input, status: input["status"] });
      }
    },
    async update(input) {
      if (input.kind === "Pod") await objects.updateStatus({ ...input, status: input["status"] });
      else await objects.update(input);
    },
    stop: () => server.stop(),
  };
}
