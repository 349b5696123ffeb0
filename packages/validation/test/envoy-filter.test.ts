import { describe, expect, it } from "vitest";
import { answerTo } from "./shared.js";

const general = /^EnvoyFilter exposes internals/;
const lua = "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua";

async function verdictOn(patch: object) {
  const answer = await answerTo({
    apiVersion: "networking.istio.io/v1alpha3",
    kind: "EnvoyFilter",
    metadata: { name: "lua" },
    spec: { configPatches: [patch] },
  });
  return {
    message: answer.allowed
      ? ""
      : answer.message.replace("configuration is invalid: EnvoyFilter shop/lua: configPatches[0].", ""),
    warnings: (answer.warnings ?? []).filter((text) => !general.test(text)),
  };
}

const patch = (applyTo: string, value: object, operation = "MERGE") => ({ applyTo, patch: { operation, value } });
const filter = (config: object) => patch("HTTP_FILTER", { name: "lua", typed_config: config }, "INSERT_FIRST");

it("warns of every EnvoyFilter that it depends on internals", async () => {
  const object = { apiVersion: "networking.istio.io/v1alpha3", kind: "EnvoyFilter", metadata: { name: "a" }, spec: {} };
  expect((await answerTo(object)).warnings).toEqual([expect.stringMatching(general)]);
});

describe("values that Envoy accepts", () => {
  it.each<[string, object]>([
    ["LISTENER", { per_connection_buffer_limit_bytes: 1024 }],
    [
      "FILTER_CHAIN",
      {
        transport_socket: {
          name: "tls",
          typed_config: {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
          },
        },
      },
    ],
    [
      "NETWORK_FILTER",
      { name: "a", typedConfig: { "@type": "type.googleapis.com/google.protobuf.Struct", value: { a: 1 } } },
    ],
    ["HTTP_FILTER", { name: "a", config_discovery: { type_urls: [lua] } }],
    ["ROUTE_CONFIGURATION", { max_direct_response_body_size_bytes: 10 }],
    ["VIRTUAL_HOST", { typed_per_filter_config: { lua: { "@type": lua } } }],
    ["HTTP_ROUTE", { route: { timeout: "1.5s" } }],
    ["CLUSTER", { connectTimeout: "5s", lb_policy: "RING_HASH" }],
    ["EXTENSION_CONFIG", { name: "a", typed_config: { "@type": lua, inlineCode: "-- code" } }],
    ["LISTENER_FILTER", { name: "a", typed_config: { "@type": "type.googleapis.com/google.protobuf.Empty" } }],
  ])("%s", async (applyTo, value) => {
    expect(await verdictOn(patch(applyTo, value))).toEqual({ message: "", warnings: [] });
  });
});

it("knows fields and messages that Envoy has had for a few versions only", async () => {
  const type = (name: string): string => `type.googleapis.com/envoy.extensions.${name}`;
  const allowed = async (given: object): Promise<void> =>
    expect(await verdictOn(given)).toEqual({ message: "", warnings: [] });
  await allowed(patch("VIRTUAL_HOST", { request_body_buffer_limit: "65536" }));
  await allowed(
    filter({
      "@type": type("filters.http.local_ratelimit.v3.LocalRateLimit"),
      stat_prefix: "a",
      rate_limits: [{ actions: [{ remote_address: {} }] }],
    }),
  );
  await allowed(
    filter({
      "@type": type("filters.http.oauth2.v3.OAuth2"),
      config: {
        disable_refresh_token_set_cookie: true,
        end_session_endpoint: "https://a.example/end",
        stat_prefix: "a",
      },
    }),
  );
  await allowed(
    filter({
      "@type": type("filters.http.ext_proc.v3.ExternalProcessor"),
      http_service: { http_service: { http_uri: { uri: "https://a.example", cluster: "a", timeout: "1s" } } },
      status_on_error: { code: "BadGateway" },
      allowed_override_modes: [{ request_header_mode: "SKIP" }],
    }),
  );
  await allowed(
    patch("NETWORK_FILTER", {
      name: "envoy.filters.network.http_connection_manager",
      typed_config: {
        "@type": type("filters.network.http_connection_manager.v3.HttpConnectionManager"),
        access_log: [
          {
            name: "stats",
            typed_config: {
              "@type": type("access_loggers.stats.v3.Config"),
              counters: [{ stat: { name: "requests", tags: [{ name: "code", value_format: "%RESPONSE_CODE%" }] } }],
            },
          },
        ],
      },
    }),
  );
});

describe("values that Envoy rejects are denied with their field", () => {
  it.each<[string, object, string]>([
    [
      "a duration",
      patch("CLUSTER", { connect_timeout: "5" }),
      'patch.value.connect_timeout: is "5", expected a duration such as 1.5s',
    ],
    [
      "an enumeration",
      patch("CLUSTER", { type: "strictDNS" }),
      'patch.value.type: is "strictDNS", expected one of STATIC, STRICT_DNS, LOGICAL_DNS, EDS, ORIGINAL_DST',
    ],
    [
      "a list",
      patch("HTTP_ROUTE", { request_headers_to_add: {} }),
      "patch.value.request_headers_to_add: is a mapping, expected a list",
    ],
    [
      "a packed message",
      filter({ "@type": lua, inlineCode: 3 }),
      "patch.value.typed_config.inlineCode: is 3, expected a string (quote it)",
    ],
    [
      "a packed message in a packed one",
      filter({
        "@type": "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
        typed_config: { "@type": lua, sourceCodes: 1 },
      }),
      "patch.value.typed_config.typed_config.sourceCodes: is 1, expected a mapping",
    ],
    [
      "a packed string",
      filter({ "@type": "type.googleapis.com/google.protobuf.StringValue", value: 1 }),
      "patch.value.typed_config.value: is 1, expected a string (quote it)",
    ],
    [
      "a misspelled type",
      filter({ "@type": `${lua}a` }),
      'patch.value.typed_config["@type"]: is envoy.extensions.filters.http.lua.v3.Luaa, which does not exist; did you mean envoy.extensions.filters.http.lua.v3.Lua?',
    ],
    [
      "a type of Envoy's v2 API",
      filter({ "@type": "type.googleapis.com/envoy.config.filter.http.lua.v2.Lua" }),
      'patch.value.typed_config["@type"]: is envoy.config.filter.http.lua.v2.Lua of Envoy\'s v2 API, which was removed; expected a type of the v3 API',
    ],
    [
      "a missing type",
      filter({ inlineCode: "" }),
      `patch.value.typed_config["@type"]: is missing, expected the URL of a message such as ${lua}`,
    ],
    ...Object.entries({
      "Lua inlineCode": { "@type": lua, inlineCode: "x y" },
      "Lua defaultSourceCode.inlineString": { "@type": lua, defaultSourceCode: { inlineString: "x y" } },
      "Lua default_source_code.inline_bytes": {
        "@type": lua,
        default_source_code: { inline_bytes: Buffer.from("x y").toString("base64") },
      },
      "Lua sourceCodes.a.inlineString": {
        "@type": lua,
        sourceCodes: { b: { inlineString: "x = 1" }, a: { inlineString: "x y" } },
      },
      "LuaPerRoute source_code.inline_string": { "@type": `${lua}PerRoute`, source_code: { inline_string: "x y" } },
      "LuaConfig source_code.inline_string": {
        "@type": "type.googleapis.com/envoy.extensions.router.cluster_specifiers.lua.v3.LuaConfig",
        source_code: { inline_string: "x y" },
      },
      "TypedStruct value.inline_code": {
        "@type": "type.googleapis.com/xds.type.v3.TypedStruct",
        type_url: lua,
        value: { inline_code: "x y" },
      },
    }).map(([name, config]): [string, object, string] => [
      name,
      filter(config),
      `patch.value.typed_config.${name.replace(/^\S+ /, "")}: is not valid Lua: line 1: '=' expected near "y"`,
    ]),
    [
      "Lua of a route",
      patch("VIRTUAL_HOST", {
        routes: [
          { typed_per_filter_config: { lua: { "@type": `${lua}PerRoute`, source_code: { inlineString: "(" } } } },
        ],
      }),
      'patch.value.routes[0].typed_per_filter_config.lua.source_code.inlineString: is not valid Lua: line 1: unexpected symbol near "<eof>"',
    ],
  ])("%s", async (_, given, message) => {
    expect(await verdictOn(given)).toMatchObject({ message });
  });
});

describe("values that a later Envoy may accept are allowed with a warning", () => {
  it.each<[string, object, string]>([
    [
      "an unknown name of an enumeration",
      patch("CLUSTER", { type: "OTHER" }),
      'type: is "OTHER", expected one of STATIC, STRICT_DNS, LOGICAL_DNS, EDS, ORIGINAL_DST',
    ],
    [
      "an unknown field",
      patch("CLUSTER", { connect_timeot: "5s" }),
      "connect_timeot: is not a field of Cluster; did you mean connectTimeout?",
    ],
    [
      "an unknown field of a packed message",
      filter({ "@type": lua, inline: "" }),
      "typed_config.inline: is not a field of Lua, which has inlineCode, sourceCodes, defaultSourceCode, statPrefix, clearRouteCache, filterContext, packagePaths, packageCpaths, sharedVmId",
    ],
    [
      "an unknown package",
      filter({ "@type": "type.googleapis.com/com.example.Filter", a: 1 }),
      'typed_config["@type"]: is com.example.Filter, which this istiod does not know: the message is not checked',
    ],
  ])("%s", async (_, given, warning) => {
    expect(await verdictOn(given)).toEqual({ message: "", warnings: [`configPatches[0].patch.value.${warning}`] });
  });

  it("a filter that is configured by its name alone", async () => {
    expect(await verdictOn(patch("HTTP_FILTER", { name: "envoy.lua" }, "ADD"))).toEqual({
      message: "",
      warnings: [
        'configPatches[0].patch.value: has no typed_config for "envoy.lua", which a name alone does not determine; add typed_config',
      ],
    });
  });
});

it("patches of waypoints are not checked, as in Istio, and have no effect", async () => {
  const match = { context: "WAYPOINT", waypoint: {} };
  expect(await verdictOn({ ...patch("CLUSTER", { connect_timeout: "5" }), match })).toEqual({
    message: "",
    warnings: [
      "configPatches[0].match.waypoint: has no effect: Istio does not implement it either; patches are not applied to waypoints",
    ],
  });
  const script = filter({ "@type": lua, inlineCode: "x y" });
  expect(await verdictOn({ ...script, match })).toMatchObject({ message: "" });
});

it.each([
  [
    "the bootstrap",
    patch("BOOTSTRAP", { stats_config: { use_all_default_tags: true } }),
    "applyTo: is BOOTSTRAP, which has no effect: agents write the bootstrap; use ProxyConfig",
  ],
  [
    "replaced lists of a filter",
    patch("HTTP_FILTER", { name: "a", typed_config: { "@type": lua } }, "MERGE_AND_REPLACE_LIST"),
    "patch.operation: has no effect with applyTo HTTP_FILTER; use MERGE or REPLACE",
  ],
  [
    "a transport socket to match",
    {
      ...patch("FILTER_CHAIN", { name: "a" }),
      match: { context: "GATEWAY", listener: { filterChain: { transportSocket: "tls" } } },
    },
    "match.listener.filterChain.transportSocket: has no effect: Istio does not implement it either; match transportProtocol",
  ],
])("what no proxy gets has a warning: %s", async (_, given, warning) => {
  expect(await verdictOn(given)).toEqual({ message: "", warnings: [`configPatches[0].${warning}`] });
});
