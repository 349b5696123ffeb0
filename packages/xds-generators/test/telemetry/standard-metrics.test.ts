import { describe, expect, it } from "vitest";
import {
  chainsOf,
  filterOf,
  httpChain,
  httpFilterNames,
  listenerOf,
  managerOf,
  tcpProxy,
} from "../listeners/listener-parts.js";
import { podYaml, serviceYaml } from "../mesh-yaml.js";
import { type Json, type ProxyOptions, TestMesh, type TestProxy } from "../mesh.js";

const stock = [
  "envoy.access_loggers.stats",
  "envoy.filters.http.header_mutation",
  "envoy.filters.http.header_to_metadata",
  "envoy.filters.http.match_delegate",
];
const self = { ip: "10.1.0.1", name: "web-10-1-0-1", extensions: stock, envoyVersion: [1, 40] as const };
const workloads =
  serviceYaml("web", { ports: ["http:80:8080"] }) +
  podYaml("web", "10.1.0.1") +
  serviceYaml("db", { ports: ["tcp:5432:5432"] });
const prometheus = { defaultProviders: { metrics: ["prometheus"] } };

function telemetry(metrics: object): string {
  return `---\n${JSON.stringify({ apiVersion: "telemetry.istio.io/v1", kind: "Telemetry", metadata: { name: "default", namespace: "shop" }, spec: { metrics: [metrics] } })}\n`;
}

function client(of: Partial<ProxyOptions> = {}, objects = "", config: object = prometheus): TestProxy {
  return new TestMesh(workloads + objects, config as never).proxy({ ...self, ...of });
}

const inbound = (proxy: TestProxy): Json => managerOf(httpChain(listenerOf(proxy, "virtualInbound")));
const outbound = (proxy: TestProxy): Json => managerOf(httpChain(listenerOf(proxy, "0.0.0.0_80")));
const statsOf = (logs: Json): Json =>
  logs?.find(({ name }: Json) => name === "envoy.access_loggers.stats")?.typedConfig;
const labelsOf = (config: Json, metric: string): Record<string, string> => {
  const { stat } = [...config.counters, ...config.histograms].find(({ stat }: Json) => stat.name === metric);
  return Object.fromEntries(stat.tags.map(({ name, valueFormat }: Json) => [name, valueFormat]));
};

describe("Istio's metrics with a stock Envoy", () => {
  it("are recorded by an access logger, on both sides", () => {
    const config = statsOf(outbound(client()).accessLog);
    expect(config.counters.map(({ stat }: Json) => stat.name)).toEqual(["requests_total"]);
    expect(config.histograms.map(({ stat, unit }: Json) => [stat.name, unit])).toEqual([
      ["request_duration_milliseconds", "Milliseconds"],
      ["request_bytes", "Bytes"],
      ["response_bytes", "Bytes"],
    ]);
    expect(labelsOf(config, "requests_total")).toMatchObject({ reporter: "source", response_code: "%RESPONSE_CODE%" });
    expect(labelsOf(statsOf(inbound(client()).accessLog), "request_bytes")).toMatchObject({ reporter: "destination" });
  });

  it.each<[string, Partial<ProxyOptions>, object]>([
    ["with Istio's build of Envoy", { extensions: [...stock, "istio.stats"] }, prometheus],
    ["with an Envoy that lists no extensions", { extensions: [] }, prometheus],
    ["with an Envoy that lacks the logger", { extensions: stock.slice(1) }, prometheus],
    ["without a provider", {}, {}],
  ])("are not recorded so %s", (_, of, config) => {
    expect(statsOf(outbound(client(of, "", config)).accessLog)).toBeUndefined();
  });

  it("are bounded in number, where Envoy can", () => {
    expect(statsOf(outbound(client()).accessLog)).toMatchObject({
      statsScope: { prefix: "istio", sharingName: "istio", maxCounters: 10_000, maxHistograms: 10_000 },
    });
    const older = statsOf(outbound(client({ envoyVersion: [1, 38] })).accessLog);
    expect(older).toMatchObject({ statPrefix: "istio" });
    expect(older).not.toHaveProperty("statsScope");
  });

  it("have the requested host on the client's side only, where the application chooses it", () => {
    expect(labelsOf(statsOf(outbound(client()).accessLog), "requests_total")).toHaveProperty("istio_host");
    expect(labelsOf(statsOf(inbound(client()).accessLog), "requests_total")).not.toHaveProperty("istio_host");
  });

  it("are the same bytes for workloads of other names and labels", () => {
    const other = { name: "other-1", metadata: { WORKLOAD_NAME: "other", LABELS: { app: "other", version: "v9" } } };
    const mesh = new TestMesh(workloads, prometheus as never);
    const bytes = (of: Partial<ProxyOptions>): Uint8Array =>
      mesh.proxy({ ...self, ip: "10.1.0.77", ...of }).resource("envoy.config.listener.v3.Listener", "0.0.0.0_80").bytes;
    expect(bytes(other)).toBe(bytes({}));
  });

  it("of connections are logged when they open, without a second line of other access logs", () => {
    const proxy = client({}, "", { ...prometheus, accessLogFile: "/log" });
    const { accessLog, accessLogOptions } = filterOf(chainsOf(listenerOf(proxy, "10.96.0.1_5432"))[0], tcpProxy);
    expect(accessLogOptions).toEqual({ flushAccessLogOnConnected: true });
    expect(accessLog.map(({ name, filter }: Json) => [name, filter])).toEqual([
      ["envoy.access_loggers.file", { logTypeFilter: { types: ["TcpConnectionEnd"] } }],
      ["envoy.access_loggers.stats", { orFilter: expect.anything() }],
      ["envoy.access_loggers.stats", { logTypeFilter: { types: ["TcpConnectionEnd"] } }],
    ]);
    expect(statsOf(accessLog).counters.map(({ stat }: Json) => stat.name)).toEqual(["tcp_connections_opened_total"]);
  });
});

describe("overrides of a Telemetry with a stock Envoy", () => {
  const overridden = (override: object): Json =>
    statsOf(outbound(client({}, telemetry({ overrides: [override] }))).accessLog);

  it("disable metrics", () => {
    const config = overridden({ match: { metric: "REQUEST_COUNT" }, disabled: true });
    expect(config.counters).toBeUndefined();
    expect(config.histograms).toHaveLength(3);
    expect(overridden({ disabled: true })).toBeUndefined();
  });

  it("add, change and remove labels", () => {
    const labels = labelsOf(
      overridden({
        tagOverrides: {
          method: { value: "request.method" },
          response_code: { value: "'2xx'" },
          response_flags: { operation: "REMOVE" },
        },
      }),
      "requests_total",
    );
    expect(labels).toMatchObject({
      method: "%CEL(request.method)%",
      response_code: "%CEL('2xx')%",
      istio_removed: "response_flags",
      response_flags: "%RESPONSE_FLAGS%",
    });
  });

  it.each(["no.such(function)", "1 % 2", "'a'\n+ 'b'", "unclosed("])(
    "have no expression that Envoy rejects: %j",
    (value) => {
      expect(labelsOf(overridden({ tagOverrides: { broken: { value } } }), "requests_total")["broken"]).toBe("unknown");
    },
  );

  it("cannot end a format by the name of a label", () => {
    const labels = labelsOf(overridden({ tagOverrides: { "a%b": { operation: "REMOVE" } } }), "requests_total");
    expect(labels["istio_removed"]).toBe("a%%b");
  });
});

describe("the exchange of peers with a stock Envoy", () => {
  const exchange = ["istio.peer_introduction", "istio.peer_discovery"];

  it("is by the first filters of both sides", () => {
    expect(httpFilterNames(httpChain(listenerOf(client(), "0.0.0.0_80"))).slice(0, 2)).toEqual(exchange);
    expect(httpFilterNames(httpChain(listenerOf(client(), "virtualInbound"))).slice(0, 2)).toEqual(exchange);
  });

  it.each([
    ["lacks a filter", { extensions: stock.slice(0, 3) }],
    ["has Istio's", { extensions: [...stock, "istio.metadata_exchange"] }],
  ])("is not there if Envoy %s", (_, of) => {
    expect(httpFilterNames(httpChain(listenerOf(client(of), "0.0.0.0_80")))).not.toContain(exchange[0]);
  });

  it("does not tell who the client is if only the mesh may know", () => {
    const config = {
      ...prometheus,
      defaultConfig: { proxyHeaders: { metadataExchangeHeaders: { mode: "IN_MESH" } } },
    };
    expect(httpFilterNames(httpChain(listenerOf(client({}, "", config), "0.0.0.0_80")))).not.toContain(exchange[0]);
  });
});
