import type { NodeVersion } from "@istiod/injector";
import { ApiError, type ApiClient, type KubernetesObject, readObject, type ResourceType } from "@istiod/kubernetes";

const configMaps: ResourceType = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
};

/**
 * Returns an entry of a ConfigMap.
 *
 * @param instead flag that names a file with the same content, for the error
 * @throws Error if there is none
 */
export async function configMapEntry(
  client: ApiClient,
  { namespace, name, key }: { readonly namespace: string; readonly name: string; readonly key: string },
  instead: string,
): Promise<string> {
  const place = `ConfigMap ${namespace}/${name}`;
  const advice = `; use ${instead}, or name the namespace by --istioNamespace and the revision by --revision`;
  let found: KubernetesObject & { readonly data?: Readonly<Record<string, string>> };
  try {
    found = await readObject(client, configMaps, { namespace, name });
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause;
    throw new Error(`${place}: ${cause.code === "not-found" ? "does not exist" : cause.message}${advice}`, { cause });
  }
  const text = found.data?.[key];
  if (text === undefined) throw new Error(`${place}: has no key ${key}${advice}`);
  return text;
}

interface NodeList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly status?: { readonly nodeInfo?: { readonly kubeletVersion?: string } };
  }[];
}

/** Returns the versions of the cluster's nodes. @throws ApiError if they cannot be read */
export async function nodeVersions(client: ApiClient): Promise<readonly NodeVersion[]> {
  const { items } = await client.json<NodeList>({ path: "/api/v1/nodes" });
  return items.map(({ metadata, status }) => ({
    name: metadata.name,
    kubeletVersion: status?.nodeInfo?.kubeletVersion ?? "",
  }));
}
