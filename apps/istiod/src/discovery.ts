import { rename, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import type { AddressInfo } from "node:net";
import { certificateRoutes, type KeptServingTls } from "@istiod/ca";
import { changesEndpointsAlone, Ingestion } from "@istiod/config-ingestion";
import { meshConfig, meshConfigKey } from "@istiod/config-schema";
import { Database } from "@istiod/incremental";
import type { Proxy } from "@istiod/push-context";
import { type Connection, createXdsServer, type Listening, peerKey, type XdsServer } from "@istiod/xds-server";
import type { Logger } from "pino";
import { generators, lookups } from "@istiod/xds-generators";
import { Counter, Registry } from "prom-client";
import { absentFiles } from "./absent-files.js";
import { liveAnalysis } from "./analysis.js";
import { startAuthority } from "./authority.js";
import { connectionLimits } from "./connection-limits.js";
import { DebugAccess, isLoopback } from "./debug/access.js";
import { debugOverXds } from "./debug/over-xds.js";
import { debugCommands, debugRoutes } from "./debug/routes.js";
import { duration, type FlagValues, type ListenAddress, listenAddress } from "./flags.js";
import { GatewayNames } from "./gateway-names.js";
import { type Route, serveHttp } from "./http-server.js";
import { closed, listening, listenOptions } from "./listening.js";
import { MeshSource, readProxy } from "./mesh-source.js";
import { cacheMetrics } from "./metrics/cache-metrics.js";
import { certificateMetrics } from "./metrics/certificate-metrics.js";
import { modelMetrics } from "./metrics/model-metrics.js";
import { prepare } from "./preparation.js";
import { pushSettings } from "./push-settings.js";
import { reporting } from "./reporting.js";
import { servingTls } from "./serving-tls.js";
import { ignoredObjects, meshSources, unusedObjects } from "./sources.js";
import { certificateStatuses } from "./status/certificate-statuses.js";
import { sourceStatuses } from "./status/source-statuses.js";
import { statusRoute } from "./status/status-route.js";
import { credentialsOfPeer, streamIdentity } from "./stream-identity.js";
import { tlsLimits } from "./tls-limits.js";
import { refuseUnservedProtections } from "./unserved-protections.js";
import { checkVariables, variables } from "./variables.js";

/** A running control plane. */
export interface Discovery {
  /** Where each server listens, by the flag that asked for it. */
  readonly addresses: Readonly<Record<string, { readonly host: string; readonly port: number }>>;
  /**
   * Ends it: new streams are refused, proxies are told to go elsewhere, and everything is closed within
   * --shutdownDuration.
   */
  close(): Promise<void>;
}

/**
 * Starts a control plane and resolves when the first full state is served.
 *
 * @throws Error that says which flag, file or port cannot be used.
 */
export async function startDiscovery(
  values: FlagValues,
  env: NodeJS.ProcessEnv,
  log: Logger,
  version: string,
): Promise<Discovery> {
  const startedAt = Date.now();
  const stops: (() => unknown)[] = [];
  const addresses: Record<string, { host: string; port: number }> = {};
  const stopAll = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) await stop();
  };
  try {
    refuseUnservedProtections(env);
    checkVariables(env);
    const settings = pushSettings(env);
    const limits = connectionLimits(values, env);
    const sources = meshSources(values, env);
    for (const sentence of await absentFiles(values, " until it exists")) log.warn(sentence);
    const registry = new Registry();
    const database = new Database<Proxy>({
      onObserverError: (error) => log.error({ err: error }, "commit observer failed"),
    });
    const served: { by?: XdsServer; from?: Ingestion<Proxy> } = {};
    const report = reporting({
      registry,
      database,
      version,
      log,
      connections: () => served.by?.connections() ?? [],
      waiting: () => served.from?.waiting ?? 0,
    });
    stops.push(() => report.stop());
    const rootNamespace = (): string => database.read(meshConfig, meshConfigKey)?.rootNamespace || "istio-system";
    const authorization: { check?: ReturnType<typeof streamIdentity> } = {};
    const certificateErrors = new Counter({
      name: "pilot_sds_certificate_errors_total",
      help: "Secrets that were asked for and could not be served.",
      registers: [registry],
    });
    const overXds: { answer: ReturnType<typeof debugOverXds> } = { answer: () => undefined };
    const source = new MeshSource({
      database,
      log: log.child({ scope: "ads" }),
      authorize: (proxy, peer) => authorization.check?.(proxy, peer),
      secretRefused: () => certificateErrors.inc(),
      debug: (proxy, typeUrl, names) => overXds.answer(proxy, typeUrl, names),
    });
    const analysis = liveAnalysis({
      database,
      kinds: sources.kinds,
      sources: [sources.own, ...sources.remote.values()],
      problems: () => served.from?.problems() ?? [],
      log: log.child({ scope: "analysis" }),
    });
    stops.push(() => analysis.stop());
    const modelLog = log.child({ scope: "model" });
    const gatewayNames = new GatewayNames({ database, warn: (message) => modelLog.warn(message) });
    stops.push(() => gatewayNames.stop());
    const ingestion = new Ingestion(database, sources.all, {
      quiet: settings.quietMs,
      max: settings.maxMs,
      ...(settings.debounceEndpoints ? {} : { atOnce: changesEndpointsAlone }),
      onProblems: (problems) => report.problems(problems),
      onResolved: (problems) => report.resolved(problems),
      onCommitTiming: (timing) => report.commitTiming(timing),
    });
    served.from = ingestion;
    stops.push(() => ingestion.stop());
    await ingestion.ready;
    await gatewayNames.start();
    const unused = unusedObjects(sources.own);
    if (unused !== undefined) log.info(unused);
    for (const [cluster, directory] of sources.remote) {
      const ignored = ignoredObjects(cluster, directory);
      if (ignored !== undefined) log.warn(ignored);
    }
    const prepared = await prepare({
      database,
      cluster: values.clusterID,
      limitMs: duration("prepareLimit", values.prepareLimit),
    });
    if (prepared.proxies > 0) log.info({ prepared }, "computed what expected proxies will ask for");
    const trustDomain = database.read(meshConfig, meshConfigKey)?.trustDomain || "cluster.local";

    const authorityLog = log.child({ scope: "pkica" });
    const authority = await startAuthority(values, trustDomain, env, authorityLog);
    if (authority) {
      stops.push(() => authority.stop());
      authorization.check = streamIdentity(authority.authenticators);
    }

    const xds = createXdsServer(source, {
      attribution: report.attribution,
      observe: (event) => report.observe(event),
      concurrentPushes: settings.concurrentPushes,
      streamsPerSecond: settings.streamsPerSecond,
    });
    served.by = xds;
    stops.push(() => xds.close({ graceMs: duration("shutdownDuration", values.shutdownDuration) }));
    const faults = modelMetrics(registry, {
      database,
      server: xds,
      clientOf: ({ node }) => source.clientOf(node),
      ownCluster: values.clusterID,
      remoteClusters: () => sources.remote.keys(),
    });
    cacheMetrics(registry, database);
    report.started();
    source.markReady();

    const plaintext = listenAddress("grpcAddr", values.grpcAddr);
    if (plaintext)
      addresses["grpcAddr"] = await listening(
        "grpcAddr",
        values.grpcAddr,
        xds.listen({ ...listenOptions(plaintext), ...limits }),
      );
    const secure = listenAddress("secureGRPCAddr", values.secureGRPCAddr);
    const opened: { listener?: Listening; tls?: KeptServingTls } = {};
    if (secure) {
      if (!authority)
        throw new Error(
          '--secureGRPCAddr needs a certificate authority: give --caDir, plug one in by ROOT_CA_DIR, or disable it with --secureGRPCAddr ""',
        );
      const events = certificateMetrics(registry, authority.authority);
      const tlsLimit = tlsLimits(values, env);
      const tls = await servingTls(
        values,
        authority,
        (renewed) => opened.listener?.renew({ ...renewed, ...tlsLimit }),
        authorityLog,
      );
      opened.tls = tls;
      stops.push(() => tls.stop());
      const routes = certificateRoutes({
        authority: authority.authority,
        authenticators: authority.authenticators,
        events,
        credentials: (context) => credentialsOfPeer(context.values.get(peerKey)),
      });
      opened.listener = await listening(
        "secureGRPCAddr",
        values.secureGRPCAddr,
        xds.listen({
          ...listenOptions(secure),
          ...limits,
          tls: { ...tls.current(), ...tlsLimit },
          ...(variables.caServer.read(env) && { routes }),
        }),
      );
      opened.listener.renew({ ...tls.current(), ...tlsLimit });
      addresses["secureGRPCAddr"] = opened.listener;
    }

    const debugLog = log.child({ scope: "debug" });
    const access = new DebugAccess({
      authenticators: () => authority?.authenticators ?? [],
      rootNamespace,
      env,
      refused: ({ socket }, path, { status, message }, identities) =>
        debugLog.warn(
          { peer: socket.remoteAddress, path, status, ...(identities && { identities }) },
          `debug request refused: ${message}`,
        ),
    });
    const proxyOf = ({ node }: Connection): Proxy => source.clientOf(node)?.proxy ?? readProxy(node);
    const commands = debugCommands({
      database,
      server: xds,
      proxyOf,
      env,
      version,
      changes: report.changes,
      faults,
      clusters: () => [
        { id: values.clusterID, source: "" },
        ...[...sources.remote.keys()].map((id) => ({ id, source: "--clusterDir" })),
      ],
      status: {
        database,
        deliveries: report.deliveries,
        connections: () => xds.connections(),
        viewOf: ({ node }) => source.clientOf(node)?.view,
        generators,
        lookups,
        changes: report.changes,
      },
      problems: () => ingestion.problems(),
      analysis,
      gathering: () => ingestion.gathering,
      namespaceOf: (request) => access.namespaceOf(request),
      profile: values.profile,
    });
    overXds.answer = debugOverXds({ commands, server: xds, rootNamespace, env, version });
    const debug = !variables.debugOnHttp.read(env)
      ? []
      : debugRoutes(commands, (request) => access.namespaceOf(request));
    const statusPage = statusRoute({
      database,
      connections: () => xds.connections(),
      proxyOf,
      changes: report.changes,
      problems: () => ingestion.problems(),
      sources: () => sourceStatuses(sources.named, ingestion.states()),
      findings: async () => analysis.place(await analysis.findings()),
      certificates: () => certificateStatuses(authority, opened.tls?.current()),
      instance: {
        name: variables.podName.read(env) || hostname(),
        version,
        revision: variables.revision.read(env) || "default",
        cluster: values.clusterID,
        namespace: values.namespace,
        startedAt,
      },
      waitingFor: () => (source.ready() ? [] : ["the first full state"]),
      monitoring: () => addresses["monitoringAddr"],
    });
    const page: [string, Route][] = !variables.debugOnHttp.read(env) ? [] : [["/", statusPage]];
    const ready: [string, Route] = [
      "/ready",
      (_, response) => void response.writeHead(source.ready() ? 200 : 503).end(),
    ];
    const monitoring: [string, Route][] = [
      [
        "/metrics",
        async ({ http: request }, response) => {
          if (variables.localMetricsOnly.read(env) && !isLoopback(request.socket.remoteAddress))
            return void response
              .writeHead(403, { "content-type": "text/plain" })
              .end("Only requests from localhost are allowed\n");
          response.writeHead(200, { "content-type": registry.contentType }).end(await registry.metrics());
        },
      ],
      ["/version", (_, response) => void response.writeHead(200, { "content-type": "text/plain" }).end(version)],
    ];
    const monitoringAddr = listenAddress("monitoringAddr", values.monitoringAddr);
    const httpAddr = listenAddress("httpAddr", values.httpAddr);
    const http = async (
      flag: "httpAddr" | "monitoringAddr",
      where: ListenAddress,
      routes: Iterable<[string, Route]>,
    ): Promise<void> => {
      const server = await listening(
        flag,
        values[flag],
        serveHttp(where, new Map(routes), (request, at) => access.guard(request, at)),
      );
      stops.push(() => closed(server));
      const { address, port } = server.address() as AddressInfo;
      addresses[flag] = { host: address, port };
    };
    if (httpAddr) await http("httpAddr", httpAddr, [ready, ...page, ...debug, ...(monitoringAddr ? [] : monitoring)]);
    if (monitoringAddr) await http("monitoringAddr", monitoringAddr, [...monitoring, ...debug]);
    if (values.readyFile) await writeWhole(values.readyFile, `${new Date().toISOString()}\n`);
    log.info({ addresses }, "ready");
    if (variables.analysis.read(env)) void analysis.start();
    return { addresses, close: stopAll };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

/** Writes a file so that nobody sees half of it. */
async function writeWhole(file: string, text: string): Promise<void> {
  await writeFile(`${file}.tmp`, text);
  await rename(`${file}.tmp`, file);
}
