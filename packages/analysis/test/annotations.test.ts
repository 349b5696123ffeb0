import { describe, expect, it } from "vitest";
import { analyzers, analyzeTexts } from "@istiod/analysis";
import { messagesOf, placesOf } from "./messages-of.js";

const annotations = "annotations.K8sAnalyzer";

const object = (kind: string, lines: readonly string[], apiVersion = "v1"): string =>
  [
    `apiVersion: ${apiVersion}`,
    `kind: ${kind}`,
    "metadata:",
    "  name: a",
    "  annotations:",
    ...lines.map((line) => `    ${line}`),
  ].join("\n");

describe("annotations", () => {
  it("reports unknown annotations of Istio's domain with the nearest ones", () => {
    expect(messagesOf(annotations, object("Service", ["networking.istio.io/exportToo: '.'"]))).toEqual([
      'IST0108 Service default/a 6: annotation networking.istio.io/exportToo is unknown: Istio has no annotation of that name; did you mean "networking.istio.io/exportTo"?',
    ]);
  });

  it("ignores other domains and annotations that Istio sets", () => {
    const lines = [
      "example.com/istio.io: x",
      "sidecar.istio.io/status: '{}'",
      "gateway.istio.io/controller-version: '5'",
      "istio.io/rev: a",
    ];
    expect(messagesOf(annotations, object("Service", lines))).toEqual([]);
  });

  it("includes every domain that ends in istio.io", () => {
    expect(placesOf(annotations, object("Service", ["myistio.io/x: v"]))).toEqual(["IST0108 Service default/a 6"]);
  });

  it("reports annotations on kinds that they do not apply to", () => {
    expect(messagesOf(annotations, object("Namespace", ["kubernetes.io/ingress.class: istio"]))).toEqual([
      "IST0107 Namespace a 6: annotation kubernetes.io/ingress.class is misplaced: it has no effect on a Namespace, it applies to Ingress",
    ]);
    const deployment = object(
      "Deployment",
      ["proxy.istio.io/config: '{}'", "galley.istio.io/analyze-suppress: IST9999"],
      "apps/v1",
    );
    expect(placesOf(annotations, deployment)).toEqual(["IST0107 Deployment default/a 6"]);
  });

  it("reports deprecated annotations unless their replacement is also set", () => {
    const text = object("Pod", ['sidecar.istio.io/inject: "false"']);
    expect(messagesOf(annotations, text)).toEqual([
      "IST0135 Pod default/a 6: annotation sidecar.istio.io/inject is deprecated and may be removed; use the label sidecar.istio.io/inject instead",
    ]);
    expect(messagesOf(annotations, `${text}\n  labels: {sidecar.istio.io/inject: "false"}`)).toEqual([]);
  });
});

describe("values of annotations", () => {
  const on = (name: string, value: string): readonly string[] =>
    placesOf(annotations, object("Pod", [`${name}: ${JSON.stringify(value)}`]));

  it.each([
    ["sidecar.istio.io/interceptionMode", ["REDIRECT", "TPROXY", "NONE"], ["redirect", ""]],
    ["status.sidecar.istio.io/port", ["0", " 15021 ", "65535"], ["65536", "-1", ""]],
    ["readiness.status.sidecar.istio.io/periodSeconds", ["0", "4294967295"], ["4294967296", "1s", " 1"]],
    [
      "traffic.sidecar.istio.io/includeOutboundIPRanges",
      ["*", "", "10.0.0.0/8,fd00::/8"],
      ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/8, *"],
    ],
    ["traffic.sidecar.istio.io/excludeOutboundIPRanges", ["10.1.2.3/8"], ["*"]],
    ["traffic.sidecar.istio.io/includeInboundPorts", ["*", "", "80, 443"], ["80,", "http"]],
    ["traffic.sidecar.istio.io/excludeOutboundPorts", ["80"], ["*", "70000"]],
    ["traffic.sidecar.istio.io/excludeInterfaces", ["eth0, br-1.2", ""], ["0eth", "eth0,", "an-interface-name"]],
    ["prometheus.istio.io/merge-metrics", ["true", "F", "1"], ["yes", "tRUE", ""]],
    ["sidecar.istio.io/proxyCPU", ["100m", "0.5", "2", "1e3", ".5"], ["100 m", "m", "1Kb", "1\u0007"]],
    ["sidecar.istio.io/proxyMemoryLimit", ["128Mi", "1G", "1E"], ["128MB", ""]],
    [
      "proxy.istio.io/config",
      ["concurrency: 2", "drainDuration: 45s"],
      ["drainDuration: 1.5s", "concurrency: many", "a: [", "statusPort: 70000"],
    ],
  ])("checks %s", (name, valid, invalid) => {
    expect(valid.map((value) => on(name, value))).toEqual(valid.map(() => []));
    expect(invalid.map((value) => on(name, value))).toEqual(invalid.map(() => ["IST0125 Pod default/a 6"]));
  });

  it("checks settings of statistics, also together", () => {
    const [flush, eviction] = ["sidecar.istio.io/statsFlushInterval", "sidecar.istio.io/statsEvictionInterval"];
    const pod = (...lines: readonly string[]): readonly string[] => messagesOf(annotations, object("Pod", lines));
    expect(pod(`${flush}: 500ms`, `${eviction}: 1.5s`)).toEqual([]);
    expect(pod(`${flush}: 500ms`, `${eviction}: 750ms`)).toEqual([
      `IST0125 Pod default/a 7: annotation ${eviction} is invalid: it is "750ms", expected a multiple of the flush interval, 500ms`,
    ]);
    expect(pod("sidecar.istio.io/statsHistogramBuckets: '{\"a\": [0]}'")).toEqual([
      'IST0125 Pod default/a 6: annotation sidecar.istio.io/statsHistogramBuckets is invalid: it has "a", expected a list of different numbers above 0',
    ]);
    expect(pod("proxy.istio.io/config: 'proxyStatsMatcher: {inclusionRegexps: [\"[\"]}'")[0]).toContain(
      'has "[", which is not an RE2 pattern',
    );
  });

  it.each(["x:y", "loud", "info,", "a:b:info"])(
    "reports the log level %s, with which the agent would exit",
    (level) => {
      expect(messagesOf(annotations, object("Pod", [`sidecar.istio.io/agentLogLevel: '${level}'`]))).toEqual([
        `IST0125 Pod default/a 6: annotation sidecar.istio.io/agentLogLevel is invalid: it has "${level.split(",").at(-1)}", expected a level: debug, info, warn, error, fatal, none`,
      ]);
    },
  );

  it("reports the value and the expected format", () => {
    expect(messagesOf(annotations, object("Pod", ["proxy.istio.io/config: 'statusPort: 70000'"]))[0]).toContain(
      "statusPort is 70000",
    );
    expect(messagesOf(annotations, object("Pod", ["traffic.sidecar.istio.io/excludeInboundPorts: '80,web'"]))).toEqual([
      'IST0125 Pod default/a 6: annotation traffic.sidecar.istio.io/excludeInboundPorts is invalid: it has "web", expected port numbers separated by commas',
    ]);
  });
});

describe("alpha annotations", () => {
  const alpha = "annotations.AlphaAnalyzer";
  const pod = object("Pod", [
    "sidecar.istio.io/logLevel: debug",
    "sidecar.istio.io/interceptionMode: REDIRECT",
    "proxy.istio.io/config: '{}'",
  ]);

  it("are reported only on request", () => {
    expect(messagesOf(alpha, pod)).toEqual([
      "IST0136 Pod default/a 6: annotation sidecar.istio.io/logLevel is part of an alpha feature, which may change or be removed",
    ]);
    expect(
      analyzeTexts({ files: [{ file: "a", text: pod }] }).messages.filter(({ code }) => code === "IST0136"),
    ).toEqual([]);
  });

  it("include those of the CNI plugin if an init container redirects traffic", () => {
    expect(placesOf(alpha, `${pod}\nspec:\n  initContainers: [{name: istio-init, image: proxyv2}]`)).toEqual([
      "IST0136 Pod default/a 6",
      "IST0136 Pod default/a 7",
    ]);
  });
});

describe("named analyzers", () => {
  const invalid = [
    "apiVersion: networking.istio.io/v1",
    "kind: Sidecar",
    "metadata: {name: a}",
    "---",
    "apiVersion: v1",
    "kind: Service",
    "metadata: {name: a, annotations: {x.istio.io/y: z}}",
    "spec: {ports: [{port: 80, name: 1}]}",
  ].join("\n");

  it("report problems of their own kinds and of kinds without a schema analyzer", () => {
    expect(placesOf(annotations, invalid)).toEqual(["IST0106 Service default/a 8", "IST0108 Service default/a 7"]);
    expect(placesOf("schema.ValidationAnalyzer.Sidecar", invalid)).toEqual([
      "IST0106 Service default/a 8",
      "IST0106 Sidecar default/a 1",
    ]);
  });

  it("must exist", () => {
    expect(() => messagesOf("anotations.K8sAnalyzer", "")).toThrow(
      'analyzer anotations.K8sAnalyzer does not exist; did you mean "annotations.K8sAnalyzer"',
    );
    expect(analyzers.filter(({ onRequest }) => onRequest).map(({ name }) => name)).toEqual([
      "annotations.AlphaAnalyzer",
    ]);
    expect(new Set(analyzers.map(({ name }) => name)).size).toBe(analyzers.length);
  });
});
