import { fromBinary } from "@bufbuild/protobuf";
import {
  configResources,
  ConfigResourceError,
  configTypes,
  configTypeUrl,
  decodeConfig,
  encodeConfig,
  findConfigType,
  meshConfigType,
} from "@istiod/config-xds";
import { allKinds, decode, virtualServiceKind } from "@istiod/config-schema";
import { applyMeshConfig, meshConfig, meshConfigKey } from "@istiod/config-schema";
import { commitYaml } from "@istiod/config-schema/testing";
import { Database } from "@istiod/incremental";
import { MeshConfigSchema } from "@istiod/istio-api/mesh/v1alpha1/config";
import { ResourceSchema } from "@istiod/istio-api/mcp/v1alpha1/resource";
import { expect, test } from "vitest";

const virtualServices = "networking.istio.io/v1/VirtualService";
const virtualService = (name: string, weight: number): string => `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata:
  name: ${name}
  namespace: shop
  creationTimestamp: "2024-05-01T10:00:00Z"
  annotations: {istio.io/note: a}
spec:
  hosts: [${name}]
  http:
  - timeout: 1.5s
    route:
    - {destination: {host: ${name}}, weight: ${weight}}
    - {destination: {host: other}, weight: ${100 - weight}}
`;

const others = `
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {name: lua, namespace: shop}
spec:
  configPatches:
  - applyTo: HTTP_FILTER
    patch: {operation: INSERT_BEFORE, value: {name: lua, typed_config: {"@type": type.googleapis.com/x, list: [1, {a: null}]}}}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: api, namespace: shop, labels: {istio.io/rev: canary}}
spec: {hosts: [api.example], ports: [{number: 443, name: tls, protocol: TLS}], resolution: DNS}
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: deny, namespace: shop}
spec: {action: DENY, rules: [{to: [{operation: {methods: [DELETE]}}]}]}
---
apiVersion: telemetry.istio.io/v1
kind: Telemetry
metadata: {name: sampling, namespace: shop}
spec: {tracing: [{randomSamplingPercentage: 12.5}]}
---
apiVersion: extensions.istio.io/v1alpha1
kind: WasmPlugin
metadata: {name: wasm, namespace: shop}
spec: {url: "oci://registry.example/a:1", pluginConfig: {a: [1.5, "x"]}}
`;

function view(yaml: string) {
  const database = new Database<undefined>();
  commitYaml(database, yaml);
  return { database, view: database.view(undefined) };
}

test("an object that is decoded equals the encoded one", () => {
  const { database } = view(`${virtualService("cart", 90)}---${others}`);
  let count = 0;
  for (const type of configTypes()) {
    for (const key of database.keys(type.kind.collection)) {
      const object = database.read(type.kind.collection, key);
      if (object === undefined) continue;
      const [decoded] = decode(decodeConfig(type, encodeConfig(type, object)).document);
      expect(decoded).toMatchObject({ outcome: "accepted", key, object });
      count++;
    }
  }
  expect(count).toBe(6);
});

test("types are Istio's kinds, in each of their versions", () => {
  expect(configTypes().map(configTypeUrl)).toContain(virtualServices);
  expect(findConfigType("networking.istio.io/v1alpha3/VirtualService")).toEqual({
    kind: virtualServiceKind,
    version: "v1alpha3",
  });
  for (const unknown of ["core/v1/Pod", "networking.istio.io/v2/VirtualService", "type.googleapis.com/x"])
    expect(findConfigType(unknown)).toBeUndefined();
});

test("an edit replaces one resource, and nothing else", () => {
  const { database, view: client } = view(`${virtualService("cart", 90)}---${virtualService("web", 90)}`);
  const before = client.call(configResources, virtualServices).toArray();
  expect(before.map(({ name }) => name)).toEqual(["shop/cart", "shop/web"]);
  commitYaml(database, virtualService("web", 80));
  const after = client.call(configResources, virtualServices).toArray();
  expect(after[0]).toBe(before[0]);
  expect(after[1]?.version).not.toBe(before[1]?.version);
});

test("the version in the metadata is of the content", () => {
  const version = (yaml: string): string | undefined => {
    const [found] = view(yaml).view.call(configResources, virtualServices).toArray();
    return fromBinary(ResourceSchema, found?.bytes ?? new Uint8Array()).metadata?.version;
  };
  expect(version(virtualService("cart", 90))).toMatch(/^[0-9a-f]{32}$/);
  expect(version(virtualService("cart", 90))).toBe(version(virtualService("cart", 90)));
  expect(version(virtualService("cart", 80))).not.toBe(version(virtualService("cart", 90)));
});

test("the mesh configuration is one message without a name", () => {
  const database = new Database<undefined>();
  const config = applyMeshConfig({ trustDomain: "own.example" }, { error: () => undefined, warning: () => undefined });
  database.commit((tx) => void (config && tx.set(meshConfig, meshConfigKey, config)));
  const [found, ...more] = database.view(undefined).call(configResources, meshConfigType).toArray();
  expect(more).toEqual([]);
  expect(fromBinary(MeshConfigSchema, found?.bytes ?? new Uint8Array()).trustDomain).toBe("own.example");
});

test("unknown types have no resources", () => {
  expect(view(others).view.call(configResources, "core/v1/Pod").size).toBe(0);
});

test("bytes that are no object of the type are an error that names it", () => {
  const type = { kind: virtualServiceKind, version: "v1" };
  const { database } = view(`${virtualService("cart", 90)}---${others}`);
  const [serviceEntry] = allKinds.filter(({ kind }) => kind === "ServiceEntry");
  const object = serviceEntry && database.read(serviceEntry.collection, "shop/api");
  if (serviceEntry === undefined || object === undefined) throw new Error("there is no ServiceEntry");
  const other = encodeConfig({ kind: serviceEntry, version: "v1" }, object);
  expect(() => decodeConfig(type, other)).toThrow(
    new ConfigResourceError(
      "VirtualService shop/api: body: is istio.networking.v1alpha3.ServiceEntry, expected istio.networking.v1alpha3.VirtualService",
      { namespace: "shop", name: "api" },
    ),
  );
  expect(() => decodeConfig(type, new Uint8Array())).toThrow('metadata.name: is "", expected a namespace and a name');
  expect(() => decodeConfig(type, Uint8Array.of(0x0a, 0xff))).toThrow("resource: cannot be decoded");
});
