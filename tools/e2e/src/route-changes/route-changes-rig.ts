import { Closers } from "@istiod/runtime";
import { eventually } from "../eventually.js";
import { type Mesh, startMesh } from "../mesh/mesh.js";
import { servicePort } from "../mesh/workload.js";
import { Traffic } from "../rotation/traffic.js";
import { fixedObjects, gatewayPort, markOf, type StayingRoute, stayingRoutes } from "./fixed-objects.js";
import { hostileObjects, ungrantedHost } from "./hostile-objects.js";
import { RouteSlot } from "./route-slot.js";

const liveWithinMs = 30_000;

export interface RouteChangesOptions {
  /** Number of routes that change. */
  readonly routes: number;
  /** Requests a second to the routes that stay, of all together. */
  readonly requestsPerSecond: number;
}

/** A gateway with a real Envoy, HTTPRoutes of it that change, and requests to others that stay. */
export class RouteChangesRig {
  readonly slots: readonly RouteSlot[];
  /** Requests to each route that stays. */
  readonly traffic: readonly Traffic[];
  readonly #mesh: Mesh;
  readonly #closers: Closers;
  #hasHostile = false;

  private constructor(
    parts: Pick<RouteChangesRig, "slots" | "traffic"> & { readonly mesh: Mesh; readonly closers: Closers },
  ) {
    this.slots = parts.slots;
    this.traffic = parts.traffic;
    this.#mesh = parts.mesh;
    this.#closers = parts.closers;
  }

  /** Starts everything. @throws Error if there is no Envoy, or istiod is not built */
  static async start({ routes, requestsPerSecond }: RouteChangesOptions): Promise<RouteChangesRig> {
    const closers = new Closers();
    return closers.closeOnError(async () => {
      const mesh = await startMesh({
        istiod: "process",
        objects: fixedObjects(),
        workloads: [
          { app: "ingress", namespace: "edge", proxy: "router", ports: [{ name: "http", port: gatewayPort }] },
          ...stayingRoutes.map(({ backend, namespace }) => ({
            app: backend,
            namespace,
            proxy: "none" as const,
            servesItself: true,
          })),
          { app: "cart", namespace: "tenant", proxy: "none" },
          { app: "beta", namespace: "tenant", proxy: "none" },
          { app: "thief", namespace: "hostile", proxy: "none" },
        ],
      });
      closers.defer(() => mesh.close());
      const traffic: Traffic[] = [];
      for (const route of stayingRoutes) {
        const started = await startTraffic(mesh, route, requestsPerSecond / stayingRoutes.length);
        closers.defer(() => started.close());
        traffic.push(started);
      }
      const slots = Array.from({ length: routes }, (_, n) => new RouteSlot(n));
      return new RouteChangesRig({ slots, traffic, mesh, closers });
    });
  }

  /** Writes a route, without waiting. */
  async write(slot: RouteSlot): Promise<void> {
    await this.#mesh.write(slot.name, slot.object());
  }

  /** Writes the hostile objects or removes them, without waiting. */
  async writeHostile(arePresent: boolean): Promise<void> {
    this.#hasHostile = arePresent;
    await this.#mesh.write("hostile", arePresent ? Object.values(hostileObjects).join("") : "---\n");
  }

  /** Waits until the gateway answers for each changing and hostile route as it is. Returns the milliseconds. */
  async untilLive(): Promise<number> {
    const start = performance.now();
    let missing = this.slots;
    await eventually(
      "every route is live",
      async () => {
        const live = await Promise.all(missing.map((slot) => this.#isLive(slot)));
        missing = missing.filter((_, n) => live[n] !== true);
        return missing.length === 0 && (await this.#answersForHostile());
      },
      liveWithinMs,
      20,
    );
    return performance.now() - start;
  }

  /** Returns the number of requests that backends of the namespace `hostile` received. */
  stolen(): number {
    return this.#mesh.seen("thief").length;
  }

  /** Returns the resources that the gateway's Envoy refused, one line each. */
  refusals(): readonly string[] {
    return this.#mesh.refusals();
  }

  close(): Promise<void> {
    return this.#closers.close();
  }

  /** Reports whether the host of an ungranted backend gets 500, or 404 without hostile objects. */
  async #answersForHostile(): Promise<boolean> {
    const { status } = await this.#mesh.enter("ingress", `http://${ungrantedHost}:${gatewayPort}/`);
    return status === (this.#hasHostile ? 500 : 404);
  }

  async #isLive({ host, path, expected }: RouteSlot): Promise<boolean> {
    const { status, headers } = await this.#mesh.enter("ingress", `http://${host}:${gatewayPort}${path}`);
    return status === expected.status && headers["x-version"] === expected.version;
  }
}

function startTraffic(mesh: Mesh, route: StayingRoute, requestsPerSecond: number): Promise<Traffic> {
  return Traffic.start(
    {
      requestsPerSecond,
      freshEvery: 10,
      client: { host: mesh.workload("ingress").address, port: gatewayPort },
      application: { host: mesh.workload(route.backend).address, port: servicePort },
      host: `${route.host}:${gatewayPort}`,
    },
    [markOf(route)],
  );
}
