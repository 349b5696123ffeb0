import { describe, expect, it } from "vitest";
import { messagesOf, placesOf } from "./messages-of.js";

const telemetry = (name: string, spec: string, namespace = "shop"): string =>
  `apiVersion: telemetry.istio.io/v1\nkind: Telemetry\nmetadata: {name: ${name}, namespace: ${namespace}}\nspec:\n  ${spec}\n---\n`;

const pod = (name: string, labels: string, namespace = "shop"): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}, namespace: ${namespace}, labels: {${labels}}}\nspec: {containers: [{name: a, image: b}]}\n---\n`;

const mesh = (text: string): { readonly meshConfig: { readonly file: string; readonly text: string } } => ({
  meshConfig: { file: "mesh.yaml", text },
});

describe("access logging", () => {
  const providers = "telemetry.ProviderAnalyzer";
  const logging = telemetry("logs", "accessLogging: [{filter: {expression: 'true'}}]");

  it("requires a provider", () => {
    expect(messagesOf(providers, logging)).toEqual([
      "IST0157 Telemetry shop/logs 5: Telemetry shop/logs has access logging without a provider, which is ignored because the mesh has no default providers; set providers, or meshConfig.defaultProviders.accessLogging",
    ]);
    expect(
      placesOf(providers, telemetry("logs", "accessLogging: [{providers: [{name: envoy}]}, {disabled: true}]")),
    ).toEqual([]);
  });

  it("accepts the mesh's default provider", () => {
    expect(placesOf(providers, logging, mesh("defaultProviders: {accessLogging: [envoy]}"))).toEqual([]);
    expect(placesOf(providers, logging, mesh("defaultProviders: {metrics: [prometheus]}"))).toEqual([
      "IST0157 Telemetry shop/logs 5",
    ]);
  });
});

describe("selectors of Telemetry objects", () => {
  const selectors = "telemetry.SelectorAnalyzer";
  const selecting = (name: string, labels: string): string => telemetry(name, `selector: {matchLabels: {${labels}}}`);

  it("must select a pod of the namespace", () => {
    expect(
      messagesOf(
        selectors,
        selecting("a", "app: revews") + pod("r", "app: reviews") + pod("s", "app: revews", "other"),
      ),
    ).toEqual([
      'IST0101 Telemetry shop/a 5: referenced selector not found: app=revews selects no pod, so that the object has no effect: no pod in namespace shop has the label app=revews; did you mean "app=reviews"?',
    ]);
    expect(placesOf(selectors, selecting("a", "app: reviews") + pod("r", "app: reviews, version: v1"))).toEqual([]);
    expect(placesOf(selectors, telemetry("a", "selector: {matchLabels: {}}") + telemetry("b", "tracing: []"))).toEqual(
      [],
    );
  });

  it("must not select the same pod", () => {
    const both = selecting("a", "app: reviews") + selecting("b", "version: v1");
    expect(messagesOf(selectors, both + pod("r", "app: reviews, version: v1"))).toEqual([
      "IST0159 Telemetry shop/a 5: the selector conflicts with Telemetry b in namespace shop: they select the same pods, for which only one of them counts; make their selectors exclude each other",
      "IST0159 Telemetry shop/b 11: the selector conflicts with Telemetry a in namespace shop: they select the same pods, for which only one of them counts; make their selectors exclude each other",
    ]);
    expect(placesOf(selectors, both + pod("r", "app: reviews, version: v2") + pod("s", "version: v1"))).toEqual([]);
  });
});

describe("Telemetry objects without a selector", () => {
  const defaults = "telemetry.DefaultSelectorAnalyzer";

  it("are limited to one per namespace", () => {
    expect(messagesOf(defaults, telemetry("a", "tracing: []") + telemetry("b", "metrics: []"))).toEqual([
      "IST0160 Telemetry shop/a 3: namespace shop has multiple Telemetry objects without a workload selector: also b, and only one of them counts; merge them, or add selectors",
      "IST0160 Telemetry shop/b 9: namespace shop has multiple Telemetry objects without a workload selector: also a, and only one of them counts; merge them, or add selectors",
    ]);
    const others = telemetry("b", "tracing: []", "other") + telemetry("c", "selector: {matchLabels: {app: c}}");
    expect(placesOf(defaults, telemetry("a", "tracing: []") + others)).toEqual([]);
  });
});

describe("Lightstep", () => {
  const lightstep = "telemetry.LightstepAnalyzer";
  const config = mesh(
    "extensionProviders:\n- {name: old, lightstep: {service: a.b, port: 80, accessToken: t}}\n- {name: new, opentelemetry: {service: a.b, port: 80}}",
  );
  const tracing = (provider: string): string => telemetry("t", `tracing: [{providers: [{name: ${provider}}]}]`);
  const found = (provider: string): readonly string[] =>
    messagesOf(lightstep, tracing(provider), config).filter((message) => message.startsWith("IST0002"));

  it("is deprecated", () => {
    expect(found("old")).toEqual([
      "IST0002 Telemetry shop/t 5: the Lightstep provider old is deprecated; migrate to an OpenTelemetry provider",
    ]);
    expect(found("new")).toEqual([]);
  });
});

describe("a provider", () => {
  const config = mesh(
    [
      "extensionProviders:",
      ...[
        "stackdriver: {}",
        "lightstep: {service: a.b, port: 80, accessToken: t}",
        "opencensus: {service: a.b, port: 80}",
      ],
      ...["prometheus: {}", "envoyFileAccessLog: {path: /dev/stdout}", "envoyOtelAls: {service: a.b, port: 80}"],
      ...["zipkin: {service: a.b, port: 80}", "opentelemetry: {service: a.b, port: 80}"],
    ]
      .map((line, at) => (at === 0 ? line : `- {name: ${line.slice(0, line.indexOf(":"))}, ${line}}`))
      .join("\n"),
  );
  const found = (section: string, provider: string): readonly string[] =>
    messagesOf(
      "telemetry.ProviderKindAnalyzer",
      telemetry("t", `${section}: [{providers: [{name: ${provider}}]}]`),
      config,
    ).filter((message) => message.startsWith("MESH0042"));

  it.each([
    ["metrics", "stackdriver", "prometheus"],
    ["metrics", "zipkin", "prometheus"],
    ["accessLogging", "stackdriver", "envoy, envoyFileAccessLog, envoyOtelAls"],
    ["tracing", "stackdriver", "zipkin, opentelemetry"],
    ["tracing", "lightstep", "zipkin, opentelemetry"],
    ["tracing", "opencensus", "zipkin, opentelemetry"],
  ])("for %s of a kind that proxies get nothing of is reported: %s", (section, provider, others) => {
    expect(found(section, provider)).toEqual([
      `MESH0042 Telemetry shop/t 5: provider "${provider}" is ignored: it is of kind ${provider}, which is not supported for ${section}; name one for it (${others})`,
    ]);
  });

  it.each([
    ["metrics", "prometheus"],
    ["accessLogging", "envoyFileAccessLog"],
    ["accessLogging", "envoyOtelAls"],
    ["tracing", "zipkin"],
    ["tracing", "opentelemetry"],
  ])("for %s of kind %s is right", (section, provider) => expect(found(section, provider)).toEqual([]));
});
