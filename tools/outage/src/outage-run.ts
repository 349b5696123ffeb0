import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { change, type ChangeKind, type IstiodProcess, Mesh, startIstiod } from "@istiod/bench";
import { Closers } from "@istiod/runtime";
import { createGateway } from "./cluster/gateway.js";
import { connectRemote, type RemoteCluster } from "./cluster/remote-cluster.js";
import type { TestCluster } from "./cluster/test-cluster.js";
import { eventually } from "./eventually.js";
import type { Fault } from "./faults/fault.js";
import { describeLoss, type Loss } from "./fleet/loss-monitor.js";
import { WatchedCertificate } from "./fleet/watched-certificate.js";
import { WatchedFleet } from "./fleet/watched-fleet.js";
import { SupervisedIstiod } from "./supervised-istiod.js";

export interface OutageOptions {
  /** Minimum duration of a fault in seconds. */
  readonly seconds: number;
  /** Time in which everything must be current after a fault, in seconds. */
  readonly recoverySeconds: number;
  readonly seed: number;
}

/** The figures of one fault. */
export interface FaultResult {
  readonly fault: string;
  /** Responses to all proxies. */
  readonly responses: number;
  /** Startups of istiod that ended because of the fault. */
  readonly failedStartups: number;
  /** Losses that were the effect of the fault or of a deletion. */
  readonly expectedLosses: number;
}

const defaultChanges: readonly ChangeKind[] = ["service-add", "service-add", "weight", "policy", "pod", "service-del"];

/** An istiod that reads a cluster and serves proxies, under one fault after the other. */
export class OutageRun {
  readonly #cluster: TestCluster;
  readonly #remote: RemoteCluster;
  readonly #options: OutageOptions;
  readonly #mesh: Mesh;
  readonly #istiod: SupervisedIstiod;
  readonly #fleet: WatchedFleet;
  readonly #certificate: WatchedCertificate;
  readonly #freshKubeconfig: string;
  readonly #closers: Closers;
  /** Names and addresses of deleted objects, as they are written in names of resources and parts. */
  readonly #deleted = new Set<string>();
  #expectedLosses = 0;
  /** Losses since the beginning of the fault that are its effect. */
  #effects = 0;
  #changes = 0;

  private constructor(
    cluster: TestCluster,
    options: OutageOptions,
    parts: {
      mesh: Mesh;
      remote: RemoteCluster;
      istiod: SupervisedIstiod;
      fleet: WatchedFleet;
      certificate: WatchedCertificate;
      freshKubeconfig: string;
      closers: Closers;
    },
  ) {
    this.#cluster = cluster;
    this.#options = options;
    this.#mesh = parts.mesh;
    this.#remote = parts.remote;
    this.#istiod = parts.istiod;
    this.#fleet = parts.fleet;
    this.#certificate = parts.certificate;
    this.#freshKubeconfig = parts.freshKubeconfig;
    this.#closers = parts.closers;
  }

  /** Fills a cluster and a remote one, starts istiod, and connects the proxies. `close` does not stop the clusters. */
  static async start(cluster: TestCluster, remoteCluster: TestCluster, options: OutageOptions): Promise<OutageRun> {
    const closers = new Closers();
    return closers.closeOnError(async () => {
      const mesh = new Mesh({ services: 6, namespaces: 2, proxies: 4, gatewayRoutes: 3, seed: options.seed });
      await cluster.objects.prepare();
      await cluster.objects.write(mesh.objects());
      const remote = await connectRemote(cluster, remoteCluster, mesh);
      const gateway = await createGateway(cluster);
      const directory = await mkdtemp(join(tmpdir(), "istiod-outage-"));
      closers.defer(() => rm(directory, { recursive: true, force: true }));
      const freshKubeconfig = join(directory, "kubeconfig");
      await writeFile(freshKubeconfig, cluster.directKubeconfig, { mode: 0o600 });
      const istiod = await SupervisedIstiod.start(cluster.kubeconfig);
      closers.defer(() => istiod.stop());
      const fleet = new WatchedFleet(istiod.xds, mesh.proxies());
      closers.defer(() => fleet.close());
      const certificate = new WatchedCertificate(istiod.secureXds, gateway, fleet.monitor);
      closers.defer(async () => certificate.close());
      fleet.connect();
      certificate.connect();
      const run = new OutageRun(cluster, options, {
        mesh,
        remote,
        istiod,
        fleet,
        certificate,
        freshKubeconfig,
        closers,
      });
      await run.#untilCurrent();
      return run;
    });
  }

  /**
   * Runs one fault twice: once istiod lives through it, once it is killed and starts again meanwhile.
   *
   * @throws Error with what was lost, or is not as it must be
   */
  async run(fault: Fault): Promise<FaultResult> {
    this.#expectedLosses = 0;
    const { monitor } = this.#fleet;
    const [responses, failedStartups] = [monitor.responses, this.#istiod.failedStartups.length];
    await this.#during(fault, fault.isEffect, () => this.#live(fault));
    await this.#during(fault, fault.startupEffect ?? fault.isEffect, () => this.#restart(fault));
    return {
      fault: fault.name,
      responses: monitor.responses - responses,
      failedStartups: this.#istiod.failedStartups.length - failedStartups,
      expectedLosses: this.#expectedLosses,
    };
  }

  async close(): Promise<void> {
    await this.#closers.close();
  }

  async #during(fault: Fault, isEffect: Fault["isEffect"], act: () => Promise<void>): Promise<void> {
    const context = { cluster: this.#cluster, remote: this.#remote, mesh: this.#mesh };
    this.#effects = 0;
    this.#fleet.monitor.expect((loss) => {
      const isOfFault = isEffect?.(loss) === true;
      if (isOfFault) this.#effects++;
      const isExpected = isOfFault || this.#isDeleted(loss);
      if (isExpected) this.#expectedLosses++;
      return isExpected;
    });
    await fault.begin(context);
    try {
      await act();
    } finally {
      await fault.end(context);
    }
    await this.#untilCurrent();
    if (isEffect !== undefined && this.#effects === 0) throw new Error("the fault had no effect on the proxies");
  }

  /** istiod keeps running: its proxies lose nothing, and it reports that it is stale. */
  async #live(fault: Fault): Promise<void> {
    for (const kind of fault.changes ?? defaultChanges) await this.#change(kind);
    const seconds = Math.max(this.#options.seconds, fault.minSeconds ?? 0);
    if (fault.isNoticed) await this.#eventually(() => this.#untilStale());
    await this.#watchFor(seconds, () => undefined);
    if (fault.isCurrent) await this.#untilCurrent();
  }

  /** istiod is killed, and starts again: either it becomes ready with everything, or it answers nothing. */
  async #restart(fault: Fault): Promise<void> {
    await this.#istiod.kill(fault.startupEnv);
    if (fault.startup === "ready") {
      await this.#eventually(() => (this.#istiod.process === undefined ? "istiod is not ready again" : undefined));
      if (fault.startupEffect !== undefined) {
        await this.#eventually(() => (this.#effects > 0 ? undefined : "the start had no effect on the proxies"));
        await this.#watchFor(this.#options.seconds, () => undefined);
      }
      if (fault.isCurrent) await this.#untilCurrent();
      return;
    }
    const { monitor } = this.#fleet;
    const responses = monitor.responses;
    await this.#eventually(async () => ((await this.#istiod.hasStarted()) ? undefined : "istiod does not start"));
    await this.#watchFor(this.#options.seconds, async () => {
      if ((await this.#istiod.ready()) !== undefined) return "istiod is ready although it cannot read the cluster";
      return monitor.responses > responses ? "istiod answers proxies although it cannot read the cluster" : undefined;
    });
  }

  /** Changes the cluster. */
  async #change(kind: ChangeKind): Promise<void> {
    const { put, removed } = change(this.#mesh, kind, this.#changes++);
    for (const { kind: removedKind, metadata, ...rest } of removed) {
      const { podIP } = (rest as { readonly status?: { readonly podIP?: string } }).status ?? {};
      if (removedKind === "Pod" && podIP !== undefined) this.#deleted.add(JSON.stringify(podIP));
      if (removedKind === "Service") this.#deleted.add(`${metadata.name}.${metadata.namespace}.svc`);
    }
    await this.#cluster.objects.write(put);
    for (const object of removed) await this.#cluster.objects.delete(object);
  }

  #isDeleted({ resource, part = "" }: Loss): boolean {
    return [...this.#deleted].some((name) => resource.includes(name) || part.includes(name));
  }

  async #untilStale(): Promise<string | undefined> {
    const state = await this.#istiod.ready();
    if (state === undefined) throw new Error("istiod is not ready any more");
    return state.includes("stale since") ? undefined : "istiod does not report that it is stale";
  }

  /** Waits until every proxy has the same configuration as one of a new istiod. */
  async #untilCurrent(): Promise<void> {
    const fresh = await this.#startFresh();
    try {
      await this.#eventually(async () => {
        const state = await this.#istiod.ready();
        if (state !== "") return `istiod is ${state === undefined ? "not ready" : `not current: ${state}`}`;
        if (!this.#certificate.isComplete) return "the gateway has no certificate";
        if (this.#fleet.incomplete > 0) return `${this.#fleet.incomplete} proxies are incomplete`;
        const differences = await this.#fleet.differences(fresh.xds);
        if (differences.length === 0) return undefined;
        return `${differences.length} differences from a new istiod:\n${differences.slice(0, 10).join("\n")}`;
      });
    } finally {
      await fresh.stop();
    }
  }

  #startFresh(): Promise<IstiodProcess> {
    return startIstiod({ kubeconfig: this.#freshKubeconfig });
  }

  async #eventually(check: () => string | undefined | Promise<string | undefined>): Promise<void> {
    await eventually(() => {
      this.#throwLosses();
      return check();
    }, this.#options.recoverySeconds * 1000);
    this.#throwLosses();
  }

  /** Watches for a time that nothing is lost, and that `check` finds nothing. */
  async #watchFor(seconds: number, check: () => string | undefined | Promise<string | undefined>): Promise<void> {
    const until = performance.now() + seconds * 1000;
    do {
      this.#throwLosses();
      const found = await check();
      if (found !== undefined) throw new Error(found);
      await wait(50);
    } while (performance.now() < until);
    this.#throwLosses();
  }

  #throwLosses(): void {
    const losses = this.#fleet.monitor.take();
    if (losses.length === 0) return;
    throw new Error(`${losses.length} losses:\n${losses.slice(0, 10).map(describeLoss).join("\n")}`);
  }
}
