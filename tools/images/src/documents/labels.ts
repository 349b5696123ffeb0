import type { ImageDefinition } from "../images.js";
import type { Revision } from "../revision.js";

/** Returns the annotations that the OCI image specification defines. Source: annotations.md */
export function labelsOf({ title, description }: ImageDefinition, revision: Revision): Record<string, string> {
  const { commit, created, version, source, licence } = revision;
  const labels = {
    title,
    description,
    version,
    created,
    ...(commit !== undefined && { revision: commit }),
    source,
    url: source,
    documentation: `${source}/tree/HEAD/docs/images.md`,
    licenses: licence,
  };
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [`org.opencontainers.image.${name}`, value]));
}
