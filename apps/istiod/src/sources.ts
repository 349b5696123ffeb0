import {
  clusterDirectories,
  DirectorySource,
  type DocumentPlace,
  type FileLimits,
  type KubernetesSource,
  meshConfigFile,
  meshConfigSource,
  meshNetworksFile,
  meshNetworksSource,
  type OpenDirectory,
  type RejectedPolicy,
  type Source,
} from "@istiod/config-ingestion";
import { absentReadersOf, allKinds, type Kind } from "@istiod/config-schema";
import type { ConfigSource } from "@istiod/istio-api/mesh/v1alpha1/config";
import type { ApiClient, TypeAvailability } from "@istiod/kubernetes";
import type { Environment } from "@istiod/settings";
import type { MeshPlaces } from "./cluster/mesh-places.js";
import { clusterSource, isOwnCluster } from "./cluster/own-cluster.js";
import { openConfigSources, xdsConfigSource } from "./config-sources.js";
import { environmentSource, type SecretsFlags } from "./environment-source.js";
import type { ConfigFileFlags } from "./flags/config-file-flags.js";
import type { MeshFlags } from "@istiod/commands";
import { kindsOfDirectory } from "./sources/kinds.js";
import { variables } from "./variables.js";

/** The sources of a mesh. */
export interface MeshSources {
  readonly all: readonly Source[];
  /** The kinds that the directories are read for. */
  readonly kinds: readonly Kind[];
  /** The directory of this istiod's own cluster. Absent: its objects are those of `configSources`. */
  readonly own: DirectorySource | undefined;
  /** This istiod's own cluster, if it is read. */
  readonly cluster: KubernetesSource | undefined;
  /** True if the configuration is read from elsewhere than this istiod's own cluster. */
  readonly isConfigElsewhere: boolean;
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
  values: MeshFlags & SecretsFlags,
  env: NodeJS.ProcessEnv,
  files: Partial<ConfigFileFlags> = {},
  { configSources = [], client, availability, places, warn = () => undefined }: ClusterOptions = {},
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
  const open: OpenDirectory = ({ kinds, ...options }) =>
    new DirectorySource({ ...directoryOptions(env, files), ...options, kinds: kindsOfDirectory(kinds, env) });
  const ofCluster = (directory: string) => ({ directory, cluster: values.clusterID, kinds: allKinds });
  const remote = clusterDirectories(values, open);
  const own = values.configDir
    ? open({ ...ofCluster(values.configDir), ...(files.stateDir && { stateDirectory: files.stateDir }) })
    : undefined;
  const stateDir = isConfigElsewhere ? "" : (files.stateDir ?? "");
  const cluster = client && clusterSource(client, values, env, { isConfigElsewhere, stateDir, availability, warn });
  const configured = openConfigSources(configSources, client !== undefined, {
    directory: (path) => open(ofCluster(path)),
    server: (url, tlsSettings) => xdsConfigSource({ url, tlsSettings, values, files, env }),
  });
  const ownName = `Cluster ${values.clusterID}`;
  const named = new Map<Source, { readonly name: string; readonly location: string }>([
    ...meshConfiguration(values, places),
    ...(cluster && client ? [[cluster, { name: ownName, location: client.server }] as const] : []),
    ...(own ? [[own, { name: ownName, location: values.configDir }] as const] : []),
    ...[...configured].map(([source, location]) => [source, { name: "Configuration", location }] as const),
    ...[...remote].map(([cluster, source]) => [source, { name: `Cluster ${cluster}`, location: source.name }] as const),
  ]);
  const isDirectory = (source: Source): source is DirectorySource => source instanceof DirectorySource;
  const absentReaders = absentReadersOf({
    cluster: client !== undefined,
    injects: variables.injectionEnabled.read(env),
    registers: variables.registersWorkloads.read(env),
    hasKubeconfigDirectory: variables.kubeconfigDirectory.read(env) !== "",
  });
  const withPolicies = [cluster, own, ...configured.keys()];
  return {
    all: [environmentSource(env, values, absentReaders), ...named.keys()],
    kinds: kindsOfDirectory(allKinds, env),
    own,
    cluster,
    isConfigElsewhere,
    directories: [...named.keys()].filter(isDirectory),
    named,
    remote,
    rejectedPolicies: () => withPolicies.flatMap((source) => source?.rejectedPolicies() ?? []),
  };
}

/** Places that a mesh is read from in addition to directories. */
export interface ClusterOptions {
  /** The mesh configuration's `configSources`. Default: none. */
  readonly configSources?: readonly ConfigSource[];
  /** Client of this istiod's cluster. Default: none is read */
  readonly client?: ApiClient | undefined;
  /** Receives the types that this cluster serves. Default: none does */
  readonly availability?: TypeAvailability;
  /** Default: the files that the flags name */
  readonly places?: MeshPlaces;
  /** Receives warnings about the cluster. Default: none does. */
  readonly warn?: (message: string) => void;
}

type NamedSource = readonly [Source, { readonly name: string; readonly location: string }];

/** Returns the sources of the mesh configuration and the networks. */
function meshConfiguration(
  { meshConfig, networksConfig }: Pick<MeshFlags, "meshConfig" | "networksConfig">,
  places: MeshPlaces | undefined,
): readonly NamedSource[] {
  const locationOf = (of: readonly DocumentPlace[] | undefined): string | undefined =>
    of?.map(({ name }) => name).join(", ") || undefined;
  return [
    [
      places ? meshConfigSource(places.meshConfig) : meshConfigFile(meshConfig),
      { name: "Mesh configuration", location: locationOf(places?.meshConfig) ?? (meshConfig || "defaults") },
    ],
    [
      places ? meshNetworksSource(places.networks) : meshNetworksFile(networksConfig),
      { name: "Mesh networks", location: locationOf(places?.networks) ?? (networksConfig || "none") },
    ],
  ];
}

function directoryOptions(
  env: Environment,
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
