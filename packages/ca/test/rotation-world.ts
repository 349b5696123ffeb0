import { createPrivateKey, X509Certificate } from "node:crypto";
import {
  CaError,
  CertificateAuthority,
  keepRoot,
  type RootCheck,
  RootRotation,
  type Secret,
  SecretRootStore,
  type SecretStore,
  selfSignedBundle,
  type StoredSecret,
} from "@istiod/ca";
import { FakeClock } from "@istiod/runtime/testing";

/** Lifetime of roots and interval of checks in these tests, in milliseconds. */
export const rootLifetime = 100_000_000;
export const grace = 0.2;
const description = "Secret istio-system/istio-ca-secret";

/** A request that a replica has sent and that is not executed yet. */
interface PendingRequest {
  readonly replica: Replica;
  readonly generation: number;
  readonly isWrite: boolean;
  /** Executes it, and lets the replica continue. */
  execute(): void;
  /** Executes it, but the answer is lost with the replica. */
  executeSilently(): void;
  fail(error: Error): void;
}

/** A certificate that was in the Secret, and the time on the clock of the replica that wrote it. */
export interface StoredVersion {
  readonly certificate: X509Certificate;
  readonly privateKey: string;
  readonly writtenAt: number;
}

/** The Secret of a self-signed root as an API server keeps it, and replicas that share it. Every request waits. */
export class RotationWorld {
  readonly replicas: readonly Replica[];
  readonly pending: PendingRequest[] = [];
  /** Every state of the Secret, in order. */
  readonly history: StoredVersion[] = [];
  #secret: StoredSecret | undefined;

  constructor(replicas: number) {
    this.replicas = Array.from({ length: replicas }, () => new Replica(this));
  }

  get stored(): StoredVersion | undefined {
    return this.history.at(-1);
  }

  /** Returns the store of one replica. */
  storeOf(replica: Replica): SecretStore {
    const write = (data: Readonly<Record<string, string>>, secret: Omit<Secret, "data">): void => {
      const version = String(this.history.length + 1);
      this.#secret = { ...this.#secret, ...secret, version, data: { ...this.#secret?.data, ...data } };
      this.history.push({
        certificate: new X509Certificate(this.#secret.data["ca-cert.pem"] ?? ""),
        privateKey: this.#secret.data["ca-key.pem"] ?? "",
        writtenAt: replica.clock.now(),
      });
    };
    return {
      namespace: "istio-system",
      read: (name) => this.#request(replica, false, () => (this.#secret?.name === name ? this.#secret : undefined)),
      create: ({ data, ...secret }) =>
        this.#request(replica, true, () => {
          if (this.#secret !== undefined) return false;
          write(data, secret);
          return true;
        }),
      replace: ({ name, type, version }, data) =>
        this.#request(replica, true, () => {
          if (this.#secret?.version !== version) return false;
          write(data, { name, type });
          return true;
        }),
    };
  }

  /** Waits until every replica is idle or waits for a request. */
  async settled(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.replicas.some(({ state }) => state === "computing"));
  }

  /** Executes all requests, until no replica has any. */
  async drain(): Promise<void> {
    for (;;) {
      await this.settled();
      const request = this.pending.shift();
      if (request === undefined) return;
      request.execute();
    }
  }

  #request<T>(replica: Replica, isWrite: boolean, execute: () => T): Promise<T> {
    const { generation } = replica;
    replica.state = "waiting";
    return new Promise((resolve, reject) => {
      const proceed = (next: () => void): void => {
        if (replica.generation !== generation) return;
        replica.state = "computing";
        next();
      };
      this.pending.push({
        replica,
        generation,
        isWrite,
        execute: () => {
          const result = execute();
          proceed(() => resolve(result));
        },
        executeSilently: () => void execute(),
        fail: (error) => proceed(() => reject(error)),
      });
    });
  }
}

/** An istiod with a clock of its own. */
export class Replica {
  readonly clock = new FakeClock(Date.UTC(2026, 0, 1));
  readonly results: RootCheck[] = [];
  /** Failures of starts and checks. */
  readonly failures: CaError[] = [];
  state: "idle" | "waiting" | "computing" = "idle";
  /** Differs after each crash. */
  generation = 0;
  authority: CertificateAuthority | undefined;
  #rotation: RootRotation | undefined;
  readonly #world: RotationWorld;

  constructor(world: RotationWorld) {
    this.#world = world;
  }

  /** Starts the replica, or checks its root if it runs. Does nothing while it is busy. */
  act(): void {
    if (this.state !== "idle") return;
    const { generation } = this;
    this.state = "computing";
    const rotation = this.#rotation;
    const work =
      rotation === undefined ? this.#start() : rotation.check().then((result) => void this.results.push(result));
    void work
      .catch((error: unknown) => {
        if (!(error instanceof CaError)) throw error;
        if (this.generation === generation) this.failures.push(error);
      })
      .finally(() => {
        if (this.generation === generation) this.state = "idle";
      });
  }

  /** Ends the replica in the middle of whatever it does. */
  crash(): void {
    this.generation++;
    this.authority = this.#rotation = undefined;
    this.state = "idle";
  }

  async #start(): Promise<void> {
    const { generation, clock } = this;
    const store = new SecretRootStore(this.#world.storeOf(this));
    const key = { type: "ecdsa", curve: "P-256" } as const;
    const root = await keepRoot(store, { organization: "td", lifetime: rootLifetime, key }, clock.now());
    const authority = new CertificateAuthority({ bundle: selfSignedBundle(root, description, clock.now()), clock });
    if (this.generation !== generation) return;
    this.authority = authority;
    this.#rotation = new RootRotation({ authority, store, clock, grace, lifetime: rootLifetime });
  }
}

/** Returns the private key of a PEM in one form. */
export function keyOf(pem: string): string {
  return createPrivateKey(pem).export({ type: "pkcs8", format: "der" }).toString("hex");
}
