import fc from "fast-check";
import { from, list, numbers, some, texts } from "../values.js";
import { type Manifest, metadata, object } from "./manifest.js";

const scripts = fc.oneof(
  from("function envoy_on_request(h) h:logInfo('a') end", "x = 1", "while false do break; end", "goto a; ::a::"),
  from("x y", "break", "x = 'a\nb'", "x = '\\q'", "goto a", "x = 1 // 2", "\x1bLJ", "local é = 0b1", "x = 1\0 y z"),
);
const selector = from({ matchLabels: { app: "cart" } }, { matchLabels: { istio: "ingress" } }, { matchLabels: {} });
const match = list(
  some({
    mode: from("CLIENT", "SERVER", "CLIENT_AND_SERVER"),
    ports: list(fc.record({ number: fc.oneof(from(80, 443, 8080, 9000), numbers) })),
  }),
);
const priority = from(0, -1, 2_147_483_647);
const env = list(some({ name: texts, value: texts, valueFrom: from("INLINE", "HOST") }, ["name"]), 3);
const moduleFields = {
  url: fc.oneof(from("a.example/b:v1", "oci://a.example/b", "https://a.example/b.wasm"), texts),
  pluginName: texts,
  pluginConfig: fc.dictionary(texts, texts, { maxKeys: 2 }),
  sha256: from("", "0".repeat(64)),
  failStrategy: from("FAIL_OPEN", "FAIL_CLOSE", "FAIL_RELOAD"),
  imagePullPolicy: from("IfNotPresent", "Always"),
  imagePullSecret: from("a", "absent"),
  type: from("HTTP", "NETWORK"),
  vmConfig: fc.record({ env }),
};

export const trafficExtension = object(
  "extensions.istio.io/v1alpha1",
  "TrafficExtension",
  fc
    .tuple(
      some({ selector, match, priority, phase: from("AUTHN", "AUTHZ", "STATS") }),
      fc.oneof(
        scripts.map((inlineCode) => ({ lua: { inlineCode } })),
        some(moduleFields, ["url"]).map((wasm) => ({ wasm })),
      ),
    )
    .map(([common, filter]) => ({ ...common, ...filter })),
);

export const wasmPlugin = object(
  "extensions.istio.io/v1alpha1",
  "WasmPlugin",
  some({ ...moduleFields, selector, match, priority, phase: from("AUTHN", "AUTHZ", "STATS") }, ["url"]),
);

const http = "envoy.extensions.filters.http";
const typed = (name: string, fields: object = {}): object => ({ "@type": `type.googleapis.com/${name}`, ...fields });
const luaConfig = scripts.chain((text) =>
  from(
    { inline_code: text },
    { default_source_code: { inline_string: text } },
    { sourceCodes: { a: { inlineString: text } } },
    { default_source_code: { inline_bytes: Buffer.from(text).toString("base64") } },
  ),
);
const httpFilter = fc.oneof(
  luaConfig.map((config) => ({ name: "lua", typed_config: typed(`${http}.lua.v3.Lua`, config) })),
  from(
    { name: "cors", typed_config: typed(`${http}.cors.v3.Cors`) },
    { name: "buffer", typed_config: typed(`${http}.buffer.v3.Buffer`, { max_request_bytes: 1 }) },
    {
      name: "struct",
      typed_config: typed("xds.type.v3.TypedStruct", { type_url: `x/${http}.cors.v3.Cors`, value: {} }),
    },
  ),
);
const context = from("ANY", "SIDECAR_INBOUND", "SIDECAR_OUTBOUND", "GATEWAY");
/** Not those that add a filter after the router, which Envoy rejects: see *Open* in design note 022. */
const insertion = from("INSERT_FIRST", "INSERT_BEFORE");
const patchOf = (
  applyTo: string,
  operation: fc.Arbitrary<string>,
  value: fc.Arbitrary<object>,
  more: fc.Arbitrary<object> = fc.constant({}),
): fc.Arbitrary<unknown> =>
  fc.tuple(context, operation, value, more).map(([side, op, patched, matched]) => ({
    applyTo,
    match: { context: side, ...matched },
    patch: { operation: op, value: patched },
  }));
const atFilter = from(
  {},
  { listener: { filterChain: { filter: { name: "envoy.filters.network.http_connection_manager" } } } },
  {
    listener: {
      filterChain: {
        filter: {
          name: "envoy.filters.network.http_connection_manager",
          subFilter: { name: "envoy.filters.http.router" },
        },
      },
    },
  },
  { listener: { portNumber: 80 } },
);
const patches = fc.oneof(
  { weight: 4, arbitrary: patchOf("HTTP_FILTER", insertion, httpFilter, atFilter) },
  { weight: 1, arbitrary: patchOf("HTTP_FILTER", from("MERGE"), httpFilter, atFilter) },
  {
    weight: 2,
    arbitrary: patchOf(
      "VIRTUAL_HOST",
      from("MERGE"),
      scripts.map((text) => ({
        typed_per_filter_config: { lua: typed(`${http}.lua.v3.LuaPerRoute`, { source_code: { inline_string: text } }) },
      })),
    ),
  },
  {
    weight: 1,
    arbitrary: patchOf(
      "HTTP_ROUTE",
      from("MERGE"),
      from({ route: { timeout: "1s" } }, { request_headers_to_remove: ["a"] }),
    ),
  },
  {
    weight: 1,
    arbitrary: patchOf("CLUSTER", from("MERGE"), from({ connect_timeout: "1s" }, { dns_lookup_family: "V4_ONLY" })),
  },
  {
    weight: 1,
    arbitrary: patchOf(
      "LISTENER",
      from("MERGE"),
      from({ per_connection_buffer_limit_bytes: 1 }, { continue_on_listener_filters_timeout: true }),
    ),
  },
);

export const envoyFilter: fc.Arbitrary<Manifest> = fc
  .record({
    metadata,
    spec: some(
      {
        configPatches: list(patches, 3),
        workloadSelector: from({ labels: { app: "cart" } }, { labels: { istio: "ingress" } }),
        priority,
      },
      ["configPatches"],
    ),
  })
  .map((fields) => ({ apiVersion: "networking.istio.io/v1alpha3", kind: "EnvoyFilter", ...fields }));
