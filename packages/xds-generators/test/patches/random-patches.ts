import fc from "fast-check";

const type = (name: string): object => ({ "@type": `type.googleapis.com/envoy.extensions.${name}` });
const manager = "envoy.filters.network.http_connection_manager";

/** Values of patches, some of which fail where they are merged. */
const values = {
  CLUSTER: [
    { alt_stat_name: "x", connect_timeout: "1s" },
    { name: "outbound|80||added.example.com" },
    { circuit_breakers: { thresholds: [{ max_retries: 3 }] } },
    {
      transport_socket: {
        name: "envoy.transport_sockets.tls",
        typed_config: type("transport_sockets.raw_buffer.v3.RawBuffer"),
      },
    },
    {
      transport_socket: {
        name: "tls",
        typed_config: { ...type("transport_sockets.tls.v3.UpstreamTlsContext"), sni: "x" },
      },
    },
  ],
  LISTENER: [
    { name: "added", address: { socket_address: { address: "127.0.0.1", port_value: 9999 } } },
    { tcp_backlog_size: 7 },
  ],
  LISTENER_FILTER: [{ name: "x", typed_config: type("filters.listener.tls_inspector.v3.TlsInspector") }],
  FILTER_CHAIN: [{ name: "x", filters: [{ name: "a" }] }, { transport_socket_connect_timeout: "3s" }],
  NETWORK_FILTER: [
    { name: "x", typed_config: { ...type("filters.network.tcp_proxy.v3.TcpProxy"), stat_prefix: "y" } },
    {
      name: manager,
      typed_config: { ...type("filters.network.http_connection_manager.v3.HttpConnectionManager"), server_name: "s" },
    },
  ],
  HTTP_FILTER: [
    { name: "x", typed_config: { ...type("filters.http.lua.v3.Lua"), stat_prefix: "y" } },
    { name: "y", typed_config: { ...type("filters.http.router.v3.Router"), suppress_envoy_headers: true } },
  ],
  ROUTE_CONFIGURATION: [{ max_direct_response_body_size_bytes: 5 }, { request_headers_to_remove: ["a"] }],
  VIRTUAL_HOST: [{ name: "x", domains: ["x.com"] }, { include_request_attempt_count: true }],
  HTTP_ROUTE: [
    { name: "x", route: { timeout: "2s" } },
    { name: "y", redirect: { host_redirect: "z" } },
  ],
  EXTENSION_CONFIG: [{ name: "x", typed_config: type("filters.http.cors.v3.Cors") }],
} as const;

const listenerMatches = [
  {},
  { portNumber: 80 },
  { name: "virtualInbound" },
  { name: "virtualOutbound", filterChain: { name: "virtualOutbound-catchall-tcp" } },
  { listenerFilter: "envoy.filters.listener.http_inspector" },
  { filterChain: { filter: { name: manager } } },
  { filterChain: { filter: { name: "envoy.filters.network.tcp_proxy" } } },
  { portNumber: 8080, filterChain: { transportProtocol: "tls" } },
  { filterChain: { applicationProtocols: "h2c" } },
] as const;
const subFilters = [
  "envoy.filters.http.router",
  "envoy.filters.http.fault",
  "istio.stats",
  "istio.metadata_exchange",
  "x",
];
const httpMatches = subFilters.map((name) => ({ filterChain: { filter: { name: manager, subFilter: { name } } } }));
const routeMatches = [
  {},
  { name: "80" },
  { name: "http.8080", portNumber: 80 },
  { portNumber: 8080 },
  { vhost: { name: "cart.shop.svc.cluster.local:80" } },
  { vhost: { name: "inbound|http|80", route: { name: "default" } } },
  { vhost: { route: { name: "default", action: "ROUTE" } } },
  { vhost: { domainName: "cart" } },
] as const;
const clusterMatches = [
  {},
  { service: "cart.shop.svc.cluster.local" },
  { portNumber: 80 },
  { subset: "v1" },
  { name: "BlackHoleCluster" },
] as const;

type ApplyTo = keyof typeof values;

function matchesOf(applyTo: ApplyTo): fc.Arbitrary<object> {
  if (applyTo === "EXTENSION_CONFIG") return fc.constant({});
  if (applyTo === "CLUSTER") return fc.constantFrom(...clusterMatches).map((cluster) => ({ cluster }));
  if (["ROUTE_CONFIGURATION", "VIRTUAL_HOST", "HTTP_ROUTE"].includes(applyTo))
    return fc.constantFrom(...routeMatches).map((routeConfiguration) => ({ routeConfiguration }));
  const found = applyTo === "HTTP_FILTER" ? [...listenerMatches, ...httpMatches] : listenerMatches;
  return fc.constantFrom<object>(...found).map((listener) => ({ listener }));
}

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

/** A patch as users write it, of any kind, with a match and a value of that kind. */
export const randomPatch: fc.Arbitrary<object> = fc
  .constantFrom(...(Object.keys(values) as ApplyTo[]))
  .chain((applyTo) =>
    fc.record({
      applyTo: fc.constant(applyTo),
      match: fc
        .tuple(fc.constantFrom("ANY", "SIDECAR_INBOUND", "SIDECAR_OUTBOUND", "GATEWAY"), matchesOf(applyTo))
        .map(([context, match]) => ({ context, ...match })),
      patch: fc.record({
        operation: fc.constantFrom(...operations),
        value: fc.constantFrom<object>(...values[applyTo]),
      }),
    }),
  );
