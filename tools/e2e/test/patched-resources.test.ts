import type { JsonObject } from "@bufbuild/protobuf";
import { findEnvoy } from "@istiod/envoy-binary";
import { whyNoEnvoy } from "@istiod/e2e";
import { clusterType } from "@istiod/resources";
import { patchResults } from "@istiod/xds-generators";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { Acceptance } from "./hostile-objects/acceptance.js";
import type { Manifest } from "./hostile-objects/kinds/manifest.js";
import { hostileMesh, proxiesOf, resourcesFor } from "./hostile-objects/mesh.js";

const reason = await whyNoEnvoy();
let acceptance: Acceptance;
beforeAll(async () => {
  if (reason === undefined) acceptance = await Acceptance.start((await findEnvoy())!);
}, 60_000);
afterAll(() => acceptance?.close());
beforeEach(({ skip }) => skip(reason !== undefined, reason));

const type = (name: string): JsonObject => ({ "@type": `type.googleapis.com/envoy.extensions.${name}` });
const manager = "envoy.filters.network.http_connection_manager";
const httpFilter = (
  name: string,
  config: JsonObject,
  [operation, of] = ["INSERT_BEFORE", "envoy.filters.http.router"],
): object => ({
  applyTo: "HTTP_FILTER",
  match: { listener: { filterChain: { filter: { name: manager, subFilter: { name: of } } } } },
  patch: { operation, value: { name, typed_config: config } },
});
const merge = (applyTo: string, value: object, match: object = {}): object => ({
  applyTo,
  match,
  patch: { operation: "MERGE", value },
});

/** Patches as people write them: for limits, headers, logs, timeouts and filters. */
const usual: Readonly<Record<string, object>> = {
  "a Lua filter": httpFilter("lua", {
    ...type("filters.http.lua.v3.Lua"),
    default_source_code: { inline_string: "function envoy_on_request(h) end" },
  }),
  "a local rate limit": httpFilter("envoy.filters.http.local_ratelimit", {
    ...type("filters.http.local_ratelimit.v3.LocalRateLimit"),
    stat_prefix: "limit",
    token_bucket: { max_tokens: 10, tokens_per_fill: 10, fill_interval: "60s" },
    filter_enabled: { runtime_key: "a", default_value: { numerator: 100, denominator: "HUNDRED" } },
  }),
  "a header mutation": httpFilter("envoy.filters.http.header_mutation", {
    ...type("filters.http.header_mutation.v3.HeaderMutation"),
    mutations: { request_mutations: [{ remove: "x-secret" }] },
  }),
  "a filter as a TypedStruct, after one that the proxy lacks": httpFilter(
    "lua",
    {
      "@type": "type.googleapis.com/udpa.type.v1.TypedStruct",
      type_url: "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
      value: { stat_prefix: "x" },
    },
    ["INSERT_AFTER", "istio.stats"],
  ),
  "settings of connection managers": merge(
    "NETWORK_FILTER",
    {
      typed_config: {
        ...type("filters.network.http_connection_manager.v3.HttpConnectionManager"),
        server_header_transformation: "PASS_THROUGH",
        common_http_protocol_options: { idle_timeout: "30s", headers_with_underscores_action: "REJECT_REQUEST" },
      },
    },
    { listener: { filterChain: { filter: { name: manager } } } },
  ),
  "limits of listeners": merge("LISTENER", { per_connection_buffer_limit_bytes: 32768 }),
  "timeouts of filter chains": merge("FILTER_CHAIN", { transport_socket_connect_timeout: "7s" }),
  "keepalive of clusters": merge("CLUSTER", {
    connect_timeout: "3s",
    upstream_connection_options: { tcp_keepalive: { keepalive_time: 60 } },
  }),
  "limits of virtual hosts": merge("VIRTUAL_HOST", { include_request_attempt_count: true }),
  "timeouts of routes": merge("HTTP_ROUTE", { response_headers_to_remove: ["server"] }),
  "an added cluster and route": {
    applyTo: "CLUSTER",
    patch: {
      operation: "ADD",
      value: {
        name: "rate-limit",
        type: "STRICT_DNS",
        connect_timeout: "1s",
        load_assignment: {
          cluster_name: "rate-limit",
          endpoints: [
            {
              lb_endpoints: [{ endpoint: { address: { socket_address: { address: "localhost", port_value: 8081 } } } }],
            },
          ],
        },
      },
    },
  },
};

function filter(patches: readonly object[]): Manifest {
  return {
    apiVersion: "networking.istio.io/v1alpha3",
    kind: "EnvoyFilter",
    metadata: { name: "a", namespace: "istio-system", labels: {} },
    spec: { configPatches: patches },
  } as unknown as Manifest;
}

/** Offers the resources of a sidecar and a gateway with patches to Envoy. Returns its rejections. */
async function offer(patches: readonly object[]): Promise<readonly string[]> {
  const { database } = hostileMesh([filter(patches)]);
  const results: number[] = [];
  for (const proxy of proxiesOf(acceptance.extensions)) {
    results.push(
      ...database
        .view(proxy)
        .call(patchResults)
        .map(({ resources }) => resources),
    );
    const found = resourcesFor(database, proxy);
    acceptance.keep(found.get(clusterType) ?? []);
    for (const [typeUrl, resources] of found) for (const each of resources) acceptance.add(typeUrl, each, 0);
  }
  expect(Math.max(...results)).toBeGreaterThan(0);
  return (await acceptance.rejections()).map(({ name, message }) => `${name}: ${message}`);
}

it.each(Object.entries(usual))("Envoy accepts %s", { timeout: 60_000, retry: 0 }, async (_, patch) => {
  expect(await offer([patch])).toEqual([]);
});

it("Envoy accepts all of them together", { timeout: 60_000, retry: 0 }, async () => {
  expect(await offer(Object.values(usual))).toEqual([]);
});

it("Envoy rejects what a patch makes invalid", { timeout: 60_000, retry: 0 }, async () => {
  const rejections = await offer([httpFilter("no", { ...type("filters.http.local_ratelimit.v3.LocalRateLimit") })]);
  expect(rejections.join("\n")).toContain("StatPrefix");
});
