import { collection } from "@istiod/incremental";
import type { MeshNetworks } from "@istiod/istio-api/mesh/v1alpha1/network";

/** The networks of the mesh, under `meshNetworksKey`. */
export const meshNetworks = collection<MeshNetworks>("MeshNetworks");

export const meshNetworksKey = "networks";
