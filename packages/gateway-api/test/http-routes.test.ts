import { describe, expect, test } from "vitest";
import { gateway, gatewayApi, httpListener, RouteMesh, servicesOf } from "./route-mesh.js";

const services = servicesOf("shop/cart", "shop/old", "bank/ledger");
const front = gateway("shop/front", `[${httpListener("http")}]`);
const httpRoute = (rules: string, age = 0): string =>
  gatewayApi("HTTPRoute", "shop/cart", `{parentRefs: [{name: front}], rules: ${rules}}`, age);

/** Returns the rules of the VirtualService of an HTTPRoute. */
function rulesOf(rules: string): readonly unknown[] {
  return new RouteMesh(services + front + httpRoute(rules)).rules();
}

function refsOf(rules: string): string | undefined {
  return new RouteMesh(services + front + httpRoute(rules)).statuses("HTTPRoute", "shop/cart")[0]?.["ResolvedRefs"];
}

const toCart = "backendRefs: [{name: cart, port: 80}]";
const cart = { destination: { host: "cart.shop.svc.cluster.local", port: { number: 80 } } };
const everything = { match: [{ uri: { prefix: "/" } }], name: "shop.cart.0" };

describe("a rule", () => {
  test("has one route for each match", () => {
    expect(
      rulesOf(`[{name: both, ${toCart}, matches: [
        {path: {type: PathPrefix, value: /a/}, method: GET, headers: [{name: X-A, value: "1"}]},
        {path: {type: RegularExpression, value: "/r.*"}, queryParams: [{name: q, type: RegularExpression, value: "1+"}]}]}]`),
    ).toEqual([
      {
        name: "both",
        match: [{ uri: { prefix: "/a" }, method: { exact: "GET" }, headers: { "X-A": { exact: "1" } } }],
        route: [cart],
      },
      { name: "both", match: [{ uri: { regex: "/r.*" }, queryParams: { q: { regex: "1+" } } }], route: [cart] },
    ]);
  });

  test("has the order of the API: exact, longest prefix, patterns; then method, headers, parameters", () => {
    const names = rulesOf(`[
      {name: pattern, matches: [{path: {type: RegularExpression, value: /aaaaaaaaaaaa}}]},
      {name: short, matches: [{path: {value: /a}}]},
      {name: query, matches: [{path: {value: /long}, queryParams: [{name: a, value: b}]}]},
      {name: headers, matches: [{path: {value: /long}, headers: [{name: a, value: b}, {name: c, value: d}]}]},
      {name: header, matches: [{path: {value: /long}, headers: [{name: a, value: b}]}]},
      {name: method, matches: [{path: {value: /long}, method: GET}]},
      {name: exact, matches: [{path: {type: Exact, value: /}}]},
      {name: plain, matches: [{path: {value: /long}}]},
    ]`).map((rule) => (rule as { name: string }).name);
    expect(names).toEqual(["exact", "method", "headers", "header", "query", "plain", "short", "pattern"]);
  });

  test("changes headers, the first of equal names", () => {
    expect(
      rulesOf(`[{${toCart}, filters: [
        {type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: X-A, value: "1"}, {name: x-a, value: "2"}], remove: [x-b]}},
        {type: ResponseHeaderModifier, responseHeaderModifier: {add: [{name: x-c, value: "3"}]}}]}]`),
    ).toEqual([
      {
        ...everything,
        headers: { request: { set: { "x-a": "1" }, remove: ["x-b"] }, response: { add: { "x-c": "3" } } },
        route: [cart],
      },
    ]);
  });

  test.each([
    ["{hostname: a.example}", { authority: "a.example" }],
    ["{path: {type: ReplacePrefixMatch, replacePrefixMatch: /b/}}", { uri: "/b" }],
    ["{path: {type: ReplacePrefixMatch, replacePrefixMatch: ''}}", { uri: "/" }],
    ["{path: {type: ReplaceFullPath, replaceFullPath: /b}}", { uriRegexRewrite: { match: "/.*", rewrite: "/b" } }],
  ])("rewrites by %s", (rewrite, expected) => {
    expect(rulesOf(`[{${toCart}, filters: [{type: URLRewrite, urlRewrite: ${rewrite}}]}]`)).toEqual([
      { ...everything, rewrite: expected, route: [cart] },
    ]);
  });

  describe("of a backend rewrite", () => {
    const rewriteTo = (path: string, hostname = ""): string =>
      `[{type: URLRewrite, urlRewrite: {${hostname && `hostname: ${hostname}, `}${
        path && `path: {type: ReplaceFullPath, replaceFullPath: ${path}}`
      }}}]`;
    const toBackends = (...filters: readonly string[]): string =>
      `backendRefs: [${filters.map((each) => `{name: cart, port: 80, filters: ${each}}`).join(", ")}]`;
    const toHost = (hostname: string): object => ({ headers: { request: { set: { ":authority": hostname } } } });

    test("the host for each destination, and the path for the rule", () => {
      const rewrite = { uriRegexRewrite: { match: "/.*", rewrite: "/b" } };
      expect(rulesOf(`[{${toBackends(rewriteTo("/b"))}}]`)).toEqual([{ ...everything, rewrite, route: [cart] }]);
      const two = toBackends(rewriteTo("/b", "a.example"), rewriteTo("/b"));
      expect(rulesOf(`[{${two}}]`)).toEqual([
        {
          ...everything,
          rewrite,
          route: [
            { ...cart, ...toHost("a.example"), weight: 1 },
            { ...cart, weight: 1 },
          ],
        },
      ]);
      // A backend without requests rewrites nothing.
      const unused = `backendRefs: [{name: cart, port: 80, weight: 0, filters: ${rewriteTo("/c")}}, {name: cart, port: 80}]`;
      expect(rulesOf(`[{${unused}}]`)).toEqual([{ ...everything, route: [cart] }]);
    });

    test("different paths by a route for each backend, which has its share", () => {
      const to = (path: string): object => ({ rewrite: { uriRegexRewrite: { match: "/.*", rewrite: path } } });
      const share = (upTo: number): object => ({ headers: { "@share": { exact: String(upTo) } } });
      const backends = `backendRefs: [
        {name: cart, port: 80, weight: 1, filters: ${rewriteTo("/b", "a.example")}},
        {name: cart, port: 80, weight: 0, filters: ${rewriteTo("/none")}},
        {name: cart, port: 80, weight: 2, filters: ${rewriteTo("/c")}},
        {name: cart, port: 80, weight: 1}]`;
      const uri = { uri: { prefix: "/x" } };
      expect(rulesOf(`[{matches: [{path: {value: /x}}], ${backends}}]`)).toEqual([
        {
          ...everything,
          match: [{ ...uri, ...share(250_000) }],
          ...to("/b"),
          route: [{ ...cart, ...toHost("a.example") }],
        },
        { ...everything, match: [{ ...uri, ...share(750_000) }], ...to("/c"), route: [cart] },
        { ...everything, match: [uri], route: [cart] },
      ]);
      // More header matches take precedence over a share.
      const more = `{matches: [{path: {value: /x}, headers: [{name: a, value: b}]}], ${toCart}}`;
      expect(rulesOf(`[{matches: [{path: {value: /x}}], ${backends}}, ${more}]`)[0]).toMatchObject({
        match: [{ headers: { a: { exact: "b" } } }],
      });
    });

    test.each([
      [
        `filters: ${rewriteTo("", "a.example")}, ${toBackends(rewriteTo("/b"))}`,
        "a rule and its backends must not both have URLRewrite filters",
      ],
    ])("%s: %s", (rule, message) => {
      expect(refsOf(`[{${rule}}]`)).toMatch(/^False InvalidFilter: /);
      expect(refsOf(`[{${rule}}]`)).toContain(message);
    });
  });

  test.each([
    ["{}", { redirectCode: 302, derivePort: "FROM_REQUEST_PORT" }],
    ["{scheme: https, statusCode: 308}", { redirectCode: 308, scheme: "https", derivePort: "FROM_PROTOCOL_DEFAULT" }],
    [
      "{hostname: b.example, port: 8443, path: {type: ReplaceFullPath, replaceFullPath: /x}}",
      { redirectCode: 302, authority: "b.example", port: 8443, uri: "/x" },
    ],
    [
      "{path: {type: ReplacePrefixMatch, replacePrefixMatch: /y}}",
      { redirectCode: 302, derivePort: "FROM_REQUEST_PORT", prefixRewrite: "/y" },
    ],
  ])("redirects by %s", (redirect, expected) => {
    const [rule] = rulesOf(`[{filters: [{type: RequestRedirect, requestRedirect: ${redirect}}]}]`) as {
      redirect: object;
    }[];
    expect({ derivePort: "FROM_PROTOCOL_DEFAULT", ...rule?.redirect }).toEqual({
      derivePort: "FROM_PROTOCOL_DEFAULT",
      ...expected,
    });
    expect(rule).not.toHaveProperty("directResponse");
  });

  test.each([
    ["percent: 5", { value: 5 }],
    ["percent: 0", {}],
    ["fraction: {numerator: 1, denominator: 8}", { value: 12.5 }],
    ["", undefined],
  ])("mirrors requests by '%s'", (share, percentage) => {
    const filter = `{type: RequestMirror, requestMirror: {backendRef: {name: old, port: 80}${share && `, ${share}`}}}`;
    expect(rulesOf(`[{${toCart}, filters: [${filter}]}]`)).toEqual([
      {
        ...everything,
        mirrors: [
          {
            destination: { host: "old.shop.svc.cluster.local", port: { number: 80 } },
            ...(percentage && { percentage }),
          },
        ],
        route: [cart],
      },
    ]);
  });

  test("allows origins, with wildcards anywhere", () => {
    const origins = "['https://a.example', 'https://*', 'http://*.b.example']";
    const [rule] = rulesOf(
      `[{${toCart}, filters: [{type: CORS, cors: {allowOrigins: ${origins}, allowMethods: ['*'], allowCredentials: true}}]}]`,
    );
    expect(rule).toMatchObject({
      corsPolicy: {
        allowOrigins: [{ exact: "https://a.example" }, { prefix: "https://" }, { regex: "^http://.*\\.b\\.example$" }],
        allowMethods: ["*"],
        allowCredentials: true,
        maxAge: "5s",
        unmatchedPreflights: "IGNORE",
      },
    });
  });

  test.each([
    ["retry: {}", { retries: { attempts: 1, retryOn: "connect-failure,refused-stream,unavailable,cancelled" } }],
    ["retry: {attempts: 0, codes: [503]}", { retries: {} }],
    [
      "retry: {attempts: 4, codes: [503, 429], backoff: 20ms}, timeouts: {request: 10s, backendRequest: 1500ms}",
      {
        timeout: "10s",
        retries: {
          attempts: 4,
          perTryTimeout: "1.500s",
          backoff: "0.020s",
          retryOn: "connect-failure,refused-stream,unavailable,cancelled,503,429",
        },
      },
    ],
    ["timeouts: {request: 10s, backendRequest: 1s}", { timeout: "1s" }],
    ["timeouts: {request: 0s}", {}],
  ])("has the limits %s", (limits, expected) => {
    expect(rulesOf(`[{${toCart}, ${limits}}]`)).toEqual([{ ...everything, ...expected, route: [cart] }]);
  });
});

describe("backends", () => {
  test("have their weights; those of weight 0 receive nothing", () => {
    expect(
      rulesOf(`[{backendRefs: [
        {name: cart, port: 80, weight: 9},
        {name: old, port: 80, filters: [{type: RequestHeaderModifier, requestHeaderModifier: {add: [{name: a, value: b}]}}]},
        {name: old, port: 81, weight: 0}]}]`),
    ).toEqual([
      {
        ...everything,
        route: [
          { ...cart, weight: 9 },
          {
            destination: { host: "old.shop.svc.cluster.local", port: { number: 80 } },
            weight: 1,
            headers: { request: { add: { a: "b" } } },
          },
        ],
      },
    ]);
  });

  test.each(["[]", "[{name: cart, port: 80, weight: 0}]"])("%s: requests have status 500", (backendRefs) => {
    expect(rulesOf(`[{backendRefs: ${backendRefs}}]`)).toEqual([{ ...everything, directResponse: { status: 500 } }]);
  });

  test.each([
    ["{name: none, port: 80}", "False BackendNotFound: backend(none.shop.svc.cluster.local) not found"],
    ["{kind: Bucket, name: a}", 'False InvalidKind: referencing unsupported backendRef: group "" kind "Bucket"'],
    ["{name: ledger, namespace: bank, port: 80}", "False RefNotPermitted: backendRef ledger/bank not accessible"],
    [
      "{group: networking.istio.io, kind: Hostname, name: a.example, port: 80}",
      "False BackendNotFound: backend(a.example)",
    ],
    [
      "{group: gateway.networking.x-k8s.io, kind: XBackend, name: a}",
      "False InvalidKind: The Alpha Gateway API is not",
    ],
    [
      "{group: inference.networking.k8s.io, kind: InferencePool, name: a}",
      "False InvalidKind: InferencePool is not enabled",
    ],
    ["{name: cart, port: 81}", "True ResolvedRefs: All references resolved; Service shop/cart has no port 81"],
  ])("%s: %s", (ref, expected) => {
    expect(refsOf(`[{backendRefs: [${ref}]}]`)).toContain(expected);
    const [rule] = rulesOf(`[{backendRefs: [${ref}]}]`) as { route: unknown[] }[];
    expect(rule?.route).toHaveLength(1);
  });

  test.each([
    ["{name: cart}", "False InvalidDestination: port is required in backendRef"],
    ["{name: cart.shop, port: 80}", "False InvalidDestination: service name invalid"],
    [
      "{group: networking.istio.io, kind: Hostname, namespace: shop, name: a.example, port: 80}",
      "namespace may not be set",
    ],
    [
      "{name: cart, port: 80, filters: [{type: RequestMirror, requestMirror: {backendRef: {name: cart, port: 80}}}]}",
      'False InvalidFilter: unsupported filter type "RequestMirror"',
    ],
  ])("%s disables all rules: %s", (ref, expected) => {
    const rules = `[{${toCart}}, {matches: [{path: {value: /a}}], backendRefs: [${ref}]}]`;
    expect(refsOf(rules)).toContain(expected);
    expect(new RouteMesh(services + front + httpRoute(rules)).virtualServices()).toEqual({});
  });

  test("of another namespace need a grant of it, for the kind of the route", () => {
    const rules = "[{backendRefs: [{name: ledger, namespace: bank, port: 80}]}]";
    const mesh = new RouteMesh(services + front + httpRoute(rules));
    const grant = (from: string, to: string): string =>
      gatewayApi(
        "ReferenceGrant",
        "bank/shop",
        `{from: [{group: gateway.networking.k8s.io, ${from}}], to: [{group: '', ${to}}]}`,
      );
    const reason = (): string | undefined =>
      mesh.statuses("HTTPRoute", "shop/cart")[0]?.["ResolvedRefs"]?.split(":")[0];
    mesh.apply(grant("kind: GRPCRoute, namespace: shop", "kind: Service"));
    expect(reason()).toBe("False RefNotPermitted");
    mesh.apply(grant("kind: HTTPRoute, namespace: shop", "kind: Service, name: other"));
    expect(reason()).toBe("False RefNotPermitted");
    mesh.apply(grant("kind: HTTPRoute, namespace: shop", "kind: Service, name: ledger"));
    expect(reason()).toBe("True ResolvedRefs");
    expect(mesh.rules()).toMatchObject([
      { route: [{ destination: { host: "ledger.bank.svc.cluster.local", port: { number: 80 } } }] },
    ]);
  });

  test("that a ServiceEntry declares are named by their host", () => {
    const entry = `---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: a, namespace: shop}
spec: {hosts: [a.example], resolution: DNS, ports: [{name: http, number: 80, protocol: HTTP}]}
`;
    const rules = "[{backendRefs: [{group: networking.istio.io, kind: Hostname, name: a.example, port: 80}]}]";
    const mesh = new RouteMesh(services + front + entry + httpRoute(rules));
    expect(mesh.statuses("HTTPRoute", "shop/cart")[0]?.["ResolvedRefs"]).toBe(
      "True ResolvedRefs: All references resolved",
    );
    expect(mesh.rules()).toMatchObject([{ route: [{ destination: { host: "a.example" } }] }]);
  });
});

describe("filters that istiod does not implement", () => {
  test.each([
    "{type: ExtensionRef, extensionRef: {group: a.example, kind: Filter, name: f}}",
    "{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: cart, port: 80}, http: {}}}",
  ])("%s disable all rules and are named in the status", (filter) => {
    expect(refsOf(`[{${toCart}, filters: [${filter}]}]`)).toMatch(/^False InvalidFilter: unsupported filter type "Ext/);
  });

  test("a mirror that does not exist is left out, and named in the status", () => {
    const rules = `[{${toCart}, filters: [{type: RequestMirror, requestMirror: {backendRef: {name: none, port: 80}}}]}]`;
    expect(rulesOf(rules)).toEqual([{ ...everything, route: [cart] }]);
    expect(refsOf(rules)).toBe("False BackendNotFound: backend(none.shop.svc.cluster.local) not found");
  });
});

describe("routes of one host and gateway", () => {
  const named = (kind: string, key: string, path: string, age: number): string => {
    const match = kind === "GRPCRoute" ? "" : `matches: [{path: {type: Exact, value: ${path}}}], `;
    const spec = `{parentRefs: [{name: front, namespace: shop}], hostnames: [a.example], rules: [{${match}${toCart}}]}`;
    return gatewayApi(kind, key, spec, age);
  };

  test("are one VirtualService in the namespace of the oldest, which comes first among equals", () => {
    const mesh = new RouteMesh(services + servicesOf("bank/cart") + front);
    mesh.apply(
      named("HTTPRoute", "shop/b", "/x", 2) +
        named("HTTPRoute", "bank/a", "/x", 1) +
        named("HTTPRoute", "shop/c", "/longer", 3),
    );
    const [key = ""] = Object.keys(mesh.virtualServices());
    expect(key).toBe("bank/shop~front~istio-autogenerated-k8s-gateway~http~a.example");
    expect(mesh.rules().map(({ name }) => name)).toEqual(["shop.c.0", "bank.a.0", "shop.b.0"]);
    mesh.apply(named("HTTPRoute", "bank/a", "/x", 4));
    expect(Object.keys(mesh.virtualServices())).toEqual([key.replace("bank/", "shop/")]);
    expect(mesh.rules().map(({ name }) => name)).toEqual(["shop.c.0", "shop.b.0", "bank.a.0"]);
    mesh.remove(named("HTTPRoute", "shop/c", "/longer", 3));
    expect(mesh.rules().map(({ name }) => name)).toEqual(["shop.b.0", "bank.a.0"]);
  });

  test("are merged from HTTPRoutes and GRPCRoutes", () => {
    const mesh = new RouteMesh(services + front);
    mesh.apply(named("GRPCRoute", "shop/g", "", 1) + named("HTTPRoute", "shop/h", "/x", 2));
    expect(mesh.rules().map(({ name }) => name)).toEqual(["shop.h.0", "shop.g.0"]);
  });
});
