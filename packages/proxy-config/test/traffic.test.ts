import {
  type ClusterTls,
  clusters,
  clusterTls,
  configDump,
  inboundTls,
  listeners,
  routes,
  routeTraffic,
} from "@istiod/proxy-config";
import { describe, expect, it } from "vitest";

const dumpOf = (section: string, content: object) =>
  configDump({ configs: [{ "@type": `type.googleapis.com/envoy.admin.v3.${section}`, ...content }] });

const tls = (...certificates: readonly string[]) => ({
  name: "envoy.transport_sockets.tls",
  typedConfig: {
    "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
    commonTlsContext: { tlsCertificateSdsSecretConfigs: certificates.map((name) => ({ name })) },
  },
});
const plaintext = { name: "envoy.transport_sockets.raw_buffer" };

describe("the share of each destination", () => {
  const found = (route: object) => {
    const routeConfig = {
      "@type": "type.googleapis.com/envoy.config.route.v3.RouteConfiguration",
      name: "80",
      virtualHosts: [{ name: "a", domains: ["a", "b"], routes: [{ match: { prefix: "/x" }, ...route }] }],
    };
    return routes(dumpOf("RoutesConfigDump", { dynamicRouteConfigs: [{ routeConfig }] }));
  };
  const metadata = {
    filterMetadata: { istio: { config: "/apis/networking.istio.io/v1/namespaces/shop/virtual-service/cart" } },
  };

  it("is that of the weights, whatever their sum", () => {
    const weighted = (...weights: readonly number[]) => ({
      route: { weightedClusters: { clusters: weights.map((weight, i) => ({ name: `c${i}`, weight })) } },
      metadata,
    });
    expect(routeTraffic(found(weighted(3, 1)))).toEqual([
      {
        name: "80",
        domains: ["a", "b"],
        match: "/x*",
        shares: [
          { cluster: "c0", percent: 75 },
          { cluster: "c1", percent: 25 },
        ],
        virtualService: "cart.shop",
      },
    ]);
    expect(routeTraffic(found(weighted(0)))[0]?.shares).toEqual([{ cluster: "c0", percent: 0 }]);
  });

  it("is all of a single one, and nothing of a redirect", () => {
    expect(routeTraffic(found({ route: { cluster: "c" }, metadata }))[0]?.shares).toEqual([
      { cluster: "c", percent: 100 },
    ]);
    expect(routeTraffic(found({ redirect: { pathRedirect: "/y" }, metadata }))[0]?.shares).toEqual([]);
  });

  it("is left out for routes without a VirtualService, unless all are asked for", () => {
    expect(routeTraffic(found({ route: { cluster: "c" } }))).toEqual([]);
    expect(routeTraffic(found({ route: { cluster: "c" } }), { all: true })).toHaveLength(1);
  });
});

it.each<[ClusterTls, object]>([
  ["plaintext", {}],
  ["plaintext", { transportSocket: plaintext }],
  ["TLS", { transportSocket: tls() }],
  ["mutual TLS", { transportSocket: tls("default") }],
  [
    "mutual TLS to sidecars",
    {
      transportSocketMatches: [
        { name: "tlsMode-istio", transportSocket: tls("default") },
        { name: "tlsMode-disabled", transportSocket: plaintext },
      ],
    },
  ],
])("tells %s to a cluster", (expected, fields) => {
  const cluster = { "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", name: "c", ...fields };
  const [found] = clusters(dumpOf("ClustersConfigDump", { dynamicActiveClusters: [{ cluster }] }));
  expect(found && clusterTls(found)).toBe(expected);
});

it("tells the mode of mutual TLS at each port", () => {
  const chain = (port: number | undefined, isMutual: boolean, name = "") => ({
    name,
    filterChainMatch: { ...(port !== undefined && { destinationPort: port }) },
    ...(isMutual && {
      transportSocket: {
        name: "envoy.transport_sockets.tls",
        typedConfig: {
          "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
          requireClientCertificate: true,
        },
      },
    }),
  });
  const listener = {
    "@type": "type.googleapis.com/envoy.config.listener.v3.Listener",
    name: "virtualInbound",
    filterChains: [
      chain(15006, false, "virtualInbound-blackhole"),
      chain(undefined, true),
      chain(undefined, false),
      chain(9080, true),
      chain(80, false),
    ],
  };
  const found = listeners(dumpOf("ListenersConfigDump", { dynamicListeners: [{ activeState: { listener } }] }));
  expect(inboundTls(found)).toEqual([
    { port: 0, mode: "PERMISSIVE" },
    { port: 80, mode: "DISABLE" },
    { port: 9080, mode: "STRICT" },
  ]);
});
