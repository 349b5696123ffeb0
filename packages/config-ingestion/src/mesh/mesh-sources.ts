import {
  applyMeshConfig,
  defaultMeshConfig,
  meshConfig,
  meshConfigKey,
  meshNetworks,
  meshNetworksKey,
  readMeshNetworks,
} from "@istiod/config-schema";
import type { Clock } from "@istiod/runtime";
import type { Source } from "../ingestion/source.js";
import type { DocumentPlace } from "./document-place.js";
import { DocumentSource } from "./document-source.js";
import { FilePlace } from "./file-place.js";

/** Returns the source of the mesh configuration: Istio's defaults with the documents of the places applied in order. */
export function meshConfigSource(places: readonly DocumentPlace[]): Source {
  return new DocumentSource({
    places,
    decode(documents) {
      let config = defaultMeshConfig();
      for (const { value, report } of documents) {
        const applied = applyMeshConfig(value, report, config);
        if (applied === undefined) return undefined;
        config = applied;
      }
      return config;
    },
    write: (tx, value) => tx.set(meshConfig, meshConfigKey, value),
  });
}

/** Returns the source of the mesh networks: the document of the first place that has one. By default there are none. */
export function meshNetworksSource(places: readonly DocumentPlace[]): Source {
  return new DocumentSource({
    places,
    decode: ([first, ...ignored]) => {
      for (const { report } of ignored) report.warning([], "is ignored: networks are read from one place only");
      return readMeshNetworks(first?.value, first?.report ?? { error: () => undefined, warning: () => undefined });
    },
    write: (tx, value) => tx.set(meshNetworks, meshNetworksKey, value),
  });
}

/** Returns the source of the mesh configuration file. An absent file yields Istio's defaults. */
export function meshConfigFile(file: string | undefined, clock?: Clock): Source {
  return meshConfigSource(file ? [new FilePlace(file, clock)] : []);
}

/** Returns the source of the mesh networks file. An absent file yields no networks. */
export function meshNetworksFile(file: string | undefined, clock?: Clock): Source {
  return meshNetworksSource(file ? [new FilePlace(file, clock)] : []);
}
