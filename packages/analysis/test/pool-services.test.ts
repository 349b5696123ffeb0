import { LiveAnalysis } from "@istiod/analysis";
import {
  allKinds,
  applyChanges,
  defaultMeshConfig,
  environment,
  inferencePools,
  meshConfig,
  meshConfigKey,
  readText,
  services,
} from "@istiod/config-schema";
import { inferencePoolServices } from "@istiod/gateway-api";
import { Database } from "@istiod/incremental";
import { expect, onTestFinished, test } from "vitest";

const object = (apiVersion: string, kind: string, name: string, of: object, labels: object = {}): string =>
  `${JSON.stringify({ apiVersion, kind, metadata: { name, namespace: "shop", labels }, ...of })}\n---\n`;
const gatewayApi = "gateway.networking.k8s.io/v1";
const backend = { group: "inference.networking.k8s.io", kind: "InferencePool", name: "model" };
const mesh =
  object("v1", "Service", "picker", { spec: { selector: { app: "picker" }, ports: [{ name: "http", port: 9002 }] } }) +
  object(gatewayApi, "Gateway", "front", {
    spec: { gatewayClassName: "istio", listeners: [{ name: "http", port: 80, protocol: "HTTP" }] },
  }) +
  object(gatewayApi, "HTTPRoute", "model", {
    spec: { parentRefs: [{ name: "front" }], rules: [{ backendRefs: [backend] }] },
  });
const pool = (changes: object = {}): string =>
  object("inference.networking.k8s.io/v1", "InferencePool", "model", {
    spec: {
      selector: { matchLabels: { app: "model" } },
      targetPorts: [{ number: 8000 }],
      endpointPickerRef: { name: "picker", port: { number: 9002 } },
      ...changes,
    },
  });

/** Returns an analysis of the mesh, and the functions that write objects and the Service as istiod would. */
function start() {
  const database = new Database<undefined>();
  const write = (text: string): void => {
    database.commit((tx) =>
      applyChanges(
        tx,
        readText(text, "a.yaml").flatMap(({ objects }) => objects),
      ),
    );
  };
  database.commit((tx) => {
    tx.set(meshConfig, meshConfigKey, defaultMeshConfig());
    tx.set(environment, "ENABLE_GATEWAY_API_INFERENCE_EXTENSION", "true");
  });
  write(mesh);
  const analysis = new LiveAnalysis({ database, client: undefined, kinds: allKinds, sources: [], problems: () => [] });
  onTestFinished(() => analysis.stop());
  const writeService = (): void => {
    for (const { name, labels, selector, ports } of database.view(undefined).call(inferencePoolServices))
      write(object("v1", "Service", name, { spec: { clusterIP: "None", selector, ports } }, labels));
  };
  const service = () => analysis.writtenService({ kind: "InferencePool", namespace: "shop", name: "model" });
  const remove = (kind: "InferencePool" | "Service", name: string): void =>
    void database.commit((tx) =>
      kind === "Service" ? tx.delete(services, `Kubernetes/shop/${name}`) : tx.delete(inferencePools, `shop/${name}`),
    );
  return { write, writeService, service, remove, isCurrent: () => service()?.isCurrent };
}

test.each([
  ["appProtocol", { appProtocol: "kubernetes.io/h2c" }],
  ["target ports", { targetPorts: [{ number: 8000 }, { number: 8001 }] }],
  ["selector", { selector: { matchLabels: { app: "other" } } }],
  ["treatment of failures", { endpointPickerRef: { name: "picker", port: { number: 9002 }, failureMode: "FailOpen" } }],
])("the Service of an InferencePool is outdated after a change of its %s, until it is written again", (_, changes) => {
  const { write, writeService, isCurrent } = start();
  expect(isCurrent()).toBeUndefined();
  write(pool());
  expect(isCurrent()).toBe(false);
  writeService();
  expect(isCurrent()).toBe(true);
  write(pool(changes));
  expect(isCurrent()).toBe(false);
  writeService();
  expect(isCurrent()).toBe(true);
});

test("a Service that is not of an InferencePool is foreign, though it has the name", () => {
  const { write, writeService, service } = start();
  write(pool());
  const name = service()?.name ?? "";
  expect(service()).toEqual({ namespace: "shop", name, isCurrent: false, isForeign: false });
  write(object("v1", "Service", name, { spec: { clusterIP: "None", ports: [{ name: "http", port: 80 }] } }));
  expect(service()).toEqual({ namespace: "shop", name, isCurrent: false, isForeign: true });
  writeService();
  expect(service()).toEqual({ namespace: "shop", name, isCurrent: true, isForeign: false });
});

test("the Service of a deleted InferencePool is left until it is deleted, and a foreign one is not", () => {
  const { write, writeService, service, remove } = start();
  write(pool());
  writeService();
  const name = service()?.name ?? "";
  remove("InferencePool", "model");
  expect(service()).toEqual({ namespace: "shop", name, isCurrent: false, isForeign: false });
  remove("Service", name);
  expect(service()).toBeUndefined();
  write(object("v1", "Service", name, { spec: { clusterIP: "None", ports: [{ name: "http", port: 80 }] } }));
  expect(service()).toBeUndefined();
});
