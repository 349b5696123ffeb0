import { type Closers, reasonOf } from "@istiod/runtime";
import type { EnvoyExit, EnvoyProcess } from "../envoy/process.js";
import type { Log } from "../log.js";

/** The request to shut down. Signals, callers and the status server make it; {@link superviseAgent} carries it out. */
export class Shutdown {
  /** Resolves on the first request. */
  readonly requested: Promise<void>;
  #resolve: () => void = () => undefined;
  #isRequested = false;
  #isDrained = false;

  constructor() {
    this.requested = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get isRequested(): boolean {
    return this.#isRequested;
  }

  /** Reports whether Envoy has been drained, so that shutdown need not wait for connections. */
  get isDrained(): boolean {
    return this.#isDrained;
  }

  /** Requests a graceful shutdown. Further requests have no effect. */
  request(): void {
    this.#isRequested = true;
    this.#resolve();
  }

  markDrained(): void {
    this.#isDrained = true;
  }
}

export interface SupervisedAgent {
  /** Absent with DISABLE_ENVOY. */
  readonly envoy: EnvoyProcess | undefined;
  readonly shutdown: Shutdown;
  readonly closers: Closers;
  readonly log: Log;
}

/**
 * Waits until shutdown is requested or Envoy exits, then closes everything.
 *
 * @returns how Envoy exited, if that is what ended the agent
 */
export async function superviseAgent(agent: SupervisedAgent): Promise<EnvoyExit | undefined> {
  const { envoy, shutdown, closers, log } = agent;
  const requested = shutdown.requested.then(() => undefined);
  const exit = await (envoy ? Promise.race([requested, envoy.exited]) : requested);
  shutdown.request();
  if (exit) logExit(exit, log);
  await closers.close().catch((error: unknown) => log.error(`shutdown: ${reasonOf(error)}`));
  log.info("Agent has successfully terminated");
  return exit;
}

function logExit({ code, signal }: EnvoyExit, log: Log): void {
  if (code === 0) log.info("Envoy exited normally");
  else log.error(`Envoy exited with error: ${signal === null ? `exit status ${code}` : `signal ${signal}`}`);
}

/** Returns a close function that logs its completion at debug level. */
export function loggedClose(name: string, close: () => Promise<void>, log: Log): () => Promise<void> {
  return async () => {
    await close();
    log.debug(`${name} closed`);
  };
}
