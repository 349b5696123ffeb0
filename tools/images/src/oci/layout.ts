import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sha256Of } from "../downloads/cache.js";
import type { Architecture } from "../lock.js";

export const MEDIA_TYPES = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
} as const;

/** A reference to a blob. Source: descriptor.md of the OCI image specification. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
  readonly platform?: { readonly architecture: string; readonly os: string; readonly variant?: string };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Contents by digest, such as `sha256:…`. */
export class Blobs {
  readonly #contents = new Map<string, Buffer>();

  add(mediaType: string, content: Buffer): Descriptor {
    const digest = `sha256:${sha256Of(content)}`;
    this.#contents.set(digest, content);
    return { mediaType, digest, size: content.length };
  }

  addJson(mediaType: string, content: object): Descriptor {
    return this.add(mediaType, Buffer.from(JSON.stringify(content)));
  }

  /** @throws Error if there is no blob of the digest */
  get(digest: string): Buffer {
    const content = this.#contents.get(digest);
    if (content === undefined) throw new Error(`there is no blob ${digest}`);
    return content;
  }

  [Symbol.iterator](): IterableIterator<[string, Buffer]> {
    return this.#contents.entries();
  }
}

export const platformOf = (architecture: Architecture): NonNullable<Descriptor["platform"]> => ({
  architecture,
  os: "linux",
  ...(architecture === "arm64" && { variant: "v8" }),
});

/** Path of a blob in a layout. */
export const blobPath = (digest: string): string => `blobs/${digest.replace(":", "/")}`;

/** Replaces a folder by an OCI image layout with one tagged image. */
export async function writeLayout(folder: string, tag: string, image: Descriptor, blobs: Blobs): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, "blobs/sha256"), { recursive: true });
  for (const [digest, content] of blobs) await writeFile(join(folder, blobPath(digest)), content);
  const annotations = { "org.opencontainers.image.ref.name": tag };
  const manifests = [{ ...image, annotations }];
  const index = { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests };
  await writeFile(join(folder, "index.json"), JSON.stringify(index));
  await writeFile(join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
}
