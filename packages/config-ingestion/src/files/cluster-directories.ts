import type { DirectorySource } from "./directory-source.js";
import { type Kind, remoteKinds } from "@istiod/config-schema";

/** Opens a directory with the objects of a cluster. */
export type OpenDirectory = (options: {
  readonly directory: string;
  readonly cluster: string;
  readonly kinds: readonly Kind[];
  readonly stateDirectory?: string;
}) => DirectorySource;

/** Returns the directories of --clusterDir by the IDs of their clusters. @throws Error that names the value */
export function clusterDirectories(
  values: { readonly clusterDir: readonly string[]; readonly clusterID: string },
  open: OpenDirectory,
): ReadonlyMap<string, DirectorySource> {
  const remote = new Map<string, DirectorySource>();
  for (const [cluster, directory] of values.clusterDir.map(clusterDirectory)) {
    if (cluster === values.clusterID)
      throw new Error(
        `--clusterDir ${cluster}=${directory}: ${cluster} is this istiod's own cluster, whose objects are in --configDir`,
      );
    if (remote.has(cluster)) throw new Error(`--clusterDir ${cluster}=${directory}: ${cluster} is given twice`);
    remote.set(cluster, open({ directory, cluster, kinds: remoteKinds }));
  }
  return remote;
}

/**
 * Reads a value of --clusterDir.
 *
 * @throws Error that names the value if it is not `id=directory`.
 */
export function clusterDirectory(value: string): readonly [cluster: string, directory: string] {
  const at = value.indexOf("=");
  const cluster = value.slice(0, at);
  const directory = value.slice(at + 1);
  if (at < 1 || directory === "" || cluster.includes("/"))
    throw new Error(
      `--clusterDir ${value}: expected the ID of a cluster and a directory, such as east=./clusters/east`,
    );
  return [cluster, directory];
}
