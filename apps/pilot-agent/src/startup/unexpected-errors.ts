import { LimitedLog } from "@istiod/logging";
import type { Log } from "../log.js";
import type { AgentMetrics } from "../status/metrics.js";

/** Handles an error that no part of the agent handled. */
export type UnexpectedErrorHandler = (error: unknown) => void;

/**
 * Returns a handler that counts and logs errors, at most ten a minute.
 *
 * A running agent survives errors that a packet, connection, probe or stream left unhandled: the state of each is its
 * own, and the alternative is to end the proxy of a workload whenever somebody finds such an input. During startup,
 * errors end the agent.
 */
export function unexpectedErrorHandler(metrics: AgentMetrics, log: Log): UnexpectedErrorHandler {
  const limited = new LimitedLog(log);
  return (error) => {
    metrics.unexpectedErrors.inc();
    limited.write(
      "error",
      `unexpected error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    );
  };
}

/** Handles a process's uncaught exceptions and unhandled rejections. @returns stops */
export function handleUnexpectedErrors(process: NodeJS.Process, handler: UnexpectedErrorHandler): () => void {
  process.on("uncaughtException", handler).on("unhandledRejection", handler);
  return () => void process.off("uncaughtException", handler).off("unhandledRejection", handler);
}
