import type { Manifest } from "../kinds/manifest.js";
import type { FieldRow, FieldTable, Position } from "./field-table.js";

const long = (length: number): string => "x".repeat(length);
const backendRefs = [{ name: "cart", port: 80 }];
const group = "gateway.networking.k8s.io/v1";

/** A Gateway whose Service is that of the tested gateway. */
const front: readonly Manifest[] = [
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "ingress", namespace: "istio-system" },
    spec: { clusterIP: "10.96.0.9", selector: { istio: "ingress" }, ports: [{ name: "http-80", port: 80 }] },
  },
  gateway({ name: "http", port: 80, protocol: "HTTP", allowedRoutes: { namespaces: { from: "All" } } }, "front"),
];

function gateway(listener: object, name: string): Manifest {
  return {
    apiVersion: group,
    kind: "Gateway",
    metadata: { name, namespace: "istio-system" },
    spec: {
      gatewayClassName: "istio",
      addresses: [{ type: "Hostname", value: "ingress.istio-system.svc.cluster.local" }],
      listeners: [listener],
    },
  };
}

const route = (kind: string, parentRef: object, rule: object): Manifest => ({
  apiVersion: group,
  kind,
  metadata: { name: "a", namespace: "shop" },
  spec: { parentRefs: [parentRef], rules: [{ backendRefs, ...rule }] },
});
const atFront = { name: "front", namespace: "istio-system" };
const atService = { group: "", kind: "Service", name: "cart", port: 80 };
const position = (kind: string, parentRef: object, objects: readonly Manifest[]): Position => ({
  objects: (rule) => [route(kind, parentRef, rule), ...objects],
  path: "rules.0",
});

const ofHttp: Readonly<Record<string, Position>> = {
  "HTTPRoute at a Gateway": position("HTTPRoute", atFront, front),
  "HTTPRoute of a Service": position("HTTPRoute", atService, []),
};
const ofBoth: Readonly<Record<string, Position>> = {
  ...ofHttp,
  "GRPCRoute at a Gateway": position("GRPCRoute", atFront, front),
  "GRPCRoute of a Service": position("GRPCRoute", atService, []),
};

const modifier = (side: "request" | "response"): readonly FieldRow[] => {
  const field = `${side}HeaderModifier`;
  const type = `${side === "request" ? "Request" : "Response"}HeaderModifier`;
  const beside = (settings: object): object => ({ filters: [{ type, [field]: settings }] });
  return [
    {
      field: `filters.0.${field}.remove.0`,
      beside: beside({}),
      accepted: ["x-a", "X-A", "cookie", "host", ":path", "x b", "é", "x:y", long(20_000)],
      refused: ["", "x\nb", "x\0b", "x\rb"],
    },
    {
      field: `filters.0.${field}.set.0.value`,
      beside: beside({ set: [{ name: "x-a" }] }),
      accepted: ["a", "", "a\tb", "é", "%PROTOCOL%", "%REQ(x-b)%", "100%%", long(16_384)],
      refused: ["%BAD%", "%CLIENT_ADDRESS%", "%", long(16_385)],
    },
    {
      field: `filters.0.${field}.add.0.value`,
      beside: beside({ add: [{ name: "x-a" }] }),
      accepted: ["a", long(16_384)],
      refused: ["%BAD%", long(16_385)],
    },
    {
      field: `filters.0.${field}.set`,
      beside: beside({}),
      faultAt: `filters.0.${field}`,
      accepted: [headers(1000)],
      refused: [headers(1001)],
    },
    {
      field: `filters.0.${field}.set.0.name`,
      beside: beside({ set: [{ value: "a" }] }),
      accepted: ["x-a", "X-A", "content-length", "host"],
      refusedByApi: ["", ":path", "x b", "x\nb", long(257)],
    },
  ];
};

function headers(count: number): readonly object[] {
  return Array.from({ length: count }, (_, n) => ({ name: `x-${n}`, value: "a" }));
}

const weighted = (count: number): readonly object[] =>
  Array.from({ length: count }, () => ({ name: "cart", port: 80, weight: 1_000_000 }));

/** Settings of routes, policies and listeners of the Gateway API. */
export const gatewayApi: readonly FieldTable[] = [
  {
    part: "a rule of a route of the Gateway API",
    positions: ofBoth,
    rows: [
      ...modifier("request"),
      ...modifier("response"),
      { field: "backendRefs", accepted: [weighted(4294)], refused: [weighted(4295)] },
      {
        field: "matches.0.headers.0.value",
        beside: { matches: [{ headers: [{ name: "x-a" }] }] },
        accepted: ["", "a", "a\nb", "é", long(20_000)],
      },
      {
        field: "matches.0.headers.0.value",
        beside: { matches: [{ headers: [{ name: "x-a", type: "RegularExpression" }] }] },
        accepted: [".*", "^a$", "\\pL"],
        refused: ["", "[", "a**", "\\x{4e00}"],
        refusedByApi: ["*", "\\pL{1,50}", "\\C", long(1025)],
      },
    ],
  },
  {
    part: "a rule of an HTTPRoute",
    positions: ofHttp,
    rows: [
      {
        field: "matches.0.path.value",
        beside: { matches: [{ path: { type: "RegularExpression" } }] },
        accepted: ["/.*", "/[^/]+"],
        refused: ["", "/[", "*"],
        refusedByApi: ["/\\pL{1,50}"],
      },
      {
        field: "matches.0.path.value",
        beside: { matches: [{ path: { type: "PathPrefix" } }] },
        accepted: ["/", "/a", "/a/", "/a%3Fb", `/${long(5000)}`],
        refusedByApi: ["", "a", "/a?b", "/a#b", "//", "/a//b", "/./a", "/a%2fb", "/é"],
      },
      {
        field: "matches.0.queryParams.0.name",
        beside: { matches: [{ queryParams: [{ value: "a" }] }] },
        accepted: ["a", long(256)],
        refusedByApi: ["", "a b", long(257)],
      },
      {
        field: "filters.0.requestRedirect.path.replaceFullPath",
        beside: {
          backendRefs: [],
          filters: [{ type: "RequestRedirect", requestRedirect: { path: { type: "ReplaceFullPath" } } }],
        },
        accepted: ["", "/", "/a", "/?", "/#", "é", long(1024)],
        refused: ["/a\nb", "/\0", "/\r"],
        refusedByApi: [long(1025)],
      },
      {
        field: "filters.0.urlRewrite.path.replaceFullPath",
        beside: { filters: [{ type: "URLRewrite", urlRewrite: { path: { type: "ReplaceFullPath" } } }] },
        accepted: ["/", "/a", "/?", "/#", "é", long(1024)],
        refused: ["/a\nb", "/\0"],
        refusedByApi: [long(1025)],
      },
      {
        field: "filters.0.urlRewrite.hostname",
        beside: { filters: [{ type: "URLRewrite", urlRewrite: {} }] },
        accepted: ["a.example.com", "192.0.2.1"],
        refusedByApi: ["a\nb", "A", "*.example.com"],
      },
      {
        field: "filters.0.cors.allowOrigins.0",
        beside: { filters: [{ type: "CORS", cors: {} }] },
        accepted: [
          "*",
          "https://a.example.com",
          "https://*.example.com",
          "https://*.a.*.b",
          `https://${long(245)}`,
          `https://${"a*".repeat(122)}`,
        ],
        refusedByApi: ["", "a", "https://é", `https://*${long(245)}`, `https://${long(246)}`],
      },
      {
        field: "filters.0.cors.maxAge",
        beside: { filters: [{ type: "CORS", cors: { allowOrigins: ["*"] } }] },
        accepted: [1, 86_400, 2_147_483_647],
        refusedByApi: [0, -1, 2_147_483_648],
      },
      {
        field: "retry.backoff",
        beside: { retry: { attempts: 1 } },
        accepted: ["1ms", "10s", "99999h", "0s"],
        refusedByApi: ["-1s", "0.5s", "1us", "100000h"],
      },
      {
        field: "retry.attempts",
        beside: { retry: {} },
        accepted: [0, 1, 2_147_483_647],
        refusedByApi: [-1, 2_147_483_648],
      },
      { field: "retry.codes.0", beside: { retry: {} }, accepted: [400, 503, 599], refusedByApi: [399, 600, 0] },
      {
        field: "timeouts.request",
        accepted: ["0s", "1ms", "99999h", "99999h99999m99999s99999ms"],
        refusedByApi: ["-1s", "0.5s", "1us"],
      },
      {
        field: "backendRefs.0.port",
        beside: { backendRefs: [{ name: "cart" }] },
        accepted: [80, 1, 65_535],
        refusedByApi: [0, 65_536, -1],
      },
    ],
  },
  {
    part: "a policy of the Gateway API for a backend",
    positions: {
      BackendTLSPolicy: {
        objects: (validation) => [
          {
            apiVersion: group,
            kind: "BackendTLSPolicy",
            metadata: { name: "a", namespace: "shop" },
            spec: {
              targetRefs: [{ group: "", kind: "Service", name: "cart" }],
              validation: { wellKnownCACertificates: "System", hostname: "a.example.com", ...validation },
            },
          },
        ],
        path: "validation",
      },
    },
    rows: [
      {
        field: "hostname",
        accepted: ["a", "a.example.com", `${long(63)}.${long(63)}.${long(63)}.${long(61)}`],
        refused: [],
        refusedByApi: ["", "*.a", "a\0b", "A", long(256)],
      },
      {
        field: "subjectAltNames.0.uri",
        beside: { subjectAltNames: [{ type: "URI" }] },
        accepted: ["spiffe://a/b", "é", "a\nb", long(20_000)],
        refusedByApi: [""],
      },
    ],
  },
  {
    part: "a retry budget of an XBackendTrafficPolicy",
    positions: {
      XBackendTrafficPolicy: {
        objects: (retryConstraint) => [
          {
            apiVersion: "gateway.networking.x-k8s.io/v1alpha1",
            kind: "XBackendTrafficPolicy",
            metadata: { name: "a", namespace: "shop" },
            spec: { targetRefs: [{ group: "", kind: "Service", name: "cart" }], retryConstraint },
          },
        ],
        path: "retryConstraint",
      },
    },
    rows: [
      { field: "budget.percent", accepted: [0, 1, 100], refusedByApi: [-1, 101] },
      {
        field: "budget.interval",
        beside: { budget: { percent: 1 } },
        accepted: ["1ms", "10s", "99999h", "0s"],
        refusedByApi: ["-1s", "0.5s"],
      },
      {
        field: "minRetryRate.count",
        beside: { budget: { percent: 1 } },
        accepted: [1, 1_000_000],
        refusedByApi: [0, 1_000_001, -1],
      },
    ],
  },
  {
    part: "a listener of the Gateway API",
    positions: {
      Gateway: {
        objects: (listener) => [gateway({ name: "tls", port: 8443, protocol: "TLS", ...listener }, "b"), ...front],
        path: "listeners.0",
      },
    },
    rows: [
      {
        field: "tls.options",
        beside: { tls: { mode: "Passthrough" } },
        accepted: ["AES128-SHA", "x", "[", "!ALL", ""].map((ciphers) => ({
          "gateway.istio.io/tls-cipher-suites": ciphers,
        })),
      },
      {
        field: "hostname",
        beside: { tls: { mode: "Passthrough" } },
        accepted: ["a.example.com", "*.example.com", "*.a"],
        refusedByApi: ["*", "*a.example.com", "A.example.com", "a_b", "192.0.2.1:80"],
      },
      {
        field: "port",
        beside: { tls: { mode: "Passthrough" } },
        accepted: [1, 8443, 15_090, 65_535],
        refusedByApi: [0, 65_536, -1, "443"],
      },
    ],
  },
];
