import { meshConfig, meshConfigKey } from "@istiod/config-schema";
import type { MeshSettings } from "@istiod/controllers";
import type { Mesh } from "../phases/mesh.js";

/** Returns the mesh configuration of a database, as controllers follow it. */
export function meshSettings(database: Mesh["database"]): MeshSettings {
  return {
    current: () => database.read(meshConfig, meshConfigKey),
    onChange: (listener) =>
      database.observe({
        after: ({ changed }) => {
          if (changed.some(({ collection }) => collection === meshConfig)) listener();
        },
      }),
  };
}
