import {
  type ApiClient,
  ApiError,
  configMapLock,
  type ElectionLock,
  LeaderElection,
  type LeaderElectionOptions,
  leaseLock,
  takeoverPriority,
} from "@istiod/kubernetes";
import { type Clock, monotonicClock } from "@istiod/runtime";
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
    "leaseDurationMs" | "renewDeadlineMs" | "retryPeriodMs" | "renewPeriodMs" | "clock" | "dates" | "random"
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
 * Competes for a lock, and runs something in every term. Where the lock has a predecessor that somebody holds at the
 * start, the competition begins when that one is released.
 *
 * @param run called at the start of a term, with a client whose requests fail as soon as the lock may be lost. What it
 *   returns is stopped at the end of the term.
 */
export function runElected(lock: Lock, run: (client: ApiClient) => Led, options: CandidateOptions): Candidacy {
  const { client, isElected = true, log } = options;
  if (!isElected) {
    log.info({ lock: lock.name }, "bypassing leader election");
    const led = run(client);
    return { isLeader: true, stop: async () => led.stop() };
  }
  const { predecessor } = lock;
  if (predecessor === undefined) return elect(lock, run, options);
  let candidacy: Candidacy | undefined;
  const wait = awaitRelease(predecessor, options, () => (candidacy = elect(lock, run, options)));
  return {
    get isLeader() {
      return candidacy?.isLeader ?? false;
    },
    stop: async () => {
      await wait.stop();
      await candidacy?.stop();
    },
  };
}

function elect(lock: Lock, run: (client: ApiClient) => Led, options: CandidateOptions): Candidacy {
  const { client, identity, revision = "default", isRemote = false, log } = options;
  let led: Led | undefined;
  let lastError = "";
  const election = new LeaderElection({
    ...options.timing,
    ...takeoverPriority({ revision, remote: isRemote, defaultRevision: options.defaultRevision }),
    lock: storedLock(lock, options),
    identity,
    onStarted: (leadership) => {
      lastError = "";
      log.info({ lock: lock.name }, "leader election lock obtained");
      led = run(leadership.fenced(client));
    },
    onStopped: () => {
      log.info({ lock: lock.name }, "leader election lock lost");
      led?.stop();
      led = undefined;
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

function storedLock({ name, storage }: Lock, { client, namespace }: CandidateOptions): ElectionLock {
  const object = { namespace, name };
  return storage === "lease" ? leaseLock(client, object, { holderKeyAnnotation }) : configMapLock(client, object);
}

/** Milliseconds after which a lock that could not be read is read again. */
const rereadMs = 5_000;

/**
 * Calls a function when nobody holds a lock: at once, or when this candidate has got it, which then releases it. Until
 * its holder is known, the lock counts as held.
 */
function awaitRelease(lock: Lock, options: CandidateOptions, released: () => void): Pick<Candidacy, "stop"> {
  const { log, timing: { clock = monotonicClock } = {} } = options;
  const stopping = new AbortController();
  let cancelReread = (): void => undefined;
  let candidacy: Candidacy | undefined;
  const done = (): void => {
    if (!stopping.signal.aborted) released();
  };
  const compete = (): void => {
    log.info({ lock: lock.name }, "waiting for the leader of an earlier release");
    candidacy = elect(
      lock,
      () => {
        void candidacy?.stop().then(done);
        return { stop: () => undefined };
      },
      options,
    );
  };
  const check = (): Promise<void> =>
    isHeld(storedLock(lock, options), stopping.signal).then(
      (held) => {
        if (!held) done();
        else if (!stopping.signal.aborted) compete();
      },
      (error: unknown) => {
        if (stopping.signal.aborted) return;
        log.warn({ err: error, lock: lock.name }, "cannot read the lock of earlier releases");
        cancelReread = clock.after(rereadMs, () => void check());
      },
    );
  const checking = check();
  return {
    stop: async () => {
      stopping.abort();
      cancelReread();
      await checking;
      await candidacy?.stop();
    },
  };
}

/** Reports whether somebody holds a lock. One without a readable record is not held, as in Istio. */
async function isHeld(lock: ElectionLock, signal: AbortSignal): Promise<boolean> {
  try {
    const stored = await lock.read(signal);
    return stored !== undefined && stored.record.holderIdentity !== "";
  } catch (error) {
    if (error instanceof ApiError && error.code === "malformed") return false;
    throw error;
  }
}
