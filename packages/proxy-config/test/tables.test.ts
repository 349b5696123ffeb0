import {
  assignments,
  assignmentTable,
  clusterHostsJson,
  clusters,
  clusterTable,
  endpointTable,
  extensionTable,
  formatTable,
  listeners,
  listenerTable,
  readClusterHosts,
  routes,
  routeTable,
} from "@istiod/proxy-config";
import { describe, expect, it, test } from "vitest";
import { clusterDump, dumpOf, endpointDump, httpFilter, listenerDump, routeDump, socket, tcpFilter } from "./dumps.js";

const host = (name: string): string => `${name}.shop.svc.cluster.local`;

describe("clusters", () => {
  const rule = {
    filter_metadata: { istio: { config: "/apis/networking.istio.io/v1/namespaces/shop/destination-rule/cart" } },
  };
  const dump = clusterDump(
    { name: `outbound|8080||${host("cart")}`, type: "EDS", metadata: rule },
    {
      name: `outbound|80|v1|${host("cart")}`,
      type: "STRICT_DNS",
      metadata: { filter_metadata: { istio: { config: "elsewhere" } } },
    },
    { name: `outbound|80||${host("cart")}`, type: "EDS" },
    { name: "inbound|9080||" },
    { name: "PassthroughCluster", type: "ORIGINAL_DST" },
  );
  const names = (filter: Parameters<typeof clusters>[1]): string[] =>
    clusters(dump, filter).map(({ message }) => message.name);

  it("are tabulated in order of host, subset and port", () => {
    expect(clusterTable(clusters(dump))).toEqual([
      ["SERVICE FQDN", "PORT", "SUBSET", "DIRECTION", "TYPE", "DESTINATION RULE"],
      ["", "9080", "-", "inbound", "STATIC", ""],
      ["PassthroughCluster", "-", "-", "-", "ORIGINAL_DST", ""],
      [host("cart"), "80", "-", "outbound", "EDS", ""],
      [host("cart"), "8080", "-", "outbound", "EDS", "cart.shop"],
      [host("cart"), "80", "v1", "outbound", "STRICT_DNS", "<unknown>"],
    ]);
    expect(clusterTable(clusters(dump, { fqdn: "Pass" }), true)).toEqual([
      ["NAME", "SERVICE FQDN", "PORT", "SUBSET", "DIRECTION", "TYPE", "DESTINATION RULE"],
      ["cluster/PassthroughCluster", "cluster/PassthroughCluster", "-", "-", "-", "ORIGINAL_DST", ""],
    ]);
  });

  it("are selected by FQDN, port, subset and direction", () => {
    expect(names({ fqdn: "cart", port: 80 })).toEqual([
      `outbound|80||${host("cart")}`,
      `outbound|80|v1|${host("cart")}`,
    ]);
    expect(names({ subset: "v1" })).toEqual([`outbound|80|v1|${host("cart")}`]);
    expect(names({ direction: "inbound" })).toEqual(["inbound|9080||"]);
    expect(names({ fqdn: "Passthrough" })).toEqual(["PassthroughCluster"]);
    expect(names({ fqdn: "none" })).toEqual([]);
  });
});

describe("listeners", () => {
  const match = { prefix: "/" };
  const dump = listenerDump(
    {
      name: "virtualInbound",
      address: socket("0.0.0.0", 15006),
      additional_addresses: [{ address: socket("::", 15006) }],
      filter_chains: [
        {
          filter_chain_match: {
            destination_port: 9080,
            transport_protocol: "tls",
            application_protocols: ["istio-peer-exchange", "istio"],
          },
          filters: [tcpFilter("inbound|9080||")],
        },
        {
          filter_chain_match: {
            server_names: ["a.example", "b.example"],
            application_protocols: ["h2"],
            prefix_ranges: [{ address_prefix: "10.0.0.1", prefix_len: 32 }],
            destination_port: 443,
          },
          filters: [
            httpFilter({
              route_config: {
                virtual_hosts: [{ domains: ["*"], routes: [{ match, route: { cluster: "inbound|9080||" } }] }],
              },
            }),
          ],
        },
      ],
      default_filter_chain: { filters: [tcpFilter("PassthroughCluster")] },
    },
    {
      name: "80",
      address: socket("0.0.0.0", 80),
      filter_chains: [{ filters: [httpFilter({ rds: { route_config_name: "80" } })] }],
    },
    {
      name: "agent",
      address: socket("0.0.0.0", 80),
      filter_chains: [
        {
          filters: [
            httpFilter({
              route_config: {
                virtual_hosts: [
                  {
                    domains: ["a", "b"],
                    routes: [
                      { match: { path: "/x" } },
                      { match: { safe_regex: { regex: "/y.*" } } },
                      { match: { path_separated_prefix: "/z" } },
                    ],
                  },
                ],
              },
            }),
          ],
        },
      ],
    },
    {
      name: "closed",
      address: { pipe: { path: "/run/s" } },
      filter_chains: [{ filters: [tcpFilter("BlackHoleCluster")] }],
    },
  );

  it("are tabulated by port, with a row for each filter chain", () => {
    expect(listenerTable(listeners(dump))).toEqual([
      ["ADDRESSES", "PORT", "MATCH", "DESTINATION"],
      ["/run/s", "0", "ALL", "Non-HTTP/Non-TCP"],
      ["0.0.0.0", "80", "ALL", "Route: 80"],
      ["0.0.0.0", "80", "ALL", "Inline Route: a/b /x, regex /y.*, PathPrefix:/z"],
      ["0.0.0.0,::", "15006", "ALL", "PassthroughCluster"],
      ["0.0.0.0,::", "15006", "Trans: tls; App: TCP TLS; Addr: *:9080", "Cluster: inbound|9080||"],
      ["0.0.0.0,::", "15006", "SNI: a.example,b.example; App: h2; Addr: 10.0.0.1/32:443", "Cluster: inbound|9080||"],
    ]);
  });

  it("are tabulated by type, and with names", () => {
    expect(listenerTable(listeners(dump, { type: "http+tcp" }), { verbose: false, named: true })).toEqual([
      ["NAME", "ADDRESSES", "PORT", "TYPE"],
      ["listener/virtualInbound", "0.0.0.0,::", "15006", "HTTP+TCP"],
    ]);
    expect(listenerTable(listeners(dump, { type: "UNKNOWN" }), { verbose: false })).toEqual([
      ["ADDRESSES", "PORT", "TYPE"],
      ["/run/s", "0", "UNKNOWN"],
    ]);
  });

  it("are selected by address, port and type", () => {
    const names = (filter: Parameters<typeof listeners>[1]): string[] =>
      listeners(dump, filter).map(({ message }) => message.name);
    expect(names({ address: "::" })).toEqual(["virtualInbound"]);
    expect(names({ port: 80 })).toEqual(["80", "agent"]);
    expect(names({ port: 80, type: "TCP" })).toEqual([]);
  });
});

describe("routes", () => {
  const route = (prefix: string, cluster = "c"): object => ({
    match: { prefix },
    route: { cluster },
    metadata: {
      filter_metadata: { istio: { config: "/apis/networking.istio.io/v1/namespaces/shop/virtual-service/cart" } },
    },
  });
  const dump = routeDump(
    { name: "inbound|9080||", virtual_hosts: [{ name: "inbound|http|9080", domains: ["*"], routes: [route("/")] }] },
    {
      name: "9080",
      virtual_hosts: [
        { name: "allow_any", domains: ["*"], routes: [route("/", "PassthroughCluster")] },
        { name: "empty", domains: ["x"] },
      ],
    },
    {
      name: "80",
      virtual_hosts: [
        {
          name: "cart:80",
          domains: [
            host("cart"),
            "cart",
            "cart:80",
            "cart.shop.svc",
            "cart.shop",
            "10.0.0.1",
            "[fd00:10:96::7]",
            "[fd00:10:96::7]:80",
          ],
          routes: [route("/a"), route("/")],
        },
      ],
    },
  );

  it("are tabulated by port, with a row for each route", () => {
    expect(routeTable(routes(dump))).toEqual([
      ["NAME", "VHOST NAME", "DOMAINS", "MATCH", "VIRTUAL SERVICE"],
      ["80", "cart:80", "cart, cart.shop + 2 more...", "/a*", "cart.shop"],
      ["80", "cart:80", "cart, cart.shop + 2 more...", "/*", "cart.shop"],
      ["9080", "empty", "x", "/*", "404"],
      ["inbound|9080||", "inbound|http|9080", "*", "/*", "cart.shop"],
    ]);
  });

  it("are counted, filtered by name, and prefixed with their type", () => {
    expect(routeTable(routes(dump, { name: "9080" }), { verbose: false, named: true })).toEqual([
      ["NAME", "VIRTUAL HOSTS"],
      ["route/9080", "2"],
    ]);
  });
});

describe("endpoints", () => {
  const assigned = (address: object, health_status?: string): object => ({
    endpoint: { address },
    ...(health_status && { health_status }),
  });

  it("of a dump are tabulated with their locality, or with the columns for an Envoy's hosts", () => {
    const dump = endpointDump(
      {
        cluster_name: `outbound|80||${host("cart")}`,
        endpoints: [
          {
            locality: { region: "r", zone: "z", sub_zone: "s" },
            lb_endpoints: [assigned(socket("10.0.0.1", 80), "HEALTHY"), assigned(socket("10.0.0.2", 80), "UNHEALTHY")],
          },
        ],
      },
      { cluster_name: "BlackHoleCluster" },
      { cluster_name: "agent", endpoints: [{ lb_endpoints: [assigned({ pipe: { path: "./socket" } })] }] },
      {
        cluster_name: "tunnel",
        endpoints: [
          {
            lb_endpoints: [assigned({ envoy_internal_address: { server_listener_name: "connect", endpoint_id: "1" } })],
          },
        ],
      },
    );
    expect(assignmentTable(assignments(dump))).toEqual([
      ["NAME", "STATUS", "LOCALITY", "CLUSTER"],
      ["./socket", "UNKNOWN", "", "agent"],
      ["10.0.0.1:80", "HEALTHY", "r/z/s", `outbound|80||${host("cart")}`],
      ["10.0.0.2:80", "UNHEALTHY", "r/z/s", `outbound|80||${host("cart")}`],
      ["envoy://connect/1", "UNKNOWN", "", "tunnel"],
    ]);
    const unhealthy = assignments(dump, { status: "unhealthy" });
    expect(assignmentTable(unhealthy, { columns: "outlier" })).toEqual([
      ["ENDPOINT", "STATUS", "OUTLIER CHECK", "CLUSTER"],
      ["10.0.0.2:80", "UNHEALTHY", "-", `outbound|80||${host("cart")}`],
    ]);
    expect(unhealthy[0]?.json).toMatchObject({ endpoints: [{ lbEndpoints: [{ healthStatus: "UNHEALTHY" }] }] });
    expect(assignments(dump, { address: "10.0.0.1", port: 80 })).toHaveLength(1);
    expect(assignments(dump, { cluster: "AGENT" })).toHaveLength(1);
    expect(assignments(dump, { address: "10.0.0.1:81" })).toEqual([]);
  });

  it("of a dump include those in clusters that are not listed separately", () => {
    const inline = (name: string): object => ({
      name,
      load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [assigned(socket("10.0.0.9", 1))] }] },
    });
    const listed = endpointDump({
      cluster_name: "listed",
      endpoints: [{ lb_endpoints: [assigned(socket("10.0.0.8", 1))] }],
    });
    const dump = { configs: [...listed.configs, ...clusterDump(inline("listed"), inline("unlisted")).configs] };
    expect(
      assignmentTable(assignments(dump))
        .slice(1)
        .map(([address, , , cluster]) => [address, cluster]),
    ).toEqual([
      ["10.0.0.8:1", "listed"],
      ["10.0.0.9:1", "unlisted"],
    ]);
    expect(assignments(clusterDump(inline("alone")))).toEqual([]);
  });

  it("of an Envoy are tabulated with the outlier check", () => {
    const found = readClusterHosts(
      JSON.stringify({
        cluster_statuses: [
          {
            name: "b",
            host_statuses: [
              {
                address: socket("10.0.0.2", 80),
                health_status: { failed_outlier_check: true, eds_health_status: "HEALTHY" },
              },
              { address: socket("10.0.0.1", 8080), health_status: { eds_health_status: "HEALTHY" } },
            ],
          },
          { name: "a", added_via_api: true, host_statuses: [{ address: { pipe: { path: "./x" } } }] },
        ],
      }),
    );
    expect(endpointTable(found)).toEqual([
      ["ENDPOINT", "STATUS", "OUTLIER CHECK", "CLUSTER"],
      ["10.0.0.1:8080", "HEALTHY", "OK", "b"],
      ["10.0.0.2:80", "HEALTHY", "FAILED", "b"],
      ["unix://./x", "UNKNOWN", "OK", "a"],
    ]);
    expect(endpointTable(found, { address: "10.0.0.2" })).toHaveLength(2);
    expect(clusterHostsJson(found, { cluster: "a" })).toEqual([
      { name: "a", addedViaApi: true, hostStatuses: [{ address: { pipe: { path: "./x" } } }] },
    ]);
  });
});

test("extension configurations are tabulated by type", () => {
  const filter = (name: string, type: string): object => ({
    ecds_filter: {
      "@type": "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig",
      name,
      typed_config: { "@type": `type.googleapis.com/${type}` },
    },
  });
  const dump = dumpOf("EcdsConfigDump", {
    ecds_filters: [filter("z", "vendor.Filter"), filter("a", "vendor.Filter"), filter("m", "another.Filter")],
  });
  expect(extensionTable(dump)).toEqual([
    ["ECDS NAME", "TYPE"],
    ["m", "another.Filter"],
    ["a", "vendor.Filter"],
    ["z", "vendor.Filter"],
  ]);
});

test("columns are as wide as their widest cell, counted in characters", () => {
  expect(
    formatTable(
      [
        ["A", "B", "C"],
        ["ü", "", "x"],
        ["long", "b", ""],
      ],
      1,
    ),
  ).toBe("A    B C\nü      x\nlong b \n");
});
