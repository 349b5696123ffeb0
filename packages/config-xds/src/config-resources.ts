import { toBinary } from "@bufbuild/protobuf";
import { meshConfig, meshConfigKey } from "@istiod/config-schema";
import { query } from "@istiod/incremental";
import { MeshConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/config";
import { type Resource, resource, ResourceSet } from "@istiod/resources";
import { findConfigType, meshConfigType } from "./config-type.js";
import { configMessageType, encodeConfig } from "./encode-config.js";
import { syntheticAnnotation } from "./synthetic-service-entry.js";

/** One object as a resource. */
const configResource = query("configResource", (q, { typeUrl, key }: { typeUrl: string; key: string }) => {
  const type = findConfigType(typeUrl);
  const object = type && q.read(type.kind.collection, key);
  // A synthetic object that was received is of its server, which may read from this one.
  if (object !== undefined && Object.hasOwn(object.annotations, syntheticAnnotation)) return undefined;
  return type && object && resource(`${object.namespace}/${object.name}`, encodeConfig(type, object));
});

/**
 * The configuration objects of a type, by its URL, as resources with the names `namespace/name`. Types that are unknown
 * have none. Synthetic ServiceEntries that were received from other control planes are missing. Objects of several
 * clusters with the same name are one resource, of the first cluster by ID.
 */
export const configResources = query("configResources", (q, typeUrl: string): ResourceSet => {
  if (typeUrl === meshConfigType) {
    const mesh = q.read(meshConfig, meshConfigKey);
    return ResourceSet.of(mesh === undefined ? [] : [resource("", toBinary(MeshConfigSchema, mesh))]);
  }
  const type = findConfigType(typeUrl);
  const keys = type === undefined ? [] : q.keys(type.kind.collection);
  const resources = keys.map((key) => q.call(configResource, { typeUrl, key }));
  return ResourceSet.of(resources.filter((found): found is Resource => found !== undefined));
});

/** Returns the protobuf type of a type URL's resources. */
export function configMessageTypeOf(typeUrl: string): string {
  return typeUrl === meshConfigType ? `type.googleapis.com/${MeshConfigSchema.typeName}` : configMessageType;
}
