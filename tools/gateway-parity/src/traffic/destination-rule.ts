import { optional, rare, some, unique, usual } from "@istiod/gateway-api/testing";
import fc from "fast-check";
import { duration, exportTo, host, objects, port, wildcard } from "./fields.js";

const { constantFrom, record, oneof, tuple } = fc;

const consistentHash = tuple(
  constantFrom<object>(
    { httpHeaderName: "x-user" },
    { useSourceIp: true },
    { httpQueryParameterName: "q" },
    { httpCookie: { name: "c", ttl: "0s" } },
    { httpCookie: { name: "c", path: "/p", ttl: "10s" } },
  ),
  constantFrom<object>(
    {},
    { minimumRingSize: 2048 },
    { ringHash: { minimumRingSize: 4096 } },
    { maglev: { tableSize: 65_537 } },
    { maglev: { tableSize: 131_071 } },
  ),
).map(([key, size]) => ({ consistentHash: { ...key, ...size } }));
const simple = tuple(
  constantFrom("UNSPECIFIED", "RANDOM", "PASSTHROUGH", "ROUND_ROBIN", "LEAST_REQUEST", "LEAST_CONN"),
  rare(
    record({ duration, minimumPercent: optional(constantFrom(0, 5, 50)), aggression: optional(constantFrom(1, 2.5)) }),
  ),
).map(([of, warmup]) => ({
  simple: of,
  ...(warmup !== undefined && (of === "ROUND_ROBIN" || of === "LEAST_REQUEST") && { warmup }),
}));
const localityLbSetting = rare(
  constantFrom<object>(
    { distribute: [{ from: "r1/*", to: { "r1/*": 80, "r2/*": 20 } }] },
    { failover: [{ from: "r1", to: "r2" }] },
    { failoverPriority: ["app", "topology.kubernetes.io/region"] },
    { enabled: false },
    { enabled: true },
  ),
);
const loadBalancer = tuple(oneof<fc.Arbitrary<object>[]>(simple, consistentHash), localityLbSetting).map(
  ([of, locality]) => ({ ...of, ...(locality !== undefined && { localityLbSetting: locality }) }),
);

const connectionPool = record({
  tcp: optional(
    record({
      maxConnections: optional(constantFrom(1, 100)),
      connectTimeout: optional(duration),
      idleTimeout: optional(constantFrom("0s", "60s")),
      maxConnectionDuration: optional(duration),
      tcpKeepalive: optional(constantFrom<object>({}, { probes: 3, time: "7200s", interval: "75s" })),
    }),
  ),
  http: optional(
    record({
      http1MaxPendingRequests: optional(constantFrom(1, 1024)),
      http2MaxRequests: optional(constantFrom(1, 1024)),
      maxRequestsPerConnection: optional(constantFrom(1, 10)),
      maxRetries: optional(constantFrom(1, 3)),
      idleTimeout: optional(duration),
      h2UpgradePolicy: optional(constantFrom("DEFAULT", "UPGRADE", "DO_NOT_UPGRADE")),
      useClientProtocol: optional(fc.boolean()),
      maxConcurrentStreams: optional(constantFrom(1, 100)),
    }),
  ),
}).map(({ tcp, http }) => {
  if (tcp === undefined && http === undefined) return { tcp: { maxConnections: 7 } };
  return { tcp, http: http?.useClientProtocol && http.h2UpgradePolicy === "UPGRADE" ? { maxRetries: 2 } : http };
});

const outlierDetection = record({
  consecutive5xxErrors: optional(constantFrom(0, 5)),
  consecutiveGatewayErrors: optional(constantFrom(0, 3)),
  consecutiveLocalOriginFailures: optional(constantFrom(0, 2)),
  splitExternalLocalOriginErrors: optional(fc.boolean()),
  interval: optional(duration),
  baseEjectionTime: optional(duration),
  maxEjectionPercent: optional(constantFrom(0, 10, 100)),
  minHealthPercent: optional(constantFrom(0, 50)),
}).map(({ consecutiveLocalOriginFailures, ...each }) => ({
  ...each,
  ...(each.splitExternalLocalOriginErrors && { consecutiveLocalOriginFailures }),
  ...(each.consecutive5xxErrors === 0 && each.consecutiveGatewayErrors === 0 && { consecutive5xxErrors: 4 }),
}));

const names = {
  sni: rare(constantFrom("sni.example")),
  subjectAltNames: rare(
    constantFrom<readonly string[]>(["a.example"], ["spiffe://cluster.local/ns/shop/sa/cart", "b"]),
  ),
};
const tls = oneof<fc.Arbitrary<object>[]>(
  fc.constant({ mode: "DISABLE" }),
  record({ mode: fc.constant("ISTIO_MUTUAL"), ...names }),
  record({
    mode: fc.constant("SIMPLE"),
    ...names,
    caCertificates: rare(constantFrom("/etc/ca.pem", "system")),
  }),
  fc.constant({ mode: "SIMPLE", insecureSkipVerify: true }),
  record({ mode: fc.constant("SIMPLE"), credentialName: constantFrom("certificate", "absent"), ...names }),
  record({
    mode: fc.constant("MUTUAL"),
    clientCertificate: fc.constant("/etc/c.pem"),
    privateKey: fc.constant("/etc/k.pem"),
    caCertificates: optional(fc.constant("/etc/ca.pem")),
    ...names,
  }),
);

const settings = {
  loadBalancer: optional(loadBalancer),
  connectionPool: optional(connectionPool),
  outlierDetection: optional(outlierDetection),
  tls: optional(tls),
};
/** A hash of a port or of a subset does not reach the routes in Istio. */
const innerSettings = { ...settings, loadBalancer: optional(simple) };
const nonEmpty = <T extends object>(of: T): object =>
  Object.values(of).every((value) => value === undefined) ? { loadBalancer: { simple: "ROUND_ROBIN" } } : of;
const trafficPolicy = record({
  ...settings,
  portLevelSettings: rare(
    some(
      tuple(port, record(innerSettings).map(nonEmpty)).map(([number, of]) => ({ port: { number }, ...of })),
      2,
    ).map(unique((each) => each.port.number)),
  ),
  tunnel: rare(constantFrom({ protocol: "CONNECT", targetHost: "proxy.example", targetPort: 3128 })),
  proxyProtocol: rare(constantFrom({ version: "V1" }, { version: "V2" })),
}).map(nonEmpty);

const subset = tuple(
  constantFrom("v1", "v2", "other"),
  optional(constantFrom<object>({ version: "v1" }, { app: "cart" }, { app: "absent" }, {})),
  rare(record(innerSettings).map(nonEmpty)),
).map(([name, of, policy]) => ({
  name,
  ...(of && { labels: of }),
  ...(policy !== undefined && { trafficPolicy: policy }),
}));

const destinationRule = record({
  host: oneof({ weight: 6, arbitrary: host }, { weight: 2, arbitrary: wildcard.filter((each) => each !== "*") }),
  trafficPolicy: usual(trafficPolicy),
  subsets: optional(some(subset, 3).map(unique((each) => each.name))),
  exportTo,
});

export const destinationRules = objects("networking.istio.io/v1", "DestinationRule", destinationRule, 6);
