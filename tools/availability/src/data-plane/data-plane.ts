import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { requireEnvoy } from "@istiod/e2e";
import { eventually, type TestCluster } from "@istiod/outage";
import type { ControlPlane } from "../control-plane/control-plane.js";
import { Agent } from "./agent.js";
import { childrenOf, CpuWait } from "./cpu-wait.js";
import { Traffic } from "./traffic.js";
import {
  applicationPort,
  endpointSlice,
  namespace,
  namespaceObjects,
  type PodPlace,
  podObjects,
  servicePort,
} from "./workload-objects.js";

/** The two apps: every request goes from a pod of the first one to a pod of the other one. */
const apps = ["client", "cart"] as const;
type App = (typeof apps)[number];
const podsOfApp = 2;
const startMs = 120_000;
/** Milliseconds in which no request may fail, and each must be answered, before the first event. */
const checkMs = 1_000;

export interface DataPlaneOptions {
  readonly cluster: TestCluster;
  readonly directory: string;
  readonly requestsPerSecond: number;
  readonly drainSeconds: number;
  readonly certificateLifetime: string;
  /** Returns the roots that the pods mount now. */
  readonly rootsPem: () => string;
  /** Returns the loopback addresses of the nth pod, from 0. */
  readonly addresses: (n: number) => Pick<PodPlace, "address" | "outbound">;
}

/** Pods with agents and Envoys on this machine, and requests between them over mutual TLS. */
export class DataPlane {
  readonly traffic: Traffic;
  readonly #options: DataPlaneOptions;
  readonly #envoy: string;
  readonly #agents: Record<App, Agent[]> = { client: [], cart: [] };
  readonly #removed: string[] = [];
  readonly #cpuWait = new CpuWait();
  #created = 0;

  private constructor(options: DataPlaneOptions, envoy: string) {
    this.#options = options;
    this.#envoy = envoy;
    this.traffic = new Traffic({
      requestsPerSecond: options.requestsPerSecond,
      host: "cart",
      port: servicePort,
      peer: `spiffe://cluster.local/ns/${namespace}/sa/client`,
    });
  }

  /** Starts the pods, and sends requests from now on. */
  static async start(options: DataPlaneOptions, controlPlane: ControlPlane): Promise<DataPlane> {
    const dataPlane = new DataPlane(options, await requireEnvoy());
    try {
      await options.cluster.objects.write(namespaceObjects(apps));
      for (let n = 0; n < podsOfApp; n++) await Promise.all(apps.map((app) => dataPlane.#startPod(app, controlPlane)));
      for (const app of ["cart", "client"] as const) await dataPlane.#publish(app);
      await dataPlane.#untilAnswered();
      return dataPlane;
    } catch (error) {
      await dataPlane.close();
      throw error;
    }
  }

  get agents(): readonly Agent[] {
    return apps.flatMap((app) => this.#agents[app]);
  }

  /** Returns the addresses of pods that were replaced. */
  get removedAddresses(): readonly string[] {
    return this.#removed;
  }

  /** Returns the longest time that a thread of an Envoy has waited for a CPU since the last call, in seconds. */
  takeCpuWait(): number {
    return this.#cpuWait.take(this.agents.flatMap(({ pid }) => childrenOf(pid)));
  }

  /** Replaces the pods one after the other by pods whose proxies connect to another control plane. */
  async rollOut(controlPlane: ControlPlane): Promise<void> {
    for (const app of apps)
      for (const old of [...this.#agents[app]]) {
        await this.#startPod(app, controlPlane);
        this.#removed.push(old.place.address);
        this.#agents[app].splice(this.#agents[app].indexOf(old), 1);
        await this.#publish(app);
        await old.stop();
        await this.#remove(old.place);
      }
  }

  /** Changes the mounted roots of all pods. */
  async mountRoots(pem: string): Promise<void> {
    await Promise.all(this.agents.map((agent) => agent.mountRoots(pem)));
  }

  /** Returns the certificate chains of all pods, with the roots that their proxies trust, in PEM. */
  async certificates(): Promise<readonly { readonly chain: string; readonly roots: string }[]> {
    return Promise.all(
      this.agents.map(async ({ certificates }) => ({
        chain: await readFile(join(certificates, "cert-chain.pem"), "utf8"),
        roots: await readFile(join(certificates, "root-cert.pem"), "utf8"),
      })),
    );
  }

  async close(): Promise<void> {
    await this.traffic.close();
    await Promise.all(this.agents.map((agent) => agent.stop()));
  }

  /** Waits until no request fails or waits for long, because the proxies know all endpoints and have connections. */
  async #untilAnswered(): Promise<void> {
    await eventually(async () => {
      await wait(checkMs);
      const { succeeded, failed, failures, longest } = await this.traffic.take();
      if (failed > 0 || succeeded === 0) return `requests fail: ${failures[0] ?? "none is answered"}`;
      return longest < checkMs ? undefined : `a request was not answered for ${longest.toFixed(0)} ms`;
    }, startMs);
  }

  /** Lets requests go to the pods of an app, or come from them. */
  async #publish(app: App): Promise<void> {
    const places = this.#agents[app].map(({ place }) => place);
    await this.#options.cluster.objects.write([endpointSlice(app, places)]);
    if (app === "client") await this.traffic.use(places.map(({ outbound }) => outbound));
  }

  async #startPod(app: App, controlPlane: ControlPlane): Promise<void> {
    const { cluster, directory, addresses, rootsPem, drainSeconds, certificateLifetime } = this.#options;
    const n = this.#created++;
    const place: PodPlace = { app, name: `${app}-${n}`, ...addresses(n) };
    if (app === "cart") await this.traffic.open(place.address, applicationPort);
    await cluster.objects.write(podObjects(place));
    const { host, port } = controlPlane.xds;
    const agent = await Agent.start({
      place,
      envoy: this.#envoy,
      directory: join(directory, place.name),
      discoveryAddress: `${host}:${port}`,
      serverName: controlPlane.serverName,
      revision: controlPlane.revision,
      token: await cluster.objects.issueToken(namespace, app),
      rootsPem: rootsPem(),
      drainSeconds,
      certificateLifetime,
    });
    this.#agents[app].push(agent);
  }

  async #remove(place: PodPlace): Promise<void> {
    if (place.app === "cart") await this.traffic.closeApplication(place.address, applicationPort);
    for (const object of podObjects(place)) await this.#options.cluster.objects.delete(object);
  }
}
