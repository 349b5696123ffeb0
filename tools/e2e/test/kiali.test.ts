import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Closers } from "@istiod/runtime";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  eventually,
  type Mesh,
  type Prometheus,
  type Series,
  startMesh,
  startPrometheus,
  whyNoEnvoy,
  whyNoPrometheus,
} from "@istiod/e2e";

const reason = (await whyNoEnvoy()) ?? whyNoPrometheus();

/*
 * The queries of Kiali's main branch of August 2026: graph/telemetry/istio (edges, and the appenders for response times,
 * throughput and security), prometheus/metrics.go (health), business/metrics.go and config/dashboards (istiod).
 */
const workload = (side: "source" | "destination"): readonly string[] => [
  `${side}_cluster`,
  ...["workload_namespace", "workload", "canonical_service", "canonical_revision"].map((name) => `${side}_${name}`),
];
const service = ["destination_service_namespace", "destination_service", "destination_service_name"];
const edge = [...workload("source"), ...workload("destination"), ...service];
const requestEdge = [...edge, "request_protocol", "response_code", "grpc_response_status", "response_flags"];
const secureEdge = [...edge, "source_principal", "destination_principal", "connection_security_policy"];

const sum = (metric: string, matchers: string, by: readonly string[]): string =>
  `sum(rate(${metric}{${matchers}} [10s])) by (${by.join(",")})`;
const received = 'reporter="destination",destination_workload_namespace="shop"';
const sent = 'reporter="source",source_workload_namespace="shop"';

/** Labels of the edge from one workload to another. */
const between = (source: string, destination: string): Readonly<Record<string, string>> => ({
  source_cluster: "Kubernetes",
  source_workload_namespace: "shop",
  source_workload: source,
  source_canonical_service: source,
  source_canonical_revision: "latest",
  destination_cluster: "Kubernetes",
  destination_workload_namespace: "shop",
  destination_workload: destination,
  destination_canonical_service: destination,
  destination_canonical_revision: "latest",
  destination_service_namespace: "shop",
  destination_service: `${destination}.shop.svc.cluster.local`,
  destination_service_name: destination,
});
const http = (code: string, flags = "-"): Readonly<Record<string, string>> => ({
  request_protocol: "http",
  response_code: code,
  response_flags: flags,
});
const grpc = { request_protocol: "grpc", response_code: "200", grpc_response_status: "5", response_flags: "-" };
/** The principal of a workload, as its label has it. */
const principal = (name: string): string => `spiffe://cluster.local/ns/shop/sa/${name}`;

/** Queries, each with labels that series of its result must have. */
const queries: readonly (readonly [
  name: string,
  query: string,
  series: readonly Readonly<Record<string, string>>[],
])[] = [
  [
    "requests by the receiver",
    `${sum("istio_requests_total", received, requestEdge)} > 0`,
    [
      { ...between("web", "cart"), ...http("200") },
      { ...between("web", "cart"), ...http("418") },
      { ...between("web", "cart"), ...grpc },
      { ...between("cart", "web"), ...http("200") },
    ],
  ],
  [
    "requests by the sender",
    `${sum("istio_requests_total", sent, requestEdge)} > 0`,
    [
      { ...between("web", "cart"), ...http("200") },
      { ...between("web", "cart"), ...http("418") },
      { ...between("web", "cart"), ...grpc },
    ],
  ],
  [
    "requests that reach no workload",
    `${sum("istio_requests_total", `${sent},destination_workload="unknown"`, requestEdge)} > 0`,
    [
      {
        ...{ source_workload: "web", source_workload_namespace: "shop", destination_workload: "unknown" },
        ...{ destination_workload_namespace: "unknown", destination_service: "gone.shop.svc.cluster.local" },
        ...{ destination_service_name: "gone", destination_service_namespace: "shop" },
        ...http("503", "UH"),
      },
    ],
  ],
  [
    "TCP bytes by the sender",
    `${sum("istio_tcp_sent_bytes_total", `app!="ztunnel",${sent}`, ["app", ...edge, "response_flags"])} > 0`,
    [{ app: "web", ...between("web", "db"), response_flags: "-" }],
  ],
  [
    "TCP bytes by the receiver",
    `${sum("istio_tcp_received_bytes_total", `app!="ztunnel",${received}`, ["app", ...edge, "response_flags"])} > 0`,
    [{ app: "db", destination_workload: "db", destination_service_name: "db", response_flags: "-" }],
  ],
  [
    "average response times",
    `${sum("istio_request_duration_milliseconds_sum", sent, edge)} / ${sum("istio_request_duration_milliseconds_count", sent, edge)} > 0`,
    [between("web", "cart")],
  ],
  [
    "percentiles of response times",
    `histogram_quantile(0.95, ${sum("istio_request_duration_milliseconds_bucket", sent, ["le", ...edge])}) > 0`,
    [between("web", "cart")],
  ],
  ["throughput", `${sum("istio_response_bytes_sum", received, edge)} > 0`, [between("web", "cart")]],
  [
    "mutual TLS",
    `${sum("istio_requests_total", received, secureEdge)} > 0`,
    [
      {
        ...between("web", "cart"),
        source_principal: principal("web"),
        destination_principal: principal("cart"),
        connection_security_policy: "mutual_tls",
      },
    ],
  ],
  [
    "health of a namespace",
    'rate(istio_requests_total{destination_service_namespace="shop",destination_cluster=~"Kubernetes|unknown"}[10s]) > 0',
    [
      { reporter: "source", ...between("web", "cart"), ...http("418") },
      { reporter: "destination", ...between("web", "cart"), ...http("418") },
    ],
  ],
  [
    "health of an app",
    'rate(istio_requests_total{destination_workload_namespace="shop",destination_canonical_service="cart",destination_cluster="Kubernetes"}[10s]) > 0',
    [between("web", "cart")],
  ],
  [
    "health of a workload's calls",
    'rate(istio_requests_total{source_workload_namespace="shop",source_workload="web",source_cluster="Kubernetes"}[10s]) > 0',
    [between("web", "cart")],
  ],
  ["convergence", 'delta(pilot_proxy_convergence_time_count{app="istiod"}[20s])', [{ app: "istiod" }]],
  ...["pilot_xds", "pilot_services", "process_resident_memory_bytes"].map(
    (metric) => [metric, `sum(${metric}{app="istiod"}) by (app)`, [{ app: "istiod" }]] as const,
  ),
  ...["pilot_xds_pushes", "process_cpu_seconds_total"].map(
    (metric) => [metric, `sum(rate(${metric}{app="istiod"}[20s])) by (app)`, [{ app: "istiod" }]] as const,
  ),
];

const hasLabels = (series: Series, expected: Readonly<Record<string, string>>): boolean =>
  !Number.isNaN(series.value) && Object.entries(expected).every(([name, value]) => series.labels[name] === value);

describe("Kiali", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  const closers = new Closers();
  let mesh: Mesh;
  let prometheus: Prometheus;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startMesh({
      istiod: "process",
      meshConfig: "defaultProviders: {metrics: [prometheus]}",
      objects: `
apiVersion: v1
kind: Service
metadata: {name: gone, namespace: shop}
spec: {clusterIP: 10.96.77.77, selector: {app: gone}, ports: [{name: http, port: 8000}]}
`,
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
        {
          app: "cart",
          env: { ISTIO_META_WORKLOAD_NAME: "cart" },
          answer: ({ path }) => {
            if (path === "/grpc") return { headers: { "content-type": "application/grpc", "grpc-status": "5" } };
            return path === "/teapot" ? { status: 418 } : {};
          },
        },
        {
          app: "db",
          env: { ISTIO_META_WORKLOAD_NAME: "db" },
          ports: [{ name: "tcp", port: 8100 }],
          sidecar: { ingress: [{ port: { number: 8100, protocol: "TCP", name: "tcp" } }] },
        },
      ],
    });
    closers.defer(() => mesh.close());
    const directory = join(mesh.work, "prometheus");
    await mkdir(directory);
    const proxies = ["web", "cart", "db"].map((name) => ({
      address: `${mesh.workload(name).address}:15020`,
      path: "/stats/prometheus",
      labels: { app: name, pod: name },
    }));
    const istiod = { address: `${mesh.istiod.address}:15014`, labels: { app: "istiod" } };
    prometheus = await startPrometheus(directory, [istiod, ...proxies], closers);
    const calls = [
      ...["http://cart:8000/", "http://cart:8000/teapot", "http://gone:8000/", "http://db:8100/"].map(
        (url) => ["web", url] as const,
      ),
      ["cart", "http://web:8000/"],
    ] as const;
    const traffic = setInterval(() => {
      for (const [from, url] of calls) mesh.call(from, url).catch(() => undefined);
      const headers = { "content-type": "application/grpc" };
      mesh.call("web", "http://cart:8000/grpc", { headers }).catch(() => undefined);
    }, 200);
    closers.defer(() => clearInterval(traffic));
  }, 120_000);
  afterAll(() => closers.close());

  it.each(queries)(
    "finds %s",
    async (_, query, expected) => {
      let missing: readonly Readonly<Record<string, string>>[] = expected;
      let found: readonly Series[] = [];
      await eventually(
        "every series is there",
        async () => {
          found = await prometheus.query(query);
          missing = expected.filter((labels) => !found.some((series) => hasLabels(series, labels)));
          return missing.length === 0;
        },
        40_000,
        500,
      ).catch(() => undefined);
      expect(missing, JSON.stringify(found.map(({ labels }) => labels))).toEqual([]);
    },
    60_000,
  );

  it("reads the state of proxies and the version of istiod", async () => {
    const at = `http://${mesh.istiod.address}:15014`;
    const states = (await (await fetch(`${at}/debug/syncz`)).json()) as readonly Readonly<Record<string, string>>[];
    // Kiali splits the name into that of the Pod and its namespace.
    expect(states.map(({ proxy, cluster_id: cluster }) => `${cluster} ${proxy}`).toSorted()).toEqual([
      "Kubernetes cart.shop",
      "Kubernetes db.shop",
      "Kubernetes web.shop",
    ]);
    for (const state of states)
      for (const type of ["cluster", "listener", "endpoint"]) {
        expect(state[`${type}_sent`]).toMatch(/./);
        expect(state[`${type}_acked`]).toBe(state[`${type}_sent`]);
      }
    expect(await (await fetch(`${at}/version`)).text()).toMatch(/\d+\.\d+\.\d+/);
  });
});
