import { fromJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { PatchError, decodePatch } from "@istiod/envoy-filter";
import { EnvoyFilter_EnvoyConfigObjectPatchSchema as ConfigPatchSchema } from "@istiod/istio-api/networking/v1alpha3/envoy_filter";
import fc from "fast-check";
import { expect, it } from "vitest";
import { onCluster, onListener, onRoutes, type Written } from "./patches.js";

const cases = Number(process.env["HOSTILE_PATCH_CASES"] ?? 300);
const seed = Number(process.env["HOSTILE_PATCH_SEED"] ?? 1);

const type = (name: string): string => `type.googleapis.com/${name}`;
const manager = "envoy.filters.network.http_connection_manager";
const tcpProxy = type("envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy");
const hcm = type("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager");
const typeUrls = [
  tcpProxy,
  hcm,
  type("google.protobuf.Any"),
  type("google.protobuf.Struct"),
  type("x.Unknown"),
  "",
  "a",
];
const keys = [
  "name",
  "typed_config",
  "filters",
  "http_filters",
  "route",
  "connect_timeout",
  "transport_socket",
  "domains",
  "virtual_hosts",
  "metadata",
  "load_assignment",
  "__proto__",
  "constructor",
  "@type",
  "value",
  "config_discovery",
  "filter_chain_match",
  "match",
];

const { value: json } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, depthSize: "small" },
    fc.constantFrom<JsonValue>(null, true, -1, 1e300, "", "1s", "-1s", "\ud800", "a".repeat(5000), "NaN"),
    fc.constantFrom<JsonValue>(...typeUrls),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...keys), tie("value"), { maxKeys: 5 }),
    fc
      .tuple(fc.constantFrom(...typeUrls), tie("value"))
      .map(([url, inner]) => ({ "@type": url, value: inner, name: inner })),
  ),
}));
const kinds = [
  "LISTENER",
  "FILTER_CHAIN",
  "NETWORK_FILTER",
  "HTTP_FILTER",
  "LISTENER_FILTER",
  "ROUTE_CONFIGURATION",
  "VIRTUAL_HOST",
  "HTTP_ROUTE",
  "CLUSTER",
  "EXTENSION_CONFIG",
  "BOOTSTRAP",
];
const operations = [
  "MERGE",
  "ADD",
  "REMOVE",
  "INSERT_BEFORE",
  "INSERT_AFTER",
  "INSERT_FIRST",
  "REPLACE",
  "MERGE_AND_REPLACE_LIST",
];
const named = fc.constantFrom("a", manager, "b", "default");
const patch: fc.Arbitrary<Written> = fc.record({
  applyTo: fc.constantFrom(...kinds),
  operation: fc.constantFrom(...operations),
  value: fc.dictionary(fc.constantFrom(...keys), json, { maxKeys: 5 }) as fc.Arbitrary<object>,
  match: fc.oneof(
    fc.constant({}),
    named.map((name) => ({
      listener: { filterChain: { filter: { name, subFilter: { name } } }, listenerFilter: name },
    })),
    named.map((name) => ({ routeConfiguration: { vhost: { name, route: { name } } } })),
  ),
});

const cluster: JsonObject = {
  name: "a",
  connectTimeout: "1s",
  transportSocket: { name: "a", typedConfig: { "@type": tcpProxy } },
};
const listener: JsonObject = {
  name: "a",
  listenerFilters: [{ name: "a", typedConfig: { "@type": tcpProxy } }],
  filterChains: [
    { filters: [{ name: "b", typedConfig: { "@type": tcpProxy } }] },
    {
      filters: [
        {
          name: manager,
          typedConfig: { "@type": hcm, httpFilters: [{ name: "a", typedConfig: { "@type": tcpProxy } }] },
        },
      ],
    },
  ],
};
const routes: JsonObject = {
  name: "a",
  virtualHosts: [{ name: "a", domains: ["a"], routes: [{ name: "a", route: { cluster: "a" } }] }],
};

function isDecoded({ applyTo, match, operation, value }: Written): boolean {
  try {
    decodePatch("a", fromJson(ConfigPatchSchema, { applyTo, match, patch: { operation, value } } as JsonValue));
    return true;
  } catch (error) {
    if (error instanceof PatchError) return false;
    throw error;
  }
}

it("hostile patches are rejected or applied alone", { timeout: 20_000 + cases * 20 }, () => {
  const harmless: Written = { applyTo: "CLUSTER", operation: "MERGE", value: { alt_stat_name: "after" } };
  let decoded = 0;
  fc.assert(
    fc.property(patch, (hostile) => {
      if (!isDecoded(hostile)) return;
      decoded++;
      const result = onCluster(cluster, [hostile, harmless]);
      if (result.json !== undefined) expect(result.json).toMatchObject({ altStatName: "after" });
      onListener(listener, [hostile]);
      onRoutes(routes, [hostile]);
    }),
    { numRuns: cases, seed },
  );
  expect(decoded).toBeGreaterThan(cases / 20);
});
