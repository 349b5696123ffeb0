import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { EnvoyFilter_PatchContext as Context } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import { describe, expect, it } from "vitest";
import { onListener, onListeners, type Written } from "./patches.js";

const manager = "envoy.filters.network.http_connection_manager";
const type = (name: string): { "@type": string } => ({ "@type": `type.googleapis.com/envoy.extensions.${name}` });
const hcm = type("filters.network.http_connection_manager.v3.HttpConnectionManager");
const lua = (code: string): object => ({
  name: "lua",
  typed_config: { ...type("filters.http.lua.v3.Lua"), default_source_code: { inline_string: code } },
});
const tcp = (name: string): JsonObject => ({
  name,
  typedConfig: { ...type("filters.network.tcp_proxy.v3.TcpProxy"), statPrefix: name },
});
const http = (...names: string[]): JsonObject => ({
  filters: [{ name: manager, typedConfig: { ...hcm, httpFilters: names.map((name) => ({ name })) } }],
});
const listener = (...filterChains: JsonValue[]): JsonObject => ({
  name: "0.0.0.0_80",
  address: { socketAddress: { address: "0.0.0.0", portValue: 80 } },
  filterChains,
});

function chainsOf({ json }: { readonly json: JsonValue | undefined }): readonly JsonObject[] {
  return ((json as JsonObject | undefined)?.["filterChains"] ?? []) as JsonObject[];
}

/** The names of the HTTP filters of the first chain. */
function httpFilters(result: { readonly json: JsonValue | undefined }): readonly unknown[] {
  const [filter] = chainsOf(result)[0]?.["filters"] as JsonObject[];
  const config = filter?.["typedConfig"] as JsonObject;
  return ((config["httpFilters"] ?? []) as JsonObject[]).map(({ name }) => name);
}

const at = (subFilter?: string): object => ({
  listener: { filterChain: { filter: { name: manager, ...(subFilter && { subFilter: { name: subFilter } }) } } },
});
const httpPatch = (operation: string, match?: object, value: object = lua("")): Written => ({
  applyTo: "HTTP_FILTER",
  operation,
  value,
  ...(match && { match }),
});

describe("HTTP filters", () => {
  it.each<[string, object | undefined, readonly string[]]>([
    ["ADD", undefined, ["a", "b", "router", "lua"]],
    ["INSERT_FIRST", at("b"), ["lua", "a", "b", "router"]],
    ["INSERT_BEFORE", at("b"), ["a", "lua", "b", "router"]],
    ["INSERT_BEFORE", at(), ["lua", "a", "b", "router"]],
    ["INSERT_AFTER", at("b"), ["a", "b", "lua", "router"]],
    ["INSERT_AFTER", at(), ["a", "b", "router", "lua"]],
    ["INSERT_AFTER", at("other"), ["a", "b", "router"]],
    ["REPLACE", at("b"), ["a", "lua", "router"]],
    ["REPLACE", at(), ["a", "b", "router"]],
    ["REMOVE", at("b"), ["a", "router"]],
    ["REMOVE", at(), ["a", "b", "router"]],
  ])("%s with %j", (operation, match, names) => {
    const result = onListener(listener(http("a", "b", "router")), [httpPatch(operation, match)]);
    expect(httpFilters(result)).toEqual(names);
    expect(result.effects).toHaveLength(names.join() === "a,b,router" ? 0 : 1);
  });

  it("are merged by the type of their configuration, and renamed", () => {
    const before = lua("before");
    const value = { name: "renamed", typed_config: { ...type("filters.http.lua.v3.Lua"), stat_prefix: "x" } };
    const result = onListener(listener(http()), [
      httpPatch("ADD", undefined, before),
      httpPatch("MERGE", at("lua"), value),
    ]);
    const [filter] = chainsOf(result)[0]?.["filters"] as JsonObject[];
    expect((filter?.["typedConfig"] as JsonObject)["httpFilters"]).toEqual([
      {
        name: "renamed",
        typedConfig: {
          ...type("filters.http.lua.v3.Lua"),
          defaultSourceCode: { inlineString: "before" },
          statPrefix: "x",
        },
      },
    ]);
  });

  it("of another type fail alone", () => {
    const value = { name: "x", typed_config: type("filters.http.cors.v3.Cors") };
    const patches = [
      httpPatch("ADD"),
      httpPatch("MERGE", at("lua"), value),
      httpPatch("INSERT_FIRST", at(), { name: "c" }),
    ];
    const result = onListener(listener(http("a")), patches);
    expect(httpFilters(result)).toEqual(["c", "a", "lua"]);
    expect(result.effects).toEqual([
      { patch: "0" },
      { patch: "2" },
      {
        patch: "1",
        failure:
          "typed_config is envoy.extensions.filters.http.cors.v3.Cors, expected envoy.extensions.filters.http.lua.v3.Lua as in the configuration",
      },
    ]);
  });

  it("are placed relative to filters of another build of Envoy", () => {
    const place = {
      absentHttpFilters: [
        { name: "istio.stats", before: ["session", "router"] },
        { name: "first", before: ["*"] },
        { name: "nowhere", before: ["none"] },
      ],
    };
    const around = (name: string): readonly Written[] => [
      httpPatch("INSERT_BEFORE", at(name), { name: "before" }),
      httpPatch("INSERT_AFTER", at(name), { name: "after" }),
    ];
    const result = (name: string): readonly unknown[] =>
      httpFilters(onListener(listener(http("a", "router")), around(name), place));
    expect(result("istio.stats")).toEqual(["a", "before", "after", "router"]);
    expect(result("first")).toEqual(["before", "after", "a", "router"]);
    expect(result("nowhere")).toEqual(["a", "router"]);
  });
});

describe("listeners of many workloads", () => {
  const chain = (name: string, serverName: string, names: readonly string[], port?: number): JsonObject => ({
    name,
    ...(port !== undefined && { filterChainMatch: { destinationPort: port } }),
    filters: [
      {
        name: manager,
        typedConfig: {
          ...hcm,
          serverName,
          httpFilters: names.map((each) => ({ name: each })),
          routeConfig: { name: `inbound|${port ?? 80}||`, virtualHosts: [{ name: serverName, domains: ["*"] }] },
        },
      },
      tcp("t"),
    ],
  });
  const inbound = (backlog: number, ...filterChains: JsonObject[]): JsonObject => ({
    ...listener(...filterChains),
    name: "virtualInbound",
    tcpBacklogSize: backlog,
  });
  const [few, many] = [
    ["a", "router"],
    ["a", "b", "router"],
  ] as const;
  const listeners = [
    inbound(1, chain("x", "one", few, 80)),
    inbound(1, chain("x", "two", few, 80), chain("y", "two", many)),
    inbound(2, chain("x", "one", many, 80), chain("y", "one", few, 90), chain("x", "one", few, 80)),
    listener(chain("x", "one", few, 80)),
    listener(chain("y", "two", many)),
  ];
  const named = (name: string): object => ({ listener: { filterChain: { name, filter: { name: manager } } } });
  const merge = (value: object, match: object = at()): Written => ({
    applyTo: "NETWORK_FILTER",
    operation: "MERGE",
    match,
    value: { name: manager, typed_config: { ...hcm, ...value } },
  });
  const ofHosts: Written = {
    applyTo: "VIRTUAL_HOST",
    operation: "MERGE",
    match: { routeConfiguration: { portNumber: 80 } },
    value: { include_request_attempt_count: true },
  };

  it.each<[string, readonly Written[]]>([
    ["of all chains", [merge({ stat_prefix: "s" }), httpPatch("INSERT_BEFORE", at("router"))]],
    ["of chains by name", [httpPatch("ADD", named("x")), httpPatch("INSERT_FIRST", named("y")), merge({}, named("y"))]],
    ["by port", [httpPatch("ADD", { listener: { portNumber: 80 } }), merge({ stat_prefix: "s" })]],
    ["that merge HTTP filters", [merge({ http_filters: [{ name: "c" }] }), httpPatch("INSERT_AFTER", at("c"))]],
    ["of routes", [ofHosts]],
    ["of listeners", [{ applyTo: "LISTENER", operation: "MERGE", value: { name: "renamed", tcp_backlog_size: 9 } }]],
    [
      "of another type",
      [{ ...merge({}), value: { name: "r", typed_config: type("filters.network.tcp_proxy.v3.TcpProxy") } }],
    ],
  ])("are patched like a single one by patches %s", (_, written) => {
    const place = { patchesInlineRoutes: (name: string) => name.startsWith("inbound|") };
    const together = onListeners([...listeners, ...listeners], written, place);
    expect(together).toEqual([...listeners, ...listeners].map((each) => onListener(each, written, place)));
    expect(together.flatMap(({ effects }) => effects)).not.toEqual([]);
  });
});

describe("network filters", () => {
  const patch = (operation: string, name?: string): Written => ({
    applyTo: "NETWORK_FILTER",
    operation,
    value: { name: "new" },
    match: { listener: { filterChain: name === undefined ? {} : { filter: { name } } } },
  });

  it.each<[string, string | undefined, readonly string[]]>([
    ["ADD", undefined, ["a", "b", "new"]],
    ["INSERT_FIRST", "b", ["new", "a", "b"]],
    ["INSERT_BEFORE", "b", ["a", "new", "b"]],
    ["INSERT_AFTER", "a", ["a", "new", "b"]],
    ["REPLACE", "b", ["a", "new"]],
    ["REMOVE", "a", ["b"]],
    ["MERGE", "a", ["new", "b"]],
    ["MERGE_AND_REPLACE_LIST", "a", ["a", "b"]],
  ])("%s with %j", (operation, name, names) => {
    const result = onListener(listener({ filters: [tcp("a"), tcp("b")] }), [patch(operation, name)]);
    expect((chainsOf(result)[0]?.["filters"] as JsonObject[]).map((each) => each["name"])).toEqual(names);
  });
});

describe("filter chains", () => {
  const chains = [
    { name: "x", filterChainMatch: { serverNames: ["a.com"], destinationPort: 80 }, filters: [tcp("a")] },
    {
      name: "y",
      filterChainMatch: { transportProtocol: "tls", applicationProtocols: ["h2", "http/1.1"] },
      filters: [tcp("b")],
    },
    { name: "z", filters: [tcp("c")] },
  ];
  const remove = (filterChain: object, rest: object = {}): Written => ({
    applyTo: "FILTER_CHAIN",
    operation: "REMOVE",
    match: { listener: { filterChain, ...rest } },
  });
  const names = (patch: Written, name = "0.0.0.0_80"): readonly unknown[] =>
    chainsOf(onListener({ ...listener(...chains), name }, [patch])).map((each) => each["name"]);

  it.each<[object, object, readonly string[]]>([
    [{ name: "x" }, {}, ["y", "z"]],
    [{ sni: "a.com" }, {}, ["y", "z"]],
    [{ sni: "b.com" }, {}, ["x", "y", "z"]],
    [{ transportProtocol: "tls" }, {}, ["x", "z"]],
    [{ applicationProtocols: "h2" }, {}, ["x", "z"]],
    [{ applicationProtocols: "h2,h3" }, {}, ["x", "y", "z"]],
    [{ destinationPort: 80 }, {}, ["y", "z"]],
    [{}, { portNumber: 81 }, ["x", "y", "z"]],
    [{}, { name: "other" }, ["x", "y", "z"]],
  ])("are matched by %j, %j", (filterChain, rest, left) => expect(names(remove(filterChain, rest))).toEqual(left));

  it("of the listeners of all ports are matched by the port of a chain", () => {
    expect(names(remove({}, { portNumber: 80 }), "virtualInbound")).toEqual(["y", "z"]);
    expect(names(remove({}, { portNumber: 80 }))).toEqual([]);
  });

  it("are added and merged", () => {
    const value = { name: "new", filters: [{ name: "a" }] };
    const result = onListener(listener(...chains), [
      { applyTo: "FILTER_CHAIN", operation: "ADD", value },
      {
        applyTo: "FILTER_CHAIN",
        operation: "MERGE",
        value: { name: "merged" },
        match: { listener: { filterChain: { name: "z" } } },
      },
    ]);
    expect(chainsOf(result).map((each) => each["name"])).toEqual(["x", "y", "merged", "new"]);
  });

  it("the default chain is removed like any other", () => {
    const given = { ...listener(...chains), defaultFilterChain: { name: "d", filters: [tcp("d")] } };
    expect(onListener(given, [remove({ name: "d" })]).json).toEqual(listener(...chains));
  });
});

describe("listeners", () => {
  it("are merged and removed", () => {
    const merge: Written = { applyTo: "LISTENER", operation: "MERGE", value: { tcp_backlog_size: 7 } };
    expect(onListener(listener({ filters: [tcp("a")] }), [merge]).json).toMatchObject({ tcpBacklogSize: 7 });
    const remove: Written = { applyTo: "LISTENER", operation: "REMOVE", match: { listener: { portNumber: 80 } } };
    expect(onListener(listener(), [remove]).json).toBeUndefined();
    expect(onListener({ ...listener(), address: { pipe: { path: "a" } } }, [remove]).json).toBeDefined();
  });

  it.each<[string, string, readonly string[]]>([
    ["INSERT_BEFORE", "b", ["a", "new", "b"]],
    ["INSERT_AFTER", "a", ["a", "new", "b"]],
    ["REPLACE", "b", ["a", "new"]],
    ["REMOVE", "b", ["a"]],
    ["ADD", "b", ["a", "b", "new"]],
  ])("their filters: %s at %s", (operation, listenerFilter, names) => {
    const given = { ...listener(), listenerFilters: [{ name: "a" }, { name: "b" }] };
    const patch = {
      applyTo: "LISTENER_FILTER",
      operation,
      value: { name: "new" },
      match: { listener: { listenerFilter } },
    };
    const { json } = onListener(given, [patch]);
    expect(((json as JsonObject)["listenerFilters"] as JsonObject[]).map(({ name }) => name)).toEqual(names);
  });

  it("routes within them are patched where the place says so", () => {
    const routed = {
      filters: [
        {
          name: manager,
          typedConfig: { ...hcm, routeConfig: { name: "inbound|80||", virtualHosts: [{ name: "h", domains: ["*"] }] } },
        },
      ],
    };
    const patch: Written = {
      applyTo: "VIRTUAL_HOST",
      operation: "MERGE",
      value: { name: "renamed" },
      match: { context: "SIDECAR_INBOUND", routeConfiguration: { portNumber: 80 } },
    };
    const place = {
      context: Context.SIDECAR_INBOUND,
      patchesInlineRoutes: (name: string) => name.startsWith("inbound|"),
    };
    expect(JSON.stringify(onListener(listener(routed), [patch], place).json)).toContain("renamed");
    expect(onListener(listener(routed), [patch], { context: Context.SIDECAR_INBOUND }).effects).toEqual([]);
  });
});
