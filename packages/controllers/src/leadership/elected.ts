import {
  type ApiClient,
  configMapLock,
  LeaderElection,
  type LeaderElectionOptions,
  leaseLock,
  takeoverPriority,
} from "@istiod/kubernetes";
import type { Clock } from "@istiod/runtime";
import type { ControllerLog } from "../controller/log.js";
import type { Lock } from "./locks.js";

/** Identity of this istiod among the candidates for leader locks of one cluster. */
export interface CandidateOptions {
  readonly client: ApiClient;
  /** Namespace of the locks. */
  readonly namespace: string;
  /** Unique among all candidates, such as the pod's name. */
  readonly identity: string;
  /** Default: `default`. */
  readonly revision?: string;
  /** `true`: this istiod runs in another cluster than the locks. Default: false. */
  readonly isRemote?: boolean;
  /** Returns the default revision of the cluster; empty if there is none. */
  readonly defaultRevision: () => string;
  /** `false`: leads without a lock, for a single replica (`ENABLE_LEADER_ELECTION`). Default: true. */
  readonly isElected?: boolean;
  readonly log: ControllerLog;
  /** Durations and clocks of the elections. Default: Istio's. */
  readonly timing?: Pick<
    LeaderElectionOptions,
    "leaseDurationMs" | "renewDeadlineMs" | "retryPeriodMs" | "clock" | "dates" | "random"
  > & { readonly clock?: Clock };
}

/** A candidate for a lock. */
export interface Candidacy {
  readonly isLeader: boolean;
  /** Ends the term, if there is one, and releases the lock. */
  stop(): Promise<void>;
}

/** Something that runs while its lock is held. */
export interface Led {
  stop(): void;
}

const holderKeyAnnotation = "leader.istio.io/holder-key";

/**
 * Competes for a lock, and runs something in every term.
 *
 * @param run called at the start of a term, with a client whose requests fail as soon as the lock may be lost. What it
 *   returns is stopped at the end of the term.
 */
export function runElected(lock: Lock, run: (client: ApiClient) => Led, options: CandidateOptions): Candidacy {
  const { client, namespace, identity, revision = "default", isRemote = false, isElected = true, log } = options;
  let led: Led | undefined;
  const end = (): void => {
    led?.stop();
    led = undefined;
  };
  if (!isElected) {
    log.info({ lock: lock.name }, "bypassing leader election");
    led = run(client);
    return { isLeader: true, stop: async () => end() };
  }
  const name = { namespace, name: lock.name };
  let lastError = "";
  const election = new LeaderElection({
    ...options.timing,
    ...takeoverPriority({ revision, remote: isRemote, defaultRevision: options.defaultRevision }),
    lock: lock.storage === "lease" ? leaseLock(client, name, { holderKeyAnnotation }) : configMapLock(client, name),
    identity,
    onStarted: (leadership) => {
      lastError = "";
      log.info({ lock: lock.name }, "leader election lock obtained");
      led = run(leadership.fenced(client));
    },
    onStopped: () => {
      log.info({ lock: lock.name }, "leader election lock lost");
      end();
    },
    onError: (error) => {
      const { message } = error as Error;
      // The same failure repeats with every attempt.
      if (message !== lastError) log.warn({ err: error, lock: lock.name }, `leader election: ${message}`);
      lastError = message;
    },
  });
  election.start();
  return {
    get isLeader() {
      return election.leadership !== undefined;
    },
    stop: () => election.stop(),
  };
}
