import { create } from "@bufbuild/protobuf";
import { type Metadata, MetadataSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";

const kinds = {
  VirtualService: "networking.istio.io/v1/namespaces/NS/virtual-service",
  Sidecar: "networking.istio.io/v1/namespaces/NS/sidecar",
} as const;

/** Metadata that names the object, `namespace/name`, which something was made from. */
export function configMetadata(kind: keyof typeof kinds, key: string): Metadata {
  const [namespace = "", name = ""] = key.split("/");
  return create(MetadataSchema, {
    filterMetadata: { istio: { config: `/apis/${kinds[kind].replace("NS", namespace)}/${name}` } },
  });
}
