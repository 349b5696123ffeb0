import { addFile, type Tree } from "../root/tree.js";
import { type Blobs, blobPath, type Descriptor } from "./layout.js";
import { writeTar } from "./tar.js";

interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
}

/** Returns an archive of one image that `docker load` and `podman load` read. */
export function dockerArchive(name: string, manifest: Descriptor, blobs: Blobs): Buffer {
  const { config, layers } = JSON.parse(blobs.get(manifest.digest).toString()) as Manifest;
  const tree: Tree = new Map();
  for (const { digest } of [config, ...layers]) addFile(tree, blobPath(digest), blobs.get(digest));
  const entry = {
    Config: blobPath(config.digest),
    RepoTags: [name],
    Layers: layers.map(({ digest }) => blobPath(digest)),
  };
  addFile(tree, "manifest.json", JSON.stringify([entry]));
  return writeTar(tree);
}
