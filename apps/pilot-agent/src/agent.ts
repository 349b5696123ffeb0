import { Closers } from "@istiod/runtime";
import { type Clock, systemClock } from "@istiod/runtime";
import type { EnvoyExit } from "./envoy/process.js";
import { EnvoyReadiness } from "./envoy/readiness.js";
import type { Proxy } from "./proxy.js";
import { type AgentInputs, readContext } from "./startup/context.js";
import { openToken } from "./startup/credentials.js";
import { startHealthCheck, startDnsService, startXdsProxy } from "./startup/discovery.js";
import { startProxy } from "./startup/envoy.js";
import { writeGrpcBootstrap } from "./grpc/grpc-bootstrap.js";
import { startIdentity } from "./startup/identity.js";
import { Shutdown, superviseAgent } from "./startup/shutdown.js";
import { readinessCheck, startStatusServer } from "./startup/status.js";
import { type UnexpectedErrorHandler, unexpectedErrorHandler } from "./startup/unexpected-errors.js";
import { agentMetrics } from "./status/metrics.js";

/** Options of {@link startAgent}. Node metadata and headers are read from `env`, which Envoy inherits. */
export interface AgentOptions extends Omit<AgentInputs, "clock"> {
  /** Default: the system's clock. */
  readonly clock?: Clock;
}

/** A running agent with its Envoy. */
export interface Agent {
  readonly proxy: Proxy;
  /** Port of the status server; `undefined` if it is disabled. */
  readonly statusPort: number | undefined;
  /** Resolves when everything is closed: to Envoy's exit if that ended the agent, to `undefined` after a request. */
  readonly ended: Promise<EnvoyExit | undefined>;
  /** Drains and terminates Envoy, then closes everything. */
  terminate(): Promise<void>;
  /** @throws AgentError that names the reason while the proxy is not ready */
  checkReady(): Promise<void>;
  /** Counts and logs an error that nothing else handled. */
  readonly onUnexpectedError: UnexpectedErrorHandler;
}

/**
 * Starts an agent: certificates over SDS, DNS, the xDS proxy, the status server, and Envoy. If a phase fails,
 * everything that earlier phases opened is closed.
 *
 * @throws AgentError that names the setting, file or port
 */
export async function startAgent({ clock = systemClock, ...inputs }: AgentOptions): Promise<Agent> {
  const closers = new Closers();
  return closers.closeOnError(() => start({ ...inputs, clock }, closers));
}

async function start(inputs: AgentInputs, closers: Closers): Promise<Agent> {
  const shutdown = new Shutdown();
  const context = await readContext(inputs);
  const { options, proxy, admin, log } = context;
  const metrics = agentMetrics();

  const token = openToken(context, closers);
  const identity = await startIdentity(context, token, metrics, closers);
  const names = await startDnsService(context, metrics, closers);
  const xdsProxy = await startXdsProxy(context, metrics, { token, identity, names }, closers);
  const grpc = await writeGrpcBootstrap(context, identity);
  const envoyReadiness = options.disableEnvoy ? undefined : new EnvoyReadiness(admin);
  startHealthCheck(context, xdsProxy, envoyReadiness, closers);
  const checkReady = readinessCheck(context, { metrics, identity, names, envoyReadiness, grpc, shutdown });
  const status = await startStatusServer(context, { metrics, names, checkReady, shutdown }, closers);
  const envoy = options.disableEnvoy ? undefined : await startProxy(context, identity, shutdown, closers);

  const ended = superviseAgent({ envoy, shutdown, closers, log });
  const onUnexpectedError = unexpectedErrorHandler(metrics, log);
  const terminate = async (): Promise<void> => {
    shutdown.request();
    await ended;
  };
  return { proxy, statusPort: status?.port, ended, terminate, checkReady, onUnexpectedError };
}
