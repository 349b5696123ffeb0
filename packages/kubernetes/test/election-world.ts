import {
  ApiError,
  type ApiClient,
  type ApiRequest,
  configMapLock,
  type KubernetesObject,
  LeaderElection,
  type LeaderElectionOptions,
  type Leadership,
  leaseLock,
  takeoverPriority,
} from "@istiod/kubernetes";
import type { Clock } from "@istiod/runtime";

interface Event {
  readonly at: number;
  readonly run: () => void;
}

/** A write of a leader that the server has executed. */
export interface ExecutedWrite {
  readonly at: number;
  /** The process and its term. */
  readonly by: string;
}

export interface WorldOptions {
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
  readonly lock: "lease" | "configmap";
  /** Maximum true time in milliseconds between two machines, each way. */
  readonly maxDelayMs: number;
  /** Probability that a request or an answer is lost or late, or that the server answers 503. */
  readonly failures: number;
}

export interface CandidateOptions {
  readonly name: string;
  /** Seconds of the process's clock for each true second. */
  readonly rate: number;
  readonly revision: string;
}

/** Maximum true time in milliseconds for which the network keeps a request back, in addition to the usual delay. */
const maxExtraDelayMs = 5000;

/** True time, one API server with one lock, and candidates with clocks of their own. */
export class ElectionWorld {
  now = 0;
  readonly writes: ExecutedWrite[] = [];
  /** Executed requests for the lock, as "name METHOD". */
  readonly lockRequests: string[] = [];
  readonly failuresSeen: unknown[] = [];
  failures: number;
  defaultRevision = "";
  /** Name of the process whose requests for the lock fail. */
  cutOff = "";
  /** Name of the process whose next request for the lock is never answered. */
  hanging = "";
  readonly #options: WorldOptions;
  #events: Event[] = [];
  #stored: KubernetesObject | undefined;
  #version = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.failures = options.failures;
  }

  get stored(): KubernetesObject | undefined {
    return this.#stored;
  }

  random(): number {
    return this.#options.random();
  }

  at(delay: number, run: () => void): () => void {
    const event = { at: this.now + Math.max(0, delay), run };
    this.#events.push(event);
    return () => {
      this.#events = this.#events.filter((other) => other !== event);
    };
  }

  /** Advances the true time. Everything that a moment causes without delay happens before the next one. */
  async run(duration: number): Promise<void> {
    const end = this.now + duration;
    await drainPromises();
    for (;;) {
      let next: Event | undefined;
      for (const event of this.#events) if (event.at <= end && (!next || event.at < next.at)) next = event;
      if (!next) break;
      const { at, run } = next;
      this.#events = this.#events.filter((event) => event !== next);
      this.now = Math.max(this.now, at);
      run();
      await drainPromises();
    }
    this.now = end;
  }

  /** Sends a request, whose answer may be late or lost. */
  async send(from: Candidate, request: ApiRequest): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const { signal } = request;
      const name = `${request.method ?? "GET"} ${request.path}`;
      const abort = (): void => reject(new ApiError("aborted", `${name}: aborted`));
      if (signal?.aborted) return abort();
      signal?.addEventListener("abort", abort, { once: true });
      const delay = (): number => this.random() * this.#options.maxDelayMs;
      const isLost = this.random() < this.failures;
      const isAnswerLost = this.random() < this.failures;
      if (this.hanging === from.name && request.path !== "/work") {
        this.hanging = "";
        return;
      }
      const isCutOff = this.cutOff === from.name && request.path !== "/work";
      const isUnavailable = isCutOff || this.random() < this.failures;
      const isLate = this.random() < this.failures;
      this.at(delay() + (isLate ? this.random() * maxExtraDelayMs : 0), () => {
        if (isLost) return from.process(() => reject(new ApiError("network", `${name}: connection reset`)));
        let answer: () => void;
        try {
          if (isUnavailable) throw new ApiError("unavailable", `${name}: 503`);
          const value = this.#execute(from, request);
          answer = () => resolve(value);
        } catch (error) {
          answer = () => reject(error as Error);
        }
        // Some lost answers are noticed, others only by a timeout.
        const isSilent = isAnswerLost && this.random() < 0.5;
        const lost = (): void => reject(new ApiError(isSilent ? "timeout" : "network", `${name}: no answer`));
        this.at(isSilent ? 20_000 : delay(), () => from.process(isAnswerLost ? lost : answer));
      });
    });
  }

  #execute({ name }: Candidate, request: ApiRequest): unknown {
    if (request.path === "/work") {
      this.writes.push({ at: this.now, by: String(request.query?.["term"]) });
      return {};
    }
    const { method = "GET" } = request;
    this.lockRequests.push(`${name} ${method}`);
    if (method === "GET") {
      if (!this.#stored) throw new ApiError("not-found", "not found");
      return this.#stored;
    }
    const object = JSON.parse(String(request.body)) as KubernetesObject;
    if (method === "POST" && this.#stored) throw new ApiError("already-exists", "exists");
    if (method === "PUT" && object.metadata?.resourceVersion !== this.#stored?.metadata?.resourceVersion)
      throw new ApiError("conflict", "conflict");
    this.#stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
    return this.#stored;
  }

  get lockType(): "lease" | "configmap" {
    return this.#options.lock;
  }
}

/** A process that competes for the lock, and writes as often as it can while it leads. */
export class Candidate {
  readonly name: string;
  readonly revision: string;
  readonly election: LeaderElection;
  readonly log: string[] = [];
  readonly #world: ElectionWorld;
  readonly #rate: number;
  readonly #offset: number;
  #crashed = false;
  #terms = 0;

  constructor(
    world: ElectionWorld,
    { name, rate, revision }: CandidateOptions,
    more: Partial<LeaderElectionOptions> = {},
  ) {
    this.name = name;
    this.revision = revision;
    this.#world = world;
    this.#rate = rate;
    this.#offset = world.random() * 1e12;
    const client = this.#client();
    const lockName = { namespace: "n", name: "lock" };
    const lock =
      world.lockType === "lease"
        ? leaseLock(client, lockName, { holderKeyAnnotation: "example.com/key" })
        : configMapLock(client, lockName);
    const priority = takeoverPriority({ revision, defaultRevision: () => world.defaultRevision });
    this.election = new LeaderElection({
      lock,
      identity: name,
      key: priority.key,
      takesOverFrom: (holderKey) => priority.takesOverFrom(holderKey),
      clock: this.#clock(),
      dates: this.#clock(),
      random: () => world.random(),
      onStarted: (leadership) => {
        this.log.push("started");
        this.#work(client, leadership);
      },
      onStopped: () => this.log.push("stopped"),
      onNewLeader: (leader) => this.log.push(`leader ${leader}`),
      onError: (error) => this.log.push(error instanceof ApiError ? error.code : String(error)),
      ...more,
    });
    this.election.start();
  }

  /** Ends the process: nothing runs in it any more. Its requests in flight may still be executed. */
  crash(): void {
    this.#crashed = true;
  }

  process(run: () => void): void {
    if (!this.#crashed) run();
  }

  #work(client: ApiClient, leadership: Leadership): void {
    const fenced = leadership.fenced(client);
    const term = `${this.name}#${++this.#terms}`;
    const write = async (): Promise<void> => {
      while (!leadership.signal.aborted) {
        try {
          await fenced.json({ method: "POST", path: "/work", query: { term } });
        } catch (error) {
          if (!(error instanceof ApiError)) this.#world.failuresSeen.push(error);
        }
        await new Promise<void>((resolve) => this.#clock().after(500, resolve));
      }
    };
    void write();
  }

  #client(): ApiClient {
    const json = async <T>(request: ApiRequest): Promise<T> => (await this.#world.send(this, request)) as T;
    return {
      server: "https://world",
      json,
      send: () => Promise.reject(new Error("not used")),
      close: () => undefined,
    };
  }

  #clock(): Clock {
    return {
      now: () => Math.floor(this.#offset + this.#world.now * this.#rate),
      after: (delay, callback) => this.#world.at(delay / this.#rate, () => this.process(callback)),
    };
  }
}

async function drainPromises(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}
