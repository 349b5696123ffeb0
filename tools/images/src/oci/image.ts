import { sha256Of } from "../downloads/cache.js";
import type { Architecture } from "../lock.js";
import type { Tree } from "../root/tree.js";
import { compress } from "./compress.js";
import { type Blobs, type Descriptor, MEDIA_TYPES, platformOf } from "./layout.js";
import { writeTar } from "./tar.js";

export interface Layer {
  /** Content in a few words, for the history. */
  readonly name: string;
  readonly tree: Tree;
}

/** User, environment and program of containers. Source: config.md of the OCI image specification. */
export interface RunConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly WorkingDir: string;
  readonly Labels: Readonly<Record<string, string>>;
}

export interface BuiltImage {
  /** The manifest. */
  readonly descriptor: Descriptor;
  /** Bytes of all layers, as they are pulled and as they are unpacked. */
  readonly compressedBytes: number;
  readonly bytes: number;
}

/** Adds the image of one architecture to blobs. @param created time in the form of RFC 3339 */
export async function buildImage(
  architecture: Architecture,
  layers: readonly Layer[],
  config: RunConfig,
  created: string,
  blobs: Blobs,
): Promise<BuiltImage> {
  const packed = await Promise.all(
    layers.map(async ({ name, tree }) => {
      const tar = writeTar(tree);
      const descriptor = blobs.add(MEDIA_TYPES.layer, await compress(tar));
      return { name, bytes: tar.length, diffId: `sha256:${sha256Of(tar)}`, descriptor };
    }),
  );
  const content = {
    created,
    ...platformOf(architecture),
    config,
    rootfs: { type: "layers", diff_ids: packed.map(({ diffId }) => diffId) },
    history: packed.map(({ name }) => ({ created, created_by: `npm run images: ${name}` })),
  };
  const manifest = blobs.addJson(MEDIA_TYPES.manifest, {
    schemaVersion: 2,
    mediaType: MEDIA_TYPES.manifest,
    config: blobs.addJson(MEDIA_TYPES.config, content),
    layers: packed.map(({ descriptor }) => descriptor),
    annotations: config.Labels,
  });
  const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0);
  return {
    descriptor: { ...manifest, platform: platformOf(architecture) },
    compressedBytes: sum(packed.map(({ descriptor }) => descriptor.size)),
    bytes: sum(packed.map(({ bytes }) => bytes)),
  };
}
