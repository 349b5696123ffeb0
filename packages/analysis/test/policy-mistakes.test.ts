import { describe, expect, it } from "vitest";
import { messagesIn, object } from "./messages-in.js";

const codes = ["MESH0004", "MESH0010", "MESH0014", "MESH0042", "MESH0043", "MESH0047"];

const mesh = [
  object("Namespace", "shop", {}, { labels: { "istio-injection": "enabled" } }),
  object("Service", "shop/web", {
    spec: { clusterIP: "10.96.0.7", selector: { app: "web" }, ports: [{ name: "http", port: 80 }] },
  }),
  object("Service", "shop/db", { spec: { selector: { app: "db" }, ports: [{ name: "tcp", port: 5432 }] } }),
  ...["web", "db"].map((app) =>
    object(
      "Pod",
      `shop/${app}`,
      { spec: { containers: [{ name: "istio-proxy", image: "proxyv2" }, { name: "app" }] } },
      {
        labels: { app },
      },
    ),
  ),
].join("");

const plain = (kind: string, group: string, name: string, spec: object): string =>
  `${JSON.stringify({ apiVersion: `${group}.istio.io/v1`, kind, metadata: { name, namespace: "shop" }, spec })}\n---\n`;
const peer = (name: string, mode: string): string => plain("PeerAuthentication", "security", name, { mtls: { mode } });
const policy = (rule: object): string =>
  object("AuthorizationPolicy", "shop/ap", { spec: { selector: { matchLabels: { app: "web" } }, rules: [rule] } });
const from = (source: object): string => policy({ from: [{ source }] });
const operation = (of: object): string => policy({ to: [{ operation: of }] });
const routes = (...http: readonly object[]): string =>
  object("VirtualService", "shop/vs", { spec: { hosts: ["web"], http } });
const to = [{ destination: { host: "web" } }];

/** Returns the messages, without the object and the line. */
function found(text: string): readonly string[] {
  return messagesIn(mesh + text, codes).map((message) => message.replace(/ \S+ \S+ \d+: /, ": "));
}

describe("a value of an AuthorizationPolicy that no request has", () => {
  const asIs = "is compared as it is, not as a pattern, expected a prefix such as /api/*, or a template with {*}";
  const rows: readonly (readonly [string, string, string])[] = [
    ["a pattern", operation({ paths: ["/api/.*"] }), `paths[0]: is "/api/.*", which ${asIs}`],
    ["an anchored path", operation({ paths: ["^/api"] }), `paths[0]: is "^/api", which ${asIs}`],
    [
      "an inner asterisk",
      operation({ paths: ["/a/*/b"] }),
      'paths[0]: is "/a/*/b", which only matches an asterisk at that place, expected {*} for a segment: "/a/{*}/b"',
    ],
    [
      "a query",
      operation({ paths: ["/a?b=1"] }),
      'paths[0]: is "/a?b=1", which no path matches: it is compared without the query',
    ],
    [
      "a URL as host",
      operation({ hosts: ["http://web"] }),
      'hosts[0]: is "http://web", which no host matches, expected a host without scheme and path',
    ],
  ];

  it.each(rows)("%s", (_, text, message) => {
    expect(found(text).filter((each) => each.startsWith("MESH0014: rules"))).toEqual([
      `MESH0014: rules[0].to[0].operation.${message}`,
    ]);
  });

  it.each(["/api/*", "*/info", "/a/{*}/b", "/a/{**}", "/a-b.c", "*"])("is none of %s", (path) => {
    expect(found(operation({ paths: [path] }))).toEqual([]);
  });

  it("is a header name with spaces", () => {
    expect(found(policy({ when: [{ key: "request.headers[ x ]", values: ["a"] }] }))).toEqual([
      'MESH0014: rules[0].when[0].key: is "request.headers[ x ]", and no header has this name, expected request.headers[NAME]',
    ]);
  });
});

describe("a source of an AuthorizationPolicy", () => {
  it("has a whole principal", () => {
    expect(found(from({ principals: ["web"] }))).toEqual([
      'MESH0014: rules[0].from[0].source.principals[0]: is "web", which no workload has, expected cluster.local/ns/NAMESPACE/sa/web, or serviceAccounts',
    ]);
    expect(found(from({ principals: ["cluster.local/ns/shop/sa/web", "*/sa/web", "*"] }))).toEqual([]);
  });

  it("is of a namespace and a trust domain that there are", () => {
    expect(found(from({ principals: ["cluster.local/ns/shpo/sa/web"] }))).toEqual([
      'MESH0004: namespace "shpo" does not exist; did you mean "shop"?',
    ]);
    expect(found(from({ principals: ["other.org/ns/shop/sa/web"] }))).toEqual([
      "MESH0014: trust domain other.org is not one of the mesh, which has cluster.local, so that only clients of another mesh match; write the trust domain of the mesh, or cluster.local",
    ]);
    const meshConfig = { file: "mesh", text: "trustDomain: other.org" };
    const text = mesh + from({ principals: ["other.org/ns/shop/sa/web", "cluster.local/ns/shop/sa/web"] });
    expect(messagesIn(text, ["MESH0014"], { meshConfig })).toEqual([]);
  });

  it("is no address of a Service", () => {
    const none =
      "is the address of Service shop/web, from which no connection comes: the source is the address of a client's Pod; name its namespace or service account instead";
    expect(found(from({ ipBlocks: ["10.96.0.7"] }))).toEqual([`MESH0014: 10.96.0.7 ${none}`]);
    expect(found(from({ remoteIpBlocks: ["10.96.0.7/32"] }))).toEqual([`MESH0014: 10.96.0.7/32 ${none}`]);
    expect(found(from({ ipBlocks: ["10.96.0.0/16"] }))).toEqual([]);
  });

  it("is known only with mutual TLS", () => {
    expect(found(from({ namespaces: ["shop"] }) + peer("default", "DISABLE"))).toEqual([
      "MESH0014: namespaces never match, because mutual TLS is disabled (PeerAuthentication DISABLE) for workloads of namespace shop, and clients have no identity without it; set mode PERMISSIVE or STRICT",
    ]);
    expect(found(from({ namespaces: ["shop"] }) + peer("default", "PERMISSIVE"))).toEqual([]);
  });
});

describe("of policies for the same workloads", () => {
  it("the oldest PeerAuthentication applies", () => {
    expect(found(peer("a", "STRICT") + peer("b", "PERMISSIVE"))).toEqual([
      "MESH0042: the policy has no effect: of the PeerAuthentications of namespace shop without a selector, only the oldest applies, a; merge the two",
    ]);
    expect(found(peer("a", "STRICT"))).toEqual([]);
  });
});

describe("a token", () => {
  const authentication = (header: object): string =>
    object("RequestAuthentication", "shop/ra", {
      spec: { jwtRules: [{ issuer: "me", jwks: '{"keys":[]}', fromHeaders: [header] }] },
    });

  it("of the header Authorization has a prefix", () => {
    expect(found(authentication({ name: "Authorization" }))).toEqual([
      'MESH0014: jwtRules[0].fromHeaders[0]: has no prefix, so that "Bearer " is taken for a part of the token, which is rejected, expected prefix "Bearer "',
    ]);
    expect(found(authentication({ name: "Authorization", prefix: "Bearer " }))).toEqual([]);
    expect(found(authentication({ name: "x-token" }))).toEqual([]);
  });
});

describe("a route", () => {
  it("is for an authority among the hosts", () => {
    const matching = (exact: string): object => ({ match: [{ authority: { exact } }], route: to });
    expect(found(routes(matching("other.example")))).toEqual([
      'MESH0014: authority "other.example" never matches, because the routes are only for requests to the hosts of the VirtualService, web; add it to hosts, or name one of them',
    ]);
    for (const authority of ["web", "web:80", "web.shop", "web.shop.svc.cluster.local", "10.96.0.7"])
      expect(found(routes(matching(authority)))).toEqual([]);
  });

  it("does not redirect to itself", () => {
    const loop = (path: string): string =>
      `leads to ${path}, which the route redirects again, without an end, expected a path that another route matches`;
    const prefix = (value: string): object => ({ uri: { prefix: value } });
    expect(found(routes({ match: [prefix("/a")], redirect: { uri: "/a/b" } }))).toEqual([
      `MESH0043: http[0].redirect.uri: ${loop("/a/b")}`,
    ]);
    expect(found(routes({ match: [prefix("/a")], redirect: { prefixRewrite: "/a/b" } }))).toEqual([
      `MESH0043: http[0].redirect.prefixRewrite: ${loop("/a/b")}`,
    ]);
    expect(found(routes({ redirect: { uri: "/b" } }))).toEqual([`MESH0043: http[0].redirect.uri: ${loop("/b")}`]);
    expect(found(routes({ match: [{ uri: { exact: "/a" } }], redirect: { uri: "/a/" } }))).toEqual([]);
    expect(found(routes({ match: [prefix("/a")], redirect: { uri: "/a", authority: "b.example" } }))).toEqual([]);
    expect(
      found(routes({ match: [{ ...prefix("/a"), headers: { x: { exact: "y" } } }], redirect: { uri: "/a" } })),
    ).toEqual([]);
  });

  it("does not redirect to the scheme of its server", () => {
    const gateway = object("Gateway", "shop/gw", {
      spec: {
        selector: { app: "web" },
        servers: [
          { port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["a.example"] },
          {
            port: { number: 443, name: "https", protocol: "HTTPS" },
            hosts: ["a.example"],
            tls: { mode: "SIMPLE", credentialName: "c" },
          },
        ],
      },
    });
    const redirecting = (match?: object): string =>
      object("VirtualService", "shop/vs", {
        spec: {
          hosts: ["a.example"],
          gateways: ["gw"],
          http: [{ ...(match && { match: [match] }), redirect: { scheme: "https" } }],
        },
      });
    expect(found(gateway + redirecting())).toEqual([
      "MESH0043: requests to port 443 HTTPS SIMPLE of Gateway shop/gw are redirected to the https that they have already, without an end; set httpsRedirect on the HTTP server instead, or match its port",
    ]);
    expect(found(gateway + redirecting({ port: 80 }))).toEqual([]);
  });
});

describe("settings", () => {
  const rule = (host: string, trafficPolicy: object): string =>
    object("DestinationRule", "shop/dr", { spec: { host, trafficPolicy } });

  it("of requests are for hosts with HTTP", () => {
    const none = (field: string): string =>
      `MESH0042: ${field} has no effect: db has no port for HTTP (5432 TCP), and connections have no requests; use settings of connections, such as connectionPool.tcp and useSourceIp`;
    expect(found(rule("db", { loadBalancer: { consistentHash: { httpHeaderName: "x" } } }))).toEqual([
      none("httpHeaderName"),
    ]);
    expect(found(rule("db", { connectionPool: { http: { maxRetries: 1 } } }))).toEqual([none("http")]);
    expect(found(rule("db", { loadBalancer: { consistentHash: { useSourceIp: true } } }))).toEqual([]);
    expect(found(rule("web", { connectionPool: { http: { maxRetries: 1 } } }))).toEqual([]);
  });

  it("eject endpoints", () => {
    expect(found(rule("web", { outlierDetection: { consecutive5xxErrors: 0, consecutiveGatewayErrors: 0 } }))).toEqual([
      "MESH0042: trafficPolicy.outlierDetection: ejects nothing: consecutive5xxErrors and consecutiveGatewayErrors are 0, which disables them",
    ]);
    expect(found(rule("web", { outlierDetection: { consecutive5xxErrors: 0 } }))).toEqual([]);
  });

  it("of port 443 of a Gateway are for TLS", () => {
    const port = (number: number, name: string): string =>
      object("Gateway", "shop/gw", {
        spec: {
          selector: { app: "web" },
          servers: [{ port: { number, name, protocol: "HTTP" }, hosts: ["a.example"] }],
        },
      });
    const fails = (number: number): string =>
      `MESH0047: servers[0].port.protocol: is HTTP, so that clients that send TLS to port ${number} fail, expected HTTPS and tls, unless TLS ends before the gateway`;
    expect(found(port(443, "http"))).toEqual([fails(443)]);
    expect(found(port(8443, "https-a"))).toEqual([fails(8443)]);
    expect(found(port(80, "http"))).toEqual([]);
  });
});

describe("a WorkloadEntry", () => {
  const machine = (app: string): string =>
    plain("WorkloadEntry", "networking", "vm", { address: "10.1.1.1", labels: { app } });

  it("is selected by a service", () => {
    expect(found(machine("old"))).toEqual([
      "MESH0010: no Service or ServiceEntry of namespace shop selects the labels app=old, so that no request reaches the workload; correct the labels, or add a ServiceEntry with a workloadSelector",
    ]);
    expect(found(machine("web"))).toEqual([]);
    const entry = object("ServiceEntry", "shop/se", {
      spec: {
        hosts: ["old.internal"],
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        resolution: "STATIC",
        workloadSelector: { labels: { app: "old" } },
      },
    });
    expect(found(machine("old") + entry)).toEqual([]);
  });
});
