// CPU of a route change of the Gateway API, and memory of a route: `npm run gateway-routes -w tools/bench`.
import { readText, setObjects } from "@istiod/config-schema";
import { gatewayStatus, routeStatus } from "@istiod/gateway-api";
import type { View } from "@istiod/incremental";
import { type Proxy, proxyFromNode } from "@istiod/push-context";
import { clusterType, endpointType, listenerType, piecesOf, ResourceSet, routeType } from "@istiod/resources";
import { generators } from "@istiod/xds-generators";
import { type Figure, heapBytes, milliseconds, print } from "./measure.js";
import { meshDatabase, required } from "./mesh/database.js";

const types = [clusterType, endpointType, listenerType, routeType];
interface Shape {
  readonly routes: number;
  readonly gateways: number;
  /** All routes have one host, so that they are one virtual host. */
  readonly ofOneHost?: boolean;
}
const shapes: readonly Shape[] = [
  { routes: 100, gateways: 1 },
  { routes: 1_000, gateways: 1 },
  { routes: 5_000, gateways: 500 },
  { routes: 10_000, gateways: 1, ofOneHost: true },
];
const changes = 30;

const object = (apiVersion: string, kind: string, name: string, fields: object): string =>
  `---\n${JSON.stringify({ apiVersion, kind, metadata: { name, namespace: "edge", labels: labelsOf(kind, name) }, ...fields })}\n`;
const labelsOf = (kind: string, name: string): object => (kind === "Pod" ? { gw: name } : {});

/** A Gateway with the Service and the Pod that serve it. */
function gateway(at: number): string {
  const name = `gateway-${at}`;
  const podIP = `10.${100 + (at >> 8)}.0.${at & 255}`;
  return [
    object("gateway.networking.k8s.io/v1", "Gateway", name, {
      spec: { gatewayClassName: "istio", listeners: [{ name: "http", port: 80, protocol: "HTTP" }] },
    }),
    object("v1", "Service", `${name}-istio`, {
      spec: { clusterIP: `10.9.${at >> 8}.${at & 255}`, selector: { gw: name }, ports: [{ name: "http", port: 80 }] },
    }),
    object("v1", "Pod", name, {
      spec: { containers: [{ name: "istio-proxy" }], serviceAccountName: `${name}-istio` },
      status: { phase: "Running", podIP, podIPs: [{ ip: podIP }] },
    }),
  ].join("");
}

function route(at: number, { gateways, ofOneHost = false }: Shape, path: string): string {
  return object("gateway.networking.k8s.io/v1", "HTTPRoute", `route-${at}`, {
    spec: {
      parentRefs: [{ name: `gateway-${at % gateways}` }],
      hostnames: [ofOneHost ? "host.example" : `host-${at}.example`],
      rules: [{ matches: [{ path: { value: path } }], backendRefs: [{ name: "cart", port: 80 }] }],
    },
  });
}

const service = object("v1", "Service", "cart", {
  spec: { clusterIP: "10.8.0.1", selector: { app: "cart" }, ports: [{ name: "http", port: 80 }] },
});

/** The resources of the gateways' proxies and the statuses, kept current as a leading istiod does. */
class Followed {
  readonly database = meshDatabase([]);
  readonly #views: View<Proxy>[] = [];
  readonly #pending = new Set<() => void>();
  readonly #gateways: number;

  constructor(gateways: number) {
    this.#gateways = gateways;
  }

  set(yaml: string): void {
    this.database.commit((tx) =>
      setObjects(
        tx,
        readText(yaml, "bench.yaml").flatMap(({ objects }) => objects),
      ),
    );
  }

  /** Follows everything, so that a commit reports what it affects. */
  start(routes: number): void {
    for (let at = 0; at < this.#gateways; at++) {
      const name = `gateway-${at}`;
      const ip = `10.${100 + (at >> 8)}.0.${at & 255}`;
      const id = `router~${ip}~${name}.edge~edge.svc.cluster.local`;
      const labels = { gw: name, "gateway.networking.k8s.io/gateway-name": name };
      this.#views.push(this.database.view(proxyFromNode({ id, metadata: { NAMESPACE: "edge", LABELS: labels } })));
    }
    for (const view of this.#views) this.#follow(view);
    for (let at = 0; at < routes; at++) this.#routeStatus(at);
    const all = this.#views[0];
    this.database.observe({
      after: ({ affected }) => {
        for (const { view, query, arg } of affected)
          this.#pending.add(() => {
            const result: unknown = (view as View<Proxy>).follow(query as never, arg as never);
            if (result instanceof ResourceSet) encode(result);
          });
      },
    });
    if (all !== undefined) for (let at = 0; at < this.#gateways; at++) all.follow(gatewayStatus, `edge/gateway-${at}`);
  }

  #routeStatus(at: number): void {
    this.#views[0]?.follow(routeStatus, { kind: "HTTPRoute", key: `edge/route-${at}` });
  }

  #follow(view: View<Proxy>): void {
    for (const type of types) encode(view.follow(required(generators[type])));
  }

  /** Computes and encodes what the last commit affected. Returns the number of results. */
  settle(): number {
    const affected = [...this.#pending];
    this.#pending.clear();
    for (const compute of affected) compute();
    return affected.length;
  }
}

const encoded = new WeakSet<object>();

function encode(set: ResourceSet): void {
  if (encoded.has(set)) return;
  encoded.add(set);
  for (const resource of set) piecesOf(resource);
}

const figures: Figure[] = [];
let base = 0;
for (const shape of shapes) {
  const { routes, gateways, ofOneHost = false } = shape;
  const what = `${routes} routes${ofOneHost ? " of one host" : ""}, ${gateways} gateways`;
  const followed = new Followed(gateways);
  followed.set(service + Array.from({ length: gateways }, (_, at) => gateway(at)).join(""));
  const all = Array.from({ length: routes }, (_, at) => route(at, shape, `/${at}`)).join("");
  const before = heapBytes();
  followed.set(all);
  followed.start(routes);
  figures.push({ what: `${what}: memory a route`, value: (heapBytes() - before) / routes / 1024, unit: "KiB" });
  const costs: number[] = [];
  for (let at = 0; at < changes; at++) {
    const edited = route(at % routes, shape, `/changed/${at}`);
    costs.push(milliseconds(() => (followed.set(edited), followed.settle())));
  }
  const median = [...costs].sort((a, b) => a - b)[changes >> 1] ?? 0;
  base ||= median;
  figures.push({ what: `${what}: CPU of a change, median`, value: median, unit: "ms" });
  figures.push({ what: `${what}: CPU of a change, ratio`, value: median / base, unit: "× that with 100 routes" });
}
print("A rule of one HTTPRoute changes: configuration of all gateways and statuses", figures);
