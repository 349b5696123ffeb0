import { type Clock, systemClock } from "../clock.js";
import { reasonOf } from "../errors.js";
import type { Log } from "../log.js";
import { type Admin, askAdmin, readStats } from "./admin.js";
import type { EnvoyProcess } from "./process.js";

export interface TerminationOptions {
  readonly envoy: EnvoyProcess;
  readonly admin: Admin;
  /** A sidecar keeps its outbound side open while it drains, as the application still needs it. */
  readonly inboundOnly: boolean;
  /** How long connections may go on, in milliseconds (terminationDrainDuration). */
  readonly drain: number;
  /** End when the last connection has closed, at the earliest after `minimum` milliseconds. */
  readonly onZeroConnections?: { readonly minimum: number };
  /** Ports of Envoy's own listeners, whose connections are not the application's. */
  readonly ownPorts: readonly number[];
  readonly clock?: Clock;
  readonly log: Log;
}

const CHECK_INTERVAL = 1000;
const MOST_FAILED_CHECKS = 5;
/** Envoy needs no longer to end by itself once it is told to. */
const KILL_AFTER = 2000;

/** Begins to drain: Envoy tells clients to go elsewhere and accepts what still comes. */
export async function drainEnvoy({ admin, inboundOnly, log }: TerminationOptions, skipExit: boolean): Promise<void> {
  const query = [...(inboundOnly ? ["inboundonly"] : []), "graceful", ...(skipExit ? ["skip_exit"] : [])].join("&");
  try {
    await askAdmin(admin, "POST", `/drain_listeners?${query}`);
  } catch (error) {
    log.warn(`draining: ${reasonOf(error)}`);
  }
}

/** Drains Envoy, waits, and ends it. @param drained it was drained before, so there is nothing to wait for */
export async function terminateEnvoy(options: TerminationOptions, drained: boolean): Promise<void> {
  const { envoy, drain, onZeroConnections, clock = systemClock, log } = options;
  let gone = false;
  const exited = envoy.exited.then(() => {
    gone = true;
  });
  const wait = (milliseconds: number): Promise<void> => {
    let cancel = (): void => {};
    const timer = new Promise<void>((resolve) => {
      cancel = clock.after(milliseconds, resolve);
    });
    return Promise.race([timer, exited]).then(() => cancel());
  };

  if (!drained) {
    await drainEnvoy(options, false);
    if (onZeroConnections) {
      log.info(`draining for at least ${onZeroConnections.minimum / 1000} s, until no connection is left`);
      await wait(onZeroConnections.minimum);
      for (let failed = 0; !gone && failed < MOST_FAILED_CHECKS; await wait(CHECK_INTERVAL)) {
        try {
          const connections = await countConnections(options);
          if (connections === 0) break;
          log.info(`${connections} connections are left`);
          failed = 0;
        } catch (error) {
          failed++;
          log.warn(reasonOf(error));
        }
      }
    } else {
      log.info(`draining for ${drain / 1000} s`);
      await wait(drain);
    }
  }
  if (gone) return;
  envoy.kill("SIGTERM");
  await wait(KILL_AFTER);
  if (!gone) envoy.kill("SIGKILL");
  await exited;
}

/**
 * Connections of clients: those of listeners but Envoy's own, its internal ones, and each worker's share of the same
 * number.
 */
async function countConnections({ admin, ownPorts }: TerminationOptions): Promise<number> {
  const stats = await readStats(admin, "downstream_cx_active$");
  let sum = 0;
  for (const [name, value] of stats) {
    const own = ownPorts.some((port) => name.endsWith(`_${port}.downstream_cx_active`));
    if (name.startsWith("listener.") && !own && !/^listener\.(admin\.|envoy_internal_)|worker_/.test(name))
      sum += value;
  }
  return sum;
}
