import { Ledger } from "@istiod/config-ingestion";
import {
  allKinds,
  applyChanges,
  applyMeshConfig,
  defaultMeshConfig,
  type Kind,
  meshConfig,
  meshConfigKey,
  parseYaml,
} from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { Cluster } from "./cluster.js";
import { readMeshObjects } from "./mesh-objects.js";

/** The mesh of a cluster as its control plane reads it, read once. */
export interface ClusterMesh {
  readonly database: Database<Proxy>;
  /** Reasons of kinds that could not be read. */
  readonly unread: readonly string[];
}

/** Kinds whose objects no description of workloads shows, and that may be large or secret. */
const unreadKinds = new Set(["Secret", "ConfigMap"]);

/** Reads the mesh of a cluster. Rejected objects are left out. @throws ApiError; Error about the mesh configuration */
export async function readClusterMesh(cluster: Cluster, revision: string): Promise<ClusterMesh> {
  const kinds = allKinds.filter(({ kind }: Kind) => !unreadKinds.has(kind));
  const { objects, meshConfig: text, unread } = await readMeshObjects(cluster, kinds, revision);
  const ledger = new Ledger({ kinds, cluster: "Kubernetes", revision: "" });
  for (const [index, object] of objects.entries()) ledger.replaceFile(String(index), JSON.stringify(object));
  const database = new Database<Proxy>();
  database.commit((tx) => {
    tx.set(meshConfig, meshConfigKey, text === undefined ? defaultMeshConfig() : parseMeshConfig(text));
    applyChanges(tx, ledger.takeChanges());
  });
  return { database, unread };
}

function parseMeshConfig(text: string): ReturnType<typeof defaultMeshConfig> {
  const parsed = parseYaml({ text, line: 1 });
  if ("message" in parsed) throw new Error(`mesh configuration: is not YAML: ${parsed.message}`);
  const faults: string[] = [];
  const config = applyMeshConfig(parsed.value, {
    error: (path, message) => void faults.push(`${path.join(".")} ${message}`),
    warning: () => undefined,
  });
  if (config === undefined) throw new Error(`mesh configuration: ${faults.join("; ")}`);
  return config;
}
