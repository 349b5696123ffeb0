import { access } from "node:fs/promises";
import { ConfigMapPlace, type DocumentPlace, FilePlace, revisedName } from "@istiod/config-ingestion";
import type { ApiClient } from "@istiod/kubernetes";
import type { Environment } from "@istiod/settings";
import type { MeshFlags } from "@istiod/commands";
import { variables } from "../variables.js";

/** The places of the mesh configuration and of the networks, in the order in which their documents apply. */
export interface MeshPlaces {
  readonly meshConfig: readonly DocumentPlace[];
  readonly networks: readonly DocumentPlace[];
}

/**
 * Returns the places of the mesh configuration and of the networks: each one's file if it exists, otherwise the
 * ConfigMap `istio`, or `istio-REVISION`. The ConfigMap of SHARED_MESH_CONFIG applies before. Source:
 * pilot/pkg/bootstrap/mesh.go.
 *
 * @param onWaiting receives the reasons for which ConfigMaps cannot be read at startup, while the attempts continue
 */
export async function meshPlaces(
  values: Pick<MeshFlags, "meshConfig" | "networksConfig" | "namespace">,
  env: Environment,
  client: ApiClient | undefined,
  onWaiting?: (error: Error) => void,
): Promise<MeshPlaces> {
  const placesOf = async (file: string, key: string): Promise<readonly DocumentPlace[]> => {
    if (client === undefined) return file ? [new FilePlace(file)] : [];
    const configMap = (name: string): DocumentPlace =>
      new ConfigMapPlace({
        client,
        namespace: values.namespace,
        configMap: name,
        key,
        ...(onWaiting && { onWaiting }),
      });
    const shared = variables.sharedMeshConfig.read(env);
    const name = revisedName("istio", variables.revision.read(env));
    const own = file && (await exists(file)) ? new FilePlace(file) : configMap(name);
    return [...(shared ? [configMap(shared)] : []), own];
  };
  return {
    meshConfig: await placesOf(values.meshConfig, "mesh"),
    networks: await placesOf(values.networksConfig, "meshNetworks"),
  };
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
