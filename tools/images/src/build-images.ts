import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { billOfMaterials } from "./documents/bill-of-materials.js";
import { labelsOf } from "./documents/labels.js";
import { provenanceOf } from "./documents/provenance.js";
import { type ImageDefinition, IMAGES, runConfigOf, type SourcedLayer } from "./images.js";
import { type Architecture, readLock } from "./lock.js";
import { dockerArchive } from "./oci/docker-archive.js";
import { buildImage, type BuiltImage } from "./oci/image.js";
import { Blobs, type Descriptor, MEDIA_TYPES, writeLayout } from "./oci/layout.js";
import { readRevision, type Revision } from "./revision.js";
import { addFile } from "./root/tree.js";

/** Folder of this repository. */
export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

export interface BuildOptions {
  readonly architectures: readonly Architecture[];
  /** Folder of the layouts, archives and documents. */
  readonly output: string;
  /** Registry and folder of the images in the archives. */
  readonly hub: string;
}

export interface BuildResult {
  readonly image: string;
  /** Digest of the index, by which the image is pulled on each architecture. */
  readonly digest: string;
  readonly built: Readonly<Partial<Record<Architecture, BuiltImage>>>;
}

/**
 * Builds all images: for each an OCI layout `NAME`, an archive `NAME-ARCHITECTURE.tar` for Docker, a bill of materials
 * `NAME-ARCHITECTURE.cdx.json`, and its provenance `NAME.intoto.json`.
 *
 * @throws Error that says what is missing
 */
export async function buildImages(options: BuildOptions): Promise<readonly BuildResult[]> {
  const revision = await readRevision(ROOT);
  await mkdir(options.output, { recursive: true });
  const results: BuildResult[] = [];
  for (const [name, definition] of Object.entries(IMAGES))
    results.push(await buildOne(name, definition, revision, options));
  return results;
}

async function buildOne(
  name: string,
  definition: ImageDefinition,
  revision: Revision,
  { architectures, output, hub }: BuildOptions,
): Promise<BuildResult> {
  const lock = await readLock();
  const blobs = new Blobs();
  const labels = labelsOf(definition, revision);
  const built: Partial<Record<Architecture, BuiltImage>> = {};
  const sources: SourcedLayer[] = [];
  for (const architecture of architectures) {
    const layers = await definition.layers(architecture, lock, ROOT);
    const bill = JSON.stringify(await billOfMaterials(name, architecture, layers, revision, lock), undefined, 2);
    const last = layers.at(-1);
    if (last) addFile(last.tree, `usr/share/sbom/${name}.cdx.json`, `${bill}\n`);
    const config = runConfigOf(definition, labels);
    const image = await buildImage(architecture, layers, config, revision.created, blobs);
    const archive = dockerArchive(`${hub}/${name}:${revision.version}`, image.descriptor, blobs);
    await writeFile(join(output, `${name}-${architecture}.tar`), archive);
    await writeFile(join(output, `${name}-${architecture}.cdx.json`), `${bill}\n`);
    built[architecture] = image;
    sources.push(...layers);
  }
  const manifests = Object.values(built).map(({ descriptor }) => descriptor);
  const index = blobs.addJson(MEDIA_TYPES.index, {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.index,
    manifests,
    annotations: labels,
  });
  await writeLayout(join(output, name), revision.version, index, blobs);
  await writeProvenance(join(output, `${name}.intoto.json`), name, [index, ...manifests], sources, revision);
  return { image: `${hub}/${name}:${revision.version}`, digest: index.digest, built };
}

async function writeProvenance(
  file: string,
  name: string,
  subjects: readonly Descriptor[],
  layers: readonly SourcedLayer[],
  revision: Revision,
): Promise<void> {
  const statement = provenanceOf(name, subjects, layers, revision);
  await writeFile(file, `${JSON.stringify(statement, undefined, 2)}\n`);
}
