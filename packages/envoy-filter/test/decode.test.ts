import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { decodePatch, PatchError } from "@istiod/envoy-filter";
import { EnvoyFilter_EnvoyConfigObjectPatchSchema as ConfigPatchSchema } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { expect, it } from "vitest";
import { onCluster, onListener } from "./patches.js";

const decode = (applyTo: string, operation: string, value?: JsonValue) =>
  decodePatch(
    "a",
    fromJson(ConfigPatchSchema, { applyTo, patch: { operation, ...(value !== undefined && { value }) } }),
  );

function nested(depth: number): JsonValue {
  return depth === 0 ? {} : { name: nested(depth - 1) };
}

it.each<[string, () => unknown, RegExp]>([
  ["a value of a wrong type", () => decode("CLUSTER", "MERGE", { connect_timeout: 5 }), /^patch.value: /],
  ["a missing value", () => decode("CLUSTER", "MERGE"), /^patch.value is missing, expected a value with MERGE$/],
  ["no operation", () => decode("CLUSTER", "INVALID", {}), /^patch has no operation$/],
  ["nothing to patch", () => decode("INVALID", "MERGE", {}), /^applyTo is INVALID, which cannot be patched$/],
  ["a value that is too deep", () => decode("CLUSTER", "MERGE", nested(65)), /deeper than 64 levels$/],
  [
    "a value that is too large",
    () => decode("CLUSTER", "MERGE", { a: Array.from({ length: 100_001 }, () => 1) }),
    /more than 100000 values$/,
  ],
  [
    "a packed message that is malformed",
    () =>
      decode("HTTP_FILTER", "ADD", {
        name: "a",
        typed_config: { "@type": "x/envoy.extensions.filters.http.lua.v3.Lua", stat_prefix: 1 },
      }),
    /^patch.value: /,
  ],
])("%s is rejected with a reason", (_, act, message) => {
  expect(act).toThrow(PatchError);
  expect(act).toThrow(message);
});

it("unknown fields and names of enumerations are left out", () => {
  const patch = { applyTo: "CLUSTER", operation: "MERGE", value: { lb_policy: "LATER", later: 1, alt_stat_name: "x" } };
  expect(onCluster({ name: "a" }, [patch]).json).toEqual({ name: "a", altStatName: "x" });
});

it("a packed message of an unknown type is sent as a TypedStruct", () => {
  const value = { name: "a", typed_config: { "@type": "type.googleapis.com/com.example.Filter", a: [1] } };
  const listener = { name: "l", filterChains: [{ filters: [{ name: "b" }] }] };
  expect(onListener(listener, [{ applyTo: "NETWORK_FILTER", operation: "ADD", value }]).json).toEqual({
    name: "l",
    filterChains: [
      {
        filters: [
          { name: "b" },
          {
            name: "a",
            typedConfig: {
              "@type": "type.googleapis.com/xds.type.v3.TypedStruct",
              typeUrl: "type.googleapis.com/com.example.Filter",
              value: { a: [1] },
            },
          },
        ],
      },
    ],
  });
});

it("inserting among things without order adds", () => {
  expect(decode("CLUSTER", "INSERT_BEFORE", { name: "a" }).operation).toBe(
    decode("CLUSTER", "ADD", { name: "a" }).operation,
  );
});
