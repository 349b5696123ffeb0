import { type ConfigObject, decode, type DecodeOptions, type Kind, type Problem } from "@istiod/config-schema";
import { apiVersionOf, type ResourceType } from "@istiod/kubernetes";

export interface ObjectDecoding extends Pick<DecodeOptions, "revision"> {
  readonly kind: Kind;
  readonly cluster: string;
  /** Name that stands for the file in problems and locations. */
  readonly place: string;
}

export interface DecodedObject {
  readonly issues: readonly Problem[];
  /** Undefined if the object is rejected. */
  readonly object: ConfigObject<unknown, unknown> | undefined;
  /** Applies instead of a rejected object without a good version, if its kind has such substitutes. */
  readonly substitute: ConfigObject<unknown, unknown> | undefined;
}

/** Decodes an object of a cluster. Returns undefined if it is ignored, for example because of its revision. */
export function decodeObject(
  content: Readonly<Record<string, unknown>>,
  resource: ResourceType,
  { kind, cluster, place, revision }: ObjectDecoding,
): DecodedObject | undefined {
  const document = { ...content, apiVersion: apiVersionOf(resource), kind: resource.kind };
  const [decoded] = decode(document, { cluster, kinds: [kind], ...(revision !== undefined && { revision }) });
  if (decoded === undefined || decoded.outcome === "ignored") return undefined;
  return {
    object: decoded.outcome === "accepted" ? decoded.object : undefined,
    substitute: decoded.outcome === "rejected" ? decoded.substitute : undefined,
    issues: decoded.issues.map(({ severity, path, message, code }) => ({
      severity,
      file: place,
      line: 0,
      path,
      message,
      ...(decoded.subject && { subject: decoded.subject }),
      ...(code && { code }),
    })),
  };
}
