import { create, createRegistry, fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { type Any, AnySchema, anyPack } from "@bufbuild/protobuf/wkt";
import { TypedExtensionConfigSchema } from "@istiod/envoy-api/envoy/config/core/v3/extension";
import { registry as envoy } from "@istiod/envoy-api/registry";
import { expect, it } from "vitest";
import { silentLog } from "../../src/log.js";
import { convertExtension } from "../../src/wasm/convert-extensions.js";
import type { ModuleRequest } from "../../src/wasm/module-store.js";

const registry = createRegistry(...envoy);
const type = (name: string): string => `type.googleapis.com/${name}`;
const http = "envoy.extensions.filters.http.wasm.v3.Wasm";
const network = "envoy.extensions.filters.network.wasm.v3.Wasm";

const packed = (typedConfig: JsonObject): Any =>
  anyPack(TypedExtensionConfigSchema, fromJson(TypedExtensionConfigSchema, { name: "e", typedConfig }, { registry }));

const environment = {
  keyValues: {
    ISTIO_META_WASM_IMAGE_PULL_SECRET: "secret",
    ISTIO_META_WASM_IMAGE_PULL_POLICY: "Always",
    ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION: "7",
  },
};
const remote = { remote: { httpUri: { uri: "oci://a/b:1", cluster: "_", timeout: "30s" }, sha256: "abc" } };

const config = (more: object = {}, environmentVariables: object = environment, code: object = remote): JsonObject =>
  ({ config: { name: "e", vmConfig: { runtime: "r", code, environmentVariables }, ...more } }) as JsonObject;

/** Converts a configuration. Returns what Envoy gets, and what was fetched. */
async function convert(
  typedConfig: JsonObject,
  path: (request: ModuleRequest) => Promise<string> = async () => "/m.wasm",
) {
  const requests: ModuleRequest[] = [];
  const modules = { path: (request: ModuleRequest) => (requests.push(request), path(request)) };
  const { config: converted, isSubstitute } = await convertExtension(packed(typedConfig), modules, silentLog);
  const json = toJson(AnySchema, converted, { registry }) as { name: string; typedConfig: JsonObject };
  expect(json.name).toBe("e");
  return { json: json.typedConfig, isSubstitute, requests };
}
const failing = (): Promise<string> => Promise.reject(new Error("unreachable"));

it.each([http, network])("the module of %s becomes a file, and what is for the agent is removed", async (name) => {
  const { json, requests, isSubstitute } = await convert({ "@type": type(name), ...config() });
  expect(json).toEqual({
    "@type": type(name),
    config: { name: "e", vmConfig: { runtime: "r", code: { local: { filename: "/m.wasm" } } } },
  });
  expect(isSubstitute).toBe(false);
  expect(requests).toEqual([
    {
      ...{ url: "oci://a/b:1", checksum: "abc", resourceName: "e", resourceVersion: "7" },
      ...{ pullPolicy: "Always", pullSecret: "secret", timeout: 30_000 },
    },
  ]);
});

it("the module's own environment stays", async () => {
  const own = { keyValues: { ...environment.keyValues, MODE: "fast" }, hostEnvKeys: ["HOME"] };
  const { json } = await convert({ "@type": type(http), ...config({}, own) });
  expect(json).toMatchObject({
    config: { vmConfig: { environmentVariables: { keyValues: { MODE: "fast" }, hostEnvKeys: ["HOME"] } } },
  });
});

it("a module in a file is not fetched, and has no pull secret either", async () => {
  const local = { local: { filename: "/own.wasm" } };
  const { json, requests } = await convert({ "@type": type(http), ...config({}, environment, local) });
  expect(requests).toEqual([]);
  expect(json).toMatchObject({ config: { vmConfig: { code: local } } });
  expect(JSON.stringify(json)).not.toContain("secret");
});

it.each(["udpa.type.v1.TypedStruct", "xds.type.v3.TypedStruct"])(
  "a %s of a Wasm filter is converted, too",
  async (name) => {
    const { json } = await convert({ "@type": type(name), typeUrl: type(http), value: config() });
    expect(json).toMatchObject({
      "@type": type(http),
      config: { vmConfig: { code: { local: { filename: "/m.wasm" } } } },
    });
  },
);

it("a module that cannot be fetched becomes a policy that denies, or allows if the extension fails open", async () => {
  const rbac = "envoy.extensions.filters.http.rbac.v3.RBAC";
  const networkRbac = "envoy.extensions.filters.network.rbac.v3.RBAC";
  const of = async (name: string, more: object = {}): Promise<object> => {
    const { json, isSubstitute } = await convert({ "@type": type(name), ...config(more) }, failing);
    expect(isSubstitute).toBe(true);
    return json;
  };
  const open = { failurePolicy: "FAIL_OPEN" };
  expect(await of(http)).toEqual({ "@type": type(rbac), rules: {}, rulesStatPrefix: "wasm-default-deny" });
  expect(await of(http, open)).toEqual({ "@type": type(rbac), rulesStatPrefix: "wasm-default-allow" });
  expect(await of(network)).toEqual({ "@type": type(networkRbac), rules: {}, statPrefix: "wasm-default-deny" });
  expect(await of(network, open)).toEqual({ "@type": type(networkRbac), statPrefix: "wasm-default-allow" });
});

it("a module whose pull secret is missing is not fetched", async () => {
  const empty = { keyValues: { ISTIO_META_WASM_IMAGE_PULL_SECRET: "" } };
  const { isSubstitute, requests } = await convert({ "@type": type(http), ...config({}, empty) });
  expect([isSubstitute, requests]).toEqual([true, []]);
});

it("other configurations are unchanged", async () => {
  const lua = packed({ "@type": type("envoy.extensions.filters.http.lua.v3.Lua"), inlineCode: "a" });
  const broken = create(AnySchema, { typeUrl: lua.typeUrl, value: Uint8Array.of(255) });
  for (const each of [lua, broken])
    expect((await convertExtension(each, { path: failing }, silentLog)).config).toBe(each);
});
