import { type Clock, reasonOf, systemClock } from "@istiod/runtime";
import type { Log } from "../log.js";
import { type Admin, fetchAdmin, readStats } from "./admin.js";
import type { EnvoyProcess } from "./process.js";

export interface TerminationOptions {
  readonly envoy: EnvoyProcess;
  readonly admin: Admin;
  /** Drains inbound listeners only. A sidecar's application still needs the outbound ones. */
  readonly inboundOnly: boolean;
  /** Drain period in milliseconds (terminationDrainDuration). */
  readonly drain: number;
  /** Waits for the last connection to close, at least `minimum` milliseconds, instead of the drain period. */
  readonly onZeroConnections?: { readonly minimum: number };
  /** Ports of Envoy's static listeners, whose connections are not counted. */
  readonly ownPorts: readonly number[];
  readonly clock?: Clock;
  readonly log: Log;
}

/** Milliseconds between checks for active connections. */
const CONNECTION_CHECK_INTERVAL = 1000;
const MAX_FAILED_CHECKS = 5;
/** Milliseconds between SIGTERM and SIGKILL. */
const KILL_TIMEOUT = 2000;

/** Starts draining: Envoy asks clients to disconnect, and still accepts connections until it exits. */
export async function drainEnvoy(
  { admin, inboundOnly, log }: Pick<TerminationOptions, "admin" | "inboundOnly" | "log">,
  skipExit: boolean,
): Promise<void> {
  const query = [...(inboundOnly ? ["inboundonly"] : []), "graceful", ...(skipExit ? ["skip_exit"] : [])].join("&");
  try {
    await fetchAdmin(admin, "POST", `/drain_listeners?${query}`);
  } catch (error) {
    log.warn(`Error in invoking drain listeners endpoint: ${reasonOf(error)}`);
  }
}

/**
 * Drains Envoy, waits for the drain period or for the last connection, and terminates it.
 *
 * @param isDrained true if Envoy has been drained before, so that it is terminated at once
 */
export async function terminateEnvoy(options: TerminationOptions, isDrained: boolean): Promise<void> {
  const { envoy, drain, onZeroConnections, clock = systemClock, log } = options;
  const running = new RunningEnvoy(envoy, clock);
  if (isDrained) {
    log.info("Agent already drained, exiting immediately");
  } else {
    log.info("Agent draining proxy for termination");
    await drainEnvoy(options, false);
    if (onZeroConnections) {
      await waitForZeroConnections(options, onZeroConnections.minimum, running);
    } else {
      log.info(`Graceful termination period is ${drain / 1000}s, starting...`);
      await running.wait(drain);
    }
  }
  if (running.hasExited) {
    log.info("Graceful termination logic ended prematurely, Envoy process terminated early");
    return;
  }
  envoy.kill("SIGTERM");
  await running.wait(KILL_TIMEOUT);
  if (!running.hasExited) envoy.kill("SIGKILL");
  await envoy.exited;
}

/** Waits that end early when Envoy exits. */
class RunningEnvoy {
  readonly #exited: Promise<void>;
  readonly #clock: Clock;
  #hasExited = false;

  constructor(envoy: EnvoyProcess, clock: Clock) {
    this.#clock = clock;
    this.#exited = envoy.exited.then(() => {
      this.#hasExited = true;
    });
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  async wait(milliseconds: number): Promise<void> {
    let cancel = (): void => {};
    const timer = new Promise<void>((resolve) => {
      cancel = this.#clock.after(milliseconds, resolve);
    });
    await Promise.race([timer, this.#exited]);
    cancel();
  }
}

async function waitForZeroConnections(
  options: TerminationOptions,
  minimum: number,
  running: RunningEnvoy,
): Promise<void> {
  const { log } = options;
  log.info(`Agent draining proxy for ${minimum / 1000}s, then waiting for active connections to terminate...`);
  await running.wait(minimum);
  for (
    let failed = 0;
    !running.hasExited && failed < MAX_FAILED_CHECKS;
    await running.wait(CONNECTION_CHECK_INTERVAL)
  ) {
    try {
      const connections = await countConnections(options);
      if (connections === 0) {
        log.info("There are no more active connections. terminating proxy...");
        return;
      }
      log.info(`There are still ${connections} active connections`);
      failed = 0;
    } catch (error) {
      failed++;
      log.warn(`Retrying (${failed} attempt) to obtain active connections: ${reasonOf(error)}`);
    }
  }
}

/** Counts the application's connections, without those of Envoy's own and internal listeners. */
async function countConnections({ admin, ownPorts }: TerminationOptions): Promise<number> {
  const stats = await readStats(admin, "downstream_cx_active$");
  let sum = 0;
  for (const [name, value] of stats) {
    const isOwn = ownPorts.some((port) => name.endsWith(`_${port}.downstream_cx_active`));
    // Per-worker statistics repeat the listener's total.
    const isOther = /^listener\.(admin\.|envoy_internal_)|worker_/.test(name);
    if (name.startsWith("listener.") && !isOwn && !isOther) sum += value;
  }
  return sum;
}
