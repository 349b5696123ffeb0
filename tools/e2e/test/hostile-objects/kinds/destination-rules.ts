import fc from "fast-check";
import { networking, object } from "./manifest.js";
import {
  durations,
  from,
  headerNames,
  hosts,
  labels,
  list,
  numbers,
  percents,
  ports,
  some,
  subset,
  texts,
} from "../values.js";

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
const ringSizes = from<number | string>(0, 1024, 8_388_608, 8_388_609, 4_294_967_295, "9000000000");
const hashKey = fc.oneof(
  some({ httpHeaderName: headerNames }),
  some({ httpHeaderName: texts }),
  some({ httpQueryParameterName: texts }),
  fc.constant({ useSourceIp: true }),
  some(
    {
      name: texts,
      path: texts,
      ttl: durations,
      attributes: list(some({ name: texts, value: texts }, ["name"])),
    },
    ["name"],
  ).map((httpCookie) => ({ httpCookie })),
);
const hashAlgorithm = fc.oneof(
  fc.constant({}),
  some({ minimumRingSize: ringSizes }),
  some({ minimumRingSize: ringSizes }).map((ringHash) => ({ ringHash })),
  some({ tableSize: from(2, 3, 9, 65_537, 5_000_011, 65_536) }).map((maglev) => ({ maglev })),
);
const consistentHash = fc.tuple(hashKey, hashAlgorithm).map(([key, algorithm]) => ({ ...key, ...algorithm }));
const portPolicy = {
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
    consistentHash,
    warmup: some({ duration: durations, minimumPercent: percents, aggression: percents }, ["duration"]),
    warmupDurationSecs: durations,
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
};
const trafficPolicy = some({
  ...portPolicy,
  portLevelSettings: list(some({ port: fc.record({ number: from(80, 443, 9000) }), ...portPolicy }, ["port"]), 1),
  tunnel: some({ protocol: from("CONNECT", "POST", "x"), targetHost: hosts, targetPort: ports }, [
    "targetHost",
    "targetPort",
  ]),
  proxyProtocol: some({ version: from("V1", "V2") }),
  retryBudget: some({ percent: percents, minRetryConcurrency: numbers, budgetInterval: durations }),
});
export const destinationRule = object(
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
