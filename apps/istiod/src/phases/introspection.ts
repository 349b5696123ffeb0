import { hostname } from "node:os";
import { shareConcurrent } from "@istiod/admin-server";
import type { LiveAnalysis } from "@istiod/analysis";
import { clusterMetrics, queueDepth, rejectedPoliciesSummary, rejectedPolicyMetrics } from "@istiod/config-ingestion";
import { type MeshClient, modelMetrics, OmissionObserver, patchFindings, providerFindings } from "@istiod/explain";
import type { Proxy } from "@istiod/push-context";
import { generators, lookups } from "@istiod/xds-generators";
import { type Ask, controlPlane, decodeAnswers, decodePage, ReplicaCommands } from "@istiod/replicas";
import type { SourceStatus } from "@istiod/status-page";
import type { Connection } from "@istiod/xds-server";
import { cacheMetrics, liveAnalysis, omissionLog, unsupportedClientMetric } from "@istiod/mesh-log";
import {
  certificateStatuses,
  clusterStates,
  componentLines,
  connectedProxies,
  type ControlPlaneInstance,
  DebugAccess,
  type DebugAuthorizationOptions,
  type DebugCommand,
  debugCommands,
  type DebugOptions,
  debugOverXds,
  listCommand,
  proxyConnections,
  proxyDetailsCommand,
  proxyPageCommand,
  replicaCommands,
  revocationStatuses,
  sourceStatuses,
  staleSourcesSummary,
  staleTrustSummary,
  statusModel,
  type StatusSources,
  reasonUnread,
  unreadVersions,
} from "@istiod/introspection";
import { describeIndexFailure, readProxy } from "@istiod/mesh-source";
import { processMetrics } from "@istiod/prometheus";
import { reasonUnwritten } from "../controllers/unwritten-services.js";
import { signerLines } from "../external-authority.js";
import { variables } from "../variables.js";
import type { Mesh } from "./mesh.js";
import { openReplicas, type Replicas } from "./replicas.js";
import type { Security } from "./security.js";
import type { Serving } from "./serving.js";
import type { Startup } from "./startup.js";
import type { Webhooks } from "./webhooks.js";

/** The debug commands, their authorization, the content of the status page, and the analysis. */
export interface Introspection {
  readonly commands: readonly DebugCommand[];
  readonly access: DebugAccess;
  readonly status: StatusSources;
  readonly analysis: LiveAnalysis<Proxy>;
  /** Returns the body of a positive answer to `/ready`. */
  readonly readiness: () => string;
  /** Returns a line for each source, for the verbose answer to `/ready`. */
  readonly components: () => readonly string[];
}

/** Returns the analysis of the mesh, which is not started yet. */
export function openAnalysis({ log, closers }: Startup, { database, sources, ingestion }: Mesh): LiveAnalysis<Proxy> {
  const analysis = liveAnalysis({
    database,
    kinds: sources.kinds,
    sources: sources.directories,
    problems: () => ingestion.problems(),
    log: log.child({ scope: "analysis" }),
  });
  closers.defer(() => analysis.stop());
  return analysis;
}

/** Registers the metrics, and answers debug commands over xDS. */
export function openIntrospection(
  startup: Startup,
  mesh: Mesh,
  security: Security,
  serving: Serving & Pick<Webhooks, "injectionTemplates"> & Pick<Introspection, "analysis">,
): Introspection {
  const { values, env, log, closers } = startup;
  const { database, sources, ingestion, reporting, rootNamespace } = mesh;
  const { source, server, analysis } = serving;
  const omissions = new OmissionObserver({
    database,
    clients: () => clientsOf(serving),
    changed: omissionLog(log.child({ scope: "push" })),
  });
  closers.defer(() => omissions.stop());
  const counted = registerMetrics(startup, mesh, serving);
  const faults: DebugOptions["faults"] = () => {
    const failed = source.failed();
    const unindexed = new Map(database.indexFailures().map(describeIndexFailure));
    return {
      ...counted(),
      ...(failed.size > 0 && { istiod_failed_resources: failed }),
      ...(unindexed.size > 0 && { istiod_unindexed_objects: unindexed }),
    };
  };
  const proxyOf = ({ node }: Pick<Connection, "node">): Proxy =>
    source.clientOf(node)?.proxy ?? readProxy(node, values.clusterAliases);
  unsupportedClientMetric(startup.meter, () => server.connections().map(proxyOf));
  const { injectionTemplates } = serving;
  const own = debugCommands(debugOptions(startup, mesh, serving, { analysis, faults, proxyOf, injectionTemplates }));
  const trust = (): readonly SourceStatus[] => [
    ...(security.bundles?.statuses() ?? []),
    ...revocationStatuses(security.authority),
  ];
  const status: StatusSources = {
    ...startingStatus(startup, mesh),
    connections: () => server.connections(),
    proxyOf,
    changes: reporting.changes,
    findings: async () => {
      const clients = clientsOf(serving);
      const ofClients = [...patchFindings(database, clients), ...providerFindings(clients)];
      return analysis.place([...(await analysis.findings()), ...ofClients]);
    },
    sources: () => [...sourceStatuses(sources.named, ingestion.states()), ...trust()],
    certificates: () => certificateStatuses(security.authority, security.secure?.current(), security.external?.roots),
    waitingFor: () => [],
  };
  const replicas = openReplicas(startup, mesh, security);
  const { ask, commands } = commandsOfReplicas(
    replicas,
    [...own, pageCommand(status)],
    proxyDetailsCommand({ server, proxyOf }, status),
  );
  server.handle(
    debugOverXds({ commands, server, proxyOf, rootNamespace, instance: instanceOf(startup), ...debugSettings(env) }),
  );
  const readiness = (): string =>
    rejectedPoliciesSummary(sources.rejectedPolicies()) +
    staleSourcesSummary(ingestion.states()) +
    staleTrustSummary(trust());
  const components = (): readonly string[] => [
    ...componentLines([...sourceStatuses(sources.named, ingestion.states()), ...trust()]),
    ...signerLines(security.external?.signers.statuses() ?? []),
  ];
  const pages = shareConcurrent(async () => decodeAnswers(await ask("page"), decodePage));
  return {
    commands,
    access: debugAccess(startup, mesh, security),
    status: { ...status, ...(replicas.areKnown && { replicas: { id: replicas.instance.id, pages } }) },
    analysis,
    readiness,
    components,
  };
}

/** Returns the commands of this replica with those that ask all, and the function that asks all. */
function commandsOfReplicas(
  { instance, others }: Replicas,
  commands: readonly DebugCommand[],
  details: DebugCommand,
): { readonly ask: Ask; readonly commands: readonly DebugCommand[] } {
  const own = [...commands, details];
  const replica = new ReplicaCommands({
    instance,
    answer: (command, query) => {
      const found = own.find(({ name }) => name === command);
      return found && Promise.resolve(found.answer({ query, namespace: undefined }));
    },
  });
  const ask = controlPlane({
    instance,
    answer: (command, parameters) => replica.reply(command, parameters),
    peers: others,
  });
  const all = [...own, ...replicaCommands({ replica, ask }), proxyPageCommand(ask, details)];
  return { ask, commands: [...all, listCommand(all)] };
}

/** Answers with the content of the status page of this replica alone, for the pages of others. */
function pageCommand(status: StatusSources): DebugCommand {
  return {
    name: "page",
    about: "Content of the status page of this replica alone",
    answer: async () => ({ json: await statusModel(status, { pages: [], documentation: [] }) }),
  };
}

/** Registers the metrics. Returns the faults in the resources of connected proxies. */
function registerMetrics(
  { values, version, registry, meter, closers }: Startup,
  { database, sources, ingestion }: Mesh,
  serving: Serving,
): DebugOptions["faults"] {
  closers.defer(processMetrics(registry, version));
  cacheMetrics(meter, database);
  queueDepth(meter, ingestion);
  rejectedPolicyMetrics(meter, () => sources.rejectedPolicies());
  clusterMetrics(meter, ingestion, values.clusterID);
  return modelMetrics(meter, {
    database,
    clients: () => clientsOf(serving),
    ownCluster: values.clusterID,
    remoteClusters: () =>
      clusterStates(values.clusterID, ingestion.states())
        .slice(1)
        .map(({ id }) => id),
  });
}

function clientsOf({ source, server }: Serving): readonly MeshClient[] {
  return server.nodes().flatMap((node) => source.clientOf(node) ?? []);
}

function debugOptions(
  startup: Startup,
  mesh: Mesh,
  { source, server }: Serving,
  others: Pick<DebugOptions, "analysis" | "faults" | "proxyOf" | "injectionTemplates">,
): DebugOptions {
  const { values, env, version } = startup;
  const { client, database, ingestion, reporting } = mesh;
  return {
    ...others,
    database,
    server,
    instance: instanceOf({ env, version }),
    canDisconnect: variables.adminEndpoints.read(env),
    changes: reporting.changes,
    clusters: () => clusterStates(values.clusterID, ingestion.states()),
    status: {
      database,
      deliveries: reporting.deliveries,
      connections: () => proxyConnections(server.connections(), others.proxyOf),
      viewOf: ({ node }) => source.clientOf(node)?.view,
      generators,
      lookups,
      changes: reporting.changes,
    },
    clients: () => clientsOf({ source, server }),
    proxies: () => connectedProxies(server.connections(), others.proxyOf),
    problems: () => ingestion.problems(),
    gathering: () => ingestion.isDebouncing,
    deploysGateways: client !== undefined,
    reasonUnwritten: reasonUnwritten(startup, mesh),
    unread: (name) =>
      unreadVersions(
        ingestion.states().map(({ source: of }) => of),
        name,
      ),
    reasonUnread: (kind) =>
      reasonUnread(
        ingestion.states().map(({ source: of }) => of),
        kind,
      ),
    profile: values.profile && variables.profiling.read(env),
  };
}

/** Returns the authorization of debug requests. Without authenticators only callers on this machine are allowed. */
export function debugAccess(
  { values, env, log }: Pick<Startup, "values" | "env" | "log">,
  { rootNamespace }: Pick<Mesh, "rootNamespace">,
  { authenticators, trustDomain }: Pick<Security, "authenticators" | "trustDomain">,
): DebugAccess {
  const debugLog = log.child({ scope: "debug" });
  return new DebugAccess({
    authenticators: () => authenticators,
    trustDomain,
    rootNamespace,
    ...debugSettings(env),
    allowedHosts: values.httpAllowedHosts,
    onRejected: ({ socket }, path, { status, message }, identities) =>
      debugLog.warn(
        { peer: socket.remoteAddress, path, status, ...(identities && { identities }) },
        `debug request rejected: ${message}`,
      ),
  });
}

/** Returns the content of the status page before the first state is ready. */
export function startingStatus(
  { values, env, version, startedAt }: Startup,
  { database, sources, ingestion }: Mesh,
): StatusSources {
  return {
    database,
    connections: () => [],
    proxyOf: ({ node }) => readProxy(node, values.clusterAliases),
    changes: { reports: () => [], report: () => undefined },
    problems: () => ingestion.problems(),
    sources: () => sourceStatuses(sources.named, ingestion.states()),
    certificates: () => [],
    instance: {
      name: instanceOf({ env, version }).id,
      version,
      revision: variables.revision.read(env) || "default",
      cluster: values.clusterID,
      namespace: values.namespace,
      startedAt,
    },
    waitingFor: () => ["the first full state"],
  };
}

/**
 * Returns the instance in answers, by the name of its Pod; outside Kubernetes, where `POD_NAME` is not set, by that of
 * its host.
 */
function instanceOf({ env, version }: Pick<Startup, "env" | "version">): ControlPlaneInstance {
  return { id: variables.podName.read(env) || hostname(), version };
}

function debugSettings(env: NodeJS.ProcessEnv): Omit<DebugAuthorizationOptions, "rootNamespace"> {
  return {
    isRequired: variables.debugAuthentication.read(env),
    allowedNamespaces: variables.debugNamespaces.read(env),
  };
}
