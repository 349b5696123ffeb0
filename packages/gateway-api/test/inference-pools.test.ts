import {
  type InferencePoolService,
  inferencePoolStatus,
  type ObservedPoolService,
  poolServiceState,
} from "@istiod/gateway-api";
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

const desired: InferencePoolService = {
  namespace: "edge",
  name: "model-ip-1",
  pool: "model",
  labels: { "istio.io/inferencepool-name": "model", "istio.io/inferencepool-extension-service": "picker" },
  selector: { app: "m" },
  ports: [{ name: "http-0", port: 54321, targetPort: 8000, appProtocol: "kubernetes.io/h2c" }],
};
const [port] = desired.ports;
const observed = (changes: Partial<ObservedPoolService> = {}): ObservedPoolService => ({
  labels: { ...desired.labels, team: "a" },
  selector: desired.selector,
  ports: desired.ports,
  ...changes,
});

test.each<[string, ReturnType<typeof poolServiceState>, ObservedPoolService | undefined]>([
  ["that does not exist", "missing", undefined],
  ["as desired, with another label", "current", observed()],
  ["without the pool's label", "foreign", observed({ labels: {} })],
  [
    "of another endpoint picker",
    "outdated",
    observed({ labels: { ...desired.labels, "istio.io/inferencepool-extension-service": "old" } }),
  ],
  ["with another selector", "outdated", observed({ selector: { app: "old" } })],
  ["with more in its selector", "outdated", observed({ selector: { app: "m", tier: "a" } })],
  ["without ports", "outdated", observed({ ports: [] })],
  ["with another port", "outdated", observed({ ports: [{ ...port, port: 54322 }] })],
  ["with another name of its port", "outdated", observed({ ports: [{ ...port, name: "http" }] })],
  ["with another target port", "outdated", observed({ ports: [{ ...port, targetPort: 9000 }] })],
  ["with another appProtocol", "outdated", observed({ ports: [{ ...port, appProtocol: "http" }] })],
  ["without appProtocol", "outdated", observed({ ports: [{ ...port, appProtocol: undefined }] })],
])("the Service of an InferencePool, %s", (_, state, service) => {
  expect(poolServiceState(service, desired)).toBe(state);
});
