import { rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { networksOf } from "./bootstrap/networks.js";
import { writeBootstrap } from "./bootstrap/write-bootstrap.js";
import { WorkloadIdentity } from "./certificates/workload-identity.js";
import { type Clock, systemClock } from "./clock.js";
import { discoveryTls } from "./control-plane.js";
import { NameService } from "./dns/name-service.js";
import { envoyArguments } from "./envoy/arguments.js";
import { readBootstrapOverride } from "./envoy/bootstrap-override.js";
import { type EnvoyExit, type EnvoyProcess, startEnvoy } from "./envoy/process.js";
import { EnvoyReadiness } from "./envoy/readiness.js";
import { drainEnvoy, terminateEnvoy, type TerminationOptions } from "./envoy/termination.js";
import { AgentError } from "./errors.js";
import type { Log } from "./log.js";
import type { Options } from "./options/table.js";
import { appProbes } from "./probes/app-probes.js";
import { HealthCheck } from "./probes/health-check.js";
import { type Proxy, type ProxyType, readProxy } from "./proxy.js";
import { Relay } from "./relay/relay.js";
import { agentMetrics, type AgentMetrics } from "./status/metrics.js";
import { scrapeTargets } from "./status/scrape.js";
import { StatusServer } from "./status/status-server.js";
import { listenOnPort } from "./socket.js";

export interface AgentOptions {
  readonly type: ProxyType;
  readonly options: Options;
  /** The process's environment: metadata and headers are read from it, and Envoy inherits it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly clock?: Clock;
}

/** A running agent with its Envoy. */
export interface Agent {
  readonly proxy: Proxy;
  readonly statusPort: number | undefined;
  /** Resolved when the agent has ended: with how Envoy ended by itself, or with nothing when it was told to end. */
  readonly ended: Promise<EnvoyExit | undefined>;
  /** Drains and ends. */
  terminate(): Promise<void>;
  /** Throws, saying what is missing, while the proxy is not ready. */
  checkReady(): Promise<void>;
}

/**
 * Starts everything beside an Envoy and the Envoy itself: status port, DNS, certificates over SDS, the relay to istiod.
 *
 * @throws AgentError saying in one sentence what is missing
 */
export async function startAgent({ type, options, env, log, clock = systemClock }: AgentOptions): Promise<Agent> {
  const started = clock.now();
  const proxy = await readProxy(type, options, log);
  const { config } = proxy;
  const at = (path: string): string => resolve(options.directory, path);
  const networks = networksOf(proxy.addresses, options.dualStack, options.bindAddress);
  const admin = { address: networks.localhost, port: config.proxyAdminPort };
  const tls = discoveryTls(options, config);

  const identity = await WorkloadIdentity.prepare({ proxy, options, env, log, clock });
  const metrics = agentMetrics(() => identity.secondsToExpiry());
  identity.onRequest((ok) => {
    metrics.outgoingRequests.inc({ request_type: "CSR" });
    if (!ok) metrics.failedOutgoingRequests.inc({ request_type: "CSR" });
  });
  const names = wantsNames(type, options) ? new NameService({ options, proxy, metrics, log, clock }) : undefined;
  const relay = new Relay({
    socket: at(join(config.configPath, "XDS")),
    upstream: {
      address: config.discoveryAddress,
      ...(tls ? { tls } : {}),
      tokenFile: at(options.tokenFile),
      clusterId: options.clusterId,
      headers: prefixed(env, "XDS_HEADER_"),
      clock,
    },
    handlers: names ? names.handlers : {},
    events: relayEvents(metrics),
    log,
  });

  const applicationHost = options.bindAddress || proxy.addresses[0] || networks.localhost;
  // Where traffic is captured, what comes from this address is let through; on a machine of many agents nothing is
  // captured.
  const probesFrom = options.bindAddress ? {} : { localAddress: applicationHost.includes(":") ? "::6" : "127.0.0.6" };
  const probes = appProbes({
    text: options.appProbers,
    host: applicationHost,
    statusPort: config.statusPort,
    ...probesFrom,
    log,
  });
  const readiness = options.disableEnvoy ? undefined : new EnvoyReadiness(admin);
  let ready = false;
  const checkReady = async (): Promise<void> => {
    if (stopping) throw new AgentError("envoy", "the agent is ending");
    await readiness?.check();
    names?.checkReady();
    if (!ready) metrics.startupDuration.set((clock.now() - started) / 1000);
    ready = true;
  };

  let stopping = false;
  let drained = false;
  let envoy: EnvoyProcess | undefined;
  let finish: (exit: EnvoyExit | undefined) => void = () => undefined;
  const ended = new Promise<EnvoyExit | undefined>((resolveEnded) => {
    finish = resolveEnded;
  });
  const close = async (exit: EnvoyExit | undefined): Promise<void> => {
    identity.stop();
    health?.stop();
    await Promise.all([status?.close(), relay.close(), identity.close(), names?.close()]);
    await rm(bootstrapFile, { force: true });
    finish(exit);
  };
  const health = config.readinessProbe
    ? new HealthCheck({
        probe: config.readinessProbe,
        host: applicationHost,
        ...probesFrom,
        ...(readiness ? { proxyReady: () => readiness.check() } : {}),
        report: (state) => relay.reportHealth(state),
        clock,
        log,
      })
    : undefined;
  const termination = (running: EnvoyProcess): TerminationOptions => ({
    envoy: running,
    admin,
    inboundOnly: type === "sidecar",
    drain: config.terminationDrainDuration ? durationMs(config.terminationDrainDuration) : 0,
    ...(options.exitOnZeroConnections ? { onZeroConnections: { minimum: options.minimumDrain } } : {}),
    ownPorts: [
      options.statusPort,
      options.prometheusPort,
      options.secureMetricsPort,
      options.secureMergedMetricsPort,
    ].filter((port) => port > 0),
    clock,
    log,
  });
  const terminate = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    if (envoy) await terminateEnvoy(termination(envoy), drained);
    await close(undefined);
  };

  const status =
    config.statusPort > 0
      ? new StatusServer({
          port: config.statusPort,
          ...(options.bindAddress ? { address: options.bindAddress } : {}),
          ready: checkReady,
          quit: () => {
            drained = true;
            void terminate();
          },
          drain: () => {
            drained = true;
            if (envoy) void drainEnvoy(termination(envoy), true);
          },
          metrics,
          localMetricsOnly: options.localMetricsOnly,
          ...(options.disableEnvoy
            ? {}
            : { envoyMetrics: `http://${hostOf(networks.localhost)}:${admin.port}/stats/prometheus` }),
          applications: type === "sidecar" ? scrapeTargets(options.prometheusScrape, config.statusPort) : [],
          applicationHost: hostOf(applicationHost),
          probe: probes,
          ...(names ? { names: () => names.table() } : {}),
          log,
        })
      : undefined;
  const bootstrapFile = at(join(config.configPath, "envoy-rev.json"));

  try {
    await status?.start();
    await names?.start();
    await identity.start();
    await relay.start();
    health?.start();
    if (!options.disableEnvoy) {
      await checkPorts([
        { ...admin, setting: "proxyAdminPort of PROXY_CONFIG" },
        { address: networks.wildcard, port: options.statusPort, setting: "ENVOY_STATUS_PORT" },
        { address: networks.wildcard, port: options.prometheusPort, setting: "ENVOY_PROMETHEUS_PORT" },
      ]);
      await writeBootstrap(bootstrapFile, proxy, options, env, identity, log);
      envoy = await startEnvoy({
        binary: options.envoyPath || config.binaryPath,
        args: envoyArguments(bootstrapFile, config, options, proxy.addresses, await override(options, at)),
        directory: resolve(options.directory),
        env: envoyEnvironment(env, options),
        outputDirectory: at(config.configPath),
        log,
      });
      log.info(`Envoy started with process ID ${envoy.pid}`);
      void envoy.exited.then((exit) => {
        if (stopping) return;
        stopping = true;
        log.error(`Envoy ended by itself (${exit.signal ?? `exit code ${exit.code}`})`);
        void close(exit);
      });
    }
  } catch (error) {
    stopping = true;
    await close(undefined);
    throw error;
  }
  return { proxy, statusPort: status?.port, ended, terminate, checkReady };
}

function wantsNames(type: ProxyType, options: Options): boolean {
  return (options.dnsCapture && type === "sidecar") || options.dnsServer;
}

/** The entries of the environment with a prefix, without it. */
function prefixed(env: Readonly<Record<string, string | undefined>>, prefix: string): Record<string, string> {
  const entries = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[0].startsWith(prefix) && entry[1] !== undefined,
  );
  return Object.fromEntries(entries.map(([name, value]) => [name.slice(prefix.length).toLowerCase(), value]));
}

function relayEvents(metrics: AgentMetrics): ConstructorParameters<typeof Relay>[0]["events"] & object {
  return {
    connectionFailed: () => metrics.istiodConnectionFailures.inc(),
    terminated: (side, type) =>
      (side === "istiod" ? metrics.istiodConnectionTerminations : metrics.envoyConnectionTerminations).inc({ type }),
    request: () => metrics.xdsProxyRequests.inc(),
    response: () => metrics.xdsProxyResponses.inc(),
  };
}

async function override(options: Options, at: (path: string) => string): Promise<string | undefined> {
  return options.bootstrapOverride === ""
    ? undefined
    : readBootstrapOverride(at(options.bootstrapOverride), options.hostIp);
}

/** FIPS limits the ciphers of Envoy's own gRPC client, which takes them from the environment. */
function envoyEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  { compliancePolicy }: Options,
): Readonly<Record<string, string | undefined>> {
  if (!compliancePolicy.startsWith("fips-")) return env;
  return {
    ...env,
    GRPC_SSL_CIPHER_SUITES:
      "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384",
  };
}

/** Envoy says that a port is taken only in its log and ends; so it is looked at before. @throws AgentError `address` */
async function checkPorts(
  ports: readonly { readonly address: string; readonly port: number; readonly setting: string }[],
): Promise<void> {
  for (const { address, port, setting } of ports) {
    if (port === 0) continue;
    const server = createServer();
    await listenOnPort(server, port, address, setting);
    await new Promise((done) => server.close(done));
  }
}

function hostOf(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}
