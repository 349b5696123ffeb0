// An API server with the objects of a mesh, by a process of its own that ends with the one that started it.
import { change } from "../mesh/changes.js";
import { Mesh, type MeshOptions } from "../mesh/mesh.js";
import { type FilledServer, inMemoryServer } from "./in-memory-server.js";
import { inputOf } from "./object-input.js";
import { realServer } from "./real-server.js";

/** The API server in memory, or that of `@istiod/cluster`. */
export type ServerKind = "memory" | "real";

/** Starts the server, or changes the readiness of Pods: `rate` a second, for some seconds. */
export type ServerRequest =
  | { readonly start: MeshOptions; readonly kind: ServerKind }
  | { readonly rate: number; readonly seconds: number };

export interface ServerAnswer {
  readonly error?: string;
  /** After the start. */
  readonly kubeconfig?: string;
  /** Number of changes that were made. */
  readonly changes?: number;
}

let running: { readonly server: FilledServer; readonly mesh: Mesh } | undefined;

async function start(options: MeshOptions, kind: ServerKind): Promise<ServerAnswer> {
  const mesh = new Mesh(options);
  const server = await (kind === "real" ? realServer() : inMemoryServer());
  await server.create(mesh.objects().map(inputOf));
  running = { server, mesh };
  return { kubeconfig: server.kubeconfig };
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
    for (const object of change(mesh, "ready", changes).put) await server.update(inputOf(object));
  }
  return { changes: total };
}

if (process.send !== undefined) {
  process.on("message", (request: ServerRequest) => {
    const answer = "start" in request ? start(request.start, request.kind) : changePods(request.rate, request.seconds);
    answer.then(
      (result) => process.send?.(result),
      (error: unknown) => process.send?.({ error: String(error) } satisfies ServerAnswer),
    );
  });
  process.on("disconnect", () => process.exit());
}
