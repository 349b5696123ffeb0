import { changesEndpointsAlone, Ingestion, RemoteAccess } from "@istiod/config-ingestion";
import { meshConfig, meshConfigKey } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import { type ApiClient, TypeAvailability } from "@istiod/kubernetes";
import { noProxy, type Proxy } from "@istiod/push-context";
import { GatewayResolution } from "@istiod/service-discovery";
import { warmUp } from "@istiod/xds-generators";
import { absentFiles } from "@istiod/commands";
import { connectCluster } from "../cluster/connect.js";
import { meshPlaces } from "../cluster/mesh-places.js";
import { openRemoteClusters } from "../cluster/remote-clusters.js";
import { indexFailureLog, SecretClusters } from "@istiod/mesh-source";
import { readConfigSources, warnOfChangedConfigSources } from "../config-sources.js";
import { systemDns } from "../dns.js";
import { openJwks } from "../jwks/open-jwks.js";
import { type Reporting, reporting } from "@istiod/mesh-log";
import { type MeshSources, meshSources } from "../sources.js";
import { ignoredObjects, ignoredResources, unusedObjects } from "../sources/unread-objects.js";
import type { Startup } from "./startup.js";

/** The mesh: its sources, and the database that they are read into. */
export interface Mesh {
  readonly database: Database<Proxy>;
  /** Client of this istiod's cluster; undefined if none is read. */
  readonly client: ApiClient | undefined;
  /** The types that this istiod's cluster serves. */
  readonly availability: TypeAvailability;
  readonly sources: MeshSources;
  readonly ingestion: Ingestion<Proxy>;
  readonly secretClusters: SecretClusters;
  readonly remoteAccess: RemoteAccess;
  readonly reporting: Reporting;
  /** The current root namespace. */
  readonly rootNamespace: () => string;
}

/** Opens the sources and starts to read them. @throws Error that names the flag or file that cannot be used */
export async function openMesh(startup: Startup): Promise<Mesh> {
  const { values, env, settings, log, meter, closers } = startup;
  const client = await connectCluster(values, env);
  if (client !== undefined) {
    closers.defer(() => client.close());
    log.info({ server: client.server }, "reading the cluster");
  }
  const onWaiting = (error: Error): void =>
    log.warn(`waiting for the mesh configuration, istiod is not ready: ${error.message}`);
  const configSources = await readConfigSources((await meshPlaces(values, env, client, onWaiting)).meshConfig);
  const places = await meshPlaces(values, env, client);
  const availability = new TypeAvailability();
  const sources = meshSources(values, env, values, {
    configSources,
    client,
    availability,
    places,
    warn: (message) => log.warn(message),
  });
  if (client === undefined) for (const warning of await absentFiles(values, " until it exists")) log.warn(warning);
  const database = new Database<Proxy>({
    onObserverError: (error) => log.error({ err: error }, "commit observer failed"),
    onIndexFailure: indexFailureLog(log.child({ scope: "validation" })),
  });
  const report = reporting({ meter, database, log });
  closers.defer(() => report.stop());
  const ingestion = new Ingestion(database, sources.all, {
    debounceAfter: settings.push.quietMs,
    debounceMax: settings.push.maxMs,
    ...(settings.push.debounceEndpoints ? {} : { skipsDebounce: changesEndpointsAlone }),
    onProblems: (problems) => report.problems(problems),
    onResolved: (problems) => report.resolved(problems),
    onCommitTiming: (timing) => report.commitTiming(timing),
  });
  closers.defer(() => ingestion.stop());
  const secretClusters = new SecretClusters([values.clusterID, ...sources.remote.keys()]);
  const remoteAccess = new RemoteAccess();
  openRemoteClusters(startup, { client, sources, ingestion, secretClusters, remoteAccess });
  warnOfChangedConfigSources(database, configSources, log);
  const rootNamespace = (): string => database.read(meshConfig, meshConfigKey)?.rootNamespace || "istio-system";
  return {
    database,
    client,
    availability,
    sources,
    ingestion,
    secretClusters,
    remoteAccess,
    reporting: report,
    rootNamespace,
  };
}

/**
 * Waits for the first state of the mesh: all sources are read, hostnames of gateways are resolved, keys of tokens are
 * fetched, and the resources that the expected proxies share are computed.
 */
export async function firstState(startup: Startup, { database, sources, ingestion }: Mesh): Promise<void> {
  const { values, settings, log, closers } = startup;
  await ingestion.ready;
  const modelLog = log.child({ scope: "model" });
  const gatewayResolution = new GatewayResolution({
    database,
    client: noProxy,
    resolve: systemDns(),
    warn: (message) => modelLog.warn(message),
  });
  closers.defer(() => gatewayResolution.stop());
  await Promise.all([gatewayResolution.start(), openJwks(startup, database).start()]);
  const unused = sources.own && unusedObjects(sources.own);
  if (unused !== undefined) log.info(unused);
  const excluded = sources.cluster && ignoredResources(sources.cluster);
  if (excluded !== undefined) log.info(excluded);
  for (const [cluster, directory] of sources.remote) {
    const ignored = ignoredObjects(cluster, directory);
    if (ignored !== undefined) log.warn(ignored);
  }
  const prepared = await warmUp({ database, cluster: values.clusterID, limitMs: settings.prepareLimitMs });
  if (prepared.proxies > 0) log.info({ prepared }, "precomputed the configuration that expected proxies share");
}
