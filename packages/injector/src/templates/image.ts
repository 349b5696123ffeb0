import type { InjectorValues } from "../config/values.js";

const knownImageTypes = ["distroless", "debug"];
const imageTypeAnnotation = "sidecar.istio.io/proxyImageType";

type Annotations = Readonly<Record<string, string>>;

/** Returns the image of the proxy. The annotation `sidecar.istio.io/proxyImageType` chooses its variant. */
export const proxyImage = (values: InjectorValues, imageType: string, annotations: Annotations): string =>
  imageUrl(values, values.proxyImage || "proxyv2", imageType, annotations);

/** Returns the image of agentgateway. The annotation `gateway.istio.io/agentgatewayImage` chooses its variant. */
export const agentgatewayImage = (values: InjectorValues, imageType: string, annotations: Annotations): string =>
  taggedImage(
    values,
    "agentgateway",
    annotations["gateway.istio.io/agentgatewayImage"] ?? (imageType || values.variant),
  );

/** Returns the image of the container that redirects traffic. */
export const proxyInitImage = (values: InjectorValues, annotations: Annotations): string =>
  imageUrl(values, values.proxyInitImage || "proxyv2", "", annotations);

function imageUrl(values: InjectorValues, name: string, imageType: string, annotations: Annotations): string {
  return taggedImage(values, name, annotations[imageTypeAnnotation] ?? (imageType || values.variant));
}

function taggedImage(values: InjectorValues, name: string, type: string): string {
  return `${values.hub}/${name}:${tagOfType(values.tag, type)}`;
}

/** Replaces a known image type at the end of a tag: `1.30-debug` becomes `1.30-distroless`. */
function tagOfType(tag: string, type: string): string {
  if (type === "") return tag;
  const known = knownImageTypes.find((name) => tag.endsWith(`-${name}`));
  const base = known === undefined ? tag : tag.slice(0, -known.length - 1);
  return type === "default" ? base : `${base}-${type}`;
}
