import { serviceEntryKind } from "@istiod/config-schema";
import type { ConfigType } from "./config-type.js";
import type { ConfigDocument, ConfigIdentity } from "./decode-config.js";
import { syntheticAnnotation, syntheticPrefix } from "./synthetic-service-entry.js";

/** Reports whether an object is a synthetic ServiceEntry, by its name. */
export function isSynthetic({ kind }: ConfigType, { name }: ConfigIdentity): boolean {
  return kind === serviceEntryKind && name.startsWith(syntheticPrefix);
}

interface Port {
  readonly number?: number;
  readonly name?: string;
  readonly protocol?: string;
}

/**
 * Returns the document of a synthetic ServiceEntry as a valid ServiceEntry, annotated so that it is not served to other
 * control planes. Istio does not validate it: of ports with the same number (TCP and UDP) the first one is kept, a port
 * without a name gets one, and `UnsupportedProtocol`, which stands for protocol detection, becomes the empty protocol,
 * which means the same.
 */
export function markSynthetic(document: ConfigDocument): ConfigDocument {
  const { metadata, spec } = document as {
    readonly metadata: { readonly annotations?: object };
    readonly spec: { readonly ports?: readonly Port[] };
  };
  const annotations = { ...metadata.annotations, [syntheticAnnotation]: "true" };
  const ports = spec.ports
    ?.filter(({ number }, i, all) => all.findIndex((other) => other.number === number) === i)
    .map((port) => ({
      ...port,
      name: port.name || `port-${port.number}`,
      protocol: port.protocol === "UnsupportedProtocol" ? "" : port.protocol,
    }));
  return { ...document, metadata: { ...metadata, annotations }, spec: { ...spec, ...(ports && { ports }) } };
}
