import {
  clusterReader,
  DirectorySource,
  type DocumentPlace,
  type FileLimits,
  KubernetesSource,
  meshConfigFile,
  meshConfigSource,
  meshNetworksFile,
  meshNetworksSource,
  type RejectedPolicy,
  type Source,
} from "@istiod/config-ingestion";
import {
  allKinds,
  analysisKinds,
  istioKinds,
  type Kind,
  kubernetesKinds,
  multiClusterGroup,
  multiClusterKinds,
  remoteKinds,
} from "@istiod/config-schema";
import type { ConfigSource } from "@istiod/istio-api/mesh/v1alpha1/config";
import type { ApiClient } from "@istiod/kubernetes";
import type { MeshPlaces } from "./cluster/mesh-places.js";
import { openConfigSource, xdsConfigSource } from "./config-sources.js";
import { environmentSource } from "./environment-source.js";
import type { ConfigFileFlags, MeshFlags } from "./flags.js";
import { variables } from "./variables.js";

/** The sources of a mesh. */
export interface MeshSources {
  readonly all: readonly Source[];
  /** The kinds that the directories are read for. */
  readonly kinds: readonly Kind[];
  /** The directory of this istiod's own cluster. Absent: its objects are those of `configSources`. */
  readonly own: DirectorySource | undefined;
  /** All directories. */
  readonly directories: readonly DirectorySource[];
  /** Sources that can change, with their names and locations for people. */
  readonly named: ReadonlyMap<Source, { readonly name: string; readonly location: string }>;
  /** The directories of other clusters, by the clusters' IDs. */
  readonly remote: ReadonlyMap<string, DirectorySource>;
  /** Returns the policies that are rejected, of all sources. */
  rejectedPolicies(): readonly RejectedPolicy[];
}

/**
 * Returns the sources that the flags define: environment, mesh configuration, networks and objects.
 *
 * @param files default: without last good versions, and with the default bounds of files
 * @throws Error that names the flag or the field that cannot be used.
 */
export function meshSources(
  values: MeshFlags,
  env: NodeJS.ProcessEnv,
  files: Partial<ConfigFileFlags> = {},
  { configSources = [], client, places }: ClusterOptions = {},
): MeshSources {
  if (!values.configDir && configSources.length === 0 && client === undefined)
    throw new Error(
      "there is nothing to read: give --configDir for a directory or --kubeconfig for a cluster, or run istiod in a cluster",
    );
  const isConfigElsewhere =
    values.configDir !== "" ||
    (configSources.length > 0 && !configSources.some(({ address }) => isOwnCluster(address)));
  if (files.stateDir && !values.configDir && (client === undefined || isConfigElsewhere))
    throw new Error(
      "--stateDir: has no effect without policies of --configDir or a cluster; rejected policies of other sources fail closed",
    );
  const read = kindsToRead(env);
  const directory = directoryOptions(env, files);
  const remote = remoteDirectories(values, (options) => new DirectorySource({ ...directory, ...options }), read);
  const own = values.configDir
    ? new DirectorySource({
        ...directory,
        directory: values.configDir,
        cluster: values.clusterID,
        kinds: read(allKinds),
        ...(files.stateDir && { stateDirectory: files.stateDir }),
      })
    : undefined;
  const cluster =
    client &&
    clusterSource(client, values, env, {
      isConfigElsewhere,
      stateDir: isConfigElsewhere ? "" : (files.stateDir ?? ""),
    });
  const configured = configSources
    .filter(({ address }) => !isOwnCluster(address))
    .map((source, i) =>
      openConfigSource(source, i, {
        directory: (path) =>
          new DirectorySource({ ...directory, directory: path, cluster: values.clusterID, kinds: read(allKinds) }),
        server: (url, tlsSettings) => xdsConfigSource({ url, tlsSettings, values, files, env }),
      }),
    );
  const named = new Map<Source, { readonly name: string; readonly location: string }>([
    [
      places ? meshConfigSource(places.meshConfig) : meshConfigFile(values.meshConfig),
      { name: "Mesh configuration", location: locationOf(places?.meshConfig) ?? (values.meshConfig || "defaults") },
    ],
    [
      places ? meshNetworksSource(places.networks) : meshNetworksFile(values.networksConfig),
      { name: "Mesh networks", location: locationOf(places?.networks) ?? (values.networksConfig || "none") },
    ],
    ...(cluster && client
      ? [[cluster, { name: `Cluster ${values.clusterID}`, location: client.server }] as const]
      : []),
    ...(own ? [[own, { name: `Cluster ${values.clusterID}`, location: values.configDir }] as const] : []),
    ...configured.map(
      (source, i) => [source, { name: "Configuration", location: configSources[i]?.address ?? "" }] as const,
    ),
    ...[...remote].map(([cluster, source]) => [source, { name: `Cluster ${cluster}`, location: source.name }] as const),
  ]);
  const isDirectory = (source: Source): source is DirectorySource => source instanceof DirectorySource;
  return {
    all: [environmentSource(env, values), ...named.keys()],
    kinds: read(allKinds),
    own,
    directories: [...named.keys()].filter(isDirectory),
    named,
    remote,
    rejectedPolicies: () => [
      ...(cluster?.rejectedPolicies() ?? []),
      ...(own?.rejectedPolicies() ?? []),
      ...configured.flatMap((source) => source.rejectedPolicies()),
    ],
  };
}

/** Places that a mesh is read from in addition to directories. */
export interface ClusterOptions {
  /** The mesh configuration's `configSources`. Default: none. */
  readonly configSources?: readonly ConfigSource[];
  /** Client of this istiod's cluster. Default: none is read */
  readonly client?: ApiClient | undefined;
  /** Default: the files that the flags name */
  readonly places?: MeshPlaces;
}

/** Reports whether an address of `configSources` names this istiod's own cluster. */
function isOwnCluster(address: string): boolean {
  return /^k8s:\/*$/.test(address);
}

/**
 * Returns the source of this istiod's cluster. Istio's configuration is read from it unless it is read from elsewhere,
 * as in Istio.
 */
function clusterSource(
  client: ApiClient,
  values: MeshFlags,
  env: NodeJS.ProcessEnv,
  { isConfigElsewhere, stateDir }: { readonly isConfigElsewhere: boolean; readonly stateDir: string },
): KubernetesSource {
  const multiCluster = multiClusterKinds(
    variables.mcsApiGroup.read(env),
    variables.mcsApiVersion.read(env) || undefined,
  );
  const kinds = isConfigElsewhere ? kubernetesKinds : allKinds;
  return new KubernetesSource({
    cluster: values.clusterID,
    reader: clusterReader(client),
    kinds: [...kinds.filter(({ group }) => group !== multiClusterGroup), ...multiCluster],
    revision: variables.revision.read(env),
    namespace: variables.watchNamespace.read(env),
    ...(stateDir && { stateDirectory: stateDir }),
    resources: { ignore: variables.ignoredResources.read(env), include: variables.includedResources.read(env) },
  });
}

function locationOf(places: readonly DocumentPlace[] | undefined): string | undefined {
  return places?.map(({ name }) => name).join(", ") || undefined;
}

/** Returns the function that adds the kinds of every mesh to those of a cluster. */
function kindsToRead(env: NodeJS.ProcessEnv): (kinds: readonly Kind[]) => readonly Kind[] {
  const multiCluster = multiClusterKinds(
    variables.mcsApiGroup.read(env),
    variables.mcsApiVersion.read(env) || undefined,
  );
  return (kinds) => [...kinds.filter(({ group }) => group !== multiClusterGroup), ...multiCluster, ...analysisKinds];
}

function directoryOptions(
  env: NodeJS.ProcessEnv,
  files: Partial<ConfigFileFlags>,
): { readonly revision: string; readonly limits: FileLimits } {
  return {
    revision: variables.revision.read(env),
    limits: {
      ...(files.maxConfigFileBytes !== undefined && { maxBytes: files.maxConfigFileBytes }),
      ...(files.maxConfigFileDocuments !== undefined && { maxDocuments: files.maxConfigFileDocuments }),
    },
  };
}

type OpenDirectory = (options: {
  readonly directory: string;
  readonly cluster: string;
  readonly kinds: readonly Kind[];
}) => DirectorySource;

function remoteDirectories(
  values: MeshFlags,
  open: OpenDirectory,
  read: (kinds: readonly Kind[]) => readonly Kind[],
): ReadonlyMap<string, DirectorySource> {
  const remote = new Map<string, DirectorySource>();
  for (const [cluster, directory] of values.clusterDir.map(clusterDirectory)) {
    if (cluster === values.clusterID)
      throw new Error(
        `--clusterDir ${cluster}=${directory}: ${cluster} is this istiod's own cluster, whose objects are in --configDir`,
      );
    if (remote.has(cluster)) throw new Error(`--clusterDir ${cluster}=${directory}: ${cluster} is given twice`);
    remote.set(cluster, open({ directory, cluster, kinds: read(remoteKinds) }));
  }
  return remote;
}

/** Describes the objects of a directory without effect by kind; undefined if there are none. */
export function unusedObjects(source: DirectorySource): string | undefined {
  const kinds = [...source.ignored()].sort().map(([kind, count]) => `${count} ${kind}`);
  const deployments = source.counts().get("Deployment");
  const analyzed = deployments === undefined ? [] : [`${deployments} Deployment (analyzed only)`];
  if (kinds.length + analyzed.length === 0) return undefined;
  return `objects without effect: ${[...analyzed, ...kinds].join(", ")}; files describe workloads by Pods and EndpointSlices`;
}

/**
 * Which kinds a cluster's directory holds that are read of the configuration's cluster only, as a sentence; undefined
 * if none.
 */
export function ignoredObjects(cluster: string, source: DirectorySource): string | undefined {
  const kinds = [...source.ignored()]
    .filter(([kind]) => istioNames.has(kind))
    .map(([kind, count]) => `${count} ${kind}`);
  return kinds.length === 0
    ? undefined
    : `cluster ${cluster}: left out ${kinds.join(", ")}: Istio's configuration is read from --configDir`;
}

const istioNames = new Set(istioKinds.filter((kind) => !remoteKinds.includes(kind)).map(({ kind }) => kind));

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
