import { askReplicas, type AskOptions } from "./ask-replicas.js";
import { type Gathered, joinGathered } from "./gathered.js";
import type { Replica, ReplicaInstance, ReplicaReply } from "./replica.js";

/** Names the replicas to ask. */
export interface Selection {
  /** ID of the only replica to ask. Default: all. */
  readonly only?: string;
}

/** Asks the replicas of a control plane for their answers to a command. */
export type Ask = (command: string, parameters?: URLSearchParams, selection?: Selection) => Promise<Gathered<unknown>>;

export interface ControlPlaneOptions {
  /** This process. */
  readonly instance: ReplicaInstance;
  /** Answers a command in this process. */
  readonly answer: (command: string, parameters: URLSearchParams) => Promise<ReplicaReply>;
  /** Finds the other replicas; it may return this one, too. Rejects if they cannot be found. */
  readonly peers: () => Promise<readonly Replica[]>;
  /** Milliseconds that each replica has for its complete answer. Default: 10,000; if one replica is asked, 60,000. */
  readonly timeoutMs?: number;
}

/** Commands that one replica is asked for, such as about a proxy, may take long. */
const timeoutOfOneMs = 60_000;

/**
 * Returns the function by which one replica asks all: itself in the process, and the others over the network. If the
 * others cannot be found, this is said as the silence of `other replicas`.
 */
export function controlPlane({ instance, answer, peers, timeoutMs }: ControlPlaneOptions): Ask {
  const self: Replica = { name: instance.name, ask: (command, parameters) => answer(command, parameters) };
  return async (command, parameters = new URLSearchParams(), selection = {}) => {
    // A client over HTTP selects by the parameter.
    const only = selection.only ?? parameters.get(onlyParameter) ?? undefined;
    const limits = limitsOf(only === undefined ? timeoutMs : (timeoutMs ?? timeoutOfOneMs));
    if (only === instance.id) return askReplicas([self], command, parameters, limits);
    const found = await peers().then(
      (replicas) => ({ replicas, silent: [] }),
      (error: unknown) => ({ replicas: [], silent: [{ name: "other replicas", reason: messageOf(error) }] }),
    );
    const gathered = await askReplicas([self, ...found.replicas], command, withOnly(parameters, only), limits);
    const all = joinGathered([gathered, { answers: [], failures: [], silent: found.silent }]);
    return only === undefined ? all : onlyOf(all, only);
  };
}

function limitsOf(timeoutMs: number | undefined): AskOptions {
  return timeoutMs === undefined ? {} : { timeoutMs };
}

/** Parameter that names the only replica whose answer is wanted, so that others need not compute one. */
export const onlyParameter = "onlyReplica";

function withOnly(parameters: URLSearchParams, only: string | undefined): URLSearchParams {
  const selected = new URLSearchParams(parameters);
  if (only !== undefined) selected.set(onlyParameter, only);
  return selected;
}

function onlyOf<T>({ answers, failures, silent }: Gathered<T>, id: string): Gathered<T> {
  const isAsked = ({ instance }: { readonly instance: ReplicaInstance }): boolean => instance.id === id;
  const found = { answers: answers.filter(isAsked), failures: failures.filter(isAsked) };
  return { ...found, silent: found.answers.length + found.failures.length > 0 ? [] : silent };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
