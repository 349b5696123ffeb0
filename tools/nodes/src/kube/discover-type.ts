import type { ApiClient, ResourceType } from "@istiod/kubernetes";

/**
 * Returns the type of objects that an API server serves by an API version and a kind; undefined if it serves none.
 *
 * @throws ApiError `not-found` if the API version is not served
 */
export async function discoverType(
  client: ApiClient,
  apiVersion: string,
  kind: string,
): Promise<ResourceType | undefined> {
  const [group = "", version = ""] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  interface Served {
    readonly resources: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
  }
  const { resources } = await client.json<Served>({ path });
  const found = resources.find(({ name, kind: served }) => served === kind && !name.includes("/"));
  return found && { group, version, kind, plural: found.name, namespaced: found.namespaced };
}
