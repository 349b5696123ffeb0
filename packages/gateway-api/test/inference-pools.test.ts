import { inferencePoolStatus } from "@istiod/gateway-api";
import { expect, test } from "vitest";
import { gateway, GatewayMesh, http, object, service } from "./gateway-mesh.js";

const pool = (picker: object = { name: "picker", port: { number: 9002 } }): string =>
  object("InferencePool", "model", {
    apiVersion: "inference.networking.k8s.io/v1",
    spec: { selector: { matchLabels: { app: "m" } }, targetPorts: [{ number: 8000 }], endpointPickerRef: picker },
  });
const route = (parent: string, hostname: string): string =>
  object("HTTPRoute", `to-${parent}`, {
    spec: {
      parentRefs: [{ name: parent }],
      hostnames: [hostname],
      rules: [{ backendRefs: [{ group: "inference.networking.k8s.io", kind: "InferencePool", name: "model" }] }],
    },
  });
const front = gateway([{ ...http, hostname: "a.example" }]);

function statusOf(...yaml: readonly string[]): unknown {
  const mesh = new GatewayMesh(yaml.join("")).set("ENABLE_GATEWAY_API_INFERENCE_EXTENSION", "true");
  return mesh
    .ask(inferencePoolStatus, "edge/model")
    ?.parents.map(({ parentRef: { namespace, name }, conditions }) => [
      `${namespace}/${name}`,
      ...conditions.map(({ type, status, reason }) => `${type}=${status} ${reason}`),
    ]);
}

test("an InferencePool has an entry for each Gateway whose routes name it", () => {
  const picker = service("picker", [9002]);
  expect(statusOf(pool(), picker, front)).toEqual([]);
  expect(statusOf(pool(), picker, front, route("front", "a.example"))).toEqual([
    ["edge/front", "Accepted=True Accepted", "ResolvedRefs=True ResolvedRefs"],
  ]);
  expect(statusOf(pool(), picker, front, route("front", "b.example"))).toEqual([
    ["edge/front", "Accepted=False HTTPRouteNotAccepted", "ResolvedRefs=True ResolvedRefs"],
  ]);
});

test.each([
  ["absent", { name: "picker", port: { number: 9002 } }],
  ["of another kind", { name: "picker", kind: "Pod" }],
])("an InferencePool whose endpoint picker is %s says so", (_, picker) => {
  expect(statusOf(pool(picker), front, route("front", "a.example"))).toEqual([
    ["edge/front", "Accepted=True Accepted", "ResolvedRefs=False InvalidExtensionRef"],
  ]);
});

test("an InferencePool has no status without ENABLE_GATEWAY_API_INFERENCE_EXTENSION", () => {
  expect(new GatewayMesh(pool()).ask(inferencePoolStatus, "edge/model")).toBeUndefined();
});
