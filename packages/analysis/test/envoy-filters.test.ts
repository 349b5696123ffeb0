import { describe, expect, it } from "vitest";
import { messagesIn } from "./messages-in.js";
import { messagesOf, placesOf } from "./messages-of.js";

const patches = "envoyfilter.EnvoyPatchAnalyzer";

const filter = (name: string, configPatches: readonly string[], priority = 0): string =>
  [
    "apiVersion: networking.istio.io/v1alpha3",
    "kind: EnvoyFilter",
    `metadata: {name: ${name}, namespace: shop}`,
    "spec:",
    `  priority: ${priority}`,
    "  configPatches:",
    ...configPatches.map((patch) => `  - {${patch}}`),
    "---",
    "",
  ].join("\n");

const patch = (applyTo: string, operation: string, value = "{name: lua}", match = ""): string =>
  `applyTo: ${applyTo}, match: {${match}}, patch: {operation: ${operation}, value: ${value}}`;

const versioned = "proxy: {proxyVersion: ^1.27}";

describe("patches of EnvoyFilters", () => {
  it("should not depend on the order of filters without a priority", () => {
    const relative = ["INSERT_BEFORE", "INSERT_AFTER", "REMOVE", "REPLACE"].map((operation) =>
      patch("HTTP_FILTER", operation),
    );
    expect(placesOf(patches, filter("a", relative))).toEqual(
      [7, 8, 9, 10].map((line) => `IST0151 EnvoyFilter shop/a ${line}`),
    );
    expect(placesOf(patches, filter("a", relative, 1))).toEqual([]);
    expect(
      placesOf(
        patches,
        filter("a", [patch("HTTP_FILTER", "INSERT_FIRST"), patch("CLUSTER", "ADD"), patch("LISTENER", "MERGE")]),
      ),
    ).toEqual([]);
  });

  it("should not depend on patches for specific proxy versions", () => {
    const both = [patch("HTTP_FILTER", "INSERT_AFTER", "{name: lua}", versioned), patch("HTTP_FILTER", "INSERT_AFTER")];
    expect(messagesOf(patches, filter("a", both))).toEqual([
      "IST0151 EnvoyFilter shop/a 7: operation INSERT_AFTER is relative to another filter, and the EnvoyFilter has no priority, so that it may not be applied; set spec.priority, or use an absolute operation such as INSERT_FIRST",
      "IST0155 EnvoyFilter shop/a 8: operation INSERT_AFTER is relative to another filter, and the EnvoyFilter has no priority although another patch of the same filter depends on the proxy version, so that it may not be applied; set spec.priority",
    ]);
    expect(placesOf(patches, filter("a", both.slice(0, 1)) + filter("b", both.slice(1)))).toEqual([
      "IST0151 EnvoyFilter shop/a 7",
      "IST0155 EnvoyFilter shop/b 15",
    ]);
    expect(placesOf(patches, filter("b", both.slice(0, 1)) + filter("a", both.slice(1)))).toEqual([
      "IST0151 EnvoyFilter shop/a 15",
      "IST0151 EnvoyFilter shop/b 7",
    ]);
    const other = patch("HTTP_FILTER", "INSERT_AFTER", "{name: wasm}");
    expect(placesOf(patches, filter("a", [...both.slice(0, 1), other]))).toEqual([
      "IST0151 EnvoyFilter shop/a 7",
      "IST0151 EnvoyFilter shop/a 8",
    ]);
  });

  it("are identified by the matched filter if the value has no name", () => {
    const listener = "listener: {filterChain: {filter: {name: hcm}}}";
    const unnamed = (match: string): string => patch("NETWORK_FILTER", "REPLACE", "{typed_config: {}}", match);
    const before = filter("a", [unnamed(`${versioned}, ${listener}`)], 1);
    expect(placesOf(patches, before + filter("b", [unnamed(listener)]))).toEqual(["IST0155 EnvoyFilter shop/b 15"]);
    expect(placesOf(patches, before + filter("b", [unnamed("")]))).toEqual(["IST0151 EnvoyFilter shop/b 15"]);
  });

  it("must use an operation that their applyTo supports", () => {
    const replaced = ["CLUSTER", "LISTENER", "HTTP_ROUTE"].map((applyTo) => patch(applyTo, "REPLACE"));
    expect(placesOf(patches, filter("a", replaced, 1))).toEqual(
      [7, 8, 9].map((line) => `IST0152 EnvoyFilter shop/a ${line}`),
    );
    const ofRoutes = (operation: string): readonly string[] =>
      placesOf(
        patches,
        filter(
          "a",
          ["ROUTE_CONFIGURATION", "HTTP_ROUTE"].map((applyTo) => patch(applyTo, operation)),
          1,
        ),
      );
    expect(ofRoutes("ADD")).toEqual(["IST0153 EnvoyFilter shop/a 7"]);
    expect(ofRoutes("REMOVE")).toEqual(["IST0154 EnvoyFilter shop/a 7"]);
    expect(messagesOf(patches, filter("a", [patch("ROUTE_CONFIGURATION", "ADD")]))[0]).toContain(
      "operation ADD has no effect where applyTo is ROUTE_CONFIGURATION; use MERGE or another applyTo",
    );
    expect(placesOf(patches, filter("a", [patch("VIRTUAL_HOST", "REPLACE"), patch("CLUSTER", "REMOVE")], 1))).toEqual(
      [],
    );
  });

  it("are ignored after a patch without an operation", () => {
    expect(placesOf(patches, filter("a", ["applyTo: CLUSTER", patch("HTTP_FILTER", "REMOVE")]))).toEqual([]);
  });
});

const values = "envoyfilter.PatchValueAnalyzer";

describe("values of patches", () => {
  const lua = "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua";
  it.each([
    [
      "a filter without typed_config",
      "{name: envoy.filters.http.lua}",
      'IST0133 EnvoyFilter shop/a 7: configPatches[0].patch.value: has no typed_config for "envoy.filters.http.lua", which a name alone does not determine; add typed_config',
    ],
    [
      "a type of Envoy's v2 API",
      '{name: a, typed_config: {"@type": type.googleapis.com/envoy.config.filter.http.lua.v2.Lua}}',
      `IST0106 EnvoyFilter shop/a 7: configPatches[0].patch.value.typed_config["@type"]: is envoy.config.filter.http.lua.v2.Lua of Envoy's v2 API, which was removed; expected a type of the v3 API`,
    ],
    [
      "a misspelled field",
      `{name: a, typed_config: {"@type": ${lua}, inline: ""}}`,
      "IST0133 EnvoyFilter shop/a 7: configPatches[0].patch.value.typed_config.inline: is not a field of Lua, which has",
    ],
    [
      "a value of a wrong type",
      `{name: a, typed_config: {"@type": ${lua}, inlineCode: 3}}`,
      "IST0106 EnvoyFilter shop/a 7: configPatches[0].patch.value.typed_config.inlineCode: is 3, expected a string (quote it)",
    ],
  ])("have the fault and the fix: %s", (_, value, message) => {
    expect(messagesOf(values, filter("a", [patch("HTTP_FILTER", "INSERT_FIRST", value)]))).toEqual([
      expect.stringContaining(message),
    ]);
  });

  it("are right", () => {
    const value = `{name: a, typed_config: {"@type": ${lua}, inlineCode: "-- nothing"}}`;
    expect(messagesOf(values, filter("a", [patch("HTTP_FILTER", "INSERT_FIRST", value)]))).toEqual([]);
  });
});

it.each([
  [
    "filterChain: {filter: {name: envoy.http_connection_manager}}",
    "filterChain.filter.name",
    "envoy.http_connection_manager",
    "envoy.filters.network.http_connection_manager",
  ],
  [
    "filterChain: {filter: {name: envoy.filters.network.http_connection_manager, subFilter: {name: envoy.router}}}",
    "filterChain.filter.subFilter.name",
    "envoy.router",
    "envoy.filters.http.router",
  ],
  [
    "listenerFilter: envoy.listener.tls_inspector",
    "listenerFilter",
    "envoy.listener.tls_inspector",
    "envoy.filters.listener.tls_inspector",
  ],
])("names of filters in Envoy's v2 API match nothing: %s", (match, field, name, canonical) => {
  const value = "{name: a, typed_config: {'@type': type.googleapis.com/google.protobuf.Empty}}";
  const written = patch("HTTP_FILTER", "INSERT_FIRST", value, `context: SIDECAR_INBOUND, listener: {${match}}`);
  expect(messagesIn(filter("a", [written]), ["MESH0014"])).toEqual([
    `MESH0014 EnvoyFilter shop/a 7: configPatches[0].match.listener.${field}: is "${name}", the name of Envoy's v2 API, which no filter has; write ${canonical}`,
  ]);
});
