// An API server in memory with the objects of a mesh, in a process of its own that ends with the one that started it.
import { istioKinds } from "@istiod/config-schema";
import type { ResourceType } from "@istiod/kubernetes";
import { type ApiServer, type ObjectInput, startApiServer } from "@istiod/kubernetes/testing";
import { change } from "../mesh/changes.js";
import { Mesh, type MeshOptions } from "../mesh/mesh.js";
import type { KubernetesObject } from "../mesh/objects.js";

/** Starts the server, or changes the readiness of Pods: `rate` a second, for some seconds. */
export type ServerRequest = { readonly start: MeshOptions } | { readonly rate: number; readonly seconds: number };

export interface ServerAnswer {
  readonly error?: string;
  /** After the start. */
  readonly kubeconfig?: string;
  /** Number of changes that were made. */
  readonly changes?: number;
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

let running: { readonly server: ApiServer; readonly mesh: Mesh } | undefined;

async function start(options: MeshOptions): Promise<ServerAnswer> {
  const mesh = new Mesh(options);
  // The mesh has cluster IPs of its own.
  const server = await startApiServer({ types, validation: false });
  for (const object of mesh.objects()) {
    const input = inputOf(object);
    await server.objects.create(input);
    if ("status" in input) await server.objects.updateStatus({ ...input, status: input["status"] });
  }
  running = { server, mesh };
  return { kubeconfig: server.kubeconfig.yaml };
}

/** Changes Pods at a rate, with their EndpointSlices. A late change is made up for. */
async function changePods(rate: number, seconds: number): Promise<ServerAnswer> {
  if (running === undefined) throw new Error("the server has not started");
  const { server, mesh } = running;
  const total = Math.round(rate * seconds);
  const startedAt = performance.now();
  for (let changes = 0; changes < total; changes++) {
    const dueMs = startedAt + (1000 * changes) / rate - performance.now();
    if (dueMs > 0) await new Promise((resolve) => setTimeout(resolve, dueMs));
    for (const object of change(mesh, "ready", changes).put) {
      const input = inputOf(object);
      if (input.kind === "Pod") await server.objects.updateStatus({ ...input, status: input["status"] });
      else await server.objects.update(input);
    }
  }
  return { changes: total };
}

/** Returns an object without the metadata that the server sets. */
function inputOf({ metadata, ...object }: KubernetesObject): ObjectInput {
  const { name, namespace, labels, annotations } = metadata as ObjectInput["metadata"] & { readonly name: string };
  return {
    ...object,
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
    },
  };
}

if (process.send !== undefined) {
  process.on("message", (request: ServerRequest) => {
    const answer = "start" in request ? start(request.start) : changePods(request.rate, request.seconds);
    answer.then(
      (result) => process.send?.(result),
      (error: unknown) => process.send?.({ error: String(error) } satisfies ServerAnswer),
    );
  });
  process.on("disconnect", () => process.exit());
}
