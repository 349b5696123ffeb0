import fc from "fast-check";
import { from, headerNames, list, numbers, regexes, some, texts } from "../../values.js";
import { object } from "../manifest.js";
import {
  backendObject,
  goDurations,
  group,
  headerValues,
  hostnames,
  objectNames,
  parentRefs,
  portNumbers,
  sectionNames,
} from "./values.js";

const valueMatch = fc.oneof(
  fc.record({ name: headerNames, value: fc.oneof(from("x"), headerValues) }),
  fc.record({ type: fc.constant("RegularExpression"), name: headerNames, value: regexes }),
);
const paths = fc.oneof(
  from("/", "/x", "/x/", "/a/b"),
  from("/%2f", "/a//b", "/.", "/a?b", "/{a}", "/*", "/[", "/é", "", "x", "/a b", `/${"a".repeat(20_000)}`),
);
const pathMatch = fc.oneof(
  fc.record({ type: from("PathPrefix", "Exact"), value: paths }),
  fc.record({ type: fc.constant("RegularExpression"), value: regexes }),
);
const methods = from("GET", "CONNECT", "TRACE", "X");
const httpMatch = some({
  path: pathMatch,
  headers: list(valueMatch, 3),
  queryParams: list(valueMatch, 3),
  method: methods,
});

const named = fc.oneof({
  weight: 8,
  arbitrary: fc.record({ name: headerNames, value: fc.oneof(from("x", "%PROTOCOL%"), headerValues) }),
});
const many = (length: number): readonly object[] =>
  Array.from({ length }, (_, n) => ({ name: `x-${n}`, value: String(n) }));
const headers = fc.oneof(
  { weight: 9, arbitrary: list(named, 3) },
  { weight: 1, arbitrary: from(many(1000), many(1001)) },
);
const modifier = some({ set: headers, add: headers, remove: list(headerNames, 3) });
const rewrittenPaths = fc.oneof(from("/", "/y"), texts, from("", "/?", "/#", "y", "\\1", "x".repeat(1024)));
const pathModifier = fc.oneof(
  rewrittenPaths.map((path) => ({ type: "ReplaceFullPath", replaceFullPath: path })),
  rewrittenPaths.map((path) => ({ type: "ReplacePrefixMatch", replacePrefixMatch: path })),
);
const origins = from(
  "*",
  "https://a.example.com",
  "https://*.example.com",
  "https://*.*.*",
  "a+b://x:*",
  `https://${"a*".repeat(5000)}`,
  `https://${"a".repeat(40_000)}`,
  "https://*",
  "https://é",
  "",
);
const names = fc.oneof(headerNames, from("*"));

const requestModifier = modifier.map((settings) => ({
  type: "RequestHeaderModifier",
  requestHeaderModifier: settings,
}));
const responseModifier = modifier.map((settings) => ({
  type: "ResponseHeaderModifier",
  responseHeaderModifier: settings,
}));
const mirror = some(
  {
    backendRef: backendObject,
    percent: numbers,
    fraction: some({ numerator: numbers, denominator: numbers }, ["numerator"]),
  },
  ["backendRef"],
).map((settings) => ({ type: "RequestMirror", requestMirror: settings }));
const redirect = some({
  scheme: from("http", "https", "x"),
  hostname: hostnames,
  path: pathModifier,
  port: portNumbers,
  statusCode: from(301, 302, 303, 307, 308, 300, 399),
}).map((settings) => ({ type: "RequestRedirect", requestRedirect: settings }));
const rewrite = some({ hostname: hostnames, path: pathModifier }).map((settings) => ({
  type: "URLRewrite",
  urlRewrite: settings,
}));
const cors = some({
  allowOrigins: list(origins, 3),
  allowCredentials: fc.boolean(),
  allowMethods: list(from("GET", "*", "PATCH", "x y"), 2),
  allowHeaders: list(names, 2),
  exposeHeaders: list(names, 2),
  maxAge: numbers,
}).map((settings) => ({ type: "CORS", cors: settings }));
const other = from(
  { type: "ExternalAuth", externalAuth: { protocol: "HTTP", backendRef: { name: "cart", port: 80 } } },
  { type: "ExtensionRef", extensionRef: { group: "a", kind: "B", name: "c" } },
);
const backend = fc
  .tuple(
    backendObject,
    some({
      weight: fc.oneof({ weight: 6, arbitrary: from(0, 1, 1_000_000) }, numbers),
      filters: list(fc.oneof(requestModifier, responseModifier, rewrite), 2),
    }),
  )
  .map(([ref, more]) => ({ ...ref, ...more }));
/** Weights whose sum is above what Envoy adds. */
const manyBackends = fc.constant(
  Array.from({ length: 4295 }, () => ({ name: "cart", namespace: "shop", port: 80, weight: 1_000_000 })),
);
const backends = fc.oneof({ weight: 40, arbitrary: list(backend, 3) }, { weight: 1, arbitrary: manyBackends });

const httpRule = some({
  name: sectionNames,
  matches: list(httpMatch, 3),
  filters: list(fc.oneof(requestModifier, responseModifier, mirror, redirect, rewrite, cors, other), 2),
  backendRefs: backends,
  timeouts: some({ request: goDurations, backendRequest: goDurations }),
  retry: some({ codes: list(from(400, 503, 599, 399, 600), 3, 0), attempts: numbers, backoff: goDurations }),
});
const grpcRule = some({
  name: sectionNames,
  matches: list(
    some({
      method: some({
        type: from("Exact", "RegularExpression"),
        service: fc.oneof(from("a.B", "a_b.C", `a.${"b".repeat(1022)}`), regexes),
        method: fc.oneof(from("Read", "x".repeat(1024)), regexes),
      }),
      headers: list(valueMatch, 3),
    }),
    3,
  ),
  filters: list(fc.oneof(requestModifier, responseModifier, mirror), 2),
  backendRefs: backends,
});
const rule = (backendRefs: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.record({ backendRefs, name: sectionNames }, { requiredKeys: ["backendRefs"] });
const hosts = list(hostnames, 3, 0);

export const gatewayApiRoute = fc.oneof(
  {
    weight: 8,
    arbitrary: object(group, "HTTPRoute", fc.record({ parentRefs, hostnames: hosts, rules: list(httpRule, 3) })),
  },
  {
    weight: 3,
    arbitrary: object(group, "GRPCRoute", fc.record({ parentRefs, hostnames: hosts, rules: list(grpcRule, 3) })),
  },
  {
    weight: 1,
    arbitrary: object(group, "TLSRoute", fc.record({ parentRefs, hostnames: hosts, rules: list(rule(backends)) })),
  },
  { weight: 1, arbitrary: object(group, "TCPRoute", fc.record({ parentRefs, rules: list(rule(backends)) })) },
  {
    weight: 1,
    arbitrary: object(
      "gateway.networking.k8s.io/v1beta1",
      "ReferenceGrant",
      fc.record({
        from: list(
          fc.record({
            group: from("gateway.networking.k8s.io", "x y"),
            kind: from("HTTPRoute", "Gateway"),
            namespace: from("shop", "other", "*"),
          }),
        ),
        to: list(some({ group: from("", "a"), kind: from("Service", "Secret"), name: objectNames }, ["group", "kind"])),
      }),
    ),
  },
);
