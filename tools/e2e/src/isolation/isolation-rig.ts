import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { type ConfigDump, readConfigDump } from "@istiod/proxy-config";
import type { Proxy } from "@istiod/push-context";
import { Closers } from "@istiod/runtime";
import { Balancer } from "../balancer.js";
import { requireEnvoy } from "../envoy/require-envoy.js";
import { eventually } from "../eventually.js";
import { type IstiodPlaces, RestartableIstiod, startIstiodProcess } from "../istiod/istiod.js";
import { allStarted } from "../mesh/all-started.js";
import { type Answered, call } from "../mesh/call.js";
import { ConfigDirectory } from "../mesh/config-directory.js";
import { kubernetesObjects } from "../mesh/kubernetes-objects.js";
import { issueToken, startProxy } from "../mesh/proxy.js";
import { claimSubnet } from "../mesh/subnet.js";
import { createWorkDirectory } from "../mesh/work-directory.js";
import { applicationPort, place, servicePort, type Workload } from "../mesh/workload.js";
import { Traffic } from "../rotation/traffic.js";
import { emptyRoute, generated, held, type Holdings, proxyOf } from "./expected.js";
import { patternLimit, Slot, slotPorts } from "./slots.js";

const replicas = 2;
const gatewayPort = 8080;
/** The route of the innocent namespace, at the gateway and for sidecars. */
const innocentFile = "shop";
const readyMs = 60_000;
/** A listener that is removed keeps its routes while it drains, 45 s by default. */
const proxyConfig = { drainDuration: "1s" };

/** The contents that each resource may have; undefined stands for a resource that is absent. */
type Expected = ReadonlyMap<string, readonly (string | undefined)[]>;

/** A change of the innocent namespace that is live. */
export interface LiveChange {
  /** Milliseconds until all its proxies used it. */
  readonly ms: number;
  /** The longest time that this process was not run meanwhile, in milliseconds: a machine without a free CPU. */
  readonly busyMs: number;
  /** Reports whether the tenant had resources that the gateway does not accept. */
  readonly isBesideRejected: boolean;
}

/** Two istiods, a gateway and two sidecars with real Envoys, and requests of a namespace that changes only its own. */
export class IsolationRig {
  readonly slots: readonly Slot[];
  readonly traffic: Traffic;
  readonly workloads: readonly Workload[];
  readonly #places: IstiodPlaces;
  readonly #replicas: readonly RestartableIstiod[];
  readonly #balancer: Balancer;
  readonly #config: ConfigDirectory;
  readonly #closers: Closers;
  readonly #texts = new Map<string, string>();
  /** The expected resources of each workload, for the state that `#expectedOf` names. */
  readonly #expected = new Map<string, Expected>();
  #expectedOf = "";
  #version = 0;

  private constructor(
    parts: Pick<IsolationRig, "slots" | "traffic" | "workloads"> & {
      places: IstiodPlaces;
      replicas: readonly RestartableIstiod[];
      balancer: Balancer;
      config: ConfigDirectory;
      closers: Closers;
    },
  ) {
    this.slots = parts.slots;
    this.traffic = parts.traffic;
    this.workloads = parts.workloads;
    this.#places = parts.places;
    this.#replicas = parts.replicas;
    this.#balancer = parts.balancer;
    this.#config = parts.config;
    this.#closers = parts.closers;
  }

  /** Starts everything. @throws Error if there is no Envoy, or istiod is not built */
  static async start(options: {
    readonly requestsPerSecond: number;
    readonly isDelta: boolean;
  }): Promise<IsolationRig> {
    const envoy = await requireEnvoy();
    const closers = new Closers();
    return closers.closeOnError(async () => {
      const subnet = await claimSubnet();
      closers.defer(() => subnet.release());
      const work = await createWorkDirectory(closers);
      const workloads = [
        place({ app: "ingress", proxy: "router" }, subnet.address(1), subnet.outbound(1)),
        place({ app: "client" }, subnet.address(2), subnet.outbound(2)),
        place({ app: "web", servesItself: true }, subnet.address(3), subnet.outbound(3)),
      ];
      const places: IstiodPlaces = { address: subnet.address(250), config: join(work, "config"), work };
      const config = new ConfigDirectory(places, (text) => text);
      const rig = await IsolationRig.#assemble({ ...options, closers, places, workloads, config, envoy, subnet });
      await rig.#limitPatterns();
      await rig.changeInnocents();
      return rig;
    });
  }

  static async #assemble(given: {
    readonly requestsPerSecond: number;
    readonly isDelta: boolean;
    readonly closers: Closers;
    readonly places: IstiodPlaces;
    readonly workloads: readonly Workload[];
    readonly config: ConfigDirectory;
    readonly envoy: string;
    readonly subnet: Awaited<ReturnType<typeof claimSubnet>>;
  }): Promise<IsolationRig> {
    const { closers, places, workloads, config, envoy, subnet } = given;
    const [ingress, client, web] = workloads;
    if (ingress === undefined || client === undefined || web === undefined) throw new Error("a workload is missing");
    const objects = kubernetesObjects(workloads, subnet);
    await config.create({ workloads: objects, objects: fixedObjects(ingress) });
    for (const w of workloads) await issueToken(places, w, randomBytes(32).toString("base64url"));
    const istiods = Array.from({ length: replicas }, (_, n) => {
      const address = subnet.address(240 + n);
      return new RestartableIstiod({ ...places, address }, startIstiodProcess);
    });
    for (const istiod of istiods) {
      closers.defer(() => istiod.kill());
      await istiod.start();
    }
    const balancer = await Balancer.listen({ host: places.address, port: 15012 });
    closers.defer(() => balancer.close());
    balancer.use(istiods.map(({ address }) => ({ host: address, port: 15012 })));
    await allStarted(
      workloads.map(async (w) => {
        const agent = await startProxy(w, places, { envoy, delta: given.isDelta, proxyConfig });
        closers.defer(() => agent.terminate());
      }),
    );
    const traffic = await Traffic.start(
      {
        requestsPerSecond: given.requestsPerSecond,
        freshEvery: 10,
        client: { host: client.outbound, port: servicePort },
        application: { host: web.address, port: applicationPort },
        host: `web:${servicePort}`,
      },
      ["spiffe://cluster.local/ns/shop/sa/client"],
    );
    closers.defer(() => traffic.close());
    const slots = slotPorts.map((port) => new Slot(ingress.address, port));
    for (const slot of slots) closers.defer(() => slot.release());
    const rig = new IsolationRig({ slots, traffic, workloads, places, replicas: istiods, balancer, config, closers });
    rig.#texts.set("workloads", objects).set("objects", fixedObjects(ingress));
    return rig;
  }

  /** Writes the tenant's objects, without waiting. */
  async writeTenant(): Promise<void> {
    await this.#write("tenant", this.slots.map((slot) => slot.objects()).join("") || "---\n");
  }

  /** Changes the route of the innocent namespace, and waits until sidecars and the gateway use it. */
  async changeInnocents(): Promise<LiveChange> {
    const version = String(++this.#version);
    const isBesideRejected = this.slots.some(({ state, isHeld }) => isHeld || state.kind === "rejected");
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    await this.#write(innocentFile, innocentRoute(version));
    const from = performance.now();
    const isLive = (address: string, url: string): Promise<true> =>
      eventually(
        `version ${version} is live at ${url}`,
        async () => (await call(address, url)).headers["x-version"] === version,
        readyMs,
        10,
      );
    const [ingress, client] = this.workloads;
    await Promise.all([
      isLive(client?.outbound ?? "", `http://web:${servicePort}/`),
      isLive(ingress?.address ?? "", `http://shop.example:${gatewayPort}/`),
    ]);
    delay.disable();
    return { ms: performance.now() - from, busyMs: delay.max / 1e6, isBesideRejected };
  }

  /** Sends a request to the gateway. */
  enter(port: number, host: string): Promise<Answered> {
    return call(this.workloads[0]?.address ?? "", `http://${host}:${port}/`);
  }

  /** Ends all connections to istiods. Agents connect again, each to another istiod than before or to the same. */
  reconnect(): void {
    this.#balancer.endConnections();
  }

  /** Kills an istiod, and starts it again. */
  async restart(n: number): Promise<void> {
    const istiod = this.#replicas[n % this.#replicas.length];
    if (istiod === undefined) return;
    await istiod.kill();
    await istiod.start();
  }

  /**
   * Returns the differences between what an Envoy has and what it must have: the resources that istiod builds, except
   * that a port which is not free has no listener, and a rejected route configuration its last accepted content.
   */
  async differences(): Promise<readonly string[]> {
    const mesh = await readFile(join(this.#places.work, "mesh.yaml"), "utf8");
    const all: string[] = [];
    for (const workload of this.workloads) {
      const dump = await this.#dump(workload.address);
      const expected = this.#expectedFor(workload, mesh, dump);
      all.push(...compared(expected, held(dump)).map((difference) => `${workload.name}: ${difference}`));
    }
    return all;
  }

  /** Records what the gateway has of each port, after a call of `differences` that found none. */
  async settle(): Promise<void> {
    const [ingress] = this.workloads;
    if (ingress === undefined) return;
    const mesh = await readFile(join(this.#places.work, "mesh.yaml"), "utf8");
    const dump = await this.#dump(ingress.address);
    const actual = held(dump);
    for (const slot of this.slots) {
      const route = nameIn(actual, routeOf(slot));
      if (route === undefined) slot.settled(undefined);
      else if (slot.state.kind === "good") slot.settled(slot.state.value);
      else slot.settled(this.#contents(slot, route, mesh, proxyOf(dump)).get(actual.get(route)));
    }
  }

  async close(): Promise<void> {
    await this.#closers.close();
  }

  /** Returns what a workload's Envoy must have. It is built once while nothing changes. */
  #expectedFor({ name }: Workload, mesh: string, dump: ConfigDump): Expected {
    const slots = this.slots.map((slot) => [slot.objects(), slot.isHeld, ...slot.candidates]);
    const state = JSON.stringify([mesh, [...this.#texts], slots]);
    if (this.#expectedOf !== state) this.#expected.clear();
    this.#expectedOf = state;
    let expected = this.#expected.get(name);
    if (expected === undefined) {
      expected = this.#build(mesh, proxyOf(dump));
      this.#expected.set(name, expected);
    }
    return expected;
  }

  #build(mesh: string, proxy: Proxy): Expected {
    const now = this.#generated(
      this.slots.map((slot) => slot.objects()),
      mesh,
      proxy,
    );
    const expected = new Map<string, readonly (string | undefined)[]>([...now].map(([name, text]) => [name, [text]]));
    for (const slot of this.slots) {
      const { port, state, isHeld } = slot;
      const route = nameIn(now, routeOf(slot));
      const listener = nameIn(now, new RegExp(`^listener/.*_${port}$`));
      if (route === undefined || listener === undefined) continue;
      if (isHeld) {
        expected.delete(route);
        expected.delete(listener);
      } else if (state.kind === "rejected") {
        const contents = [...this.#contents(slot, route, mesh, proxy).keys()];
        expected.set(route, contents);
        // A listener waits for its routes, and Envoy does not list it as active before.
        if (contents.includes(undefined)) expected.set(listener, [undefined, now.get(listener)]);
      }
    }
    return expected;
  }

  /** Returns the candidates of a port by the content of its route. */
  #contents(
    slot: Slot,
    route: string,
    mesh: string,
    proxy: Proxy,
  ): ReadonlyMap<string | undefined, number | undefined> {
    const contents = new Map<string | undefined, number | undefined>();
    for (const value of slot.candidates) {
      if (value !== undefined)
        contents.set(this.#generated([slot.objects({ kind: "good", value })], mesh, proxy).get(route), value);
      else contents.set(undefined, undefined).set(emptyRoute(route), undefined);
    }
    return contents;
  }

  #generated(slots: readonly string[], mesh: string, proxy: Proxy): Holdings {
    return generated([...this.#texts.values(), ...slots].join("\n---\n"), mesh, proxy);
  }

  async #dump(address: string): Promise<ConfigDump> {
    return readConfigDump((await call(address, "http://envoy:15000/config_dump")).text);
  }

  async #limitPatterns(): Promise<void> {
    const [ingress] = this.workloads;
    const url = `http://envoy:15000/runtime_modify?re2.max_program_size.error_level=${patternLimit}`;
    const { status } = await call(ingress?.address ?? "", url, { method: "POST" });
    if (status !== 200) throw new Error(`runtime_modify: status ${status}`);
  }

  async #write(file: string, text: string): Promise<void> {
    if (file !== "tenant") this.#texts.set(file, text);
    await this.#config.write(file, text);
  }
}

function routeOf({ port }: Slot): RegExp {
  return new RegExp(`^route/http\\.${port}\\.`);
}

function nameIn(holdings: Holdings, pattern: RegExp): string | undefined {
  return [...holdings.keys()].find((name) => pattern.test(name));
}

function compared(expected: ReadonlyMap<string, readonly (string | undefined)[]>, actual: Holdings): string[] {
  const differences: string[] = [];
  for (const [name, contents] of expected)
    if (!contents.includes(actual.get(name)))
      differences.push(
        `${name} is ${actual.get(name) ?? "absent"}, expected ${contents.map((one) => one ?? "absent").join(" or ")}`,
      );
  for (const name of actual.keys()) if (!expected.has(name)) differences.push(`${name} must not be there`);
  return differences;
}

function fixedObjects({ address }: Workload): string {
  return `
apiVersion: v1
kind: Namespace
metadata: {name: tenant}
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: STRICT}}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: shop, namespace: shop}
spec:
  selector: {app: ingress}
  servers:
  - port: {number: ${gatewayPort}, protocol: HTTP, name: http}
    bind: "${address}"
    hosts: [shop.example]
`;
}

function innocentRoute(version: string): string {
  return `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: shop}
spec:
  hosts: [web, shop.example]
  gateways: [mesh, shop]
  http:
  - headers: {response: {set: {x-version: "${version}"}}}
    route: [{destination: {host: web}}]
    retries: {attempts: 0}
`;
}
