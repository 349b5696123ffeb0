import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Closers } from "@istiod/runtime";
import { inputOf } from "../cluster-costs/object-input.js";
import { realServer } from "../cluster-costs/real-server.js";
import type { KubernetesObject } from "../mesh/objects.js";
import type { IstiodOptions } from "../server/istiod-process.js";
import type { ScaleMesh } from "./dimension.js";

export type SourceKind = "files" | "cluster";

/** The place from which istiod reads a mesh. */
export interface ScaleSource {
  readonly istiod: Pick<IstiodOptions, "directory" | "kubeconfig" | "flags" | "clusterDirectories">;
  /** Replaces an object. */
  apply(object: KubernetesObject): Promise<void>;
  close(): Promise<void>;
}

/** Objects of a file, many enough that reading them is no matter of opening files. */
const perFile = 500;

/** JSON, which is YAML. */
const documents = (objects: readonly KubernetesObject[]): string =>
  objects.map((object) => JSON.stringify(object)).join("\n---\n");

const isSame = (a: KubernetesObject, b: KubernetesObject): boolean =>
  a.kind === b.kind && a.metadata.name === b.metadata.name && a.metadata.namespace === b.metadata.namespace;

/** Returns the object that the change of a mesh replaces. */
export function changedObject({ objects, change }: ScaleMesh): KubernetesObject {
  const found = objects.find((object) => isSame(object, change));
  if (found === undefined) throw new Error(`the mesh has no ${change.kind} ${change.metadata.name}`);
  return found;
}

async function writeDirectory(directory: string, objects: readonly KubernetesObject[]): Promise<void> {
  await mkdir(directory, { recursive: true });
  for (let first = 0; first < objects.length; first += perFile)
    await writeFile(join(directory, `objects-${first}.yaml`), documents(objects.slice(first, first + perFile)));
}

/** Writes a mesh into directories. @param work an empty directory */
export async function fileSource(mesh: ScaleMesh, work: string): Promise<ScaleSource> {
  const directory = join(work, "mesh");
  const changed = changedObject(mesh);
  await writeDirectory(
    directory,
    mesh.objects.filter((object) => object !== changed),
  );
  const apply = async (object: KubernetesObject): Promise<void> => {
    await writeFile(join(work, "changed"), documents([object]));
    await rename(join(work, "changed"), join(directory, "changed.yaml"));
  };
  await apply(changed);
  const clusterDirectories: Record<string, string> = {};
  for (const [cluster, objects] of mesh.clusters ?? []) {
    clusterDirectories[cluster] = join(work, cluster);
    await writeDirectory(join(work, cluster), objects);
  }
  const networks = join(work, "networks.yaml");
  await writeFile(networks, JSON.stringify(mesh.networks ?? { networks: {} }));
  return {
    istiod: { directory, clusterDirectories, flags: { networksConfig: networks } },
    apply,
    close: () => rm(directory, { recursive: true, force: true }),
  };
}

/** Creates a mesh at an API server of its own. @throws Error if the API server is not built */
export async function clusterSource(mesh: ScaleMesh, work: string): Promise<ScaleSource> {
  const closers = new Closers();
  return closers.closeOnError(async () => {
    const server = await realServer();
    closers.defer(() => server.stop());
    const objects = [...mesh.objects, ...(mesh.permissions ?? [])].map(inputOf);
    const existing = new Set(objects.flatMap(({ kind, metadata }) => (kind === "Namespace" ? [metadata.name] : [])));
    const used = new Set(objects.flatMap(({ metadata: { namespace } }) => namespace ?? []));
    const missing = [...used].filter((name) => !existing.has(name));
    await server.create([
      ...missing.map((name) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
      ...objects,
    ]);
    const kubeconfig = join(work, "kubeconfig");
    await writeFile(kubeconfig, server.kubeconfig, { mode: 0o600 });
    return {
      istiod: { kubeconfig },
      apply: (object) => server.update(inputOf(object)),
      close: () => closers.close(),
    };
  });
}
