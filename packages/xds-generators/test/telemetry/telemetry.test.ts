import { describe, expect, it } from "vitest";
import {
  chainsOf,
  filterOf,
  httpChain,
  httpFilterNames,
  httpFilterOf,
  listenerOf,
  managerOf,
  tcpProxy,
} from "../listeners/listener-parts.js";
import { podYaml, serviceYaml } from "../mesh-yaml.js";
import { type Json, TestMesh } from "../mesh.js";

const web =
  serviceYaml("web", { ports: ["http:80:8080"] }) +
  podYaml("web", "10.1.0.1", { labels: { "service.istio.io/canonical-name": "web" } });
const self = { ip: "10.1.0.1", name: "web-10-1-0-1" };
const prometheus = { defaultProviders: { metrics: ["prometheus"] } };

function telemetry(name: string, spec: object, namespace = "shop"): string {
  return `---\n${JSON.stringify({ apiVersion: "telemetry.istio.io/v1", kind: "Telemetry", metadata: { name, namespace }, spec })}\n`;
}

const inbound = (yaml: string, config: object, services = ""): Json =>
  httpChain(listenerOf(new TestMesh(web + services + yaml, config as never).proxy(self), "virtualInbound"));
const outbound = (yaml: string, config: object, services = ""): Json =>
  httpChain(listenerOf(new TestMesh(web + services + yaml, config as never).proxy(self), "0.0.0.0_80"));

describe("access logs", () => {
  it("are none by default", () => {
    expect(managerOf(inbound("", {})).accessLog).toBeUndefined();
  });

  it("go to the mesh's file, as text or JSON; listeners log only unmatched connections", () => {
    const listener = listenerOf(
      new TestMesh(web, { accessLogFile: "/dev/stdout", accessLogFormat: "%PROTOCOL%" } as never).proxy(self),
      "virtualInbound",
    );
    expect(managerOf(httpChain(listener)).accessLog).toMatchObject([
      {
        name: "envoy.access_loggers.file",
        typedConfig: { path: "/dev/stdout", logFormat: { textFormatSource: { inlineString: "%PROTOCOL%\n" } } },
      },
    ]);
    expect(listener.accessLog[0].filter).toEqual({ responseFlagFilter: { flags: ["NR"] } });
    const passthrough = chainsOf(listener).find(
      ({ name, filterChainMatch }) => name === "virtualInbound" && filterChainMatch.transportProtocol === "raw_buffer",
    );
    expect(filterOf(passthrough, tcpProxy).accessLog).toHaveLength(1);
    const json = managerOf(inbound("", { accessLogFile: "/dev/stdout", accessLogEncoding: "JSON" })).accessLog[0]
      .typedConfig.logFormat;
    expect(json.jsonFormat.route_name).toBe("%ROUTE_NAME%");
    expect(Object.keys(json.jsonFormat)).toHaveLength(24);
  });

  it("follow a Telemetry, with its filter and on its side", () => {
    const providers = { extensionProviders: [{ name: "file", envoyFileAccessLog: { path: "/log" } }] };
    const yaml = telemetry("logs", {
      accessLogging: [
        { providers: [{ name: "file" }], match: { mode: "SERVER" }, filter: { expression: "response.code >= 400" } },
      ],
    });
    expect(managerOf(inbound(yaml, providers)).accessLog[0]).toMatchObject({
      typedConfig: { path: "/log" },
      filter: { extensionFilter: { typedConfig: { expression: "response.code >= 400" } } },
    });
    expect(managerOf(outbound(yaml, providers)).accessLog).toBeUndefined();
  });

  it("go to the mesh's file if no Telemetry provider applies on that side; disabled ones stay disabled", () => {
    const pathOf = (manager: Json): string[] =>
      (manager.accessLog ?? []).map(({ typedConfig }: Json) => typedConfig.path);
    const both = (accessLogging: object): string[][] => {
      const config = {
        accessLogFile: "/mesh",
        extensionProviders: [
          { name: "file", envoyFileAccessLog: { path: "/log" } },
          { name: "traces", zipkin: { service: "zipkin.shop.svc.cluster.local", port: 9411 } },
        ],
      };
      const yaml = telemetry("logs", { accessLogging: [accessLogging] });
      return [pathOf(managerOf(inbound(yaml, config))), pathOf(managerOf(outbound(yaml, config)))];
    };
    expect(both({ providers: [{ name: "file" }], match: { mode: "SERVER" } })).toEqual([["/log"], ["/mesh"]]);
    expect(both({ providers: [{ name: "nowhere" }, { name: "traces" }] })).toEqual([["/mesh"], ["/mesh"]]);
    expect(both({ providers: [{ name: "file" }], disabled: true })).toEqual([[], []]);
  });

  it("have the format of a file provider: Istio's if there is none, Envoy's if it is empty", () => {
    const yaml = telemetry("logs", { accessLogging: [{ providers: [{ name: "file" }] }] });
    const formatOf = (provider: object): Json =>
      managerOf(inbound(yaml, { extensionProviders: [{ name: "file", envoyFileAccessLog: provider }] })).accessLog[0]
        .typedConfig.logFormat;
    expect(formatOf({}).textFormatSource.inlineString).toMatch(/^\[%START_TIME%\]/);
    expect(formatOf({ logFormat: {} })).toBeUndefined();
    expect(formatOf({ logFormat: { text: "" } })).toEqual(formatOf({}));
    expect(Object.keys(formatOf({ logFormat: { labels: {} } }).jsonFormat)).toHaveLength(24);
    const builtin = telemetry("logs", { accessLogging: [{ providers: [{ name: "envoy" }] }] });
    const providers = { extensionProviders: [{ name: "envoy", envoyFileAccessLog: {} }] };
    expect(managerOf(inbound(builtin, providers)).accessLog[0].typedConfig.path).toBe("/dev/stdout");
  });

  it("are disabled by a more specific Telemetry", () => {
    const yaml =
      telemetry("mesh", { accessLogging: [{ providers: [{ name: "envoy" }] }] }, "istio-system") +
      telemetry("off", { selector: { matchLabels: { app: "web" } }, accessLogging: [{ disabled: true }] });
    expect(managerOf(inbound(yaml, {})).accessLog).toBeUndefined();
  });

  it("go to a gRPC service, if it is known", () => {
    const collector = serviceYaml("als", { ip: "10.96.0.7", ports: ["grpc:9000"] });
    const providers = {
      extensionProviders: [{ name: "als", envoyHttpAls: { service: "als.shop.svc.cluster.local", port: 9000 } }],
      defaultProviders: { accessLogging: ["als"] },
    };
    expect(
      managerOf(inbound("", providers, collector)).accessLog[0].typedConfig.commonConfig.grpcService.envoyGrpc,
    ).toEqual({ clusterName: "outbound|9000||als.shop.svc.cluster.local", authority: "als.shop.svc.cluster.local" });
    expect(managerOf(inbound("", providers)).accessLog).toBeUndefined();
  });
});

describe("metrics", () => {
  it("have the default provider", () => {
    expect(httpFilterOf(inbound("", prometheus), "istio.stats")).toEqual({
      "@type": "type.googleapis.com/stats.PluginConfig",
      disableHostHeaderFallback: true,
    });
    expect(httpFilterNames(inbound("", {}))).not.toContain("istio.stats");
  });

  it("follow overrides on their side", () => {
    const overrides = [
      {
        match: { metric: "REQUEST_COUNT", mode: "SERVER" },
        tagOverrides: { request_host: { operation: "REMOVE" }, shop: { value: "'x'" } },
      },
      { match: { metric: "REQUEST_SIZE" }, disabled: true },
    ];
    const yaml = telemetry("metrics", {
      metrics: [{ providers: [{ name: "prometheus" }], overrides, reportingInterval: "10s" }],
    });
    expect(httpFilterOf(inbound(yaml, prometheus), "istio.stats")).toMatchObject({
      tcpReportingDuration: "10s",
      metrics: [
        { name: "requests_total", dimensions: { shop: "'x'" }, tagsToRemove: ["request_host"] },
        { name: "request_bytes", drop: true },
      ],
    });
    expect(httpFilterOf(outbound(yaml, prometheus), "istio.stats").metrics).toEqual([
      { name: "request_bytes", drop: true },
    ]);
  });

  it("have no filter if all are disabled", () => {
    const yaml = telemetry("metrics", {
      metrics: [{ providers: [{ name: "prometheus" }], overrides: [{ disabled: true, match: { mode: "CLIENT" } }] }],
    });
    expect(httpFilterNames(outbound(yaml, prometheus))).not.toContain("istio.stats");
    expect(httpFilterNames(inbound(yaml, prometheus))).toContain("istio.stats");
  });
});

describe("traces", () => {
  it("go to the bootstrap's tracer by default, and name the workload", () => {
    const { tracing } = managerOf(inbound("", {}));
    expect(tracing).toMatchObject({
      clientSampling: { value: 100 },
      randomSampling: { value: 1 },
      overallSampling: { value: 100 },
    });
    expect(tracing.customTags).toContainEqual({ tag: "istio.canonical_service", literal: { value: "web" } });
    expect(managerOf(inbound("", { enableTracing: false })).tracing).toBeUndefined();
  });

  it("are sampled and tagged by the proxy configuration", () => {
    const { tracing } = managerOf(
      inbound("", {
        defaultConfig: {
          tracing: {
            sampling: 42,
            enableIstioTags: false,
            customTags: { team: { literal: { value: "a" } } },
            maxPathTagLength: 99,
          },
        },
      }),
    );
    expect(tracing).toMatchObject({
      randomSampling: { value: 42 },
      maxPathTagLength: 99,
      customTags: [{ tag: "team", literal: { value: "a" } }],
    });
  });

  it("go to a provider of a Telemetry", () => {
    const collector = serviceYaml("zipkin", { ip: "10.96.0.7", ports: ["http:9411"] });
    const providers = {
      extensionProviders: [{ name: "z", zipkin: { service: "zipkin.shop.svc.cluster.local", port: 9411 } }],
    };
    const yaml = telemetry("traces", {
      tracing: [{ providers: [{ name: "z" }], randomSamplingPercentage: 10, useRequestIdForTraceSampling: false }],
    });
    const manager = managerOf(inbound(yaml, providers, collector));
    expect(manager.tracing).toMatchObject({
      randomSampling: { value: 10 },
      provider: {
        name: "envoy.tracers.zipkin",
        typedConfig: {
          collectorService: {
            httpUri: {
              uri: "http://zipkin.shop.svc.cluster.local/api/v2/spans",
              cluster: "outbound|9411||zipkin.shop.svc.cluster.local",
              timeout: "5s",
            },
          },
        },
      },
    });
    expect(manager.requestIdExtension.typedConfig.useRequestIdForTraceSampling).toBe(false);
    expect(managerOf(inbound(yaml, providers)).tracing).toBeUndefined();
  });

  it("go to a path below the collector's host, unless it is none", () => {
    const yaml =
      serviceYaml("otel", { namespace: "obs", ip: "10.96.0.9", ports: ["grpc:4317"] }) +
      telemetry("traces", { tracing: [{ providers: [{ name: "otel" }] }] });
    const tracing = (path: string): Json => {
      const opentelemetry = { service: "otel.obs.svc.cluster.local", port: 4317, http: { path } };
      return managerOf(inbound(yaml, { extensionProviders: [{ name: "otel", opentelemetry }] })).tracing;
    };
    expect(tracing("/a b/../v1/traces").provider.typedConfig.httpService.httpUri.uri).toBe(
      "otel.obs.svc.cluster.local/v1/traces",
    );
    expect(tracing("/%zz")).toBeUndefined();
  });

  it.each(["zipkin", "datadog"])("of %s need a cluster, without which Envoy would reject the listener", (kind) => {
    const yaml =
      serviceYaml("tracer", { namespace: "obs", ip: "10.96.0.9", ports: ["http:9411"] }) +
      telemetry("traces", { tracing: [{ providers: [{ name: "tracer" }] }] });
    const sidecar = (host: string): string =>
      `---\n${JSON.stringify({ apiVersion: "networking.istio.io/v1", kind: "Sidecar", metadata: { name: "own", namespace: "shop" }, spec: { egress: [{ hosts: [host] }] } })}\n`;
    const tracing = (port: number, objects = ""): Json => {
      const provider = { name: "tracer", [kind]: { service: "tracer.obs.svc.cluster.local", port } };
      return managerOf(inbound(yaml + objects, { extensionProviders: [provider] })).tracing;
    };
    expect(tracing(9411).provider.name).toBe(`envoy.tracers.${kind}`);
    expect(tracing(9412)).toBeUndefined();
    expect(tracing(9411, sidecar("./*"))).toBeUndefined();
    expect(tracing(9411, sidecar("obs/*")).provider.name).toBe(`envoy.tracers.${kind}`);
  });

  it("are none for a kind of provider that does not trace", () => {
    const yaml = telemetry("traces", { tracing: [{ providers: [{ name: "old" }] }] });
    const lightstep = { service: "web.shop.svc.cluster.local", port: 80, accessToken: "token" };
    expect(managerOf(inbound(yaml, { extensionProviders: [{ name: "old", lightstep }] })).tracing).toBeUndefined();
  });

  it("are disabled by a Telemetry", () => {
    const providers = {
      extensionProviders: [{ name: "z", zipkin: { service: "web.shop.svc.cluster.local", port: 80 } }],
      defaultProviders: { tracing: ["z"] },
    };
    const yaml = telemetry("traces", { tracing: [{ disableSpanReporting: true, match: { mode: "CLIENT" } }] });
    expect(managerOf(outbound(yaml, providers)).tracing).toBeUndefined();
    expect(managerOf(inbound(yaml, providers)).tracing).toBeDefined();
  });
});
