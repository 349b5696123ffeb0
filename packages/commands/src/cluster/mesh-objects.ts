import { newestServed, revisedName } from "@istiod/config-ingestion";
import { type Kind } from "@istiod/config-schema";
import { ApiError, apiVersionOf, type KubernetesObject, readTypes } from "@istiod/kubernetes";
import { parseAllDocuments } from "yaml";
import type { Cluster } from "./cluster.js";
import { findObject, listObjects, resources } from "./objects.js";

/** The objects of a cluster that a mesh is made of. */
export interface MeshObjects {
  readonly objects: readonly KubernetesObject[];
  /** Text of the mesh configuration, and of the mesh networks; undefined if the cluster has none. */
  readonly meshConfig: string | undefined;
  readonly meshNetworks: string | undefined;
  /** Reasons of kinds that could not be read: `secrets: forbidden: …`. */
  readonly unread: readonly string[];
}

/**
 * Reads the objects of kinds, in their newest version that the cluster serves. A kind that may not be read is named.
 *
 * @throws ApiError if the types that the cluster serves cannot be read
 */
export async function readMeshObjects(
  cluster: Cluster,
  kinds: readonly Kind[],
  revision = "default",
): Promise<MeshObjects> {
  const served = [...(await readTypes(cluster.client)).byVersion.values()].flat();
  const objects: KubernetesObject[] = [];
  const unread: string[] = [];
  for (const kind of kinds) {
    const type = newestServed(kind, served);
    if (type === undefined) continue;
    try {
      const identity = { apiVersion: apiVersionOf(type), kind: type.kind };
      for (const object of await listObjects(cluster.client, type)) objects.push({ ...object, ...identity });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      unread.push(`${type.plural}: ${error.message}`);
    }
  }
  return { objects, unread, ...(await readMeshTexts(cluster, revision)) };
}

async function readMeshTexts(
  { client, istioNamespace: namespace }: Cluster,
  revision: string,
): Promise<Pick<MeshObjects, "meshConfig" | "meshNetworks">> {
  interface ConfigMap extends KubernetesObject {
    readonly data?: Readonly<Record<string, string>>;
  }
  const name = revisedName("istio", revision);
  const data = (await findObject<ConfigMap>(client, resources.configMaps, { namespace, name }))?.data;
  return { meshConfig: data?.["mesh"], meshNetworks: data?.["meshNetworks"] };
}

/** Returns the objects without those that texts define: these take their place. */
export function withoutDefined(
  objects: readonly KubernetesObject[],
  texts: readonly string[],
): readonly KubernetesObject[] {
  const defined = new Set(
    texts
      .flatMap((text) => parseAllDocuments(text))
      .flatMap((document) => (document.errors.length > 0 ? [] : [document.toJS() as KubernetesObject | null]))
      .flatMap((object) => (object?.metadata?.name === undefined ? [] : [keyOf(object)])),
  );
  return objects.filter((object) => !defined.has(keyOf(object)));
}

function keyOf({ apiVersion = "", kind, metadata }: KubernetesObject): string {
  const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
  return [group, kind, metadata?.namespace ?? "", metadata?.name].join("/");
}
