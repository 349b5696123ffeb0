import { toBinary } from "@bufbuild/protobuf";
import {
  type TypedExtensionConfig,
  TypedExtensionConfigSchema,
} from "@istiod/envoy-api/envoy/config/core/v3/extension";
import { query } from "@istiod/incremental";
import {
  EnvoyFilter_ApplyTo as ApplyTo,
  EnvoyFilter_Patch_Operation as Operation,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { type Resource, resource } from "@istiod/resources";
import { extensionPatches } from "./client-patches.js";

/** An extension configuration with the patch that adds it. */
export interface AddedExtensionConfig {
  readonly patch: string;
  readonly config: Resource;
}

/**
 * The extension configurations that patches add. Clients request them by name. Source:
 * pilot/pkg/networking/core/envoyfilter/extension_configuration_patch.go.
 */
export const extensionConfigsAdded = query("extensionConfigsAdded", (q): readonly AddedExtensionConfig[] => {
  const patches = q.call(extensionPatches)?.[ApplyTo.EXTENSION_CONFIG] ?? [];
  return patches.flatMap(({ id, operation, value }) => {
    if (operation !== Operation.ADD || value === undefined) return [];
    const config = value as TypedExtensionConfig;
    return [{ patch: id, config: resource(config.name, toBinary(TypedExtensionConfigSchema, config)) }];
  });
});
