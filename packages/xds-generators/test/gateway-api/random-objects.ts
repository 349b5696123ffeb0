import fc from "fast-check";
import { podYaml, serviceYaml } from "../mesh-yaml.js";

/** An object of the Gateway API as an API server would store it: with the defaults of its definition. */
interface GatewayApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly creationTimestamp: string };
  readonly spec: object;
}

const GROUP = "gateway.networking.k8s.io";
const ISTIO_GROUP = "networking.istio.io";
const { constantFrom, record, array, option, oneof } = fc;
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => option(arbitrary, { nil: undefined });
/** Absent more often than not. */
const rare = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
/** Present more often than not. */
const usual = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  oneof({ weight: 1, arbitrary: fc.constant(undefined) }, { weight: 4, arbitrary });
/** Few elements, more often some than none. */
const some = <T>(arbitrary: fc.Arbitrary<T>, maxLength = 2): fc.Arbitrary<T[]> =>
  array(arbitrary, { minLength: 1, maxLength });

const namespaces = ["shop", "payments", "infra"] as const;
const namespace = constantFrom(...namespaces);
/** A point in the first seconds of the mesh: many objects are equally old. */
const creationTimestamp = fc.integer({ min: 0, max: 5 }).map((second) => `2024-01-01T00:00:0${second}Z`);

// Gateways and listeners.

const secrets = constantFrom("certificate", "certificate", "certificate", "absent");
const certificateRef = record({
  group: fc.constant(""),
  kind: constantFrom("Secret", "Secret", "Secret", "ConfigMap"),
  name: secrets,
  namespace: optional(namespace),
});
const kinds = constantFrom("HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute");
const allowedRoutes = record({
  namespaces: oneof(
    record({ from: constantFrom("Same", "All", "All", "All", "All") }),
    fc.constant({ from: "Selector", selector: { matchLabels: { team: "shop" } } }),
  ),
  kinds: rare(some(record({ group: fc.constant(GROUP), kind: kinds }))),
});
const listenerHostname = optional(constantFrom("*.example.com", "shop.example.com", "*.org", "api.example.com"));
const terminated = { mode: fc.constant("Terminate"), certificateRefs: some(certificateRef) };
const listenerProtocol = oneof(
  {
    weight: 4,
    arbitrary: record({ protocol: fc.constant("HTTP"), port: constantFrom(80, 8080), hostname: listenerHostname }),
  },
  {
    weight: 2,
    arbitrary: record({
      protocol: fc.constant("HTTPS"),
      port: constantFrom(443, 8443),
      hostname: listenerHostname,
      tls: record(terminated),
    }),
  },
  {
    weight: 1,
    arbitrary: record({
      protocol: fc.constant("TLS"),
      port: constantFrom(443, 9443),
      hostname: listenerHostname,
      tls: oneof(record(terminated), fc.constant({ mode: "Passthrough" })),
    }),
  },
  {
    weight: 1,
    arbitrary: record({ protocol: constantFrom("TCP", "TCP", "UDP", "x.example/other"), port: constantFrom(80, 9000) }),
  },
);
const listeners = array(fc.tuple(listenerProtocol, allowedRoutes), { minLength: 1, maxLength: 4 }).map((all) =>
  all.map(([listener, allowed], index) => ({ name: `l${index}`, ...listener, allowedRoutes: allowed })),
);

const clientValidation = record({
  caCertificateRefs: some(
    record({
      group: fc.constant(""),
      kind: constantFrom("ConfigMap", "ConfigMap", "Secret"),
      name: constantFrom("roots", "roots", "absent"),
      namespace: rare(namespace),
    }),
    1,
  ),
  mode: constantFrom("AllowValidOnly", "AllowInsecureFallback"),
});
const gatewayTls = rare(
  record({
    frontend: record({
      default: record({ validation: optional(clientValidation) }),
      perPort: rare(clientValidation.map((validation) => [{ port: 443, tls: { validation } }])),
    }),
  }),
);

/** Gateways with a Service and a Pod in `gatewayMesh`, by name. */
const deployed = { edge: "infra", inner: "shop" } as const;
const address = { type: "Hostname", value: "manual.infra.svc.cluster.local" };

/** Each of the Gateways, or not. */
const gateways = fc
  .tuple(
    ...Object.entries(deployed).map(([name, of]) =>
      usual(
        object("Gateway", name, fc.constant(of), {
          gatewayClassName: constantFrom("istio", "istio", "istio", "istio", "other"),
          listeners,
          allowedListeners: usual(fc.constant({ namespaces: { from: "All" } })),
          tls: gatewayTls,
        }),
      ),
    ),
    usual(
      object("Gateway", "manual", fc.constant("infra"), {
        gatewayClassName: fc.constant("istio"),
        listeners,
        addresses: constantFrom(
          [address],
          [address],
          [{ ...address, value: "manual" }],
          [{ ...address, value: "absent" }],
        ),
      }),
    ),
  )
  .map((all) => all.filter((each) => each !== undefined));
const gatewayRef = constantFrom(
  { name: "edge", namespace: "infra" },
  { name: "inner", namespace: "shop" },
  { name: "manual", namespace: "infra" },
);

const listenerSet = named("ListenerSet", "set", namespace, {
  parentRef: gatewayRef.map((ref) => ({ group: GROUP, kind: "Gateway", ...ref })),
  listeners,
});

// Routes.

const parent = oneof(
  { weight: 6, arbitrary: gatewayRef.map((ref) => ({ group: GROUP, kind: "Gateway", ...ref })) },
  { weight: 1, arbitrary: constantFrom("set-0", "set-1").map((name) => ({ group: GROUP, kind: "ListenerSet", name })) },
  {
    weight: 3,
    arbitrary: constantFrom({ name: "cart", namespace: "shop" }, { name: "ledger", namespace: "payments" }).map(
      (ref) => ({
        group: "",
        kind: "Service",
        ...ref,
      }),
    ),
  },
  { weight: 1, arbitrary: fc.constant({ group: GROUP, kind: "Gateway", name: "absent" }) },
  {
    weight: 1,
    arbitrary: fc.constant({ group: ISTIO_GROUP, kind: "ServiceEntry", name: "rates", namespace: "shop" }),
  },
);
const isListening = (kind: string): boolean => kind === "Gateway" || kind === "ListenerSet";
const parentRefs = fc
  .array(
    fc
      .tuple(parent, rare(constantFrom("l0", "l1", "l9")), rare(constantFrom(80, 8080, 443)))
      .map(([ref, sectionName, port]) => ({
        ...ref,
        ...(sectionName !== undefined && isListening(ref.kind) && { sectionName }),
        ...(port !== undefined && { port }),
      })),
    { minLength: 1, maxLength: 2 },
  )
  .map((refs) =>
    refs.filter((ref, index) => refs.findIndex(({ name, kind }) => name === ref.name && kind === ref.kind) === index),
  );
const routeHostnames = optional(
  some(constantFrom("shop.example.com", "api.example.com", "*.example.com", "www.other.org", "*.com")),
);

const backend = oneof(
  {
    weight: 6,
    arbitrary: constantFrom(
      { name: "cart", namespace: "shop", port: 80 },
      { name: "web", namespace: "shop", port: 80 },
    ),
  },
  {
    weight: 3,
    arbitrary: constantFrom(
      { name: "ledger", namespace: "payments", port: 80 },
      { name: "cart", namespace: "shop", port: 7070 },
    ),
  },
  { weight: 1, arbitrary: constantFrom({ name: "absent", port: 80 }, { name: "cart", namespace: "shop", port: 81 }) },
  {
    weight: 1,
    arbitrary: constantFrom(
      { kind: "Other", group: "x.example", name: "cart" },
      { name: "cart", namespace: "shop" },
      { group: ISTIO_GROUP, kind: "Hostname", name: "rates.example.net", port: 80 },
      { group: ISTIO_GROUP, kind: "Hostname", name: "absent.example.net", port: 80 },
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
const httpRoute = named("HTTPRoute", "http", namespace, {
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
const grpcRoute = named("GRPCRoute", "grpc", namespace, {
  parentRefs,
  hostnames: routeHostnames,
  rules: some(grpcRule).map(nameOnce),
});

const streamBackends = some(fc.tuple(backend, weight).map(([ref, share]) => ({ ...ref, weight: share })));
const tcpRoute = named("TCPRoute", "tcp", namespace, {
  parentRefs,
  rules: streamBackends.map((refs) => [{ backendRefs: refs }]),
});
const tlsHostnames = some(constantFrom("shop.example.com", "*.example.com", "www.other.org"));
const tlsRoute = named("TLSRoute", "tls", namespace, {
  parentRefs,
  hostnames: tlsHostnames.map(unique((hostname) => hostname)),
  rules: streamBackends.map((refs) => [{ backendRefs: refs }]),
});

const grant = named("ReferenceGrant", "grant", namespace, {
  from: some(
    fc.tuple(constantFrom("HTTPRoute", "GRPCRoute", "TCPRoute", "TLSRoute", "Gateway", "ListenerSet"), namespace),
    4,
  ).map((pairs) => pairs.map(([kind, from]) => ({ group: GROUP, kind, namespace: from }))),
  to: some(
    constantFrom(
      { group: "", kind: "Service" },
      { group: "", kind: "Secret" },
      { group: "", kind: "Secret", name: "certificate" },
    ),
  ),
});

const backendTlsPolicy = named("BackendTLSPolicy", "policy", fc.constant("shop"), {
  targetRefs: some(
    fc
      .tuple(constantFrom("web", "web", "cart", "rates", "absent"), optional(constantFrom("http", "absent")))
      .map(([name, sectionName]) => ({
        group: "",
        kind: "Service",
        name,
        ...(sectionName !== undefined && { sectionName }),
      })),
    1,
  ),
  validation: oneof(
    record({ hostname: fc.constant("web.example.com"), wellKnownCACertificates: fc.constant("System") }),
    record({
      hostname: fc.constant("web.example.com"),
      caCertificateRefs: constantFrom("roots", "absent").map((name) => [{ group: "", kind: "ConfigMap", name }]),
      subjectAltNames: optional(
        some(constantFrom({ type: "Hostname", hostname: "alt.example.com" }, { type: "URI", uri: "spiffe://x/y" }), 1),
      ),
    }),
  ),
});

/** Objects of the Gateway API in `gatewayMesh`, as YAML. Many refer to what is absent, not granted, or not allowed. */
export const randomObjects: fc.Arbitrary<string> = fc
  .tuple(
    gateways,
    array(listenerSet, { maxLength: 2 }),
    array(
      oneof(
        { weight: 5, arbitrary: httpRoute },
        { weight: 2, arbitrary: grpcRoute },
        { weight: 1, arbitrary: tcpRoute },
        { weight: 1, arbitrary: tlsRoute },
      ),
      {
        minLength: 1,
        maxLength: 7,
      },
    ),
    array(grant, { maxLength: 3 }),
    array(backendTlsPolicy, { maxLength: 2 }),
  )
  .map((all) => {
    const objects = all.flatMap((ofKind) => ofKind.map((each, index) => rename(each, index)));
    const keyOf = ({ kind, metadata }: GatewayApiObject): string =>
      `${kind}/${metadata.namespace ?? ""}/${metadata.name}`;
    return unique(keyOf)(objects)
      .map((each) => `---\n${JSON.stringify(each)}\n`)
      .join("");
  });

/** Gives an object whose name ends with a dash its number. */
function rename(of: GatewayApiObject, index: number): GatewayApiObject {
  const { name } = of.metadata;
  return name.endsWith("-") ? { ...of, metadata: { ...of.metadata, name: `${name}${index}` } } : of;
}

function named(kind: string, prefix: string, of: fc.Arbitrary<string>, spec: Spec): fc.Arbitrary<GatewayApiObject> {
  return object(kind, `${prefix}-`, of, spec);
}

type Spec = Readonly<Record<string, fc.Arbitrary<unknown>>>;

function object(kind: string, name: string, of: fc.Arbitrary<string>, spec: Spec): fc.Arbitrary<GatewayApiObject> {
  const metadata = record({ name: fc.constant(name), namespace: of, creationTimestamp });
  const version = kind === "ReferenceGrant" ? "v1beta1" : "v1";
  return record({
    apiVersion: fc.constant(`${GROUP}/${version}`),
    kind: fc.constant(kind),
    metadata,
    spec: record(spec),
  });
}

function unique<T>(keyOf: (item: T) => unknown): (items: readonly T[]) => T[] {
  return (items) => items.filter((item, index) => items.findIndex((other) => keyOf(other) === keyOf(item)) === index);
}

/** Rules of a route have different names. */
function nameOnce<T extends { readonly name: string | undefined }>(rules: readonly T[]): T[] {
  return rules.map((rule, index) => (index === 0 ? rule : { ...rule, name: undefined }));
}

/** Services with Pods, and those of the Gateways that `randomObjects` has. */
export function gatewayMesh(certificate: { readonly certificate: string; readonly key: string }): string {
  const encode = (text: string): string => Buffer.from(text).toString("base64");
  const head = (apiVersion: string, kind: string, name: string, of?: string) => ({
    apiVersion,
    kind,
    metadata: { name, ...(of !== undefined && { namespace: of }), creationTimestamp: "2024-01-01T00:00:00Z" },
  });
  const others = [
    ...namespaces.map((name) => {
      const { metadata, ...rest } = head("v1", "Namespace", name);
      return {
        ...rest,
        metadata: {
          ...metadata,
          labels: { "kubernetes.io/metadata.name": name, ...(name !== "infra" && { team: name }) },
        },
      };
    }),
    { ...head(`${GROUP}/v1`, "GatewayClass", "istio"), spec: { controllerName: "istio.io/gateway-controller" } },
    ...namespaces.map((of) => ({
      ...head("v1", "Secret", "certificate", of),
      type: "kubernetes.io/tls",
      data: { "tls.crt": encode(certificate.certificate), "tls.key": encode(certificate.key) },
    })),
    ...namespaces.map((of) => ({
      ...head("v1", "ConfigMap", "roots", of),
      data: { "ca.crt": certificate.certificate },
    })),
    {
      ...head(`${ISTIO_GROUP}/v1`, "ServiceEntry", "rates", "shop"),
      spec: {
        hosts: ["rates.example.net"],
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        resolution: "STATIC",
        endpoints: [{ address: "192.0.2.1" }],
      },
    },
  ];
  const ports = ["http:80", "alt:8080", "https:443", "other:8443", "tls:9443", "tcp:9000"];
  const gatewayPod = (name: string, of: string, ip: string, labels: object): string =>
    podYaml(name, ip, {
      namespace: of,
      injected: false,
      ports: Object.fromEntries(ports.map((port) => [port.split(":")[0] ?? "", Number(port.split(":")[1])])),
      labels,
    });
  return [
    serviceYaml("cart", { ip: "10.96.0.1", ports: ["http:80:8080", "tcp:9000:9000", "grpc:7070:7070"] }),
    podYaml("cart", "10.1.0.1", { ports: { http: 8080, tcp: 9000, grpc: 7070 } }),
    serviceYaml("web", { ip: "10.96.0.2", ports: ["http:80:8080"] }),
    podYaml("web", "10.1.0.2"),
    serviceYaml("ledger", { ip: "10.96.0.3", namespace: "payments", ports: ["http:80:8080", "tcp:9000:9000"] }),
    podYaml("ledger", "10.1.0.3", { namespace: "payments", ports: { http: 8080, tcp: 9000 } }),
    ...Object.entries(deployed).map(
      ([name, of], index) =>
        serviceYaml(`${name}-istio`, { ip: `10.96.1.${index + 1}`, namespace: of, ports }) +
        gatewayPod(`${name}-istio`, of, `10.1.1.${index + 1}`, { "gateway.networking.k8s.io/gateway-name": name }),
    ),
    serviceYaml("manual", { ip: "10.96.1.9", namespace: "infra", ports }),
    gatewayPod("manual", "infra", "10.1.1.9", { istio: "ingress" }),
    ...others.map((each) => `---\n${JSON.stringify(each)}\n`),
  ].join("");
}

/** The proxies of `gatewayMesh`. */
export const gatewayMeshProxies = [
  {
    type: "router",
    namespace: "infra",
    name: "edge-istio-10-1-1-1",
    ip: "10.1.1.1",
    labels: { app: "edge-istio", "gateway.networking.k8s.io/gateway-name": "edge" },
  },
  {
    type: "router",
    namespace: "shop",
    name: "inner-istio-10-1-1-2",
    ip: "10.1.1.2",
    labels: { app: "inner-istio", "gateway.networking.k8s.io/gateway-name": "inner" },
  },
  {
    type: "router",
    namespace: "infra",
    name: "manual-10-1-1-9",
    ip: "10.1.1.9",
    labels: { app: "manual", istio: "ingress" },
  },
  { type: "sidecar", namespace: "shop", name: "web-10-1-0-2", ip: "10.1.0.2", labels: { app: "web" } },
  { type: "sidecar", namespace: "payments", name: "ledger-10-1-0-3", ip: "10.1.0.3", labels: { app: "ledger" } },
] as const;
