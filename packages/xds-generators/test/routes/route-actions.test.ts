import { fromBinary } from "@bufbuild/protobuf";
import { RouteConfigurationSchema } from "@istiod/envoy-api/envoy/config/route/v3/route";
import { query } from "@istiod/incremental";
import { describe, expect, it } from "vitest";
import { inboundRouteConfiguration } from "../../src/routes/index.js";
import { destinationRule, istioYaml, serviceYaml } from "../mesh-yaml.js";
import { cart, cartVirtualService, routeFor, RouteMesh, toCart } from "./route-mesh.js";

const cluster = (subset = "", host = "cart.shop.svc.cluster.local", port = 80) => `outbound|${port}|${subset}|${host}`;
const action = (http: object) => (routeFor({ ...toCart, ...http } as never)["route"] ?? {}) as Record<string, unknown>;

describe("the destination of a route", () => {
  it("is a single cluster, named in traces by host and path", () => {
    const route = routeFor({ name: "r", match: [{ uri: { exact: "/a" } }], ...toCart });
    expect(route).toMatchObject({
      name: "r",
      route: { cluster: cluster(), timeout: "0s", maxGrpcTimeout: "0s" },
      decorator: { operation: "cart.shop.svc.cluster.local:80/a" },
      metadata: {
        filterMetadata: { istio: { config: "/apis/networking.istio.io/v1/namespaces/shop/virtual-service/cart" } },
      },
    });
  });

  it("is weighted clusters without zero weights, named in traces by the VirtualService", () => {
    const route = routeFor({
      route: [
        { destination: { host: "cart", subset: "v1" }, weight: 90 },
        { destination: { host: "cart", subset: "v2" }, weight: 10 },
        { destination: { host: "cart", subset: "v3" } },
      ],
    });
    expect(route).toMatchObject({
      route: {
        weightedClusters: {
          clusters: [
            { name: cluster("v1"), weight: 90 },
            { name: cluster("v2"), weight: 10 },
          ],
        },
      },
      decorator: { operation: "cart:80/*" },
    });
  });

  it.each([
    [
      "the port that it names",
      { host: "other", port: { number: 8080 } },
      cluster("", "other.shop.svc.cluster.local", 8080),
    ],
    [
      "else the port of the request, even of an unknown host",
      { host: "unknown.example.com" },
      cluster("", "unknown.example.com"),
    ],
    ["the target of an ExternalName service", { host: "alias" }, cluster("", "real.example.com")],
  ])("is %s", (_, destination, expected) => {
    const alias = serviceYaml("alias", {
      spec: { type: "ExternalName", externalName: "real.example.com", clusterIP: "" },
    });
    const mesh = new RouteMesh(
      cart +
        serviceYaml("other", { ports: ["http:8080"] }) +
        alias +
        cartVirtualService([{ route: [{ destination }] }]),
    );
    expect(mesh.sidecar().cartRoute()).toMatchObject({ route: { cluster: expected } });
  });

  it("is mirrored, except with a share of zero", () => {
    expect(action({ mirror: { host: "a" }, mirrorPercentage: { value: 0 } })).not.toHaveProperty(
      "requestMirrorPolicies",
    );
    expect(
      action({
        mirrors: [
          { destination: { host: "a" }, percentage: { value: 12.5 } },
          { destination: { host: "b" } },
          { destination: { host: "c" }, percentage: { value: 0 } },
        ],
      })["requestMirrorPolicies"],
    ).toMatchObject([
      {
        cluster: cluster("", "a.shop.svc.cluster.local"),
        runtimeFraction: { defaultValue: { numerator: 125_000, denominator: "MILLION" } },
        traceSampled: false,
        disableShadowHostSuffixAppend: true,
      },
      { cluster: cluster("", "b.shop.svc.cluster.local"), runtimeFraction: { defaultValue: { numerator: 100 } } },
    ]);
  });
});

describe("a redirect", () => {
  const redirect = (spec: object) => routeFor({ redirect: spec } as never)["redirect"];

  it.each([
    [
      "to a path and host",
      { uri: "/b", authority: "x.example.com" },
      { pathRedirect: "/b", hostRedirect: "x.example.com" },
    ],
    ["to a prefix", { prefixRewrite: "/b" }, { prefixRewrite: "/b" }],
    [
      "with another code and scheme",
      { uri: "/b", scheme: "https", redirectCode: 307 },
      { pathRedirect: "/b", schemeRedirect: "https", responseCode: "TEMPORARY_REDIRECT" },
    ],
    ["to a port", { uri: "/b", port: 8443 }, { pathRedirect: "/b", portRedirect: 8443 }],
    [
      "to the scheme's own port",
      { uri: "/b", scheme: "https", port: 443 },
      { pathRedirect: "/b", schemeRedirect: "https" },
    ],
    [
      "to the request's port, which is the scheme's own",
      { uri: "/b", derivePort: "FROM_REQUEST_PORT" },
      { pathRedirect: "/b" },
    ],
  ])("goes %s", (_, spec, expected) => {
    expect(redirect(spec)).toEqual(expected);
  });
});

describe("a direct response", () => {
  it.each([
    ["text", { status: 503, body: { string: "no" } }, { status: 503, body: { inlineString: "no" } }],
    ["bytes", { status: 200, body: { bytes: "AAE=" } }, { status: 200, body: { inlineBytes: "AAE=" } }],
    ["nothing", { status: 418 }, { status: 418 }],
  ])("has %s", (_, directResponse, expected) => {
    expect(routeFor({ directResponse } as never)["directResponse"]).toEqual(expected);
  });
});

describe("a rewrite", () => {
  it.each([
    ["of the prefix", { uri: "/v1" }, { prefixRewrite: "/v1" }],
    ["of the host", { authority: "a.example.com" }, { hostRewriteLiteral: "a.example.com" }],
    [
      "by regex",
      { uriRegexRewrite: { match: "^/(.*)$", rewrite: "/x/\\1" } },
      { regexRewrite: { pattern: { regex: "^/(.*)$" }, substitution: "/x/\\1" } },
    ],
  ])("%s", (_, rewrite, expected) => {
    expect(action({ rewrite })).toMatchObject(expected);
  });

  it("of the host can be among the headers", () => {
    expect(action({ headers: { request: { set: { Host: "b" } } } })["hostRewriteLiteral"]).toBe("b");
  });
});

describe("header manipulations", () => {
  it("set, add and remove headers, sorted by name", () => {
    expect(
      routeFor({
        ...toCart,
        headers: {
          request: { set: { b: "1", a: "2" }, add: { c: "3" }, remove: ["d"] },
          response: { set: { e: "4" }, remove: ["f"] },
        },
      }),
    ).toMatchObject({
      requestHeadersToAdd: [
        { header: { key: "a", value: "2" }, appendAction: "OVERWRITE_IF_EXISTS_OR_ADD" },
        { header: { key: "b", value: "1" }, appendAction: "OVERWRITE_IF_EXISTS_OR_ADD" },
        { header: { key: "c", value: "3" } },
      ],
      requestHeadersToRemove: ["d"],
      responseHeadersToAdd: [{ header: { key: "e", value: "4" }, appendAction: "OVERWRITE_IF_EXISTS_OR_ADD" }],
      responseHeadersToRemove: ["f"],
    });
  });

  it("of a single destination follow the route's; of several, belong to their cluster", () => {
    const headers = (key: string) => ({ headers: { request: { set: { [key]: "1", host: `${key}.example.com` } } } });
    const single = routeFor({ ...headers("route"), route: [{ destination: { host: "cart" }, ...headers("own") }] });
    expect(single).toMatchObject({
      requestHeadersToAdd: [{ header: { key: "route" } }, { header: { key: "own" } }],
      route: { hostRewriteLiteral: "route.example.com" },
    });
    const several = routeFor({
      route: [
        { destination: { host: "cart" }, weight: 1, ...headers("own") },
        { destination: { host: "b" }, weight: 1 },
      ],
    });
    expect(several).toMatchObject({
      route: {
        weightedClusters: {
          clusters: [{ requestHeadersToAdd: [{ header: { key: "own" } }], hostRewriteLiteral: "own.example.com" }, {}],
        },
      },
    });
  });
});

describe("timeouts and retries", () => {
  const defaults = {
    numRetries: 2,
    retryOn: "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes",
    hostSelectionRetryMaxAttempts: "5",
  };

  it("default to none and two", () => {
    expect(action({})).toMatchObject({
      timeout: "0s",
      maxGrpcTimeout: "0s",
      retryPolicy: { ...defaults, retryHostPredicate: [{ name: "envoy.retry_host_predicates.previous_hosts" }] },
    });
  });

  it.each([
    ["a timeout", { timeout: "3s" }, { timeout: "3s", maxGrpcTimeout: "3s" }],
    [
      "attempts and a limit for each",
      { retries: { attempts: 4, perTryTimeout: "1s" } },
      { retryPolicy: { ...defaults, numRetries: 4, perTryTimeout: "1s" } },
    ],
    [
      "status codes among conditions",
      { retries: { attempts: 1, retryOn: "reset,503,429" } },
      { retryPolicy: { retryOn: "reset,retriable-status-codes", retriableStatusCodes: [503, 429] } },
    ],
    [
      "backoff and remote localities",
      { retries: { attempts: 1, backoff: "0.1s", retryRemoteLocalities: true } },
      {
        retryPolicy: {
          retryBackOff: { baseInterval: "0.100s" },
          retryPriority: { name: "envoy.retry_priorities.previous_priorities" },
        },
      },
    ],
  ])("with %s", (_, http, expected) => {
    expect(action(http)).toMatchObject(expected);
  });

  it("disable retries with zero attempts", () => {
    expect(action({ retries: { attempts: 0 } })).not.toHaveProperty("retryPolicy");
  });

  it("do not avoid previous hosts if configured", () => {
    expect(action({ retries: { attempts: 1, retryIgnorePreviousHosts: false } })["retryPolicy"]).not.toHaveProperty(
      "retryHostPredicate",
    );
  });

  it("are the mesh's if the route has none, with or without a VirtualService", () => {
    const options = { settings: { defaultHttpRetryPolicy: { attempts: 7 } } };
    expect(routeFor({ ...toCart }, options)).toMatchObject({ route: { retryPolicy: { numRetries: 7 } } });
    expect(new RouteMesh(cart, options).sidecar().cartRoute()).toMatchObject({
      route: { retryPolicy: { numRetries: 7 } },
    });
  });
});

describe("fault injection and CORS", () => {
  const config = (http: object, filter: string) =>
    (routeFor({ ...toCart, ...http } as never)["typedPerFilterConfig"] as Record<string, unknown>)[filter];

  it.each([
    [
      "a delay of a share",
      { delay: { fixedDelay: "2s", percentage: { value: 0.5 } } },
      { delay: { fixedDelay: "2s", percentage: { numerator: 5000, denominator: "MILLION" } } },
    ],
    [
      "a status",
      { abort: { httpStatus: 418, percentage: { value: 100 } } },
      { abort: { httpStatus: 418, percentage: { numerator: 1_000_000 } } },
    ],
    ["a gRPC status", { abort: { grpcStatus: "UNAVAILABLE" } }, { abort: { grpcStatus: 14 } }],
  ])("inject %s", (_, fault, expected) => {
    expect(config({ fault }, "envoy.filters.http.fault")).toMatchObject(expected);
  });

  it("answer preflight requests", () => {
    expect(
      config(
        {
          corsPolicy: {
            allowOrigins: [{ exact: "https://a" }],
            allowMethods: ["GET", "PUT"],
            allowHeaders: ["x"],
            maxAge: "24h",
            allowCredentials: true,
            unmatchedPreflights: "IGNORE",
          },
        },
        "envoy.filters.http.cors",
      ),
    ).toMatchObject({
      allowOriginStringMatch: [{ exact: "https://a" }],
      allowMethods: "GET,PUT",
      allowHeaders: "x",
      maxAge: "86400",
      allowCredentials: true,
      forwardNotMatchingPreflights: false,
      filterEnabled: { defaultValue: { numerator: 100 } },
    });
  });
});

describe("a consistent hash", () => {
  const hashed = (spec: object) => destinationRule("cart", spec);
  const by = (consistentHash: object) => ({ trafficPolicy: { loadBalancer: { consistentHash } } });
  const routed = cartVirtualService([
    { route: [{ destination: { host: "cart", subset: "v1", port: { number: 80 } } }] },
  ]);

  it.each([
    ["a header", { httpHeaderName: "x" }, { header: { headerName: "x" } }],
    [
      "a cookie",
      { httpCookie: { name: "c", path: "/", ttl: "60s" } },
      { cookie: { name: "c", path: "/", ttl: "60s" } },
    ],
    ["the source", { useSourceIp: true }, { connectionProperties: { sourceIp: true } }],
    ["a query parameter", { httpQueryParameterName: "q" }, { queryParameter: { name: "q" } }],
  ])("of %s sets the route's hash policy, and does not avoid previous hosts", (_, consistentHash, expected) => {
    const route = new RouteMesh(cart + routed + hashed(by(consistentHash))).sidecar().cartRoute()["route"] as Record<
      string,
      unknown
    >;
    expect(route["hashPolicy"]).toEqual([expected]);
    expect(route["retryPolicy"]).not.toHaveProperty("retryHostPredicate");
  });

  it("is that of the subset's port, the subset, the port or the service", () => {
    const header = (name: string) => ({ loadBalancer: { consistentHash: { httpHeaderName: name } } });
    const port = (name: string) => ({ portLevelSettings: [{ port: { number: 80 }, ...header(name) }] });
    const found = (spec: object) =>
      (new RouteMesh(cart + routed + hashed(spec)).sidecar().cartRoute()["route"] as { hashPolicy: unknown })
        .hashPolicy;
    const expected = (name: string) => [{ header: { headerName: name } }];
    expect(
      found({
        trafficPolicy: { ...header("a"), ...port("b") },
        subsets: [{ name: "v1", trafficPolicy: { ...header("c"), ...port("d") } }],
      }),
    ).toEqual(expected("d"));
    expect(
      found({ trafficPolicy: { ...header("a"), ...port("b") }, subsets: [{ name: "v1", trafficPolicy: header("c") }] }),
    ).toEqual(expected("c"));
    expect(found({ trafficPolicy: { ...header("a"), ...port("b") }, subsets: [{ name: "v1" }] })).toEqual(
      expected("b"),
    );
    expect(found({ trafficPolicy: header("a") })).toEqual(expected("a"));
  });

  const perPort = (port: number, loadBalancer: object) => ({
    portLevelSettings: [{ port: { number: port }, loadBalancer }],
  });
  const tenant = { consistentHash: { httpHeaderName: "x-tenant" } };
  const byTenant = [{ header: { headerName: "x-tenant" } }];
  const hashOf = (yaml: string): unknown =>
    (new RouteMesh(yaml).sidecar().cartRoute()["route"] as { hashPolicy?: unknown }).hashPolicy;

  it("of a port applies to destinations that name no port", () => {
    const unnamed = cartVirtualService([{ route: [{ destination: { host: "cart" } }] }]);
    expect(hashOf(cart + unnamed + hashed({ trafficPolicy: perPort(80, tenant) }))).toEqual(byTenant);
    expect(hashOf(cart + unnamed + hashed({ trafficPolicy: perPort(8080, tenant) }))).toBeUndefined();
    const subset = cartVirtualService([{ route: [{ destination: { host: "cart", subset: "v1" } }] }]);
    const ofSubset = { subsets: [{ name: "v1", trafficPolicy: perPort(80, tenant) }] };
    expect(hashOf(cart + subset + hashed(ofSubset))).toEqual(byTenant);
    expect(hashOf(cart + unnamed + hashed(ofSubset))).toBeUndefined();
    const two = serviceYaml("cart2", { ip: "10.96.0.2" });
    const weighted = cartVirtualService([
      {
        route: [
          { destination: { host: "cart" }, weight: 90 },
          { destination: { host: "cart2" }, weight: 10 },
        ],
      },
    ]);
    const all = destinationRule("*.shop.svc.cluster.local", { trafficPolicy: perPort(80, tenant) });
    expect(hashOf(cart + two + weighted + all)).toEqual([...byTenant, ...byTenant]);
  });

  it("is not that of a policy which the cluster's own load balancer replaces", () => {
    const unnamed = cartVirtualService([{ route: [{ destination: { host: "cart" } }] }]);
    const replaced = hashed({ trafficPolicy: { loadBalancer: tenant, ...perPort(80, { simple: "RANDOM" }) } });
    expect(hashOf(cart + unnamed + replaced)).toBeUndefined();
    expect(hashOf(cart + replaced)).toBeUndefined();
    const subset = cartVirtualService([{ route: [{ destination: { host: "cart", subset: "v1" } }] }]);
    const random = { subsets: [{ name: "v1", trafficPolicy: { loadBalancer: { simple: "RANDOM" } } }] };
    expect(hashOf(cart + subset + hashed({ trafficPolicy: { loadBalancer: tenant }, ...random }))).toBeUndefined();
  });

  it("applies to a service without a VirtualService too", () => {
    expect(new RouteMesh(cart + hashed(by({ httpHeaderName: "x" }))).sidecar().cartRoute()).toMatchObject({
      route: { hashPolicy: [{ header: { headerName: "x" } }] },
    });
  });
});

describe("persistent sessions", () => {
  const labelled = serviceYaml("cart", { ip: "10.96.0.1", labels: { "istio.io/persistent-session": "session" } });
  const filter = "envoy.filters.http.stateful_session";

  it("add a cookie to the virtual host and its routes, if the feature is enabled", () => {
    const sessions = new RouteMesh(labelled + cartVirtualService([toCart]), {
      variables: { PILOT_ENABLE_PERSISTENT_SESSION_FILTER: "true" },
    }).sidecar();
    expect(sessions.hosts("80")["cart.shop.svc.cluster.local:80"]).toMatchObject({
      typedPerFilterConfig: {
        [filter]: {
          statefulSession: { sessionState: { typedConfig: { cookie: { name: "session", path: "/" } } } },
        },
      },
      routes: [{ typedPerFilterConfig: { [filter]: expect.anything() } }],
    });
  });

  it("add nothing if the feature is disabled", () => {
    expect(new RouteMesh(labelled).sidecar().hosts("80")["cart.shop.svc.cluster.local:80"]).not.toHaveProperty(
      "typedPerFilterConfig",
    );
  });
});

describe("delegates", () => {
  it("add routes to the root's virtual host", () => {
    const leaf = istioYaml("VirtualService", "leaf", { http: [{ name: "leaf", ...toCart }] });
    const mesh = new RouteMesh(
      cart +
        leaf +
        cartVirtualService([{ name: "root", match: [{ uri: { prefix: "/a" } }], delegate: { name: "leaf" } }]),
    );
    expect(mesh.sidecar().cartRoute()).toMatchObject({ name: "root-leaf", match: { prefix: "/a" } });
  });
});

describe("requests to the own workload", () => {
  const inbound = (protocol: "HTTP" | "GRPC", settings = {}) => {
    const asked = query("test.inbound", (q) =>
      inboundRouteConfiguration(q, {
        cluster: "inbound|8080||",
        port: 80,
        protocol,
        operation: "cart.shop.svc.cluster.local:80/*",
      }),
    );
    return fromBinary(RouteConfigurationSchema, new RouteMesh("", { settings }).sidecar().view.call(asked))
      .virtualHosts[0]!;
  };

  it("go to its port without timeout, with retries if reset before sent", () => {
    const host = inbound("HTTP");
    expect(host).toMatchObject({ name: "inbound|http|80", domains: ["*"] });
    expect(host.routes[0]).toMatchObject({
      name: "default",
      action: {
        value: {
          clusterSpecifier: { value: "inbound|8080||" },
          timeout: { seconds: 0n },
          retryPolicy: { numRetries: 2, retryOn: "reset-before-request" },
        },
      },
    });
  });

  it.each([
    ["never where they are gRPC", "GRPC", {}, undefined],
    ["never where the mesh wants no retries", "HTTP", { defaultInboundHttpRetryPolicy: {} }, undefined],
    [
      "as the mesh says",
      "HTTP",
      { defaultInboundHttpRetryPolicy: { attempts: 5, retryOn: "503" } },
      { numRetries: 5, retriableStatusCodes: [503] },
    ],
  ] as const)("are retried %s", (_, protocol, settings, expected) => {
    const { action } = inbound(protocol, settings).routes[0]!;
    const policy = action.case === "route" ? action.value.retryPolicy : undefined;
    if (expected === undefined) expect(policy).toBeUndefined();
    else expect(policy).toMatchObject(expected);
  });
});
