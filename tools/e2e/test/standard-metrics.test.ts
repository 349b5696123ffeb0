import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventually, type Mesh, startMesh, whyNoEnvoy } from "@istiod/e2e";

const reason = await whyNoEnvoy();

const telemetry = `
apiVersion: telemetry.istio.io/v1
kind: Telemetry
metadata: {name: changed, namespace: shop}
spec:
  selector: {matchLabels: {app: changed}}
  metrics:
  - providers: [{name: prometheus}]
    overrides:
    - match: {metric: RESPONSE_SIZE}
      disabled: true
    - match: {metric: REQUEST_COUNT, mode: SERVER}
      tagOverrides:
        source_principal: {operation: REMOVE}
        request_method: {value: request.method}
        destination_app: {value: "'set'"}
        broken: {value: "no.such(function)"}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: outside, namespace: shop}
spec:
  hosts: [outside.example.com]
  location: MESH_EXTERNAL
  resolution: STATIC
  ports: [{number: 8000, name: http, protocol: HTTP}]
  endpoints: [{address: "{{legacy}}"}]
`;

/** A sample of a metric: its labels and its value. */
interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

describe("Istio's metrics with stock Envoys", () => {
  beforeEach(({ skip }) => skip(reason !== undefined, reason));
  let mesh: Mesh;
  beforeAll(async () => {
    if (reason) return;
    mesh = await startMesh({
      objects: telemetry,
      meshConfig: "defaultProviders: {metrics: [prometheus]}",
      workloads: [
        {
          app: "web",
          version: "v1",
          env: { ISTIO_META_WORKLOAD_NAME: "web-deployment" },
          sidecar: {
            egress: [
              { port: { number: 8100, protocol: "TCP", name: "tcp" }, hosts: ["shop/db.shop.svc.cluster.local"] },
              { hosts: ["*/*"] },
            ],
          },
        },
        { app: "cart", version: "v2", env: { ISTIO_META_WORKLOAD_NAME: "cart-deployment" } },
        { app: "changed" },
        {
          app: "db",
          ports: [{ name: "tcp", port: 8100 }],
          sidecar: { ingress: [{ port: { number: 8100, protocol: "TCP", name: "tcp" } }] },
        },
        { app: "legacy", proxy: "none" },
      ],
    });
  }, 90_000);
  afterAll(() => mesh?.close());

  async function samples(of: string, metric: string, wanted: Readonly<Record<string, string>>): Promise<Sample[]> {
    const { text } = await mesh.enter(of, "http://agent:15020/stats/prometheus");
    const found = text.matchAll(new RegExp(String.raw`^${metric}\{(.*)\} (\S+)$`, "gm"));
    return [...found]
      .map(([, labels = "", value]) => ({
        labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, text]) => [name, text])),
        value: Number(value),
      }))
      .filter(({ labels }) => Object.entries(wanted).every(([name, value]) => labels[name] === value));
  }

  const one = (of: string, metric: string, wanted: Readonly<Record<string, string>>): Promise<Sample> =>
    eventually(`${metric} of ${of}`, async () => (await samples(of, metric, wanted))[0], 10_000, 50);

  it("name both workloads on both sides of a request", async () => {
    for (let n = 0; n < 3; n++) await mesh.call("web-v1", "http://cart:8000/");
    const common = {
      source_workload: "web-deployment",
      source_workload_namespace: "shop",
      source_canonical_service: "web",
      source_canonical_revision: "v1",
      source_app: "web",
      source_version: "v1",
      source_cluster: "Kubernetes",
      source_principal: "spiffe://cluster.local/ns/shop/sa/web",
      destination_workload: "cart-deployment",
      destination_workload_namespace: "shop",
      destination_canonical_service: "cart",
      destination_canonical_revision: "v2",
      destination_app: "cart",
      destination_version: "v2",
      destination_cluster: "Kubernetes",
      destination_principal: "spiffe://cluster.local/ns/shop/sa/cart",
      destination_service: "cart.shop.svc.cluster.local",
      destination_service_name: "cart",
      destination_service_namespace: "shop",
      request_protocol: "http",
      response_code: "200",
      response_flags: "-",
      grpc_response_status: "",
    };
    const client = await one("web-v1", "istio_requests_total", { destination_service_name: "cart" });
    expect(client).toEqual({
      labels: { ...common, reporter: "source", connection_security_policy: "unknown" },
      value: 3,
    });
    const server = await one("cart-v2", "istio_requests_total", { source_app: "web" });
    expect(server).toEqual({
      labels: { ...common, reporter: "destination", connection_security_policy: "mutual_tls" },
      value: 3,
    });
  });

  it("measure durations and sizes", async () => {
    await mesh.call("web-v1", "http://cart:8000/sized", { headers: { "x-large": "x".repeat(2000) } });
    const wanted = { destination_service_name: "cart", response_code: "200" };
    await eventually(
      "sizes of requests",
      async () => ((await samples("web-v1", "istio_request_bytes_sum", wanted))[0]?.value ?? 0) > 2000,
      10_000,
      50,
    );
    const [count] = await samples("web-v1", "istio_request_duration_milliseconds_count", wanted);
    const buckets = await samples("web-v1", "istio_request_duration_milliseconds_bucket", wanted);
    expect(count?.value).toBeGreaterThanOrEqual(1);
    expect(buckets.map(({ labels }) => labels["le"]).slice(0, 4)).toEqual(["0.5", "1", "5", "10"]);
    expect(buckets.at(-1)).toMatchObject({ labels: { le: "+Inf" }, value: count?.value });
    expect(await samples("web-v1", "istio_response_bytes_count", wanted)).toHaveLength(1);
  });

  it("hide the introduction from applications and from clients outside the mesh", async () => {
    const { seen, headers } = await mesh.call("web-v1", "http://cart:8000/");
    expect(seen?.headers).not.toHaveProperty("x-istio-peer-workload");
    expect(headers).not.toHaveProperty("x-istio-peer-workload");
    const direct = await mesh.enter("cart-v2", "http://cart:8000/");
    expect(direct.status).toBe(200);
    expect(direct.headers).not.toHaveProperty("x-istio-peer-workload");
    expect(await one("cart-v2", "istio_requests_total", { source_workload: "unknown" })).toMatchObject({
      labels: { connection_security_policy: "none", source_principal: "unknown", source_canonical_revision: "latest" },
    });
  });

  it("name destinations outside the mesh, and those without a proxy", async () => {
    await mesh.call("web-v1", "http://outside.example.com:8000/");
    expect(await one("web-v1", "istio_requests_total", { destination_service: "outside.example.com" })).toMatchObject({
      labels: { destination_workload: "outside-0", destination_service_name: "outside.example.com" },
    });
    await mesh.call("web-v1", "http://legacy:8000/");
    expect(await one("web-v1", "istio_requests_total", { destination_service_name: "legacy" })).toMatchObject({
      labels: { destination_workload: "legacy", destination_principal: "unknown" },
    });
  });

  it("count TCP connections when they open and when they close, with their bytes", async () => {
    await mesh.call("web-v1", "http://db:8100/");
    const labels = { request_protocol: "tcp", destination_service_name: "db" };
    const opened = await one("web-v1", "istio_tcp_connections_opened_total", labels);
    expect(opened).toMatchObject({ labels: { source_workload: "web-deployment", destination_workload: "db" } });
    expect(opened.labels).not.toHaveProperty("response_code");
    expect(await one("web-v1", "istio_tcp_connections_closed_total", labels)).toEqual(opened);
    expect((await one("web-v1", "istio_tcp_sent_bytes_total", labels)).value).toBeGreaterThan(100);
    expect(
      await one("db", "istio_tcp_connections_opened_total", { connection_security_policy: "mutual_tls" }),
    ).toMatchObject({
      labels: { source_principal: "spiffe://cluster.local/ns/shop/sa/web", source_workload_namespace: "shop" },
    });
  });

  it("follow the overrides of a Telemetry", async () => {
    await mesh.call("web-v1", "http://changed:8000/");
    const { labels } = await one("changed", "istio_requests_total", { source_app: "web" });
    expect(labels).toMatchObject({ request_method: "GET", destination_app: "set", broken: "unknown" });
    expect(labels).not.toHaveProperty("source_principal");
    expect(await samples("changed", "istio_response_bytes_count", {})).toEqual([]);
    expect(await samples("changed", "istio_request_bytes_count", {})).toHaveLength(1);
  });

  it("are accepted by every proxy", () => {
    expect(mesh.refusals()).toEqual([]);
  });
});
