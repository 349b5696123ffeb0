import { setTimeout as wait } from "node:timers/promises";
import { Balancer } from "@istiod/e2e";
import { Replica, type ReplicaSettings } from "./replica.js";

/** Milliseconds between readiness probes. */
const probeMs = 200;

/** Addresses of a revision: of its Service, and of its pods by number. */
export interface RevisionAddresses {
  readonly service: string;
  pod(n: number): string;
}

/** The control plane of one revision: a Deployment of istiods behind a Service. */
export class ControlPlane {
  readonly revision: string;
  readonly xds: Balancer;
  readonly webhooks: Balancer;
  readonly #settings: ReplicaSettings;
  readonly #addresses: RevisionAddresses;
  readonly #replicas: Replica[] = [];
  readonly #probing: Promise<void>;
  #isClosed = false;
  #created = 0;

  private constructor(settings: ReplicaSettings, addresses: RevisionAddresses, xds: Balancer, webhooks: Balancer) {
    this.revision = settings.revision;
    this.xds = xds;
    this.webhooks = webhooks;
    this.#settings = settings;
    this.#addresses = addresses;
    this.#probing = this.#probe();
  }

  /** Opens the Service of a revision, without replicas. */
  static async open(settings: ReplicaSettings, addresses: RevisionAddresses): Promise<ControlPlane> {
    const xds = await Balancer.listen({ host: addresses.service, port: 15012 });
    const webhooks = await Balancer.listen({ host: addresses.service, port: 15017 });
    return new ControlPlane(settings, addresses, xds, webhooks);
  }

  get replicas(): readonly Replica[] {
    return this.#replicas;
  }

  /** Name of the Service. */
  get service(): string {
    return this.revision === "default" ? "istiod" : `istiod-${this.revision}`;
  }

  /** Name in the certificates of this revision. */
  get serverName(): string {
    return `${this.service}.istio-system.svc`;
  }

  /** Adds replicas, which start at the same time, or removes the oldest ones. */
  async scale(count: number): Promise<void> {
    const added = Array.from({ length: Math.max(0, count - this.#replicas.length) }, () => this.#create());
    await Promise.all(added.map((replica) => replica.start()));
    this.#publish();
    while (this.#replicas.length > count) await this.#remove(this.#replicas[0]);
  }

  /** Replaces the replicas one after the other: a new one becomes ready, then an old one is deleted. */
  async rollingRestart(): Promise<void> {
    for (const old of [...this.#replicas]) {
      await this.#create().start();
      this.#publish();
      await this.#remove(old);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#probing;
    await Promise.all(this.#replicas.map((replica) => replica.stop()));
    await Promise.all([this.xds.close(), this.webhooks.close()]);
  }

  #create(): Replica {
    const n = this.#created++;
    const replica = new Replica(`${this.service}-${n}`, this.#addresses.pod(n), this.#settings);
    this.#replicas.push(replica);
    return replica;
  }

  async #remove(replica: Replica | undefined): Promise<void> {
    if (replica === undefined) return;
    const stopped = replica.stop();
    this.#publish();
    await stopped;
    this.#replicas.splice(this.#replicas.indexOf(replica), 1);
  }

  async #probe(): Promise<void> {
    while (!this.#isClosed) {
      await Promise.all(this.#replicas.map((replica) => replica.probe()));
      this.#publish();
      await wait(probeMs);
    }
  }

  #publish(): void {
    const ready = this.#replicas.filter(({ isReady }) => isReady);
    this.xds.use(ready.map(({ xds }) => xds));
    this.webhooks.use(ready.map(({ webhooks }) => webhooks));
  }
}
