import { describe, expect, it } from "vitest";
import { injected, type Options, refusal } from "./injection-fixtures.js";

const pod = {
  metadata: { name: "web", namespace: "shop", labels: { app: "web" }, annotations: { "a/b": "1", json: '{"x":[1]}' } },
  spec: {
    serviceAccountName: "cart",
    containers: [
      {
        name: "app",
        image: "registry:5000/app:1.2@sha256:ab",
        ports: [
          { containerPort: 80, name: "http" },
          { containerPort: 53, protocol: "UDP" },
        ],
        livenessProbe: { httpGet: { port: "http", path: "/" } },
        resources: { limits: { cpu: "0.5" } },
      },
      { name: "istio-proxy", ports: [{ containerPort: 15090 }] },
    ],
  },
};

const mesh = {
  trustDomain: "td",
  defaultConfig: {
    drainDuration: "5400s",
    tracing: { zipkin: { address: "zipkin:9411" } },
    proxyMetadata: { A: "<b>" },
  },
  extensionProviders: [
    {
      name: "otel",
      opentelemetry: { service: "otel", port: 4317, serviceAttributeEnrichment: "OTEL_SEMANTIC_CONVENTIONS" },
    },
  ],
};
const values = { global: { hub: "hub", tag: 1.5, list: [null, { a: null }], on: "yes" } };
const options: Options = { mesh, values };

/** Renders an expression for the pod. */
function render(expression: string): string | undefined {
  const template = `{{ $result := ${expression} }}metadata: {annotations: {result: {{ printf "%v" $result | toJson }}}}`;
  return injected(pod, { ...options, templates: { sidecar: template } }).metadata.annotations?.["result"];
}

describe("functions of templates", () => {
  it.each([
    ["formatDuration .ProxyConfig.DrainDuration", "1h30m0s"],
    ["formatDuration .MeshConfig.ConnectTimeout", "10s"],
    ['isset .ObjectMeta.Annotations "a/b"', "true"],
    ['isset .ObjectMeta.Labels "none"', "false"],
    ['excludeInboundPort 15020 " 80 ,443"', "80,443,15020"],
    ['excludeInboundPort "80" "80,443"', "80,443"],
    ['excludeInboundPort 0 "80"', "80"],
    ["includeInboundPorts .Spec.Containers", "80,15090"],
    ["applicationPorts .Spec.Containers", "80"],
    ['kubevirtInterfaces "net1"', "net1"],
    ['annotation .ObjectMeta "a/b" "2"', "1"],
    ['annotation .ObjectMeta "none" .ProxyConfig.InterceptionMode', "REDIRECT"],
    ['annotation .ObjectMeta "none" nil', "<nil>"],
    ['annotation .ObjectMeta "none" .Values.global.tag', "1.5"],
    ['valueOrDefault "" "x"', "x"],
    ['valueOrDefault .Values.global.none "x"', "x"],
    ['valueOrDefault false "x"', "false"],
    ["toJSON .ObjectMeta.Labels", '{"app":"web"}'],
    ['(fromJSON (index .ObjectMeta.Annotations "json")).x', "[1]"],
    ['fromJSON "no"', "{}"],
    ["structToJSON (index (index .Spec.Containers 0).Ports 0)", '{"name":"http","containerPort":80}'],
    ["toJson (index .Spec.Containers 0).Resources", '{"limits":{"cpu":"500m"}}'],
    ["(index .Spec.Containers 0).LivenessProbe.HTTPGet.Port", "http"],
    [
      "protoToJSON .ProxyConfig",
      '{"drainDuration":"5400s","tracing":{"zipkin":{"address":"zipkin:9411"}},"proxyMetadata":{"A":"\\u003cb\\u003e"}}',
    ],
    ["toYaml .ObjectMeta.Labels", "app: web\n"],
    ["toYaml .Values.global.on", '"yes"\n'],
    ['indent 2 "a\\nb"', "a\n  b"],
    ['directory "/a/b/c.pem"', "/a/b/"],
    ['contains "/" "a/b"', "true"],
    ['toLower "ReplicaSet"', "replicaset"],
    ['appendMultusNetwork "" "ns/net"', "ns/net"],
    ['appendMultusNetwork "a,b" "ns/net"', "a,b, ns/net"],
    ['appendMultusNetwork "a, ns/net" "ns/net"', "a, ns/net"],
    ['appendMultusNetwork "[{\\"name\\":\\"a\\"}]" "ns/net"', '[{"name":"a"}, {"name": "net", "namespace": "ns"}]'],
    ['appendMultusNetwork "[broken]" "ns/net"', "[broken]"],
    ['env "NONE" "otherwise"', "otherwise"],
    ['toJsonMap (omit .ObjectMeta.Annotations "json") (strdict "c" "2" "d")', '{"a/b":"1","c":"2","d":""}'],
    ['(mergeMaps (strdict "a" "1") (strdict "a" "2")).a', "2"],
    ["omitNil .Values.global.list", "<nil>"],
    [
      'otelResourceAttributes .MeshConfig .ObjectMeta.Annotations .ObjectMeta.Labels "shop" .Spec.Containers',
      "service.namespace=shop,service.instance.id=shop.$(POD_NAME).app",
    ],
    [".MeshConfig.GetTrustDomain", "td"],
    [".MeshConfig.DefaultConfig.HoldApplicationUntilProxyStarts.GetValue", "false"],
    [".ProxyConfig.GetTracing.GetTlsSettings.GetCaCertificates", ""],
    [".MeshConfig.EnablePrometheusMerge.Value", "true"],
    [".Spec.ServiceAccountName", "cart"],
    [".ProxyUID", "1337"],
    [".InboundTrafficPolicyMode", "passthrough"],
  ])("%s is %j", (expression, expected) => {
    expect(render(expression)).toBe(expected);
  });

  it.each([
    ['isset .Values "a"', "wrong type for value; expected map[string]string"],
    ['annotation .Spec "a" ""', "expected v1.ObjectMeta; got v1.PodSpec"],
    [".ProxyConfig.Nope", "can't evaluate field Nope in type *v1alpha1.ProxyConfig"],
  ])("%s is refused", (expression, message) => {
    expect(refusal(pod, { ...options, templates: { sidecar: `{{ ${expression} }}` } })).toContain(message);
  });
});
