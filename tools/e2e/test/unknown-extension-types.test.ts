import { createRegistry, fromJson, type JsonObject, type Registry, toBinary } from "@bufbuild/protobuf";
import { startBareEnvoy, whyNoEnvoy } from "@istiod/e2e";
import { ListenerSchema } from "@istiod/envoy-api/envoy/config/listener/v3/listener";
import { registry } from "@istiod/envoy-api/registry";
import { findEnvoy } from "@istiod/envoy-binary";
import { decodePatch, Effects, ListenerPatcher } from "@istiod/envoy-filter";
import {
  EnvoyFilter_EnvoyConfigObjectPatchSchema as ConfigPatchSchema,
  EnvoyFilter_PatchContext as Context,
} from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { resource } from "@istiod/resources";
import { listenerType } from "@istiod/xds-server";
import { expect, it, vi } from "vitest";

const lua = "envoy.extensions.filters.http.lua.v3.Lua";

/** As if this istiod were older than Envoy's Lua filter. */
vi.mock("@istiod/envoy-api/registry", async (original) => {
  const { registry: all } = await original<{ readonly registry: Registry }>();
  return { registry: createRegistry(...[...all].filter(({ typeName }) => !typeName.endsWith(".lua.v3.Lua"))) };
});

/** Returns a listener whose first HTTP filter was inserted by a patch. */
function patchedListener(typedConfig: JsonObject) {
  const type = (name: string): JsonObject => ({ "@type": `type.googleapis.com/envoy.extensions.filters.${name}` });
  const listener = fromJson(
    ListenerSchema,
    {
      name: "l",
      address: { socketAddress: { address: "10.0.0.1", portValue: 80 } },
      bindToPort: false,
      filterChains: [
        {
          filters: [
            {
              name: "envoy.filters.network.http_connection_manager",
              typedConfig: {
                ...type("network.http_connection_manager.v3.HttpConnectionManager"),
                statPrefix: "a",
                routeConfig: {},
                httpFilters: [{ name: "envoy.filters.http.router", typedConfig: type("http.router.v3.Router") }],
              },
            },
          ],
        },
      ],
    },
    { registry },
  );
  const value = { name: "added", typed_config: { "@type": `type.googleapis.com/${lua}`, ...typedConfig } };
  const patch = decodePatch(
    "a",
    fromJson(ConfigPatchSchema, {
      applyTo: "HTTP_FILTER",
      match: { listener: { filterChain: { filter: { name: "envoy.filters.network.http_connection_manager" } } } },
      patch: { operation: "INSERT_FIRST", value },
    }),
  );
  const patcher = new ListenerPatcher({ [patch.applyTo]: [patch] }, { context: Context.SIDECAR_OUTBOUND });
  const patched = patcher.patch({ name: "l", bytes: toBinary(ListenerSchema, listener) }, new Effects());
  return resource("l", patched!.bytes);
}

it("Envoy converts the configuration of a type that istiod does not know", async ({ skip }) => {
  const reason = await whyNoEnvoy();
  skip(reason !== undefined, reason);
  expect(registry.getMessage(lua)).toBeUndefined();
  const envoy = await startBareEnvoy((await findEnvoy())!);
  try {
    const valid = patchedListener({ default_source_code: { inline_string: "function envoy_on_request(h) end" } });
    expect(Buffer.from(valid.bytes).toString("latin1")).toContain("xds.type.v3.TypedStruct");
    expect(await envoy.offer(listenerType, [valid])).toEqual([]);
    const invalid = await envoy.offer(listenerType, [patchedListener({ default_source_code: 1 })]);
    expect(invalid).toMatchObject([{ message: expect.stringContaining("default_source_code") }]);
  } finally {
    await envoy.close();
  }
}, 120_000);
