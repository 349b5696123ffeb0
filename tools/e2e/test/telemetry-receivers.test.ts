import {
  type Collector,
  eventually,
  type Mesh,
  type ReceivedSpan,
  startCollector,
  startMesh,
  startZipkin,
  whyNoCollector,
  whyNoEnvoy,
  whyNoZipkin,
  type Zipkin,
} from "@istiod/e2e";
import { Closers } from "@istiod/runtime";
import { stringify } from "yaml";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

const noEnvoy = await whyNoEnvoy();
const service = "obs.shop.svc.cluster.local";

const meshConfig = stringify({
  extensionProviders: [
    { name: "otel", opentelemetry: { service, port: 4317, resourceDetectors: { environment: {} } } },
    { name: "otel-http", opentelemetry: { service, port: 4318, http: { path: "/v1/traces", timeout: "2s" } } },
    {
      name: "otel-semantic",
      opentelemetry: { service, port: 4317, serviceAttributeEnrichment: "OTEL_SEMANTIC_CONVENTIONS" },
    },
    { name: "zipkin", zipkin: { service, port: 9411 } },
    {
      name: "otel-logs",
      envoyOtelAls: {
        ...{ service, port: 4317 },
        logFormat: {
          text: "%REQ(:METHOD)% %REQ(:PATH)% %RESPONSE_CODE%",
          labels: { cluster: "%UPSTREAM_CLUSTER_RAW%" },
        },
      },
    },
  ],
});

const telemetry = (provider: string, tracing: object = {}, spec: object = {}): string =>
  stringify({
    apiVersion: "telemetry.istio.io/v1",
    kind: "Telemetry",
    metadata: { name: "all", namespace: "istio-system" },
    spec: { tracing: [{ providers: [{ name: provider }], randomSamplingPercentage: 100, ...tracing }], ...spec },
  });

/** Imports the collector's ports. The tracers of Zipkin and Datadog need a cluster, which others do without. */
const egress = [4317, 4318, 9411].map((number) => ({
  port: { number, protocol: "HTTP", name: `http-${number}` },
  hosts: ["shop/obs.shop.svc.cluster.local"],
}));
const sidecar = { egress };

const workloads = [
  {
    app: "web",
    env: { ISTIO_META_WORKLOAD_NAME: "web-workload", OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=test" },
    sidecar,
  },
  {
    app: "cart",
    version: "v2",
    sidecar,
    answer: ({ path }: { readonly path: string }) => (path === "/unlogged" ? { status: 404 } : {}),
  },
  {
    app: "obs",
    proxy: "none",
    servesItself: true,
    ports: [
      { name: "grpc-otlp", port: 4317 },
      { name: "http-otlp", port: 4318 },
      { name: "http-zipkin", port: 9411 },
    ],
  },
] as const;

/** Returns the spans that a path led to, of the client and of the server. */
function spansOf(spans: readonly ReceivedSpan[], path: string): readonly ReceivedSpan[] {
  return spans
    .filter(({ tags }) => tags["http.url"]?.endsWith(path) === true)
    .toSorted((a, b) => (a.kind < b.kind ? -1 : 1));
}

/** Expects the spans of both proxies of a request: one trace, in which the server's is a child of the client's. */
function expectTrace([client, server, ...others]: readonly ReceivedSpan[], services: readonly [string, string]): void {
  expect([client?.kind, server?.kind, others]).toEqual(["CLIENT", "SERVER", []]);
  expect([client?.service, server?.service]).toEqual(services);
  expect(server?.traceId).toBe(client?.traceId);
  expect([client?.parentSpanId, server?.parentSpanId]).toEqual(["", client?.spanId]);
}

describe("an OpenTelemetry collector", () => {
  const reason = noEnvoy ?? whyNoCollector();
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  const closers = new Closers();
  let mesh: Mesh;
  let collector: Collector;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startMesh({ meshConfig, workloads });
    closers.defer(() => mesh.close());
    collector = await startCollector(mesh.workload("obs").address, mesh.work, closers);
  }, 120_000);
  afterAll(() => closers.close());

  const receivedOf = async (path: string): Promise<readonly ReceivedSpan[]> => {
    await eventually(`the spans of ${path} arrive`, () => spansOf(collector.spans(), path).length >= 2, 20_000, 100);
    return spansOf(collector.spans(), path);
  };

  it("receives the spans of client and server by gRPC, with their tags", async () => {
    const tracing = { customTags: { tenant: { header: { name: "x-tenant", defaultValue: "none" } } } };
    await mesh.apply("telemetry.yaml", telemetry("otel", tracing));
    await mesh.call("web", "http://cart:8000/grpc", { headers: { "x-tenant": "blue" } });
    const spans = await receivedOf("/grpc");
    expectTrace(spans, ["web.shop", "cart.shop"]);
    const own = (name: string): object => ({
      "istio.canonical_service": name,
      "istio.namespace": "shop",
      "http.method": "GET",
      "http.status_code": "200",
      tenant: "blue",
    });
    expect(spans.map(({ tags }) => tags)).toEqual([
      expect.objectContaining({ ...own("web"), "istio.canonical_revision": "latest" }),
      expect.objectContaining({ ...own("cart"), "istio.canonical_revision": "v2" }),
    ]);
    expect(spans[0]?.name).toBe("cart.shop.svc.cluster.local:8000/*");
    expect(spans[0]?.resource["deployment.environment"]).toBe("test");
  });

  it("receives spans by HTTP, and names by OpenTelemetry's conventions", async () => {
    await mesh.apply("telemetry.yaml", telemetry("otel-http"));
    await mesh.call("web", "http://cart:8000/http");
    expectTrace(await receivedOf("/http"), ["web.shop", "cart.shop"]);
    await mesh.apply("telemetry.yaml", telemetry("otel-semantic"));
    await mesh.call("web", "http://cart:8000/semantic");
    expectTrace(await receivedOf("/semantic"), ["web-workload", "cart-v2"]);
  });

  it("receives what is sampled, in the trace of the caller, and of the side that a Telemetry is for", async () => {
    await mesh.apply("telemetry.yaml", telemetry("otel", { randomSamplingPercentage: 0 }));
    for (let i = 0; i < 20; i++) await mesh.call("web", "http://cart:8000/unsampled");
    await mesh.apply("telemetry.yaml", telemetry("otel"));
    const trace = "0af7651916cd43dd8448eb211c80319c";
    await mesh.call("web", "http://cart:8000/sampled", { headers: { traceparent: `00-${trace}-b7ad6b7169203331-01` } });
    const spans = await receivedOf("/sampled");
    expect(spans.map(({ traceId }) => traceId)).toEqual([trace, trace]);
    expect(spans[0]?.parentSpanId).toBe("b7ad6b7169203331");
    expect(spansOf(collector.spans(), "/unsampled")).toEqual([]);
    await mesh.apply("telemetry.yaml", telemetry("otel", { match: { mode: "SERVER" } }));
    await mesh.call("web", "http://cart:8000/server");
    await eventually("the server's span arrives", () => spansOf(collector.spans(), "/server").length > 0, 20_000, 100);
    expect(spansOf(collector.spans(), "/server").map(({ service: name }) => name)).toEqual(["cart.shop"]);
  });

  it("receives access logs, filtered", async () => {
    const accessLogging = [{ providers: [{ name: "otel-logs" }], filter: { expression: "response.code < 400" } }];
    await mesh.apply("telemetry.yaml", telemetry("otel", {}, { accessLogging }));
    await mesh.call("web", "http://cart:8000/unlogged");
    await mesh.call("web", "http://cart:8000/logged");
    const logs = () => collector.logs().map(({ body, attributes }) => `${body} ${attributes["cluster"]}`);
    await eventually("the logs of both proxies arrive", () => logs().length >= 2, 20_000, 100);
    expect(new Set(logs())).toEqual(
      new Set(["GET /logged 200 outbound|8000||cart.shop.svc.cluster.local", "GET /logged 200 inbound|8000||"]),
    );
  });

  it("harms no request while it is down, and receives spans afterwards", async () => {
    const accessLogging = [{ providers: [{ name: "otel-logs" }] }];
    await mesh.apply("telemetry.yaml", telemetry("otel", {}, { accessLogging }));
    await collector.kill();
    const answers = [];
    for (let i = 0; i < 50; i++) answers.push((await mesh.call("web", "http://cart:8000/down")).status);
    expect(new Set(answers)).toEqual(new Set([200]));
    await collector.start();
    await eventually(
      "spans arrive again",
      async () => {
        await mesh.call("web", "http://cart:8000/again");
        return spansOf(collector.spans(), "/again").length > 0;
      },
      60_000,
      500,
    );
    expect(mesh.refusals()).toEqual([]);
  });
});

describe("a Zipkin server", () => {
  const reason = noEnvoy ?? whyNoZipkin();
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  const closers = new Closers();
  let mesh: Mesh;
  let zipkin: Zipkin;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startMesh({ meshConfig, workloads, objects: telemetry("zipkin") });
    closers.defer(() => mesh.close());
    zipkin = await startZipkin(mesh.workload("obs").address, closers);
  }, 180_000);
  afterAll(() => closers.close());

  it("receives the spans of client and server, with their tags", async () => {
    await mesh.call("web", "http://cart:8000/zipkin");
    let spans: readonly ReceivedSpan[] = [];
    await eventually(
      "the spans arrive",
      async () => (spans = spansOf(await zipkin.spans(), "/zipkin")).length >= 2,
      30_000,
      500,
    );
    expectTrace(spans, ["web.shop", "cart.shop"]);
    expect(spans.map(({ tags }) => tags["istio.canonical_service"])).toEqual(["web", "cart"]);
  });

  it("harms no request while it is down, or without a cluster", async () => {
    const answers = async (): Promise<ReadonlySet<number>> => {
      const found = new Set<number>();
      for (let i = 0; i < 20; i++) found.add((await mesh.call("web", "http://cart:8000/down")).status);
      return found;
    };
    await zipkin.kill();
    expect(await answers()).toEqual(new Set([200]));
    await mesh.configure(meshConfig.replace("port: 9411", "port: 9412"));
    const traced = async (): Promise<boolean> =>
      (await mesh.admin("web", "/config_dump?resource=dynamic_listeners")).includes("envoy.tracers.zipkin");
    await eventually("tracing ends", async () => !(await traced()), 20_000, 100);
    expect(await answers()).toEqual(new Set([200]));
    expect(mesh.refusals()).toEqual([]);
  });
});
