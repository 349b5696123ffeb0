import { rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { type Closers } from "@istiod/runtime";
import { type Environment, fipsCipherSuites } from "@istiod/settings";
import { formatPeer, peerVariable } from "@istiod/standard-metrics";
import { writeBootstrap } from "../bootstrap/write-bootstrap.js";
import type { WorkloadIdentity } from "../certificates/workload-identity.js";
import { envoyArguments } from "../envoy/arguments.js";
import { readBootstrapOverride } from "../envoy/bootstrap-override.js";
import { type EnvoyProcess, startEnvoy } from "../envoy/process.js";
import { terminateEnvoy, type TerminationOptions } from "../envoy/termination.js";
import { peerWorkload } from "../node/peer-workload.js";
import type { Options } from "../options/table.js";
import { listenOnPort } from "../socket.js";
import type { AgentContext } from "./context.js";
import type { Shutdown } from "./shutdown.js";

/**
 * Writes the bootstrap and starts Envoy, which is drained and terminated on close.
 *
 * @throws AgentError `address` if one of Envoy's ports is in use, `configuration`, `file` or `envoy`
 */
export async function startProxy(
  context: AgentContext,
  identity: WorkloadIdentity,
  shutdown: Shutdown,
  closers: Closers,
): Promise<EnvoyProcess> {
  const { options, proxy, env, log, resolvePath } = context;
  const { config } = proxy;
  await checkPorts(context);
  const bootstrapFile = resolvePath(join(config.configPath, "envoy-rev.json"));
  closers.defer(() => rm(bootstrapFile, { force: true }));
  await writeBootstrap(bootstrapFile, { proxy, options, env, identity, log });
  const envoy = await startEnvoy({
    binary: options.envoyPath || config.binaryPath,
    args: envoyArguments(bootstrapFile, config, options, proxy.addresses, await bootstrapOverride(context), (message) =>
      log.warn(message),
    ),
    directory: resolve(options.directory),
    env: { ...envoyEnvironment(env, options), [peerVariable]: formatPeer(peerWorkload(context)) },
    outputDirectory: resolvePath(config.configPath),
    log,
  });
  log.info(`Envoy started with process ID ${envoy.pid}`);
  let hasExited = false;
  void envoy.exited.then(() => {
    hasExited = true;
  });
  closers.defer(async () => {
    if (!hasExited) await terminateEnvoy(terminationOptions(context, envoy), shutdown.isDrained);
  });
  return envoy;
}

function terminationOptions({ type, options, proxy, admin, clock, log }: AgentContext, envoy: EnvoyProcess) {
  const { terminationDrainDuration } = proxy.config;
  const { statusPort, prometheusPort, secureMetricsPort, secureMergedMetricsPort } = options;
  return {
    envoy,
    admin,
    inboundOnly: type === "sidecar",
    drain: terminationDrainDuration ? durationMs(terminationDrainDuration) : 0,
    ...(options.exitOnZeroConnections ? { onZeroConnections: { minimum: options.minimumDrain } } : {}),
    ownPorts: [statusPort, prometheusPort, secureMetricsPort, secureMergedMetricsPort].filter((port) => port > 0),
    clock,
    log,
  } satisfies TerminationOptions;
}

async function bootstrapOverride({ options, resolvePath }: AgentContext): Promise<string | undefined> {
  if (options.bootstrapOverride === "") return undefined;
  return readBootstrapOverride(resolvePath(options.bootstrapOverride), options.hostIp);
}

/** Envoy's gRPC library reads its cipher suites from the environment; FIPS policies restrict them. */
function envoyEnvironment(env: Environment, { compliancePolicy }: Options): Environment {
  if (!compliancePolicy.startsWith("fips-")) return env;
  return { ...env, GRPC_SSL_CIPHER_SUITES: fipsCipherSuites.join(":") };
}

/** Checks that Envoy's own ports are free. Envoy itself reports a port in use only in its log. */
async function checkPorts({ options, networks, admin }: AgentContext): Promise<void> {
  const ports = [
    { ...admin, setting: "proxyAdminPort of PROXY_CONFIG" },
    { address: networks.wildcard, port: options.statusPort, setting: "ENVOY_STATUS_PORT" },
    { address: networks.wildcard, port: options.prometheusPort, setting: "ENVOY_PROMETHEUS_PORT" },
  ];
  for (const { address, port, setting } of ports) {
    if (port === 0) continue;
    const server = createServer();
    await listenOnPort(server, port, address, setting);
    await new Promise((done) => server.close(done));
  }
}
