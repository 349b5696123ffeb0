import type { Problem } from "@istiod/config-schema";
import type { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import type { MeshFlags } from "./mesh-flags.js";

/** A mesh that was read once. */
export interface OfflineMesh {
  readonly database: Database<Proxy>;
  readonly problems: readonly Problem[];
}

/** The meshes that commands read without a running istiod. */
export interface OfflineMeshes {
  /** The environment that flags have their defaults from. */
  readonly env: NodeJS.ProcessEnv;
  /**
   * Reads the mesh that an istiod with these flags would serve.
   *
   * @throws Error that says which flag or file cannot be used
   */
  readonly readMesh: (values: MeshFlags) => Promise<OfflineMesh>;
}
