import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Closers } from "@istiod/runtime";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  eventually,
  type Mesh,
  type Prometheus,
  startMesh,
  startPrometheus,
  whyNoEnvoy,
  whyNoPrometheus,
} from "@istiod/e2e";

const reason = (await whyNoEnvoy()) ?? whyNoPrometheus();
const manifests = fileURLToPath(new URL("../../../manifests", import.meta.url));

/** Requests: of HTTP, of a TCP connection, and one that the workload of the dashboard gets. */
const calls = [
  ["web", "http://cart:8000/"],
  ["web", "http://db:8100/"],
  ["cart", "http://web:8000/"],
] as const;

/** An object that proxies reject: a filter of a type that is none. */
const rejected = `
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {name: rejected, namespace: shop}
spec:
  workloadSelector: {labels: {app: db}}
  configPatches:
  - applyTo: CLUSTER
    patch:
      operation: ADD
      value: {name: rejected, type: EDS, connect_timeout: -1s}
`;

const route = (weight: number): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec:
  hosts: [cart]
  http: [{route: [{destination: {host: cart}, headers: {request: {set: {x-weight: "${weight}"}}}}]}]
`;

/** A panel with an expression, by the names of its dashboard and itself. */
interface Panel {
  readonly name: string;
  readonly expressions: readonly string[];
}

/** Values of the variables of dashboards. */
const variables: Readonly<Record<string, string>> = {
  $__rate_interval: "10s",
  $service: "cart.shop.svc.cluster.local",
  $namespace: "shop",
  $workload: "web",
};

async function panelsOf(file: string): Promise<Panel[]> {
  const { title, panels } = JSON.parse(await readFile(join(manifests, "dashboards", file), "utf8")) as {
    readonly title: string;
    readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
  };
  return panels.map((panel) => ({
    name: `${title}: ${panel.title}`,
    expressions: (panel.targets ?? []).map(({ expr }) =>
      expr.replaceAll(/\$\w+/g, (name) => variables[name] ?? `no value of ${name}`),
    ),
  }));
}

describe("dashboards", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  const closers = new Closers();
  let mesh: Mesh;
  let prometheus: Prometheus;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startMesh({
      istiod: "process",
      meshConfig: "defaultProviders: {metrics: [prometheus]}",
      objects: rejected,
      workloads: [
        {
          app: "web",
          env: { ISTIO_META_WORKLOAD_NAME: "web" },
          sidecar: {
            egress: [
              { port: { number: 8100, protocol: "TCP", name: "tcp" }, hosts: ["shop/db.shop.svc.cluster.local"] },
              { hosts: ["*/*"] },
            ],
          },
        },
        { app: "cart" },
        {
          app: "db",
          ports: [{ name: "tcp", port: 8100 }],
          sidecar: { ingress: [{ port: { number: 8100, protocol: "TCP", name: "tcp" } }] },
        },
      ],
    });
    closers.defer(() => mesh.close());
    const directory = join(mesh.work, "prometheus");
    await mkdir(directory);
    const proxies = ["web", "cart"].map((name) => ({
      address: `${mesh.workload(name).address}:15020`,
      path: "/stats/prometheus",
      labels: { app: name, pod: name },
    }));
    const istiod = { address: `${mesh.istiod.address}:15014`, labels: { app: "istiod" } };
    prometheus = await startPrometheus(directory, [istiod, ...proxies], closers, join(manifests, "alerts.yaml"));
  }, 120_000);
  afterAll(() => closers.close());

  it("have data in every panel", async () => {
    let weight = 0;
    const traffic = setInterval(() => {
      for (const [from, url] of calls) mesh.call(from, url).catch(() => undefined);
    }, 100);
    const changes = setInterval(
      () => void mesh.apply("route.yaml", route(weight++ % 100)).catch(() => undefined),
      1000,
    );
    closers.defer(() => clearInterval(traffic));
    closers.defer(() => clearInterval(changes));
    await mesh
      .apply(
        "invalid.yaml",
        "apiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: bad, namespace: shop}\nspec: {egress: [{}]}\n",
      )
      .catch(() => undefined);
    const panels = (await Promise.all((await readdir(join(manifests, "dashboards"))).map(panelsOf))).flat();
    expect(panels.filter(({ expressions }) => expressions.length > 0).length).toBeGreaterThan(40);
    let empty: string[] = [];
    await eventually(
      "all panels have data",
      async () => {
        empty = [];
        for (const { name, expressions } of panels)
          for (const expression of expressions)
            if ((await prometheus.query(expression)).every(({ value }) => Number.isNaN(value)))
              empty.push(`${name}: ${expression}`);
        return empty.length === 0;
      },
      20_000,
      500,
    ).catch(() => undefined);
    expect(empty).toEqual([]);
  }, 60_000);
});
