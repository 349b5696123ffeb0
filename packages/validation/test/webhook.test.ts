import type { ValidationEvent } from "@istiod/validation";
import { describe, expect, it } from "vitest";
import { answerTo } from "./shared.js";

const gateway = (fields: object = {}, metadata: object = {}) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "Gateway",
  metadata: { name: "ingress", namespace: "shop", ...metadata },
  spec: { servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }] },
  ...fields,
});
const invalid = gateway({ spec: { servers: [] } });
const denial = "configuration is invalid: Gateway shop/ingress: servers: is empty, expected at least one server";

it.each(["CREATE", "UPDATE"])(
  "allows a valid object on %s, and denies an invalid one with what to change",
  async (operation) => {
    expect(await answerTo(gateway(), { operation })).toEqual({ allowed: true, warnings: [] });
    expect(await answerTo(invalid, { operation })).toMatchObject({
      allowed: false,
      message: denial,
      causes: [{ field: "spec.servers", message: "is empty, expected at least one server" }],
    });
  },
);

it.each(["DELETE", "CONNECT", "WALK"])("allows %s", async (operation) => {
  expect(await answerTo(null, { operation, oldObject: invalid })).toEqual({ allowed: true });
});

it("denies in a dry run too", async () => {
  expect(await answerTo(invalid, { dryRun: true })).toMatchObject({ allowed: false, message: denial });
});

it("lists several faults, each with its field", async () => {
  const answer = await answerTo(gateway({ spec: { servers: [{ hosts: [] }] }, data: {} }));
  expect(answer).toMatchObject({
    message: [
      "configuration is invalid: Gateway shop/ingress has 2 faults:",
      "  * servers[0].port: is missing, expected a value",
      "  * data: is unknown, expected apiVersion, kind, metadata, spec or status",
    ].join("\n"),
  });
});

it("limits the faults that it lists", async () => {
  const hosts = Array.from({ length: 500 }, (_, i) => `-${i}.com`);
  const answer = await answerTo(gateway({ spec: { servers: [{ ...gateway().spec.servers[0], hosts }] } }));
  if (answer.allowed) throw new Error("allowed");
  expect(answer.message.split("\n")).toHaveLength(22);
  expect(answer.message).toMatch(/ {2}\* and 480 more$/);
  expect(answer.causes).toHaveLength(20);
});

it("returns the decoder's warnings", async () => {
  const rule = {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "cart" },
    spec: {
      hosts: ["cart"],
      http: [{ route: [{ destination: { host: "a" } }] }, { route: [{ destination: { host: "b" } }] }],
    },
  };
  const { allowed, warnings } = await answerTo(rule);
  expect(allowed).toBe(true);
  expect(warnings).toEqual(["http[1]: is never reached: #0 matches everything"]);
});

it("validates versions of a group that this istiod does not read", async () => {
  expect(await answerTo(gateway({ apiVersion: "networking.istio.io/v7" }))).toMatchObject({ allowed: true });
  expect(await answerTo({ ...invalid, apiVersion: "networking.istio.io/v7" })).toMatchObject({ message: denial });
});

it("validates objects of every revision: the webhook's configuration selects them", async () => {
  const metadata = { ...invalid.metadata, labels: { "istio.io/rev": "canary" } };
  expect(await answerTo({ ...invalid, metadata })).toMatchObject({ allowed: false });
});

it("validates an object whose name the server generates", async () => {
  const metadata = { name: undefined, generateName: `${"a".repeat(62)}-` };
  expect(await answerTo(gateway({}, metadata))).toMatchObject({ allowed: true });
  expect(await answerTo(gateway({}, { name: undefined }))).toMatchObject({
    allowed: false,
    message: expect.stringContaining("metadata.name: is"),
  });
});

it("takes the namespace of the request for an object without one", async () => {
  const answer = await answerTo({ ...invalid, metadata: { name: "ingress" } }, { namespace: "web" });
  expect(answer).toMatchObject({ message: expect.stringContaining("Gateway web/ingress: ") });
});

it.each([
  [
    "networking.istio.io/v1",
    "VirtualService",
    { hosts: ["a"], tcp: [{ match: [{ sourceSubnet: "10.0.0.0/8" }], route: [{ destination: { host: "a" } }] }] },
    "tcp[0].match[0].sourceSubnet: has no effect: Istio does not implement it either; match sourceLabels",
  ],
  [
    "networking.istio.io/v1",
    "DestinationRule",
    { host: "a", trafficPolicy: { outlierDetection: { consecutiveErrors: 3 } } },
    "trafficPolicy.outlierDetection.consecutiveErrors: has no effect: Istio does not read it any more; set consecutive5xxErrors",
  ],
  [
    "networking.istio.io/v1",
    "Gateway",
    {
      selector: { a: "b" },
      servers: [
        {
          port: { number: 80, name: "a", protocol: "HTTP" },
          hosts: ["a.example.com"],
          defaultEndpoint: "127.0.0.1:80",
        },
      ],
    },
    "servers[0].defaultEndpoint: has no effect: Istio does not implement it either",
  ],
  [
    "extensions.istio.io/v1alpha1",
    "WasmPlugin",
    { url: "oci://a/b", verificationKey: "key" },
    "verificationKey: has no effect: Istio does not implement it either; set sha256",
  ],
  ["gateway.networking.k8s.io/v1", "UDPRoute", {}, "UDPRoute has no effect: Istio does not route UDP"],
  [
    "gateway.networking.x-k8s.io/v1alpha1",
    "XListenerSet",
    {},
    "XListenerSet has no effect: it is superseded; write a ListenerSet",
  ],
])("warns of what has no effect: %s %s", async (apiVersion, kind, spec, warning) => {
  const { allowed, warnings } = await answerTo({ apiVersion, kind, metadata: { name: "a", namespace: "shop" }, spec });
  expect(allowed).toBe(true);
  expect(warnings?.filter((text) => text.startsWith(warning))).toHaveLength(1);
});

it.each([
  ["networking.istio.io/v1beta1", "ProxyConfig", { concurrency: 1 }],
  ["networking.istio.io/v1", "WorkloadGroup", { template: { serviceAccount: "a" } }],
])("does not warn of %s %s, which injection or registration reads", async (apiVersion, kind, spec) => {
  const answer = await answerTo({ apiVersion, kind, metadata: { name: "a", namespace: "shop" }, spec });
  expect(answer).toEqual({ allowed: true, warnings: [] });
});

it("denies kinds that it does not know, and allows those of the Gateway API", async () => {
  expect(await answerTo({ apiVersion: "v1", kind: "Service", metadata: { name: "a" } })).toEqual({
    allowed: false,
    message: "unrecognized type v1, Kind=Service",
  });
  expect(await answerTo({})).toMatchObject({ message: 'unrecognized type "", Kind=""' });
  const route = { apiVersion: "gateway.networking.k8s.io/v1", kind: "HTTPRoute", metadata: { name: "a" }, spec: {} };
  expect(await answerTo(route)).toMatchObject({ allowed: true });
});

it("denies a write without an object", async () => {
  expect(await answerTo(null, { operation: "UPDATE" })).toEqual({
    allowed: false,
    message: "cannot decode configuration: request.object is missing in an UPDATE",
  });
});

describe("decisions are reported", () => {
  const decisionsOn = async (object: unknown, request: object = {}) => {
    const events: ValidationEvent[] = [];
    await answerTo(object, request, (event) => events.push(event));
    return events.map(({ request: _request, ...event }) => event);
  };

  it.each<[string, unknown, object, Partial<ValidationEvent>]>([
    ["a valid object", gateway(), {}, { allowed: true }],
    ["an invalid object", invalid, {}, { allowed: false, reason: "invalid_resource", message: denial }],
    ["an unknown kind", {}, {}, { allowed: false, reason: "unknown_type" }],
    ["another operation", null, { operation: "DELETE" }, { allowed: true, reason: "unsupported_operation" }],
    ["no object", null, {}, { allowed: false, reason: "yaml_decode_error" }],
  ])("%s", async (_, object, request, expected) => {
    expect(await decisionsOn(object, request)).toMatchObject([{ isProbe: false, ...expected }]);
  });

  it("an object that istiod creates to test its webhook is denied, and marked", async () => {
    const probe = gateway({}, { annotations: { "internal.istio.io/webhook-always-reject": "true" } });
    expect(await decisionsOn(probe)).toMatchObject([{ allowed: false, isProbe: true, reason: "invalid_resource" }]);
  });
});
