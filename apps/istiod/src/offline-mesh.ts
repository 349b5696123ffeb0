import { Ingestion } from "@istiod/config-ingestion";
import { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { meshPlaces } from "./cluster/mesh-places.js";
import { readConfigSources } from "./config-sources.js";
import type { MeshFlags, OfflineMesh, OfflineMeshes } from "@istiod/commands";
import { meshSources } from "./sources.js";

/** Returns the meshes that commands read without a running istiod. */
export function offlineMeshes(env: NodeJS.ProcessEnv): OfflineMeshes {
  return { env, readMesh: (values) => readMesh(values, env) };
}

/**
 * Reads the mesh that an istiod with these flags would serve. Hostnames of gateways are not resolved.
 *
 * @throws Error that says which flag or file cannot be used.
 */
export async function readMesh(values: MeshFlags, env: NodeJS.ProcessEnv): Promise<OfflineMesh> {
  const database = new Database<Proxy>();
  const configSources = await readConfigSources((await meshPlaces(values, env, undefined)).meshConfig);
  const server = configSources.find(({ address }) => !address.startsWith("fs://"));
  if (server !== undefined)
    throw new Error(`configSources: ${server.address} cannot be read offline; ask a running istiod`);
  const ingestion = new Ingestion(database, meshSources(values, env, {}, { configSources }).all);
  try {
    await ingestion.ready;
    return { database, problems: ingestion.problems() };
  } finally {
    await ingestion.stop();
  }
}
