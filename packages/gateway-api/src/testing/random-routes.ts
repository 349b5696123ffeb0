import fc from "fast-check";
import { gatewayRef } from "./random-gateways.js";
import {
  GROUP,
  INFERENCE_GROUP,
  ISTIO_GROUP,
  optional,
  rare,
  some,
  namespace,
  named,
  unique,
  nameOnce,
} from "./random-fields.js";

const { constantFrom, record, array, oneof } = fc;

const service = (name: string, of: string): object => ({ group: "", kind: "Service", name, namespace: of });
const serviceEntry = (name: string, of: string): object => ({
  group: ISTIO_GROUP,
  kind: "ServiceEntry",
  name,
  namespace: of,
});
interface ParentRef {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly sectionName?: string;
  readonly port?: number;
}
const listenerSetRef = fc
  .tuple(constantFrom("set-0", "set-0", "set-1", "set-2", "set-9"), optional(namespace))
  .map(([name, of]) => ({ group: GROUP, kind: "ListenerSet", name, ...(of !== undefined && { namespace: of }) }));
const parent = oneof<fc.WeightedArbitrary<object>[]>(
  { weight: 7, arbitrary: gatewayRef.map((ref) => ({ group: GROUP, kind: "Gateway", ...ref })) },
  { weight: 2, arbitrary: listenerSetRef },
  {
    weight: 3,
    arbitrary: constantFrom(service("cart", "shop"), service("cart", "shop"), service("ledger", "payments")),
  },
  {
    weight: 1,
    arbitrary: constantFrom(
      service("orders", "shop"),
      service("legacy", "shop"),
      service("bare", "shop"),
      service("multi", "payments"),
      service("absent", "shop"),
    ),
  },
  {
    weight: 1,
    arbitrary: constantFrom<object>(
      { group: GROUP, kind: "Gateway", name: "absent" },
      { group: GROUP, kind: "Gateway", name: "inner" },
      { group: "x.example", kind: "Other", name: "edge" },
    ),
  },
  {
    weight: 1,
    arbitrary: constantFrom(
      serviceEntry("rates", "shop"),
      serviceEntry("partners", "payments"),
      serviceEntry("any", "infra"),
      serviceEntry("absent", "shop"),
    ),
  },
) as fc.Arbitrary<ParentRef>;
const isListening = (kind: string): boolean => kind === "Gateway" || kind === "ListenerSet";
const parentKey = ({ group, kind, name, namespace: of = "" }: ParentRef): string => `${group}/${kind}/${of}/${name}`;
const parentRefs = fc
  .array(
    fc
      .tuple(
        parent,
        rare(constantFrom("l0", "l1", "l2", "l9")),
        rare(constantFrom(80, 8080, 443)),
        rare(constantFrom(["l0", "l1"], ["l1", "l2"])),
      )
      .map(([ref, sectionName, port, sections]): readonly ParentRef[] => {
        if (sections !== undefined && isListening(ref.kind))
          return sections.map((section) => ({ ...ref, sectionName: section }));
        const section = sectionName !== undefined && isListening(ref.kind) && { sectionName };
        return [{ ...ref, ...section, ...(port !== undefined && { port }) }];
      }),
    { minLength: 1, maxLength: 3 },
  )
  // Several references to one parent must all name sections.
  .map((groups) => unique((refs: readonly ParentRef[]) => refs[0] && parentKey(refs[0]))(groups).flat());
const routeHostnames = optional(
  some(
    constantFrom(
      "shop.example.com",
      "api.example.com",
      "*.example.com",
      "www.other.org",
      "*.com",
      "a.shop.example.com",
      "*.shop.example.com",
    ),
    3,
  ).map(unique((hostname) => hostname)),
);

const backend = oneof<fc.WeightedArbitrary<object>[]>(
  {
    weight: 8,
    arbitrary: constantFrom(
      { name: "cart", namespace: "shop", port: 80 },
      { name: "web", namespace: "shop", port: 80 },
    ),
  },
  {
    weight: 4,
    arbitrary: constantFrom(
      { name: "ledger", namespace: "payments", port: 80 },
      { name: "cart", namespace: "shop", port: 7070 },
      { name: "orders", namespace: "shop", port: 80 },
      { name: "multi", namespace: "payments", port: 81 },
    ),
  },
  { weight: 1, arbitrary: constantFrom({ name: "absent", port: 80 }, { name: "cart", namespace: "shop", port: 81 }) },
  {
    weight: 2,
    arbitrary: constantFrom<object>(
      { kind: "Other", group: "x.example", name: "cart" },
      { name: "legacy", namespace: "shop", port: 80 },
      { name: "bare", namespace: "shop", port: 80 },
      { name: "multi", namespace: "payments", port: 443 },
      { name: "multi", namespace: "payments", port: 83 },
      { group: ISTIO_GROUP, kind: "Hostname", name: "rates.example.net", port: 80 },
      { group: ISTIO_GROUP, kind: "Hostname", name: "b.partners.example.net", port: 80 },
      { group: ISTIO_GROUP, kind: "Hostname", name: "absent.example.net", port: 80 },
      { group: ISTIO_GROUP, kind: "Hostname", name: "ledger.payments.svc.cluster.local", port: 80 },
      { group: ISTIO_GROUP, kind: "ServiceEntry", name: "rates", port: 80 },
    ),
  },
  {
    weight: 1,
    arbitrary: constantFrom(
      { group: INFERENCE_GROUP, kind: "InferencePool", name: "pool-0" },
      { group: INFERENCE_GROUP, kind: "InferencePool", name: "pool-0", namespace: "shop" },
      { group: INFERENCE_GROUP, kind: "InferencePool", name: "pool-1", namespace: "payments" },
    ),
  },
).map((ref) => ({ group: "", kind: "Service", ...ref }));
const weight = constantFrom(1, 1, 1, 0, 3, 7);

const pathMatch = constantFrom(
  { type: "PathPrefix", value: "/" },
  { type: "PathPrefix", value: "/" },
  { type: "PathPrefix", value: "/api" },
  { type: "PathPrefix", value: "/api/v1/" },
  { type: "Exact", value: "/api" },
  { type: "Exact", value: "/" },
  { type: "RegularExpression", value: "/r/[0-9]+" },
);
const valueMatch = (...names: readonly string[]) =>
  optional(
    some(
      record({
        type: constantFrom("Exact", "Exact", "RegularExpression"),
        name: constantFrom(...names),
        value: constantFrom("a", "b.*"),
      }),
      2,
    ).map(unique(({ name }) => name)),
  );
const httpMatch = record({
  path: pathMatch,
  headers: valueMatch("x-tenant", "Version", "host"),
  queryParams: valueMatch("page", "sort"),
  method: optional(constantFrom("GET", "POST")),
});
const headers = some(
  record({ name: constantFrom("x-one", "x-two", "Host"), value: constantFrom("1", "%REQ(x-a)%", "three") }),
).map(unique(({ name }) => name));
const headerModifier = record({
  set: optional(headers),
  add: optional(headers),
  remove: optional(some(constantFrom("x-old", "x-older")).map(unique((name) => name))),
});
const prefixOrFull = oneof(
  record({ type: fc.constant("ReplaceFullPath"), replaceFullPath: constantFrom("/full", "/") }),
  record({ type: fc.constant("ReplacePrefixMatch"), replacePrefixMatch: constantFrom("/prefix", "/", "/slash/") }),
);
const modifierFilter = oneof(
  record({ type: fc.constant("RequestHeaderModifier"), requestHeaderModifier: headerModifier }),
  record({ type: fc.constant("ResponseHeaderModifier"), responseHeaderModifier: headerModifier }),
);
const fraction = oneof(
  fc.constant({}),
  record({ percent: constantFrom(0, 10, 100) }),
  record({ fraction: constantFrom({ numerator: 1, denominator: 3 }, { numerator: 5, denominator: 100 }) }),
);
const mirrorFilter = fc
  .tuple(backend, fraction)
  .map(([backendRef, share]) => ({ type: "RequestMirror", requestMirror: { backendRef, ...share } }));
const corsFilter = record({
  type: fc.constant("CORS"),
  cors: record({
    allowOrigins: oneof(
      fc.constant(["*"]),
      some(constantFrom("https://a.example.com", "https://*.example.com")).map(unique((origin) => origin)),
    ),
    allowCredentials: optional(fc.boolean()),
    allowMethods: optional(some(constantFrom("GET", "PUT")).map(unique((method) => method))),
    allowHeaders: optional(some(constantFrom("x-a", "x-b")).map(unique((name) => name))),
    exposeHeaders: optional(some(constantFrom("x-c")).map(unique((name) => name))),
    maxAge: constantFrom(5, 600),
  }),
});
const rewriteFilter = record({
  type: fc.constant("URLRewrite"),
  urlRewrite: record({ hostname: optional(constantFrom("rewritten.example.com")), path: optional(prefixOrFull) }),
});
const redirectFilter = record({
  type: fc.constant("RequestRedirect"),
  requestRedirect: record({
    scheme: optional(constantFrom("http", "https")),
    hostname: optional(constantFrom("redirected.example.com")),
    path: optional(prefixOrFull),
    port: optional(constantFrom(80, 8443)),
    statusCode: constantFrom(302, 301, 303, 307, 308),
  }),
});

interface Filter {
  readonly type: string;
  readonly urlRewrite?: { readonly path?: { readonly type: string } | undefined };
  readonly requestRedirect?: { readonly path?: { readonly type: string } | undefined };
}
const forwardFilters = array(
  oneof<fc.WeightedArbitrary<Filter>[]>(
    { weight: 4, arbitrary: modifierFilter },
    { weight: 2, arbitrary: mirrorFilter },
    { weight: 1, arbitrary: corsFilter },
    { weight: 2, arbitrary: rewriteFilter },
  ),
  { maxLength: 3 },
).map(unique(({ type }) => type));
const backendRefs = array(
  fc
    .tuple(backend, weight, optional(some(modifierFilter).map(unique(({ type }) => type))))
    .map(([ref, share, filters]) => ({
      ...ref,
      weight: share,
      ...(filters && { filters }),
    })),
  { maxLength: 3 },
);
const timeouts = optional(
  constantFrom(
    { request: "10s" },
    { request: "0s" },
    { backendRequest: "500ms" },
    { request: "2s", backendRequest: "1s" },
    { request: "2s", backendRequest: "0s" },
  ),
);
const retry = optional(
  record({
    attempts: constantFrom(0, 1, 5),
    backoff: optional(constantFrom("25ms", "1s")),
    codes: optional(some(constantFrom(500, 503)).map(unique((code) => code))),
  }),
);
const ruleName = optional(constantFrom("first"));

const httpRule = oneof(
  {
    weight: 5,
    arbitrary: record({
      name: ruleName,
      matches: some(httpMatch),
      filters: forwardFilters,
      backendRefs,
      timeouts,
      retry,
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      name: ruleName,
      matches: some(httpMatch),
      filters: redirectFilter.map((filter) => [filter as Filter]),
    }),
  },
).filter(({ matches, filters }) => {
  // The definition: a prefix is replaced only if it is all that is matched.
  const replaces = filters.some(
    ({ urlRewrite, requestRedirect }) => (urlRewrite ?? requestRedirect)?.path?.type === "ReplacePrefixMatch",
  );
  return !replaces || (matches.length === 1 && matches[0]?.path.type === "PathPrefix");
});
export const httpRoute = named("HTTPRoute", "http", namespace, {
  parentRefs,
  hostnames: routeHostnames,
  rules: some(httpRule).map(nameOnce),
});

const grpcRule = record({
  name: ruleName,
  matches: optional(
    some(
      record({
        method: optional(
          constantFrom(
            { type: "Exact", service: "shop.Cart", method: "Add" },
            { type: "Exact", service: "shop.Cart" },
            { type: "Exact", method: "Add" },
            { type: "RegularExpression", service: "shop\\..*", method: "[A-Z].*" },
          ),
        ),
        headers: valueMatch("x-tenant", "Version"),
      }),
    ),
  ),
  filters: array(oneof<fc.Arbitrary<Filter>[]>(modifierFilter, mirrorFilter), { maxLength: 2 }).map(
    unique(({ type }) => type),
  ),
  backendRefs,
});
export const grpcRoute = named("GRPCRoute", "grpc", namespace, {
  parentRefs,
  hostnames: routeHostnames,
  rules: some(grpcRule).map(nameOnce),
});

const streamBackends = some(fc.tuple(backend, weight).map(([ref, share]) => ({ ...ref, weight: share })));
export const tcpRoute = named("TCPRoute", "tcp", namespace, {
  parentRefs,
  rules: streamBackends.map((refs) => [{ backendRefs: refs }]),
});
const tlsHostnames = some(constantFrom("shop.example.com", "*.example.com", "www.other.org"));
export const tlsRoute = named("TLSRoute", "tls", namespace, {
  parentRefs,
  hostnames: tlsHostnames.map(unique((hostname) => hostname)),
  rules: streamBackends.map((refs) => [{ backendRefs: refs }]),
});
