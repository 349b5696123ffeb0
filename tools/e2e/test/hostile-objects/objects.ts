import fc from "fast-check";
import {
  addresses,
  cidrs,
  durations,
  from,
  headerNames,
  hosts,
  labels,
  list,
  names,
  namespaces,
  numbers,
  percents,
  ports,
  protocols,
  regexes,
  some,
  stringMatch,
  subset,
  texts,
} from "./values.js";

/** A Kubernetes object as JSON. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
}

const destination = some({ host: hosts, subset, port: fc.record({ number: ports }) }, ["host"]);
const headers = some({
  set: fc.dictionary(headerNames, texts, { maxKeys: 2 }),
  add: fc.dictionary(headerNames, texts, { maxKeys: 2 }),
  remove: list(headerNames),
});
const bothHeaders = some({ request: headers, response: headers });
const retries = some({
  attempts: numbers,
  perTryTimeout: durations,
  retryOn: from("5xx", "503", "", "reset,,x", "100", "700", "retriable-status-codes"),
  retryRemoteLocalities: fc.boolean(),
  retryIgnorePreviousHosts: fc.boolean(),
  backoff: durations,
});
const fault = some({
  delay: some({ fixedDelay: durations, percentage: fc.record({ value: percents }), percent: numbers }),
  abort: some({
    httpStatus: from(0, 100, 200, 503, 600, 601),
    grpcStatus: from("NOT_FOUND", "x"),
    percentage: fc.record({ value: percents }),
  }),
});
const cors = some({
  allowOrigins: list(stringMatch),
  allowMethods: list(from("GET", "*", "x y")),
  allowHeaders: list(headerNames),
  exposeHeaders: list(headerNames),
  maxAge: durations,
  allowCredentials: fc.boolean(),
});
const httpMatch = some({
  uri: stringMatch,
  scheme: stringMatch,
  method: stringMatch,
  authority: stringMatch,
  headers: fc.dictionary(headerNames, stringMatch, { maxKeys: 2 }),
  withoutHeaders: fc.dictionary(headerNames, stringMatch, { maxKeys: 2 }),
  queryParams: fc.dictionary(texts, stringMatch, { maxKeys: 2 }),
  port: ports,
  ignoreUriCase: fc.boolean(),
  name: texts,
  statPrefix: texts,
  sourceLabels: labels,
  gateways: list(from("mesh", "shop/gw", "gw")),
});
const weights = from(0, 1, 2, 100, 2_147_483_647, 1_431_655_766);
const weighted = list(some({ destination, weight: weights, headers: bothHeaders }, ["destination"]), 3);
const plainWeighted = list(some({ destination, weight: weights }, ["destination"]), 3);
const httpAction = fc.oneof(
  { weight: 3, arbitrary: weighted.map((route) => ({ route })) },
  {
    weight: 1,
    arbitrary: some({
      uri: texts,
      authority: texts,
      scheme: from("http", "x"),
      port: numbers,
      redirectCode: from(0, 300, 301, 399),
      prefixRewrite: texts,
      derivePort: from("FROM_REQUEST_PORT"),
    }).map((redirect) => ({ redirect })),
  },
  {
    weight: 1,
    arbitrary: some(
      {
        status: from(0, 100, 200, 503, 599, 600, 601),
        body: fc.oneof(
          texts.map((string) => ({ string })),
          fc.constant({ bytes: "AA==" }),
          fc.constant({ string: "y".repeat(1_100_000) }),
        ),
      },
      ["status"],
    ).map((directResponse) => ({ directResponse })),
  },
);
const httpRoute = fc
  .tuple(
    some({
      name: texts,
      match: list(httpMatch),
      headers: bothHeaders,
      timeout: durations,
      retries,
      fault,
      corsPolicy: cors,
      mirror: destination,
      mirrorPercentage: fc.record({ value: percents }),
      rewrite: some({ uri: texts, authority: texts, uriRegexRewrite: some({ match: regexes, rewrite: texts }) }),
    }),
    httpAction,
  )
  .map(([route, action]) => ({ ...route, ...action }));
const l4Match = {
  destinationSubnets: list(cidrs),
  port: ports,
  sourceLabels: labels,
  gateways: list(from("mesh", "shop/gw")),
};

const metadata = fc.record({ name: names, namespace: namespaces });
const object = (apiVersion: string, kind: string, spec: fc.Arbitrary<unknown>): fc.Arbitrary<Manifest> =>
  fc.record({ metadata, spec }).map((fields) => ({ apiVersion, kind, ...fields }));
const networking = "networking.istio.io/v1";

const routes = fc.oneof(
  { weight: 5, arbitrary: list(httpRoute).map((http) => ({ http })) },
  {
    weight: 1,
    arbitrary: list(
      some({ match: list(some({ ...l4Match, sniHosts: list(hosts) }, ["sniHosts"])), route: plainWeighted }, [
        "match",
        "route",
      ]),
    ).map((tlsRoutes) => ({ tls: tlsRoutes })),
  },
  {
    weight: 1,
    arbitrary: list(some({ match: list(some(l4Match)), route: plainWeighted }, ["route"])).map((tcp) => ({ tcp })),
  },
);
const virtualService = object(
  networking,
  "VirtualService",
  fc
    .tuple(
      list(hosts),
      routes,
      from<object>({}, { gateways: ["mesh", "shop/gw"] }, { gateways: ["shop/gw"] }, { exportTo: ["*"] }),
    )
    .map(([all, route, more]) => ({ hosts: all, ...route, ...more })),
);

const tls = some({
  mode: from("DISABLE", "SIMPLE", "MUTUAL", "ISTIO_MUTUAL"),
  clientCertificate: from("/etc/certs/cert.pem", "a~b", "x:y"),
  privateKey: from("/etc/certs/key.pem", "~"),
  caCertificates: from("/etc/certs/ca.pem", "system"),
  credentialName: from("c", "kubernetes://other/c", "configmap://c", "builtin://", "a b", "sds://x", "file:///x"),
  subjectAltNames: list(texts),
  sni: texts,
  insecureSkipVerify: fc.boolean(),
});
const trafficPolicy = some({
  connectionPool: some({
    tcp: some({
      maxConnections: numbers,
      connectTimeout: durations,
      idleTimeout: durations,
      maxConnectionDuration: durations,
      tcpKeepalive: some({ probes: numbers, time: durations, interval: durations }),
    }),
    http: some({
      http1MaxPendingRequests: numbers,
      http2MaxRequests: numbers,
      maxRequestsPerConnection: numbers,
      maxRetries: numbers,
      idleTimeout: durations,
      h2UpgradePolicy: from("UPGRADE", "DO_NOT_UPGRADE"),
      maxConcurrentStreams: numbers,
      useClientProtocol: fc.boolean(),
    }),
  }),
  loadBalancer: some({
    simple: from("ROUND_ROBIN", "LEAST_REQUEST", "RANDOM", "PASSTHROUGH"),
    consistentHash: some({
      httpHeaderName: headerNames,
      httpCookie: some({ name: texts, path: texts, ttl: durations }),
      useSourceIp: fc.boolean(),
      httpQueryParameterName: texts,
      minimumRingSize: from(0, 1024, 8_388_609, 4_294_967_295),
      ringHash: some({ minimumRingSize: from(0, 1024, 8_388_609, 9_000_000_000) }),
      maglev: some({ tableSize: from(0, 1, 2, 65_537, 5_000_011, 65_536) }),
    }),
    warmup: some({ duration: durations, minimumPercent: percents, aggression: percents }),
    localityLbSetting: some({
      enabled: fc.boolean(),
      distribute: list(
        some({
          from: from("r1/z1/*", "*", "r1"),
          to: fc.dictionary(from("r1/*", "r2/*", "*"), from(0, 50, 100), { maxKeys: 2 }),
        }),
      ),
      failoverPriority: list(texts),
    }),
  }),
  outlierDetection: some({
    consecutive5xxErrors: numbers,
    consecutiveGatewayErrors: numbers,
    interval: durations,
    baseEjectionTime: durations,
    maxEjectionPercent: numbers,
    minHealthPercent: numbers,
    splitExternalLocalOriginErrors: fc.boolean(),
    consecutiveLocalOriginFailures: numbers,
  }),
  tls,
  tunnel: some({ protocol: from("CONNECT", "POST", "x"), targetHost: hosts, targetPort: ports }, [
    "targetHost",
    "targetPort",
  ]),
  proxyProtocol: some({ version: from("V1", "V2") }),
  retryBudget: some({ percent: percents, minRetryConcurrency: numbers }),
});
const destinationRule = object(
  networking,
  "DestinationRule",
  some(
    {
      host: hosts,
      trafficPolicy,
      subsets: list(some({ name: subset, labels, trafficPolicy }, ["name"]), 3),
      exportTo: list(from("*", "."), 1),
    },
    ["host"],
  ),
);

const serviceEntry = object(
  networking,
  "ServiceEntry",
  some(
    {
      hosts: list(hosts, 3),
      addresses: list(addresses, 3),
      ports: list(
        some({ number: ports, name: from("http", "tcp", "HTTP", "a"), protocol: protocols, targetPort: ports }, [
          "number",
          "name",
        ]),
        3,
      ),
      location: from("MESH_EXTERNAL", "MESH_INTERNAL"),
      resolution: from("NONE", "STATIC", "DNS", "DNS_ROUND_ROBIN", "DYNAMIC_DNS"),
      endpoints: list(
        some(
          {
            address: from(
              "192.0.2.1",
              "a.example.com",
              "unix:///a",
              "unix://@a",
              "fe80::1%eth0",
              "::1",
              "unix:///" + "a".repeat(200),
              "A.example.com.",
              "",
            ),
            ports: fc.dictionary(from("http", "tcp"), ports, { maxKeys: 2 }),
            labels,
            locality: texts,
            weight: numbers,
            network: texts,
            serviceAccount: texts,
          },
          ["address"],
        ),
        3,
      ),
      subjectAltNames: list(texts),
      exportTo: list(from("*", "."), 1),
    },
    ["hosts"],
  ),
);

const serverTls = some({
  mode: from("PASSTHROUGH", "SIMPLE", "MUTUAL", "AUTO_PASSTHROUGH", "ISTIO_MUTUAL", "OPTIONAL_MUTUAL"),
  httpsRedirect: fc.boolean(),
  credentialName: from("c", "kubernetes://other/c", "a b", "configmap://c", "builtin://", "sds://", "/"),
  credentialNames: list(from("c", "d")),
  serverCertificate: from("/etc/cert.pem", "~", ":"),
  privateKey: from("/etc/key.pem", "~"),
  caCertificates: from("/etc/ca.pem"),
  subjectAltNames: list(texts),
  verifyCertificateSpki: list(from("x", "NvqYIYSbgK2vCJpQhObf77vv+bQWtc5ek5RIOwPiC9A=", "AAAA")),
  verifyCertificateHash: list(from("x", "df6ff72fe9116521268f6f2dd4966f51df479883fe7037b39f75916ac3049d1a", "zz:zz")),
  cipherSuites: list(from("ECDHE-RSA-AES128-GCM-SHA256", "AES128-SHA", "x", "")),
  minProtocolVersion: from("TLSV1_0", "TLSV1_2", "TLSV1_3"),
  maxProtocolVersion: from("TLSV1_0", "TLSV1_2", "TLSV1_3"),
});
const gateway = fc
  .tuple(
    metadata,
    list(
      some(
        {
          port: some({ number: ports, name: from("http", "b", "c", "d"), protocol: protocols }, [
            "number",
            "name",
            "protocol",
          ]),
          hosts: list(fc.oneof(hosts, from("*", "*/*", "shop/*", "./a.example.com", "shop/*.example.com")), 3),
          tls: serverTls,
          bind: from("0.0.0.0", "192.0.2.1", "::", "unix:///a", "fe80::1%eth0"),
          name: texts,
        },
        ["port", "hosts"],
      ),
      3,
    ),
    from("gw", "a", "b"),
  )
  .map(([{ namespace }, servers, name]): Manifest => ({
    apiVersion: networking,
    kind: "Gateway",
    metadata: { name, namespace },
    spec: { selector: { istio: "ingress" }, servers },
  }));

const sidecar = object(
  networking,
  "Sidecar",
  some({
    egress: list(
      some(
        {
          hosts: list(from("*/*", "./*", "shop/cart.shop.svc.cluster.local", "~/*", "other/*.example.com")),
          port: some({ number: ports, name: from("http", "a"), protocol: protocols }, ["number"]),
          bind: from("0.0.0.0", "127.0.0.1", "::1", "unix:///a", "fe80::1%eth0"),
          captureMode: from("DEFAULT", "NONE", "IPTABLES"),
        },
        ["hosts"],
      ),
    ),
    ingress: list(
      some(
        {
          port: some({ number: ports, name: from("http", "a"), protocol: protocols }, ["number"]),
          bind: from("0.0.0.0", "::1", "127.0.0.1", "fe80::1%eth0"),
          defaultEndpoint: from("127.0.0.1:80", "unix:///a", ":80", "[::1]:80", "0.0.0.0:8080"),
          tls: serverTls,
          captureMode: from("DEFAULT", "NONE"),
        },
        ["port"],
      ),
    ),
    outboundTrafficPolicy: some({ mode: from("REGISTRY_ONLY", "ALLOW_ANY"), egressProxy: destination }),
  }),
);

const values = list(texts);
const authorizationPolicy = object(
  "security.istio.io/v1",
  "AuthorizationPolicy",
  some({
    action: from("ALLOW", "DENY", "AUDIT"),
    rules: list(
      some({
        from: list(
          fc.record({
            source: some({
              principals: values,
              notPrincipals: values,
              requestPrincipals: values,
              namespaces: values,
              notNamespaces: values,
              serviceAccounts: values,
              ipBlocks: list(cidrs),
              remoteIpBlocks: list(cidrs),
              notIpBlocks: list(cidrs),
              trustDomains: values,
            }),
          }),
        ),
        to: list(
          fc.record({
            operation: some({
              hosts: values,
              notHosts: values,
              ports: list(from("80", "0", "65535", "080", "1e1")),
              methods: values,
              paths: list(
                fc.oneof(texts, from("/{*}", "/a/{**}/b", "/{**}", "{*}", "a/{**}", "/{*}*", "//{*}", "/a%zz{*}")),
              ),
              notPaths: values,
            }),
          }),
        ),
        when: list(
          some(
            {
              key: from(
                "request.headers[x-a]",
                "request.headers[]",
                "request.headers[:path]",
                "request.headers[a b]",
                "source.ip",
                "remote.ip",
                "source.namespace",
                "source.principal",
                "request.auth.principal",
                "request.auth.audiences",
                "request.auth.presenter",
                "request.auth.claims[a]",
                "request.auth.claims[a][b]",
                "request.auth.claims[][]",
                "request.auth.claims[a",
                "destination.ip",
                "destination.port",
                "connection.sni",
                "experimental.envoy.filters.a[b]",
                "experimental.envoy.filters.[b]",
                "experimental.envoy.filters.a[[b]]",
              ),
              values: list(fc.oneof(texts, cidrs, from("80"))),
              notValues: list(fc.oneof(texts, cidrs, from("80"))),
            },
            ["key"],
          ),
        ),
      }),
    ),
  }),
);

const requestAuthentication = object(
  "security.istio.io/v1",
  "RequestAuthentication",
  some({
    jwtRules: list(
      some(
        {
          issuer: from("a", "b", "%", "a\nb", "é"),
          audiences: list(texts),
          jwks: from(
            '{"keys":[]}',
            '{"keys":[{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}',
            '{"keys":[{"kty":"oct","k":"AAAA"}]}',
          ),
          jwksUri: from(
            "https://example.com/a",
            "http://[::1]:80/a",
            "https://example.com:99999/",
            "https://a b/",
            "https://example.com/\n",
          ),
          fromHeaders: list(some({ name: headerNames, prefix: texts }, ["name"])),
          fromParams: list(texts),
          fromCookies: list(texts),
          outputPayloadToHeader: headerNames,
          outputClaimToHeaders: list(some({ header: headerNames, claim: texts }, ["header", "claim"])),
          forwardOriginalToken: fc.boolean(),
          timeout: durations,
          spaceDelimitedClaims: list(texts),
        },
        ["issuer"],
      ),
      3,
    ),
  }),
);

const telemetry = object(
  "telemetry.istio.io/v1",
  "Telemetry",
  some({
    tracing: list(
      some({
        randomSamplingPercentage: percents,
        customTags: fc.dictionary(
          texts,
          fc.oneof(
            texts.map((value) => ({ literal: { value } })),
            texts.map((value) => ({ formatter: { value } })),
            texts.map((name) => ({ environment: { name } })),
            headerNames.map((name) => ({ header: { name } })),
          ),
          { maxKeys: 2 },
        ),
        providers: list(fc.record({ name: from("zipkin", "otel") }), 1),
      }),
      1,
    ),
    accessLogging: list(
      some({
        filter: some({
          expression: from(
            "response.code >= 400",
            "a.b.c",
            "1",
            "size(request.headers) > 1 && x",
            "'a' in request",
            "[1].exists(x, x)",
            "duration('x')",
            "a".repeat(9000),
            "request.headers['a'].matches('\\\\pL{1,50}')",
          ),
        }),
        providers: list(fc.record({ name: from("envoy", "format", "json", "als") }), 2),
        disabled: fc.boolean(),
      }),
      2,
    ),
    metrics: list(
      some({
        providers: list(fc.record({ name: from("prometheus") }), 1),
        overrides: list(
          some({
            match: some({ metric: from("REQUEST_COUNT", "ALL_METRICS"), customMetric: texts }),
            tagOverrides: fc.dictionary(texts, some({ operation: from("UPSERT", "REMOVE"), value: texts }), {
              maxKeys: 2,
            }),
            disabled: fc.boolean(),
          }),
        ),
        reportingInterval: durations,
      }),
      1,
    ),
  }),
);

const peerAuthentication = object(
  "security.istio.io/v1",
  "PeerAuthentication",
  some({
    mtls: some({ mode: from("STRICT", "PERMISSIVE", "DISABLE") }),
    selector: some({ matchLabels: labels }),
    portLevelMtls: fc.dictionary(from("80", "8080", "65535"), some({ mode: from("STRICT", "DISABLE") }), {
      maxKeys: 2,
    }),
  }),
);

const service = fc
  .record({
    metadata: fc.record({ name: from("cart", "a", "constructor", "istio-system", "0a"), namespace: namespaces }),
    spec: some({
      type: from("ClusterIP", "ExternalName", "LoadBalancer"),
      clusterIP: from("10.96.0.1", "None", "10.96.0.2", "2001:db8::1", "::ffff:10.96.0.1", "0.0.0.0"),
      externalIPs: list(from("192.0.2.1", "10.96.0.1", "::")),
      externalName: from("cart.shop.svc.cluster.local", "a.example.com", "a.example.com.", "192.0.2.1"),
      ports: list(
        some(
          {
            name: from("http", "tcp", "grpc-a", "https"),
            port: ports,
            protocol: from("TCP", "UDP"),
            targetPort: from<number | string>(80, 8080, "http"),
            appProtocol: from("http", "kubernetes.io/h2c", "x"),
          },
          ["port"],
        ),
        3,
      ),
      selector: fc.constant({ app: "cart" }),
    }),
  })
  .map((fields): Manifest => ({ apiVersion: "v1", kind: "Service", ...fields }));

const ingress = object(
  "networking.k8s.io/v1",
  "Ingress",
  some({
    ingressClassName: fc.constant("istio"),
    tls: list(
      some({ hosts: list(from("a.example.com", "*.example.com", "b")), secretName: from("c", "a/b", "~", "a b") }),
    ),
    rules: list(
      some({
        host: from("a.example.com", "*.example.com", "b", "cart"),
        http: fc.record({
          paths: list(
            fc.record({
              path: fc.oneof(texts, from("/a", "/a/.*", "/[")),
              pathType: from("Exact", "Prefix", "ImplementationSpecific"),
              backend: fc.record({
                service: fc.record({
                  name: from("cart", "none"),
                  port: fc.oneof<fc.Arbitrary<object>[]>(
                    ports.map((number) => ({ number })),
                    from({ name: "http" }),
                  ),
                }),
              }),
            }),
          ),
        }),
      }),
    ),
  }),
);

/** Objects that are valid in form, with values that a proxy may reject. Most of them pass validation. */
export const hostileObject: fc.Arbitrary<Manifest> = fc.oneof(
  { weight: 24, arbitrary: virtualService },
  { weight: 4, arbitrary: destinationRule },
  { weight: 4, arbitrary: serviceEntry },
  { weight: 12, arbitrary: gateway },
  { weight: 5, arbitrary: sidecar },
  { weight: 3, arbitrary: authorizationPolicy },
  { weight: 2, arbitrary: requestAuthentication },
  { weight: 2, arbitrary: telemetry },
  { weight: 1, arbitrary: peerAuthentication },
  { weight: 2, arbitrary: service },
  { weight: 1, arbitrary: ingress },
);
