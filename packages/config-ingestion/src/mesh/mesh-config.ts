import { collection } from "@istiod/incremental";
import type { MeshConfig } from "@istiod/istio-api/mesh/v1alpha1/config";

/** The mesh configuration with defaults applied, under `meshConfigKey`. */
export const meshConfig = collection<MeshConfig>("MeshConfig");

export const meshConfigKey = "mesh";
