import type { SourcedLayer } from "../images.js";
import type { Descriptor } from "../oci/layout.js";
import type { Revision } from "../revision.js";

/**
 * Returns the provenance of an image: an in-toto statement with SLSA's predicate. It has no times and no machine, so
 * that it is the same for everybody who builds the commit. Source: slsa.dev/provenance/v1
 */
export function provenanceOf(
  name: string,
  subjects: readonly Descriptor[],
  layers: readonly SourcedLayer[],
  { commit, source, version }: Revision,
): object {
  const materials = new Map<string, string>();
  for (const { packages = [], programs = [] } of layers) {
    for (const each of packages) {
      const architecture = /^Architecture: (.*)$/m.exec(each.control)?.[1] ?? "";
      const purl = `pkg:deb/debian/${encodeURIComponent(each.name)}@${encodeURIComponent(each.version)}`;
      materials.set(`${purl}?arch=${architecture}`, each.sha256);
    }
    for (const { purl, sha256 } of programs) materials.set(`${purl}#${sha256.slice(0, 8)}`, sha256);
  }
  const dependencies = [...materials].sort().map(([uri, sha256]) => ({ uri, digest: { sha256 } }));
  const repository = { uri: `git+${source}`, ...(commit !== undefined && { digest: { gitCommit: commit } }) };
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: subjects.map(({ digest }) => ({ name, digest: { sha256: digest.replace("sha256:", "") } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: `${source}/tree/HEAD/tools/images`,
        externalParameters: { image: name, version },
        resolvedDependencies: [repository, ...dependencies],
      },
      runDetails: { builder: { id: `${source}/tree/HEAD/tools/images` } },
    },
  };
}
