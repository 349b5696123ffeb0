import { meshConfig, meshConfigKey } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";

/** The mesh configuration, as the rest of istiod has read it. */
export interface MeshSettings {
  /** Returns the configuration with its defaults; undefined while it is not known. */
  current(): MeshConfig | undefined;
  /** Calls a listener after each change. Returns a function that ends this. */
  onChange(listener: () => void): () => void;
}

/** Commits the mesh configuration, and keeps it current. Returns a function that ends this. */
export function followMeshSettings(mesh: MeshSettings, database: Pick<Database<void>, "commit">): () => void {
  const commit = (): void =>
    void database.commit((tx) => {
      const current = mesh.current();
      if (current !== undefined) tx.set(meshConfig, meshConfigKey, current);
    });
  commit();
  return mesh.onChange(commit);
}
