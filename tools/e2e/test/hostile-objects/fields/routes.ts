import { type FieldTable, istioObject, type Position } from "./field-table.js";

const long = (length: number): string => "x".repeat(length);
const control = ["a\nb", "a\0b", "a\rb"];
const host = "cart.shop.svc.cluster.local";
const route = [{ destination: { host } }];
const times = { accepted: ["0.001s", "1s", "9223372035s"], refusedByApi: ["0s", "-1s", "0.0015s", "1.5sx", "1s "] };

const bound =
  (http: object, namespace: string, gateways?: readonly string[]): Position["objects"] =>
  () => [istioObject("VirtualService", { hosts: [host], ...(gateways && { gateways }), http: [http] }, { namespace })];

const withRoute: Readonly<Record<string, Position>> = {
  "routes of the mesh": { objects: (http) => bound({ route, ...http }, "shop")(http), path: "http.0" },
  "routes of the mesh, from the root namespace": {
    objects: (http) => bound({ route, ...http }, "istio-system")(http),
    path: "http.0",
  },
  "routes of a gateway": { objects: (http) => bound({ route, ...http }, "shop", ["shop/gw"])(http), path: "http.0" },
};

const alone: Readonly<Record<string, Position>> = Object.fromEntries(
  Object.entries({ "routes of the mesh": undefined, "routes of a gateway": ["shop/gw"] }).map(([where, gateways]) => [
    where,
    { objects: (http: object) => bound(http, "shop", gateways)(http), path: "http.0" },
  ]),
);

export const routes: readonly FieldTable[] = [
  {
    part: "a route with destinations",
    positions: withRoute,
    rows: [
      { field: "timeout", ...times, refused: ["9223372036s"] },
      { field: "retries.attempts", accepted: [0, 1, 2_147_483_647], refusedByApi: [-1, "0x1"] },
      { field: "retries.perTryTimeout", beside: { retries: { attempts: 1 } }, ...times, refused: ["9223372036s"] },
      {
        field: "retries.backoff",
        beside: { retries: { attempts: 1 } },
        ...times,
        accepted: ["0.001s", "1s"],
        refused: ["9223372036s"],
      },
      {
        field: "retries.retryOn",
        beside: { retries: { attempts: 1 } },
        accepted: ["5xx", "503", "reset,503"],
        refusedByApi: ["x", "700", "5xx,"],
      },
      { field: "fault.delay.fixedDelay", ...times, refused: ["9223372036s"] },
      {
        field: "fault.delay.percentage.value",
        beside: { fault: { delay: { fixedDelay: "1s" } } },
        accepted: [0, 0.0001, 50, 100],
        refusedByApi: [-1, 0.00001, 100.1, "NaN", "Infinity"],
      },
      {
        field: "fault.abort.percentage.value",
        beside: { fault: { abort: { httpStatus: 500 } } },
        accepted: [0, 0.0001, 50, 100],
        refusedByApi: [-1, 0.00001, 100.1, "NaN", "Infinity"],
      },
      { field: "fault.abort.httpStatus", accepted: [200, 503, 599], refused: [600, 199], refusedByApi: [0, -1, 601] },
      {
        field: "mirrorPercentage.value",
        beside: { mirror: { host } },
        accepted: [0, 0.00001, 50, 100],
        refusedByApi: [-1, 100.1, "NaN", "Infinity"],
      },
      {
        field: "mirrors.0.percentage.value",
        beside: { mirrors: [{ destination: { host } }] },
        accepted: [0, 50, 100],
        refusedByApi: [-1, 100.1, "NaN"],
      },
      { field: "mirrorPercent", beside: { mirror: { host } }, accepted: [0, 50, 100], refusedByApi: [-1, 101] },
      { field: "corsPolicy.maxAge", accepted: ["1s", "9223372035s"], refusedByApi: ["0.5s", "-1s", "9223372036s"] },
      { field: "corsPolicy.allowHeaders.0", accepted: ["x-a", "*"], refusedByApi: [...control, "", "a b"] },
      { field: "corsPolicy.allowMethods.0", accepted: ["GET", "*"], refusedByApi: ["x", "", "a\nb"] },
      {
        field: "corsPolicy.allowOrigins.0.exact",
        accepted: ["a", "é", ...control, long(5_000)],
        refusedByApi: [""],
        faultAt: "corsPolicy.allowOrigins.0",
      },
      { field: "rewrite.uri", accepted: ["/a", "/a?b", "é", long(5_000)], refused: ["/a\nb", "/a\0b"] },
      {
        field: "rewrite.uriRegexRewrite.rewrite",
        accepted: ["a\tb", "\\1", "\\9", "\\", "é", long(5_000)],
        refused: control,
        beside: { rewrite: { uriRegexRewrite: { match: "a(b)" } } },
      },
      { field: "rewrite.authority", accepted: ["a.example.com", "a b", long(5_000)], refused: control },
      { field: "match.0.uri.prefix", accepted: ["/", "/a?b", "/a#b", "é", ...control, long(5_000)] },
      { field: "match.0.uri.exact", accepted: ["/", "/a?b", "/a#b", "é", ...control, long(5_000)] },
      {
        field: "match.0.queryParams.a.exact",
        accepted: ["", "é", ...control, long(5_000)],
        refusedByApi: [],
        faultAt: "match.0",
      },
      { field: "match.0.headers.x-a.exact", accepted: ["a", "é", ...control, long(5_000)] },
      { field: "match.0.port", accepted: [0, 80, 65_535], refusedByApi: [65_536, -1, "+3"] },
      { field: "route.0.weight", beside: { route }, accepted: [0, 1, 2_147_483_647], refusedByApi: [-1, "1e2"] },
      { field: "name", accepted: ["", "a", "é", ...control, long(5_000)] },
    ],
  },
  {
    part: "a route without destinations",
    positions: alone,
    rows: [
      { field: "redirect.uri", accepted: ["/a", "/a?b", "é", long(5_000)], refused: control },
      { field: "redirect.authority", accepted: ["a.example.com", "a b", long(5_000)], refused: control },
      { field: "redirect.prefixRewrite", accepted: ["/a", "é"], refused: control },
      {
        field: "redirect.redirectCode",
        beside: { redirect: { uri: "/a" } },
        accepted: [0, 301, 302, 303, 307, 308],
        refused: [300],
        refusedByApi: [304, 399, 400, 100],
      },
      { field: "redirect.port", accepted: [1, 65_535], refusedByApi: [65_536, "0x10"] },
      { field: "directResponse.status", accepted: [200, 503, 599], refused: [600], refusedByApi: [0, 100, 601] },
      {
        field: "directResponse.body.string",
        beside: { directResponse: { status: 200 } },
        accepted: ["", "é", "%", ...control, long(1_048_576)],
        refusedByApi: [long(1_048_577)],
        faultAt: "directResponse.body",
      },
    ],
  },
];
