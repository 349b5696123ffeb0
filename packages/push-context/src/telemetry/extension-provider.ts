import { query } from "@istiod/incremental";
import type { MeshConfig_ExtensionProvider as ExtensionProvider } from "@istiod/istio-api/mesh/v1alpha1/config";
import { mesh } from "../mesh/mesh-config.js";

/** The mesh's extension provider with this name, compared case-insensitively; the first one if several match. */
export const extensionProvider = query("extensionProvider", (q, name: string): ExtensionProvider | undefined =>
  mesh(q).extensionProviders.find((provider) => provider.name.toLowerCase() === name.toLowerCase()),
);
