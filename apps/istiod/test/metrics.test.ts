import { readFile, writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type Node, NodeSchema } from "@istiod/envoy-api/envoy/config/core/v3/base";
import { xdsMetrics } from "@istiod/push-report";
import { resource } from "@istiod/resources";
import { clusterType, createXdsServer, routeType, staticSource } from "@istiod/xds-server";
import { EnvoyClient, XdsClient } from "@istiod/xds-server/testing";
import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { absentSeries, dashboardSeries, otherSeries, type Series, silentSeries } from "./istio-series.js";
import { type Exposition, parseExposition, scrape } from "@istiod/prometheus/testing";
import { prometheusMeter } from "@istiod/prometheus";
import { client, folder, serve } from "./serving.js";

const document = (kind: string, apiVersion: string, name: string, rest: string, labels = "{}"): string =>
  `---\napiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: ${name}, namespace: shop, labels: ${labels}}\n${rest}\n`;
const service = (name: string, ports: string, { selector = `{app: ${name}}`, ip = "10.1.0.1" } = {}): string =>
  document("Service", "v1", name, `spec: {clusterIP: ${ip}, selector: ${selector}, ports: ${ports}}`);
const pod = (name: string, ip: string): string =>
  document(
    "Pod",
    "v1",
    name,
    `status: {phase: Running, podIP: ${ip}, podIPs: [{ip: ${ip}}], conditions: [{type: Ready, status: "True"}]}\nspec: {serviceAccountName: default}`,
    `{app: ${name}}`,
  );
const slice = (serviceName: string, endpoints: string): string =>
  document(
    "EndpointSlice",
    "discovery.k8s.io/v1",
    `${serviceName}-1`,
    `addressType: IPv4\nendpoints: ${endpoints}\nports: [{name: http, port: 8080}]`,
    `{kubernetes.io/service-name: ${serviceName}}`,
  );
const virtualService = (name: string, host: string, timeout = "1s"): string =>
  document(
    "VirtualService",
    "networking.istio.io/v1",
    name,
    `spec: {hosts: [${host}], http: [{timeout: ${timeout}, route: [{destination: {host: cart.shop.svc.cluster.local}}]}]}`,
  );
const rule = (name: string, subset: string): string =>
  document(
    "DestinationRule",
    "networking.istio.io/v1",
    name,
    `spec: {host: cart, subsets: [{name: ${subset}, labels: {version: v1}}]}`,
  );
const entry = (name: string, spec: string): string =>
  document("ServiceEntry", "networking.istio.io/v1", name, `spec: ${spec}`);
const gateway = (name: string): string =>
  document(
    "Gateway",
    "networking.istio.io/v1",
    name,
    `spec: {selector: {istio: edge}, servers: [{port: {number: 9090, name: tcp, protocol: TCP}, hosts: ["*"]}]}`,
  );
const node = (type: string, name: string, ip: string, labels: Record<string, string>): Node =>
  create(NodeSchema, {
    id: `${type}~${ip}~${name}.shop~shop.svc.cluster.local`,
    metadata: {
      NAMESPACE: "shop",
      CLUSTER_ID: "Kubernetes",
      ISTIO_VERSION: "1.27.0",
      LABELS: labels,
      INSTANCE_IPS: ip,
    },
  });

/** Returns the deviations of a series from Istio's: in its type, its labels, or because it has no samples. */
function deviations({ name, type, labels = [] }: Series, { types, samples }: Exposition, silent = false): string[] {
  if (types.get(name) !== type) return [`${name}: is ${types.get(name) ?? "not there"}, expected ${type}`];
  if (silent) return [];
  const found = samples.get(type === "histogram" ? `${name}_bucket` : name) ?? [];
  const expected = (type === "histogram" ? [...labels, "le"] : [...labels]).sort().join(" ");
  if (found.length === 0) return [`${name}: no sample`];
  return found
    .flatMap(({ labels: have }) =>
      Object.keys(have).sort().join(" ") === expected
        ? []
        : [`${name}: has labels ${Object.keys(have).sort().join(" ")}, expected ${expected}`],
    )
    .slice(0, 1);
}

let root: string;
let istiod: Awaited<ReturnType<typeof serve>>;
let rejectRoutes: string | undefined;
const proxies: EnvoyClient[] = [];

beforeEach(async () => {
  rejectRoutes = undefined;
  root = await folder({
    "config/cart.yaml":
      service("cart", "[{name: http, port: 80, targetPort: 8080}]", { selector: "{app: web}" }) +
      pod("web", "10.0.1.1") +
      slice(
        "cart",
        "[{addresses: [10.0.1.1], conditions: {ready: false, terminating: false}, targetRef: {kind: Pod, name: web}}, {addresses: [10.0.1.7], targetRef: {kind: Pod, name: late}}]",
      ),
    "config/vs.yaml": virtualService("cart", "cart.shop.svc.cluster.local"),
    "east/cart.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}",
  });
  istiod = await serve({
    configDir: join(root, "config"),
    clusterDir: [`east=${join(root, "east")}`],
    caDir: join(root, "ca"),
    secureGRPCAddr: "127.0.0.1:0",
  });
  proxies.push(envoy(node("sidecar", "web", "10.0.1.1", { app: "web" })));
  await Promise.all(proxies.map((proxy) => proxy.initialized()));
});
afterEach(() => proxies.splice(0).forEach((proxy) => proxy.close()));

function envoy(of: Node): EnvoyClient {
  return new EnvoyClient(
    { host: "127.0.0.1", port: istiod.addresses["grpcAddr"]?.port ?? 0 },
    { variant: "delta", node: of, reject: ({ typeUrl }) => (typeUrl === routeType ? rejectRoutes : undefined) },
  );
}

const write = (name: string, text: string): Promise<void> => writeFile(join(root, "config", name), text);

it("exports the series of Istio's dashboard and reference, with types and labels", async () => {
  rejectRoutes = "80: no";
  const careless = client(istiod, "delta", node("sidecar", "slow", "10.0.1.9", { app: "slow" }));
  careless.subscribe(clusterType);
  const first = await careless.accept(clusterType);
  careless.send({ typeUrl: clusterType, nonce: `${first.nonce}-other` });
  await write("vs.yaml", virtualService("cart", "cart.shop.svc.cluster.local", "8s"));
  await write("bad.yaml", virtualService("bad", "cart.shop.svc.cluster.local", "soon"));
  await vi.waitFor(async () => {
    const found = await scrape(istiod);
    expect([...dashboardSeries, ...otherSeries].flatMap((series) => deviations(series, found))).toEqual([]);
    expect(silentSeries.flatMap((series) => deviations(series, found, true))).toEqual([]);
    expect(absentSeries.filter((name) => found.types.has(name))).toEqual([]);
  }, 15_000);
});

it("counts changes, and the pushes that they cause for each proxy", async () => {
  const at = await scrape(istiod);
  expect(at.value("pilot_k8s_reg_events", { type: "Services", event: "add" })).toBe(1);
  expect(at.value("pilot_k8s_reg_events", { type: "Pods", event: "add" })).toBe(1);
  expect(at.value("pilot_inbound_updates", { type: "svc" })).toBe(1);
  proxies.push(envoy(node("sidecar", "other", "10.0.1.5", { app: "other" })));
  await proxies.at(-1)?.initialized();
  await write("vs.yaml", virtualService("cart", "cart.shop.svc.cluster.local", "8s"));
  await write(
    "cart.yaml",
    (await readFile(join(root, "config/cart.yaml"), "utf8"))
      .replace("clusterIP: 10.1.0.1", "clusterIP: 10.1.0.2")
      .replace("[10.0.1.7]", "[10.0.1.8]"),
  );
  await vi.waitFor(async () => {
    const now = await scrape(istiod);
    expect(now.value("pilot_k8s_cfg_events", { type: "VirtualService", event: "update" })).toBe(1);
    expect(now.value("pilot_k8s_reg_events", { type: "Services", event: "update" })).toBe(1);
    expect(now.value("pilot_k8s_reg_events", { type: "EndpointSlice", event: "update" })).toBe(1);
    // Each of the two proxies has its turn.
    for (const type of ["config", "service", "endpoint"])
      expect(`${type} ${now.value("pilot_push_triggers", { type })}`).toBe(`${type} 2`);
    expect(now.value("pilot_inbound_updates", { type: "svc" })).toBe(2);
    expect(now.value("pilot_inbound_updates", { type: "eds" })).toBe(2);
    expect(now.value("galley_validation_passed", { resource: "virtualservices", group: "networking.istio.io" })).toBe(
      1,
    );
    expect(now.value("pilot_proxy_queue_time_count")).toBeGreaterThanOrEqual(2);
    expect(now.value("pilot_proxy_convergence_time_count")).toBeGreaterThanOrEqual(2);
    expect(now.value("pilot_xds_send_time_count")).toBeGreaterThan(0);
    expect(now.value("xds_cache_evictions", { type: "clear" })).toBeGreaterThan(0);
    expect(now.value("pilot_worker_queue_latency_count", { queueID: "sources" })).toBeGreaterThan(0);
    expect(now.value("pilot_worker_queue_depth", { queueID: "sources" })).toBe(0);
  }, 10_000);
});

it("counts rejections, conflicts and missing endpoints in the resources of connected proxies", async () => {
  const before = await scrape(istiod);
  expect(before.value("pilot_endpoint_not_ready")).toBe(1);
  expect(before.value("pilot_k8s_endpoints_pending_pod")).toBe(1);
  expect(before.value("endpoint_no_pod")).toBe(1);
  expect(before.value("pilot_k8s_endpoints_with_no_pods")).toBe(1);
  expect(before.value("pilot_no_ip")).toBe(0);
  for (const name of [
    "pilot_conflict_inbound_listener",
    "pilot_destrule_subsets",
    "pilot_vservice_dup_domain",
    "pilot_eds_no_instances",
  ])
    expect(`${name} ${before.value(name)}`).toBe(`${name} 0`);
  rejectRoutes = "80: no";
  proxies.push(
    envoy(node("sidecar", "idle", "10.0.1.6", { app: "idle" })),
    envoy(node("router", "edge", "10.0.1.20", { istio: "edge" })),
  );
  await write(
    "more.yaml",
    service("raw", "[{name: tcp, port: 81, targetPort: 8080}]", { selector: "{app: web}", ip: "10.1.0.9" }) +
      rule("a", "v1") +
      rule("b", "v1") +
      virtualService("again", "cart.shop.svc.cluster.local", "3s") +
      entry(
        "dns",
        "{hosts: [b.example.org], ports: [{name: http, number: 80, protocol: HTTP}], workloadSelector: {labels: {app: none}}, resolution: DNS}",
      ) +
      gateway("one") +
      gateway("two") +
      pod("late", "10.0.1.7"),
  );
  await write("gw.yaml", service("edge", "[{name: tcp, port: 9090}]", { selector: "{istio: edge}", ip: "10.1.0.10" }));
  await vi.waitFor(async () => {
    const now = await scrape(istiod);
    expect(now.value("pilot_conflict_inbound_listener")).toBe(1);
    expect(now.value("pilot_destrule_subsets")).toBe(1);
    expect(now.value("pilot_vservice_dup_domain")).toBe(1);
    expect(now.value("pilot_dns_cluster_without_endpoints")).toBe(1);
    expect(now.value("pilot_eds_no_instances")).toBeGreaterThan(0);
    expect(now.value("pilot_no_ip")).toBe(1);
    expect(now.value("pilot_k8s_proxies_with_no_service_targets", { reason: "no_matching_metadata" })).toBe(1);
    expect(now.value("pilot_k8s_endpoints_pending_pod")).toBe(0);
    expect(now.value("pilot_k8s_endpoints_with_no_pods")).toBe(1);
    expect(now.value("pilot_total_rejected_configs", { type: "gateway", name: "shop/two" })).toBe(1);
    expect(now.value("pilot_total_xds_rejects", { type: "rds" })).toBeGreaterThan(0);
    expect(
      now.value("pilot_xds_rds_reject", { node: "sidecar~10.0.1.1~web.shop~shop.svc.cluster.local", err: "Internal" }),
    ).toBeGreaterThan(0);
    expect(now.value("pilot_xds", { version: "1.27.0" })).toBe(3);
    expect(now.value("pilot_xds_config_size_bytes_count", { type: clusterType })).toBeGreaterThan(0);
  }, 10_000);
});

it("exports heap, stack and process metrics as finite numbers", async () => {
  const now = await scrape(istiod);
  const value = (name: string): number => now.value(name) ?? NaN;
  for (const name of [
    "go_memstats_heap_sys_bytes",
    "go_memstats_heap_inuse_bytes",
    "go_memstats_stack_inuse_bytes",
    "process_resident_memory_bytes",
    "process_virtual_memory_bytes",
  ])
    expect(`${name} ${value(name) > 0}`).toBe(`${name} true`);
  expect(value("go_memstats_alloc_bytes")).toBeGreaterThan(1_000_000);
  expect(value("go_memstats_heap_alloc_bytes")).toBeLessThanOrEqual(value("go_memstats_heap_inuse_bytes"));
  const started = value("process_start_time_seconds");
  // Both clocks are read in this process; prom-client rounds to seconds.
  expect(Math.abs(started - (Date.now() / 1000 - process.uptime()))).toBeLessThanOrEqual(2);
});

it("counts a client that does not read as a failed push", async () => {
  const registry = new Registry();
  const source = staticSource({ [clusterType]: [resource("a", new Uint8Array(10))] });
  const observe = xdsMetrics(prometheusMeter(registry));
  const server = createXdsServer(source, { observe, sendTimeoutMs: 50, maxOutstandingBytes: 0 });
  const slow = new XdsClient(server, { variant: "delta", node: "sidecar~10.0.0.1~slow.shop~shop.svc.cluster.local" });
  slow.subscribe(clusterType);
  slow.nack(await slow.next(clusterType), "no");
  await slow.settled();
  slow.pause(true);
  source.set({ [clusterType]: [resource("a", new Uint8Array(100_000))] });
  expect((await slow.ended)?.code).not.toBe(0);
  const { value } = parseExposition(await registry.metrics());
  expect(value("pilot_xds_pushes", { type: "cds_senderr" })).toBe(1);
  expect(value("pilot_xds_write_timeout")).toBe(1);
  expect(value("pilot_total_xds_rejects", { type: "cds" })).toBe(1);
  await server.close({ graceMs: 0 });
}, 10_000);

const elsewhere = Object.values(networkInterfaces())
  .flat()
  .find((each) => each?.family === "IPv4" && !each.internal)?.address;

it("serves metrics only on loopback with METRICS_LOCALHOST_ACCESS_ONLY", async ({ skip }) => {
  skip(elsewhere === undefined, "this machine has no other address than loopback");
  const guarded = await serve(
    { configDir: join(root, "config"), httpAddr: ":0" },
    { METRICS_LOCALHOST_ACCESS_ONLY: "true" },
  );
  expect((await fetch(`${guarded.http}/metrics`)).status).toBe(200);
  expect((await fetch(`${guarded.http.replace("127.0.0.1", elsewhere ?? "")}/metrics`)).status).toBe(403);
  expect((await fetch(`${istiod.http}/metrics`)).status).toBe(200);
});

it("removes the series of disconnected proxies", async () => {
  const refusals = { node: "sidecar~10.0.1.1~web.shop~shop.svc.cluster.local", err: "Internal" };
  rejectRoutes = "80: no";
  await write("vs.yaml", virtualService("cart", "cart.shop.svc.cluster.local", "8s"));
  await vi.waitFor(async () => expect((await scrape(istiod)).value("pilot_xds_rds_reject", refusals)).toBe(1), 5000);
  proxies[0]?.close();
  await vi.waitFor(async () => {
    const now = await scrape(istiod);
    expect(now.value("pilot_xds", { version: "1.27.0" })).toBeUndefined();
    expect(now.value("pilot_xds_rds_reject", refusals)).toBeUndefined();
    expect(now.value("pilot_total_xds_rejects", { type: "rds" })).toBe(1);
    expect(now.value("pilot_endpoint_not_ready")).toBe(0);
  }, 5000);
});
