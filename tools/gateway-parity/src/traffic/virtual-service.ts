import { optional, rare, some, unique, usual } from "@istiod/gateway-api/testing";
import fc from "fast-check";
import { duration, exportTo, host, labels, objects, percent, port, stringMatch, weight, wildcard } from "./fields.js";

const { constantFrom, record, oneof, tuple } = fc;

const gatewayNames = constantFrom(
  "mesh",
  "mesh",
  "infra/z-gateway-0",
  "shop/y-gateway-1",
  "z-gateway-0",
  "infra/absent",
);
const gateways = rare(some(gatewayNames, 2).map(unique((name) => name)));
const routedHosts = some(
  oneof(
    { weight: 6, arbitrary: host },
    { weight: 2, arbitrary: wildcard },
    { weight: 2, arbitrary: constantFrom("app.example.com", "*.example.com", "App.example.com") },
  ),
  2,
).map(unique((name) => name));

const destination = record({
  host,
  subset: rare(constantFrom("v1", "v2", "absent")),
  port: optional(port.map((number) => ({ number }))),
});

const headers = rare(
  record({
    request: optional(
      record({
        set: optional(constantFrom({ "x-a": "b" }, { host: "other.example" }, { "x-b": "%START_TIME%" })),
        add: optional(constantFrom({ "x-c": "1" }, { "X-Upper": "2" })),
        remove: optional(constantFrom<readonly string[]>(["x-d"], ["x-e", "x-f"])),
      }),
    ),
    response: optional(
      record({ set: optional(constantFrom({ "x-g": "h" })), remove: optional(constantFrom(["server"])) }),
    ),
  }),
);

const httpMatch = record({
  name: rare(constantFrom("one")),
  uri: optional(stringMatch(["/", "/api", "/api/v1", "/.well-known"])),
  scheme: rare(constantFrom({ exact: "https" }, { prefix: "http" })),
  method: rare(constantFrom({ exact: "GET" }, { regex: "GET|POST" })),
  authority: rare(stringMatch(["cart", "app.example.com"])),
  headers: rare(
    constantFrom<object>(
      { "x-user": { exact: "ann" }, "x-other": { regex: ".*" } },
      { "x-user": {} },
      { ":method": { exact: "PUT" } },
      { "x-p": { prefix: "a" } },
    ),
  ),
  withoutHeaders: rare(constantFrom<object>({ "x-none": { exact: "a" } }, { "x-none": {} })),
  queryParams: rare(constantFrom<object>({ q: { exact: "1" } }, { q: { prefix: "a" }, r: { regex: "b+" } })),
  ignoreUriCase: rare(fc.constant(true)),
  port: rare(port),
  sourceLabels: rare(labels),
  sourceNamespace: rare(constantFrom("shop", "payments")),
  gateways: rare(constantFrom<readonly string[]>(["mesh"], ["infra/z-gateway-0"])),
  statPrefix: rare(constantFrom("stats")),
});

const fault = rare(
  record({
    delay: optional(record({ percentage: optional(record({ value: percent })), fixedDelay: duration })),
    abort: optional(
      oneof<fc.Arbitrary<object>[]>(
        record({ percentage: optional(record({ value: percent })), httpStatus: constantFrom(403, 503) }),
        record({
          percentage: optional(record({ value: percent })),
          grpcStatus: constantFrom("UNAVAILABLE", "ABORTED"),
        }),
      ),
    ),
  }).map((each) => (each.delay === undefined && each.abort === undefined ? undefined : each)),
);

const retries = rare(
  record({
    attempts: constantFrom(0, 1, 3),
    perTryTimeout: optional(duration),
    retryOn: optional(constantFrom("5xx", "gateway-error,503", "connect-failure,retriable-status-codes,429", "")),
    retryRemoteLocalities: optional(fc.boolean()),
    retryIgnorePreviousHosts: optional(fc.boolean()),
    backoff: optional(constantFrom("0.1s", "1s")),
  }).map(({ attempts, ...others }) => (attempts === 0 ? { attempts } : { attempts, ...others })),
);

const corsPolicy = rare(
  record({
    allowOrigins: some(stringMatch(["https://a.example", "https://b"]), 2),
    allowMethods: optional(constantFrom<readonly string[]>(["GET"], ["GET", "POST"])),
    allowHeaders: optional(constantFrom(["x-a"])),
    exposeHeaders: optional(constantFrom(["x-b"])),
    maxAge: optional(constantFrom("1s", "86400s")),
    allowCredentials: optional(fc.boolean()),
    unmatchedPreflights: optional(constantFrom("FORWARD", "IGNORE")),
  }),
);

/** Destinations of a route, of which one at least has a weight. */
const destinations = fc
  .array(record({ destination, headers, weight }), { minLength: 1, maxLength: 3 })
  .map(([first, ...others]) => {
    if (first === undefined) return [];
    if (others.length === 0) return [{ destination: first.destination, headers: first.headers }];
    return [{ ...first, weight: first.weight === 0 ? 10 : first.weight }, ...others];
  });

const options = {
  timeout: optional(duration),
  retries,
  fault,
  corsPolicy,
  headers,
  rewrite: rare(
    constantFrom<object>(
      { uri: "/" },
      { uri: "/new" },
      { authority: "new.example" },
      { uri: "/n", authority: "m" },
      { uriRegexRewrite: { match: "^/a/(.*)", rewrite: "/b/\\1" } },
    ),
  ),
  mirror: rare(destination),
  mirrorPercentage: rare(record({ value: percent })),
};

const action = oneof(
  { weight: 3, arbitrary: record({ route: destinations, ...options }) },
  record({
    redirect: constantFrom<object>(
      { uri: "/new" },
      { authority: "other.example", redirectCode: 308 },
      { scheme: "https", port: 8443 },
      { derivePort: "FROM_PROTOCOL_DEFAULT", uri: "/x" },
      { derivePort: "FROM_REQUEST_PORT", authority: "o" },
    ),
    headers,
  }),
  record({
    directResponse: constantFrom<object>(
      { status: 200, body: { string: "text" } },
      { status: 404 },
      { status: 503, body: { bytes: "AAEC" } },
    ),
    headers,
  }),
  record({
    route: destinations,
    mirrors: some(record({ destination, percentage: optional(record({ value: percent })) }), 2),
  }),
);
const httpRoute = tuple(optional(some(httpMatch, 2)), optional(constantFrom("named", "other")), action).map(
  ([match, name, of]) => ({ ...(name !== undefined && { name }), ...(match !== undefined && { match }), ...of }),
);

const l4Match = {
  destinationSubnets: rare(constantFrom<readonly string[]>(["10.96.3.1"], ["10.96.0.0/16", "192.0.2.0/24"])),
  port: optional(port),
  sourceLabels: rare(labels),
  gateways: rare(constantFrom<readonly string[]>(["mesh"], ["infra/z-gateway-0"])),
  sourceNamespace: rare(constantFrom("shop", "payments")),
};
const l4Routes = destinations.map((list) => list.map(({ headers: _, ...each }) => each));
const tcpRoute = record({ match: optional(some(record(l4Match), 2)), route: l4Routes });
const tlsRoute = (of: readonly string[]) =>
  record({
    match: some(
      record({
        sniHosts: some(
          constantFrom(...of.flatMap((each) => (each.startsWith("*.") ? [each, `sub${each.slice(1)}`] : [each]))),
          2,
        ).map(unique((name) => name)),
        ...l4Match,
      }),
      2,
    ),
    route: l4Routes,
  });

const virtualService = routedHosts.chain((names) => {
  const full = names.filter((name) => name.includes("."));
  return record({
    hosts: fc.constant(names),
    gateways,
    http: usual(fc.array(httpRoute, { minLength: 1, maxLength: 4 })),
    tcp: rare(some(tcpRoute, 2)),
    tls: full.length === 0 ? fc.constant(undefined) : rare(some(tlsRoute(full), 2)),
    exportTo,
  }).map((spec) =>
    spec.http === undefined && spec.tcp === undefined && spec.tls === undefined
      ? { ...spec, http: [{ route: [{ destination: { host: "cart.shop.svc.cluster.local" } }] }] }
      : spec,
  );
});

export const virtualServices = objects("networking.istio.io/v1", "VirtualService", virtualService, 5);
