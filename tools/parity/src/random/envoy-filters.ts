import fc, { type Arbitrary } from "fast-check";
import { few, objects, oneOf, optional } from "./arbitraries.js";

const extension = (name: string, fields: object = {}): object => ({
  "@type": `type.googleapis.com/envoy.extensions.${name}`,
  ...fields,
});
const manager = "envoy.filters.network.http_connection_manager";

/** Values of patches by what they apply to. All have the types of the fields, as Istio's webhook requires. */
const values = {
  CLUSTER: [
    { connect_timeout: "1.5s", circuit_breakers: { thresholds: [{ max_retries: 3 }] } },
    { name: "added", type: "STATIC", connect_timeout: "0.250s" },
    { lb_policy: "RANDOM", outlier_detection: { consecutive_5xx: 7 } },
    {
      transport_socket: {
        name: "envoy.transport_sockets.tls",
        typed_config: extension("transport_sockets.tls.v3.UpstreamTlsContext", { sni: "patched.example.com" }),
      },
    },
  ],
  LISTENER: [
    { name: "added", address: { socket_address: { address: "127.0.0.1", port_value: 9999 } } },
    { per_connection_buffer_limit_bytes: 32768, tcp_backlog_size: 7 },
    { listener_filters_timeout: "0s", continue_on_listener_filters_timeout: true },
  ],
  LISTENER_FILTER: [{ name: "added", typed_config: extension("filters.listener.tls_inspector.v3.TlsInspector") }],
  FILTER_CHAIN: [
    { name: "added", filter_chain_match: { destination_port: 7777 }, filters: [] },
    { transport_socket_connect_timeout: "3s" },
  ],
  NETWORK_FILTER: [
    { name: "added", typed_config: extension("filters.network.rbac.v3.RBAC", { stat_prefix: "added" }) },
    {
      name: manager,
      typed_config: extension("filters.network.http_connection_manager.v3.HttpConnectionManager", {
        server_name: "patched",
        xff_num_trusted_hops: 2,
        access_log: [{ name: "added" }],
      }),
    },
    {
      name: "envoy.filters.network.tcp_proxy",
      typed_config: extension("filters.network.tcp_proxy.v3.TcpProxy", { idle_timeout: "5s" }),
    },
  ],
  HTTP_FILTER: [
    {
      name: "added",
      typed_config: extension("filters.http.lua.v3.Lua", { default_source_code: { inline_string: "-- nothing" } }),
    },
    {
      name: "envoy.filters.http.router",
      typed_config: extension("filters.http.router.v3.Router", { start_child_span: true }),
    },
    {
      name: "envoy.filters.http.fault",
      typed_config: extension("filters.http.fault.v3.HTTPFault", { max_active_faults: 5 }),
    },
  ],
  ROUTE_CONFIGURATION: [
    { request_headers_to_remove: ["x-removed"] },
    { response_headers_to_add: [{ header: { key: "x-added", value: "1" } }] },
  ],
  VIRTUAL_HOST: [
    { name: "added", domains: ["added.example.com"] },
    { include_request_attempt_count: true, rate_limits: [{ actions: [{ remote_address: {} }] }] },
  ],
  HTTP_ROUTE: [
    { name: "added", match: { prefix: "/added" }, route: { cluster: "added", timeout: "2s" } },
    { route: { timeout: "7s", retry_policy: { num_retries: 4 } } },
  ],
  EXTENSION_CONFIG: [{ name: "added", typed_config: extension("filters.http.cors.v3.Cors") }],
} as const;
type ApplyTo = keyof typeof values;

const operations: Readonly<Record<ApplyTo, readonly string[]>> = {
  CLUSTER: ["ADD", "MERGE", "MERGE_AND_REPLACE_LIST", "REMOVE"],
  LISTENER: ["ADD", "MERGE", "MERGE_AND_REPLACE_LIST", "REMOVE"],
  LISTENER_FILTER: ["ADD", "INSERT_FIRST", "INSERT_BEFORE", "INSERT_AFTER", "REPLACE", "REMOVE", "MERGE"],
  FILTER_CHAIN: ["ADD", "MERGE", "MERGE_AND_REPLACE_LIST", "REMOVE"],
  NETWORK_FILTER: ["ADD", "INSERT_FIRST", "INSERT_BEFORE", "INSERT_AFTER", "REPLACE", "REMOVE", "MERGE"],
  HTTP_FILTER: ["ADD", "INSERT_FIRST", "INSERT_BEFORE", "INSERT_AFTER", "REPLACE", "REMOVE", "MERGE"],
  ROUTE_CONFIGURATION: ["MERGE", "MERGE_AND_REPLACE_LIST"],
  VIRTUAL_HOST: ["ADD", "REPLACE", "REMOVE", "MERGE", "MERGE_AND_REPLACE_LIST"],
  HTTP_ROUTE: ["ADD", "INSERT_FIRST", "INSERT_BEFORE", "INSERT_AFTER", "REMOVE", "MERGE", "MERGE_AND_REPLACE_LIST"],
  EXTENSION_CONFIG: ["ADD"],
};

const filterNames = ["envoy.filters.http.router", "envoy.filters.http.fault", "istio.alpn", "envoy.filters.http.cors"];
const filterChain = (hasSubFilters: boolean) =>
  optional({
    name: oneOf("virtualOutbound-catchall-tcp", "0.0.0.0_8080", "absent"),
    sni: oneOf("db.example.com", "*.example.com"),
    transportProtocol: oneOf("tls", "raw_buffer"),
    applicationProtocols: oneOf("h2", "h2c,http/1.1", "istio"),
    destinationPort: oneOf(8080, 9090),
    filter: fc
      .tuple(
        oneOf(manager, "envoy.filters.network.tcp_proxy"),
        optional({ subFilter: oneOf(...filterNames).map((name) => ({ name })) }),
      )
      .map(([name, rest]) => ({ name, ...(hasSubFilters && name === manager && rest) })),
  });
const listener = (hasSubFilters: boolean) =>
  optional({
    name: oneOf("virtualInbound", "virtualOutbound", "0.0.0.0_80"),
    portNumber: oneOf(80, 8080, 9090, 443, 15006),
    portName: oneOf("http"),
    listenerFilter: oneOf("envoy.filters.listener.http_inspector", "envoy.filters.listener.original_dst"),
    filterChain: filterChain(hasSubFilters),
  });
const routeConfiguration = optional({
  name: oneOf("80", "http.8080", "inbound|80||"),
  portNumber: oneOf(80, 8080),
  portName: oneOf("http"),
  gateway: oneOf("shop/edge", "shop/absent"),
  vhost: optional({
    name: oneOf("*:80", "cart.shop.svc.cluster.local:80", "inbound|http|80", "*:8080"),
    domainName: oneOf("cart", "*", "cart.shop"),
    route: optional({ name: oneOf("default", "absent"), action: oneOf("ANY", "ROUTE", "REDIRECT", "DIRECT_RESPONSE") }),
  }),
});
const cluster = optional({
  name: oneOf("BlackHoleCluster", "outbound|80||cart.shop.svc.cluster.local"),
  service: oneOf("cart.shop.svc.cluster.local", "db.shop.svc.cluster.local"),
  portNumber: oneOf(80, 3306),
  subset: oneOf("v1"),
});

function matchOf(applyTo: ApplyTo): Arbitrary<object> {
  if (applyTo === "EXTENSION_CONFIG") return fc.constant({});
  if (applyTo === "CLUSTER") return optional({ cluster });
  return ["ROUTE_CONFIGURATION", "VIRTUAL_HOST", "HTTP_ROUTE"].includes(applyTo)
    ? optional({ routeConfiguration })
    : optional({ listener: listener(applyTo === "HTTP_FILTER") });
}

const clientMatch = optional({
  context: oneOf("ANY", "SIDECAR_INBOUND", "SIDECAR_OUTBOUND", "GATEWAY"),
  proxy: optional({ proxyVersion: oneOf("^1\\.2.*", "^1\\.3[01]\\..*"), metadata: oneOf({ NAMESPACE: "shop" }) }),
});

const patch: Arbitrary<object> = oneOf(...(Object.keys(values) as ApplyTo[])).chain((applyTo) =>
  fc
    .tuple(
      fc.tuple(clientMatch, matchOf(applyTo)),
      oneOf(...operations[applyTo]),
      fc.constantFrom<object>(...values[applyTo]),
    )
    .map(([match, operation, value]) => ({
      applyTo,
      match: Object.assign({}, ...match) as object,
      patch: { operation, ...(operation !== "REMOVE" && { value }) },
    })),
);

const spec = fc
  .tuple(
    few(patch, 4, 1),
    optional({
      priority: oneOf(-10, 0, 5),
      workloadSelector: oneOf({ app: "cart" }, { istio: "gateway" }).map((labels) => ({ labels })),
    }),
  )
  .map(([configPatches, rest]) => ({ configPatches, ...rest }));

/** EnvoyFilters of the mesh, of namespaces and of workloads. */
export const envoyFilters = objects("networking.istio.io/v1alpha3", "EnvoyFilter", spec, 6, 1);
