import type { GoList, MapKey, Value } from "@istiod/go-template";
import {
  MeshConfig_ExtensionProvider_ServiceAttributeEnrichment as Enrichment,
  type MeshConfig,
} from "@istiod/istio-api/mesh/v1alpha1/config";
import { structsOf } from "./container-ports.js";

interface AttributeSources {
  readonly annotations: ReadonlyMap<MapKey, Value>;
  readonly labels: ReadonlyMap<MapKey, Value>;
  readonly namespace: string;
  readonly containers: GoList;
}

/**
 * Returns the value of `OTEL_RESOURCE_ATTRIBUTES`: namespace, version and instance of a service by OpenTelemetry's
 * conventions for Kubernetes. Empty unless a tracing provider of the mesh asks for them.
 */
export function otelResourceAttributes(
  mesh: MeshConfig | undefined,
  { annotations, labels, namespace, containers }: AttributeSources,
): string {
  const isWanted = mesh?.extensionProviders.some(
    ({ provider }) =>
      provider.case === "opentelemetry" &&
      provider.value.serviceAttributeEnrichment === Enrichment.OTEL_SEMANTIC_CONVENTIONS,
  );
  if (isWanted !== true) return "";
  const annotation = (name: string): string => textOf(annotations.get(`resource.opentelemetry.io/${name}`));
  const all = structsOf(containers);
  const [first] = all;
  const image = all.length === 1 ? textOf(first?.fields.get("Image")) : "";
  const instance = first && `${namespace}.$(POD_NAME).${textOf(first.fields.get("Name"))}`;
  const attributes = {
    "service.namespace": annotation("service.namespace") || namespace,
    "service.version":
      annotation("service.version") || textOf(labels.get("app.kubernetes.io/version")) || imageVersion(image),
    "service.instance.id": annotation("service.instance.id") || (instance ?? ""),
  };
  return Object.entries(attributes)
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}

const textOf = (value: Value | undefined): string => (typeof value === "string" ? value : "");

/** Returns the tag and digest of an image, joined by `@`. */
function imageVersion(image: string): string {
  const at = image.indexOf("@");
  const digest = at < 0 ? "" : image.slice(at + 1);
  const name = at < 0 ? image : image.slice(0, at);
  const colon = name.lastIndexOf(":");
  const tag = colon > name.lastIndexOf("/") ? name.slice(colon + 1) : "";
  return [tag, digest].filter((part) => part !== "").join("@");
}
