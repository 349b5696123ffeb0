import { create } from "@bufbuild/protobuf";
import { type Metadata, MetadataSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";

const resourceNames = {
  DestinationRule: "destination-rule",
  Sidecar: "sidecar",
  VirtualService: "virtual-service",
} as const;

type ConfigKind = keyof typeof resourceNames;

/** Returns the path of an object, which identifies it in Envoy's metadata. */
export function configPath(
  kind: ConfigKind,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string {
  return `/apis/networking.istio.io/v1/namespaces/${namespace}/${resourceNames[kind]}/${name}`;
}

/** Metadata that identifies the object, `namespace/name`, that something was built from. */
export function configMetadata(kind: ConfigKind, key: string): Metadata {
  const [namespace = "", name = ""] = key.split("/");
  return create(MetadataSchema, { filterMetadata: { istio: { config: configPath(kind, { namespace, name }) } } });
}
