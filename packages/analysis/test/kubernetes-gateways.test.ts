import { expect, test } from "vitest";
import { messagesIn, object } from "./messages-in.js";

const gatewayPod = object(
  "Pod",
  "shop/public-istio",
  { spec: { containers: [] } },
  { labels: { app: "edge", "gateway.networking.k8s.io/gateway-name": "public" } },
);

test.each([
  ["AuthorizationPolicy", {}],
  ["RequestAuthentication", {}],
  ["Telemetry", {}],
  ["WasmPlugin", { url: "oci://example.com/plugin" }],
])("the selector of a %s has no effect at a Gateway of the Gateway API", (kind, content) => {
  const policy = (spec: object): string => object(kind, "shop/p", { spec: { ...content, ...spec } });
  const found = (...objects: readonly string[]): readonly string[] => messagesIn(objects.join(""), ["IST0166"]);
  expect(found(policy({ selector: { matchLabels: { app: "edge" } } }), gatewayPod)).toEqual([
    `IST0166 ${kind} shop/p 1: the selector is ineffective at Gateway public of the Gateway API, whose pods it matches; attach the policy to it with targetRefs`,
  ]);
  expect(found(policy({ selector: { matchLabels: { app: "cart" } } }), gatewayPod)).toEqual([]);
  expect(found(policy({}), gatewayPod)).toEqual([]);
  expect(
    found(
      policy({ selector: { matchLabels: { app: "edge" } } }),
      gatewayPod.replace('"gateway.networking.k8s.io/gateway-name"', '"gateway"'),
    ),
  ).toEqual([]);
  const targetRef = { group: "gateway.networking.k8s.io", kind: "Gateway", name: "public" };
  expect(found(policy({ selector: { matchLabels: { app: "edge" } }, targetRef }), gatewayPod)).toEqual([]);
});

test("CRDs of the Gateway API must be of a supported release", () => {
  const found = (name: string, version?: string): readonly string[] => {
    const annotations = version === undefined ? {} : { "gateway.networking.k8s.io/bundle-version": version };
    return messagesIn(
      object("CustomResourceDefinition", "", { metadata: { name: `${name}.gateway.networking.k8s.io`, annotations } }),
      ["IST0176"],
    );
  };
  expect(found("tlsroutes", "v1.4.1")).toEqual([
    "IST0176 CustomResourceDefinition tlsroutes.gateway.networking.k8s.io 1: CRD tlsroutes.gateway.networking.k8s.io of the Gateway API has version v1.4.1, but v1.5.0 is the minimum, so its objects are ignored; install a newer release of the Gateway API",
  ]);
  expect(found("tlsroutes", "v1.5.0-rc.1")).toEqual([]);
  expect(found("tlsroutes", "v2.0.0")).toEqual([]);
  expect(found("tlsroutes", "v1.10.0")).toEqual([]);
  expect(found("tcproutes", "1.5")).toHaveLength(1);
  expect(found("grpcroutes", "v1.0.0")).toHaveLength(1);
  expect(found("backendtlspolicies", "v1.3.9")).toHaveLength(1);
  expect(found("httproutes", "v0.1.0")).toEqual([]);
  expect(found("tlsroutes", "monthly-2026.01")).toEqual([]);
  expect(found("tlsroutes")).toEqual([]);
  const experimental = object("CustomResourceDefinition", "", {
    metadata: {
      name: "xbackends.gateway.networking.x-k8s.io",
      annotations: { "gateway.networking.k8s.io/bundle-version": "v1.6.1" },
    },
  });
  expect(messagesIn(experimental, ["IST0176"])).toEqual([]);
  const environment = { PILOT_ENABLE_ALPHA_GATEWAY_API: "true" };
  expect(messagesIn(experimental, ["IST0176"], { environment })).toEqual([
    "IST0176 CustomResourceDefinition xbackends.gateway.networking.x-k8s.io 1: CRD xbackends.gateway.networking.x-k8s.io of the Gateway API has version v1.6.1, but v1.7.0 is the minimum, so its objects are ignored; install a newer release of the Gateway API",
  ]);
});
